"""Read a SQLite file page by page without SQLite, as far as its pages can be read.

SQLite refuses whatever hangs beneath a damaged page, and a whole file whose first page or length is wrong. This reads
the format itself (https://sqlite.org/fileformat2.html): what is left of each tree, and how much of it is missing.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

MAGIC = b"SQLite format 3\0"
PAGE_SIZES = (8192, 4096, 1024, 2048, 16384, 32768, 65536, 512)

Value = int | float | str | bytes | None

_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
_INTERIOR = (_INTERIOR_INDEX, _INTERIOR_TABLE)
_SCHEMA_WITHIN = 200  # pages: a schema is written first
_KINDS = (_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE)
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class BadPageError(Exception):
    """A page, or a row on it, cannot be what the format says it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its rowid (None in an index and in a table WITHOUT ROWID) and its values as they are stored."""

    rowid: int | None
    values: tuple[Value, ...]


@dataclass(slots=True)
class Losses:
    """What could not be read of one tree: numbers of pages, and rows on pages that could be read."""

    pages: set[int] = field(default_factory=set)
    rows: int = 0


class PageFile:
    """The pages of a database file, with what its write-ahead log adds; neither is changed, locked or waited for.

    ``header`` are the first 100 bytes; ``whole_header`` tells whether they are those of a SQLite file. Where they are
    not, ``page_size`` is the one that fits most pages. ``log_rest`` is how many pages the log holds behind one that
    fails its checksum: SQLite does not take them in, and neither does this.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._log: int | None = None
        self._logged: dict[int, int] = {}
        self._reached: set[int] = set()
        self.log_rest = 0
        try:
            self._size = os.fstat(self._file).st_size
            header = os.pread(self._file, 100, 0)
            self.whole_header = header.startswith(MAGIC) and _page_size(header) is not None
            self.page_size = (_page_size(header) if self.whole_header else None) or self._likely_page_size()
            self.usable = self.page_size - (header[20] if self.whole_header else 0)
            self.count = self._last = -(-self._size // self.page_size)
            self._read_log(path.with_name(path.name + "-wal"))
            self.header = header = self._raw(1)[:100]
            self.whole_header = header.startswith(MAGIC)
            self.user_version = int.from_bytes(header[60:64], "big") if self.whole_header else None
            self.application_id = int.from_bytes(header[68:72], "big") if self.whole_header else None
            if self.whole_header:  # also of a file that was cut off, or of one that has grown for nothing
                self.count = int.from_bytes(header[28:32], "big") or self.count
            self._last = max([-(-self._size // self.page_size), *self._logged])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> PageFile:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close both files; closing twice is fine."""
        for descriptor in (self._file, self._log):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._file, self._log = -1, None

    def page(self, number: int) -> bytes:
        """Return a page; raise BadPageError where the file does not have the whole of it."""
        data = self._raw(number) if 1 <= number <= self._last else b""
        if len(data) < self.page_size:
            raise BadPageError(f"page {number} is missing")
        return data

    def mentions(self, text: bytes) -> bool:
        """Tell whether one of the first pages, where the schema is, has a text."""
        return any(text in self._raw(number) for number in range(1, min(self._last, _SCHEMA_WITHIN) + 1))

    def missing(self) -> int:
        """Return how many pages lie behind the end of the file, and not in the log either."""
        whole = self._size // self.page_size
        logged = sum(whole < number <= self.count for number in self._logged)
        return max(0, self.count - whole - logged)

    def peek(self, number: int) -> tuple[bool, list[Row]]:
        """Return (whether a table's, rows) of one page of a tree; raise BadPageError where it is none."""
        kind, cells, _ = self._layout(number, data := self.page(number))
        reached = set(self._reached)
        rows = list(self._rows(data, kind, cells, Losses()))
        self._reached = reached
        return kind in (_INTERIOR_TABLE, _LEAF_TABLE), rows

    def tree(self, root: int, losses: Losses, *, is_table: bool) -> Iterator[Row]:
        """Yield every row of a table's or an index's tree that can be read, and count in ``losses`` what cannot.

        A page is read once: one that two trees claim belongs to the first.
        """
        kinds = (_INTERIOR_TABLE, _LEAF_TABLE) if is_table else (_INTERIOR_INDEX, _LEAF_INDEX)
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number in self._reached:
                losses.pages.add(number)
                continue
            try:
                data = self.page(number)
                kind, cells, children = self._layout(number, data)
                if kind not in kinds:
                    raise BadPageError(f"page {number} is of kind {kind}")
            except BadPageError:
                losses.pages.add(number)
                continue
            self._reached.add(number)
            waiting.extend(reversed(children))
            yield from self._rows(data, kind, cells, losses)

    def strays(self) -> Iterator[tuple[bool, list[Row], Losses]]:
        """Yield (whether a table's, rows, losses) of each page with rows that no tree has led to.

        Call it after all trees were read. Pages on the free list are left out: their rows were deleted.
        """
        free = self._free()
        for number in range(1, self._last + 1):
            if number in self._reached or number in free:
                continue
            try:
                data = self.page(number)
                kind, cells, _ = self._layout(number, data)
            except BadPageError:
                continue
            losses = Losses()
            reached = set(self._reached)
            rows = list(self._rows(data, kind, cells, losses))
            # A page of text or of zeros may look like a tree's for a byte or two, but its rows do not.
            if rows and len(rows) > losses.rows:
                yield kind in (_INTERIOR_TABLE, _LEAF_TABLE), rows, losses
            else:
                self._reached = reached

    def _layout(self, number: int, data: bytes) -> tuple[int, list[int], list[int]]:
        """Return the kind of a tree's page, where its cells begin, and the pages beneath it, from left to right."""
        start = 100 if number == 1 else 0
        kind = data[start]
        cells = int.from_bytes(data[start + 3 : start + 5], "big")
        first = start + (12 if kind in _INTERIOR else 8)
        if kind not in _KINDS or first + 2 * cells > self.usable:
            raise BadPageError(f"page {number} is no page of a tree")
        offsets = list(struct.unpack_from(f">{cells}H", data, first))
        children: list[int] = []
        if kind in _INTERIOR:
            last = int.from_bytes(data[start + 8 : start + 12], "big")
            children = [int.from_bytes(data[offset : offset + 4], "big") for offset in offsets]
            children.append(last)
        return kind, offsets, children

    def _rows(self, data: bytes, kind: int, cells: list[int], losses: Losses) -> Iterator[Row]:
        if kind == _INTERIOR_TABLE:
            return  # its cells hold keys only
        for offset in cells:
            try:
                yield self._row(data, offset + (4 if kind == _INTERIOR_INDEX else 0), is_table=kind == _LEAF_TABLE)
            except (BadPageError, UnicodeDecodeError, IndexError, struct.error):
                losses.rows += 1

    def _row(self, data: bytes, offset: int, *, is_table: bool) -> Row:
        size, offset = _varint(data, offset)
        rowid: int | None = None
        if is_table:
            rowid, offset = _varint(data, offset)
            rowid = rowid - 2**64 if rowid >= 2**63 else rowid
        most = self.usable - 35 if is_table else (self.usable - 12) * 64 // 255 - 23
        if size <= most:
            payload = data[offset : offset + size]
            if len(payload) < size:
                raise BadPageError("a row reaches over the end of its page")
            return Row(rowid, _record(payload))
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (size - least) % (self.usable - 4)
        here = here if here <= most else least
        payload = data[offset : offset + here]
        following = int.from_bytes(data[offset + here : offset + here + 4], "big")
        return Row(rowid, _record(payload + self._overflow(following, size - here)))

    def _overflow(self, number: int, size: int) -> bytes:
        if size > self._last * self.page_size:
            raise BadPageError("a row is longer than the file")
        parts = []
        pages = []
        while size > 0:
            if number in self._reached or number in pages:
                raise BadPageError(f"page {number} holds something else")
            data = self.page(number)
            pages.append(number)
            parts.append(data[4 : 4 + min(size, self.usable - 4)])
            size -= len(parts[-1])
            number = int.from_bytes(data[:4], "big")
        self._reached.update(pages)
        return b"".join(parts)

    def _free(self) -> set[int]:
        """Return the pages of the free list, as far as it can be followed."""
        free: set[int] = set()
        if not self.whole_header:
            return free
        trunk = int.from_bytes(self._raw(1)[32:36], "big")
        while trunk and trunk not in free:
            try:
                data = self.page(trunk)
            except BadPageError:
                break
            free.add(trunk)
            leaves = min(int.from_bytes(data[4:8], "big"), self.usable // 4 - 2)
            free.update(struct.unpack_from(f">{leaves}I", data, 8))
            trunk = int.from_bytes(data[:4], "big")
        return free

    def _raw(self, number: int) -> bytes:
        place = self._logged.get(number)
        if place is not None and self._log is not None:
            return os.pread(self._log, self.page_size, place)
        return os.pread(self._file, self.page_size, (number - 1) * self.page_size)

    def _likely_page_size(self) -> int:
        def fitting(size: int) -> float:
            numbers = range(1, min(self._size // size, 2000))
            kinds = [os.pread(self._file, 1, number * size) for number in numbers]
            return sum(bool(kind) and kind[0] in _KINDS for kind in kinds) / max(len(kinds), 1)

        return max(PAGE_SIZES, key=fitting)

    def _read_log(self, path: Path) -> None:
        """Find the last committed version of each page in the write-ahead log, if there is one."""
        try:
            self._log = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        header = os.pread(self._log, 32, 0)
        if len(header) < 32 or header[:4] not in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
            return
        order = ">" if header[3] & 1 else "<"
        checksum = _checksum(header[:24], order, (0, 0))
        if checksum != struct.unpack(">II", header[24:]) or _log_page_size(header) != self.page_size:
            return
        salts, place = header[16:24], 32
        pending: dict[int, int] = {}
        while True:
            frame = os.pread(self._log, 24 + self.page_size, place)
            if len(frame) < 24 + self.page_size or frame[8:16] != salts:
                return
            checksum = _checksum(frame[:8] + frame[24:], order, checksum)
            number, pages, *_, one, two = struct.unpack(">6I", frame[:24])
            if (one, two) != checksum:
                self.log_rest = self._frames_behind(place, salts)
                return
            pending[number] = place + 24
            place += len(frame)
            if pages:  # the last page of a transaction
                self._logged.update(pending)
                pending.clear()

    def _frames_behind(self, place: int, salts: bytes) -> int:
        assert self._log is not None
        behind = 0
        while os.pread(self._log, 24, place)[8:16] == salts:
            behind += 1
            place += 24 + self.page_size
        return behind


def _page_size(header: bytes) -> int | None:
    size = int.from_bytes(header[16:18], "big")
    size = 65536 if size == 1 else size
    return size if size in PAGE_SIZES and len(header) >= 100 else None


def _log_page_size(header: bytes) -> int:
    return int.from_bytes(header[8:12], "big")


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    one, two = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for left, right in zip(words[::2], words[1::2], strict=True):
        one = (one + left + two) & 0xFFFFFFFF
        two = (two + right + one) & 0xFFFFFFFF
    return one, two


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = data[offset]
    offset += 1
    if value < 0x80:
        return value, offset
    value &= 0x7F
    for count in range(2, 10):
        byte = data[offset]
        offset += 1
        if count == 9:
            return value << 8 | byte, offset
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, offset


def _record(payload: bytes) -> tuple[Value, ...]:
    length, offset = _varint(payload, 0)
    if not 1 <= length <= len(payload):
        raise BadPageError("a row's header is longer than the row")
    values: list[Value] = []
    place = length
    while offset < length:
        kind, offset = _varint(payload, offset)
        if kind == 0:
            values.append(None)
        elif kind in (8, 9):
            values.append(kind - 8)
        elif kind in _INTEGER_BYTES:
            size = _INTEGER_BYTES[kind]
            values.append(int.from_bytes(payload[place : place + size], "big", signed=True))
            place += size
        elif kind == 7:
            values.append(struct.unpack_from(">d", payload, place)[0])
            place += 8
        elif kind >= 12:
            size = (kind - 12) // 2
            part = payload[place : place + size]
            values.append(part.decode("utf-8") if kind % 2 else part)
            place += size
        else:
            raise BadPageError(f"a value has the reserved kind {kind}")
    if offset != length or place != len(payload):
        raise BadPageError("a row is not as long as its header says")
    return tuple(values)
