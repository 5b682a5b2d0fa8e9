"""Read built pages the way a browser would: tags, attributes and visible text, by the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VOID = frozenset({"meta", "link", "input", "br", "img", "hr", "wbr"})


@dataclass
class Tag:
    """One element with what it holds."""

    name: str
    attributes: dict[str, str]
    children: list[Tag | str] = field(default_factory=list)

    def all(self, name: str, **attributes: str) -> list[Tag]:
        """Return the elements inside of that name whose attributes have these values (``class_`` matches a class)."""
        return [tag for tag in self._walk() if tag.name == name and all(tag.has(*item) for item in attributes.items())]

    def one(self, name: str, **attributes: str) -> Tag:
        """Return the only such element."""
        found = self.all(name, **attributes)
        assert len(found) == 1, (name, attributes, len(found))
        return found[0]

    def has(self, attribute: str, value: str) -> bool:
        """Tell whether an attribute has a value; ``class_`` and ``data_x`` stand for ``class`` and ``data-x``."""
        if attribute == "class_":
            return value in self.attributes.get("class", "").split()
        return self.attributes.get(attribute.rstrip("_").replace("_", "-")) == value

    @property
    def text(self) -> str:
        """Return the text, with runs of white space as one blank."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._texts()

    def _walk(self) -> Iterator[Tag]:
        for child in self.children:
            if isinstance(child, Tag):
                yield child
                yield from child._walk()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Tag("document", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Tag(tag, {name: value or "" for name, value in attrs})
        assert len(found.attributes) == len(attrs), f"an attribute is given twice: {attrs}"
        self._open[-1].children.append(found)
        if tag not in _VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Tag(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        opened = self._open.pop()
        if opened.name == "p" and tag != "p":
            raise AssertionError(f"<p> is still open at </{tag}> in line {self.getpos()[0]}")
        assert opened.name == tag, f"<{opened.name}> is closed by </{tag}> in line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def finish(self) -> Tag:
        self.close()
        assert self._open == [self.root], f"never closed: {[tag.name for tag in self._open[1:]]}"
        return self.root


def page(path: Path) -> Tag:
    """Parse a page; every element must be closed by its own end tag. Pages that many tests read are parsed once."""
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=300)
def _parsed(path: Path, written_ns: int) -> Tag:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.finish()


def pages(site: Path) -> list[Path]:
    """Return every page of a site."""
    return sorted(site.rglob("*.html"))
