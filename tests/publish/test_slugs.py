from __future__ import annotations

import re

import pytest

from conformance.publish.slugs import anchor, slugs

ODD = [
    "../x",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "a/b",
    "a\\b",
    "",
    ".",
    "..",
    ".hidden",
    "trailing.",
    "con",
    "NUL",
    "com1.x",
    "index",
    "Index",
    "a b",
    "ä",
    "a\nb",
    "\ud800",
    "x" * 300,
    "%2e%2e",
    "a#b?c",
]


def test_plain_names_keep_their_spelling() -> None:
    names = ["add", "div.floor_rounding", "__radd__", "nn.Linear", "nn.functional.conv2d"]
    assert slugs(names) == {name: name for name in names}


@pytest.mark.parametrize("name", ODD)
def test_no_name_leaves_its_folder(name: str) -> None:
    slug = slugs([name])[name]
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]", slug)
    assert ".." not in slug
    assert len(slug) <= 80
    assert slug.split(".")[0].lower() not in {"con", "nul", "com1", "index"}


def test_slugs_differ_even_where_case_does_not_count() -> None:
    names = [*ODD, "t", "T", "mT", "mt", "MT", "a_b", "A_B", "Ab", "aB", "etc_passwd"]
    found = slugs(names)
    assert len({slug.lower() for slug in found.values()}) == len(set(names))
    assert found["t"] == "t"
    assert found["T"] != "T"


def test_a_slug_does_not_depend_on_the_order_of_names() -> None:
    assert slugs(["T", "t", "a/b"]) == slugs(["a/b", "t", "T"])


def test_a_hashed_slug_cannot_be_taken_by_a_plain_name() -> None:
    taken = slugs(["a/b"])["a/b"]
    assert slugs([taken])[taken] != taken


def test_an_anchor_is_a_plain_fragment() -> None:
    assert re.fullmatch(r"t-[0-9a-f]{12}", anchor("a::b[<x> é\ud800]"))
    assert anchor("a") != anchor("b")
