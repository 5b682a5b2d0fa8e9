"""The data of every page, ready to print: templates format nothing and decide nothing.

A template sees two names: ``frame`` (a Frame) and ``page`` (the page's own dataclass). Strings are plain text; the
renderer escapes them. Paths are relative to the site's root; a template puts ``frame.root`` before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.publish.charts import Bar, Tally
    from conformance.publish.marks import Mark


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a list of facts: what it is, and its value."""

    name: str
    value: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A text with the page it leads to; ``href`` is empty where there is none."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something no reader of the page may overlook; ``kind`` is ``emulated``, ``warning`` or ``note``."""

    kind: str
    title: str
    text: str
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class RunMark:
    """What every page says about the run it was made from."""

    id: int
    device: str
    device_name: str
    emulated: bool
    torch_version: str
    harness_version: str
    date: str
    state: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds every page of the site.

    ``root`` leads from the page to the site's root (``""`` or ``"../"``); ``section`` is the entry of the navigation
    that is current, ``sections`` all of them. ``find`` is the table that a search without JavaScript leads to.
    ``address`` is the page's own on the web, empty where the site was not told where it will be. ``description`` is one
    sentence for search engines.
    """

    root: str
    section: str
    title: str
    run: RunMark
    notices: tuple[Notice, ...]
    sections: tuple[Link, ...]
    find: str
    address: str
    description: str


@dataclass(frozen=True, slots=True)
class Headline:
    """A coverage figure in words: ``sentence`` names numerator, denominator and what is untested.

    ``share`` is the same in percent, empty where there is nothing to divide; ``evidence`` says which tests it rests on,
    ``note`` what cannot be tested at all.
    """

    share: str
    evidence: str
    note: str
    sentence: str
    bar: Bar
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One row of a table that splits operators or tests by a key; ``counts`` follow the table's marks."""

    key: str
    href: str
    total: int
    counts: tuple[int, ...]
    fallback: int | None
    bar: Bar


@dataclass(frozen=True, slots=True)
class BreakdownTable:
    """A table that splits operators or tests by a key; each row's counts add up to its total."""

    id: str
    title: str
    caption: str
    key_name: str
    total_name: str
    marks: tuple[Mark, ...]
    rows: tuple[Breakdown, ...]
    fallback_name: str = ""


Json: TypeAlias = "bool | int | float | str | list[Json] | Mapping[str, Json] | None"


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page to be rendered: where it goes, with which template, and from which page's dataclass."""

    path: str
    template: str
    frame: Frame
    page: object


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file for programs; ``document`` starts with the version of its form."""

    path: str
    document: Json


@dataclass(frozen=True, slots=True)
class TextFile:
    """Any other file: CSV, a feed, a badge, data for the script."""

    path: str
    text: str


SiteFile: TypeAlias = "HtmlPage | JsonFile | TextFile"
