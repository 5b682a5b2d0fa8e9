"""Write what the script of the site searches and compares: small files that it loads when they are asked for.

A page that was opened from a folder may load scripts but not read other files, so the data come as scripts. Each calls
one function with plain data; ``docs/api.md`` says that they are no interface.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.publish.changed import change_mark, run_facts_of
from conformance.publish.changes import CHANGES
from conformance.publish.choice import is_whole
from conformance.publish.compiled import NO_COMPILED, compiled_cells, mode_names
from conformance.publish.context import signature_anchor
from conformance.publish.dtypes import in_dtype_order
from conformance.publish.failures import whole_words
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.marks import FELL_BACK, STATUS_MARKS, outcome_mark, status_mark
from conformance.publish.matrix import CODES
from conformance.publish.pages import TextFile
from conformance.publish.slugs import anchor, named_anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Subject
    from conformance.publish.matrix import TestKey
    from conformance.publish.pages import Json
    from conformance.publish.registered import Measured
    from conformance.store import RunRow

# A byte of the matrix is written as the sign so many places after this one, which no JSON escapes.
_FIRST = ord("0")
_SIGNS = bytes((_FIRST + byte) % 128 for byte in range(256))


def script_files(site: Site, measured: Sequence[Measured]) -> Iterator[TextFile]:
    """Yield the data of the search, of all tests, and of each run that can be compared."""
    yield _script("data/index.js", "index", _index(site, measured))
    yield _script("data/tests.js", "tests", _tests(site))
    for run in site.findings.history.selectable:
        yield _script(f"data/run-{run.id}.js", f"run-{run.id}", _run(site, run))


def _script(path: str, name: str, document: Json) -> TextFile:
    # Only ASCII is left, so no character ends a line of a script or is read in another encoding.
    return TextFile(path, f"conformanceData({json.dumps(name)}, {json.dumps(document, separators=(',', ':'))});\n")


def _index(site: Site, measured: Sequence[Measured]) -> Json:
    findings = site.findings
    dtypes = in_dtype_order(dtype for operator in findings.operators for dtype in operator.by_dtype)
    modes = {noun: mode_names(site, noun) for noun in (OPERATOR, MODULE)}
    return {
        "dtypes": list(dtypes),
        "modes": {f"{noun}s": list(names) for noun, names in modes.items()},
        "operators": [_subject(site, operator, dtypes) for operator in findings.operators],
        "modules": [_subject(site, module, dtypes) for module in findings.modules],
        "overloads": [
            [each.overload, each.registered, each.measured.word, bool(each.core), each.tests] for each in measured
        ],
        "architectures": [
            [each.name, str(each.status), named_anchor("m", each.name)]
            for each in (findings.models.found.items if findings.models else ())
        ],
        "signatures": [
            [
                whole_words(group.signature) or "(no message)",
                str(group.outcome),
                group.tests,
                signature_anchor(group.signature, str(group.outcome)),
            ]
            for group in site.groups
        ],
        "files": {file.file: file.href for file in findings.files},
        "marks": {code: _look(code, outcome=True) for code in (*CODES[1:], FELL_BACK.code)}
        | {code: _look(code, outcome=False) for code in STATUS_MARKS},
        "changes": {
            change.value: [mark.word, mark.letter, mark.shade, mark.definition]
            for change, mark in ((change, change_mark(change)) for change in CHANGES)
        },
    }


def _look(code: str, *, outcome: bool) -> Json:
    mark = outcome_mark(code) if outcome else status_mark(code)
    return [mark.word, mark.letter, mark.shade]


def _subject(site: Site, subject: Subject, dtypes: Sequence[str]) -> Json:
    """Return name, status, file name, group, the name of ATen, and the status in each dtype and each compile mode.

    A status is a digit, a dot where there is none.
    """
    by_dtype = ["untested" if dtype in subject.dtypes else "" for dtype in dtypes]
    for place, dtype in enumerate(dtypes):
        if dtype in subject.by_dtype:
            by_dtype[place] = subject.by_dtype[dtype].status
    compiled = ["" if cell.mark.code == NO_COMPILED.code else cell.mark.code for cell in compiled_cells(site, subject)]
    slug = "" if subject.slug == subject.name else subject.slug
    aten = "" if subject.aten_name == subject.name else subject.aten_name
    return [subject.name, subject.overall.status, slug, subject.group, aten, _letters(by_dtype), _letters(compiled)]


def _letters(statuses: Iterable[str]) -> str:
    known = list(STATUS_MARKS)
    return "".join("." if not each else str(known.index(each)) if each in STATUS_MARKS else "!" for each in statuses)


def _tests(site: Site) -> Json:
    matrix = site.findings.history.matrix
    tests = matrix.tests
    used = {number for row in matrix.rows.values() for number in row.fallbacks.values()}
    columns = {
        "op": [test.op or "" for test in tests],
        "module": [test.module or "" for test in tests],
        "dtype": [test.dtype or "" for test in tests],
        "template": [test.template for test in tests],
        "suite": [test.suite for test in tests],
        "file": [test.file for test in tests],
    }
    return {
        "ids": front_coded(test.test_id for test in tests),
        "columns": {name: _column(values) for name, values in columns.items()},
        "anchors": _odd_anchors(tests),
        "sets": {str(number): [*sorted(matrix.sets[number])] for number in sorted(used)},
    }


def front_coded(texts: Iterable[str]) -> str:
    """Join sorted texts by line breaks: how many characters each shares with the one before, a blank, and the rest.

    A text with a line break, or with more than ASCII, is written as a JSON string, which a quotation mark tells.
    """
    lines = []
    before = ""
    for text in texts:
        plain = text if text.isascii() and "\n" not in text and not text.startswith('"') else json.dumps(text)
        shared = _shared(before, plain)
        lines.append(f"{shared} {plain[shared:]}")
        before = plain
    return "\n".join(lines)


def _shared(one: str, other: str) -> int:
    """Return the length of the beginning that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _column(values: Sequence[str]) -> Json:
    """Return the distinct values and, for each test, the place of its own."""
    names = sorted(set(values))
    places = {name: place for place, name in enumerate(names)}
    return [list(names), [places[value] for value in values]]


def _odd_anchors(tests: Sequence[TestKey]) -> Json:
    """Return the fragments of the tests whose id is none itself."""
    return {str(place): name for place, test in enumerate(tests) if (name := anchor(test.test_id)) != test.test_id}


def _run(site: Site, run: RunRow) -> Json:
    findings = site.findings
    row = findings.history.matrix.rows[run.id]
    document: dict[str, Json] = {
        "id": run.id,
        "whole": is_whole(run),
        "facts": dict(run_facts_of(run)),
        "outcomes": row.codes.translate(_SIGNS).decode("ascii"),
        # The sets of overloads on the CPU, one for each test that says so, in their order.
        "fallbacks": [row.fallbacks[place] for place in sorted(row.fallbacks)],
    }
    if run.id == site.run.id:
        # Milliseconds will do; 0 stands for none.
        document["durations"] = [-(-time_us // 1000) for time_us in findings.durations_us]
        document["listed"] = [*sorted(row.entries)]
    return document
