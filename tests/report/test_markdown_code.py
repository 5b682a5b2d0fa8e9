from __future__ import annotations

import html
import re

import pytest

from conformance.report.markdown import code, fenced

ODD = [
    "<script>alert(1)</script>",
    "a|b",
    "`tick`",
    "``two`` | <b>&amp;</b>",
    "**bold** _it_ [x](http://e) @who #1 ~~s~~ \\",
    "back\\|slash",
]


@pytest.mark.parametrize("text", ODD)
def test_code_means_the_text_and_nothing_else(text: str) -> None:
    written = code(text)
    if written.startswith("<code>"):
        inner = written.removeprefix("<code>").removesuffix("</code>")
        assert re.fullmatch(r"(?:[A-Za-z0-9 ]|&#\d+;)*", inner)
        assert html.unescape(inner) == text
    else:
        assert written == f"`{text}`"
        assert "`" not in text
    assert "|" not in written


def test_code_of_nothing_is_nothing() -> None:
    assert code("") == code(" \n ") == ""


def test_code_is_one_line_without_control_characters() -> None:
    assert code("a\n\x1b[1mb") == "`a \\x1b[1mb`"


@pytest.mark.parametrize("ticks", [0, 1, 3, 5])
def test_a_fence_is_longer_than_what_it_holds(ticks: int) -> None:
    opening, body, closing = fenced(["x " + "`" * ticks + " y"], "sh")
    assert opening == closing + "sh"
    assert "`" * len(closing) not in body
    assert len(closing) >= 3
