"""A run as JUnit XML: one suite a file, in the form that pytest writes."""

from __future__ import annotations

import itertools
import posixpath
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from conformance.analysis.verdict import Verdict
from conformance.model.outcome import Outcome
from conformance.report.exporting import ExportedTest, Status, exported_tests, first_line
from conformance.report.words import outcome_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.exporting import Export
    from conformance.store import RunRow

# What XML 1.0 has no way to write, not even as a reference (production Char).
_IMPOSSIBLE = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(export: Export) -> Iterator[str]:
    """Yield the document in pieces, a suite at a time.

    A failed check is a ``failure``; what is no failed check (setup, a death, a lost test) is an ``error``, with the
    outcome as its ``type``. Test ids stay whole: ``file``, the last part of ``classname``, and ``name``.
    """
    run = export.run
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f"<testsuites name={_attribute(_title(run))}>\n"
    for file, tests in itertools.groupby(exported_tests(export), lambda test: test.row.file):
        yield from _suite(file, list(tests), run)
    yield "</testsuites>\n"


def _title(run: RunRow) -> str:
    return f"{run.device}{' EMULATED' if run.emulated else ''}, torch {run.torch_version}"


def _suite(file: str, tests: Sequence[ExportedTest], run: RunRow) -> Iterator[str]:
    failed = [test for test in tests if test.status is Status.FAILED]
    failures = sum(_is_failure(test) for test in failed)
    numbers = {
        "name": file,
        "tests": str(len(tests)),
        "failures": str(failures),
        "errors": str(len(failed) - failures),
        "skipped": str(sum(test.status is Status.SKIPPED for test in tests)),
        "time": _seconds(sum(test.row.duration_s for test in tests)),
        "timestamp": run.started_at or run.created_at,
        "hostname": run.host,
    }
    yield f"<testsuite{_attributes(numbers)}>\n"
    yield from _properties(
        {
            "device": run.device,
            "device_name": run.device_name,
            "emulated": str(run.emulated).lower(),
            "torch": run.torch_version,
            "backend": f"{run.backend} {run.backend_version}".strip(),
            "run": run.key,
        }
    )
    for test in tests:
        yield from _case(test)
    yield "</testsuite>\n"


def _case(test: ExportedTest) -> Iterator[str]:
    row = test.row
    start = len(row.file) + 2 + (len(row.class_name) + 2 if row.class_name else 0)
    module = posixpath.splitext(row.file)[0].replace("/", ".")
    names = {
        "classname": f"{module}.{row.class_name}" if row.class_name else module,
        "name": row.test_id[start:],
        "file": row.file,
        "time": _seconds(row.duration_s),
    }
    inside = [*_case_properties(test), *_end(test)]
    if not inside:
        yield f"<testcase{_attributes(names)}/>\n"
        return
    yield f"<testcase{_attributes(names)}>\n"
    yield from inside
    yield "</testcase>\n"


def _case_properties(test: ExportedTest) -> Iterator[str]:
    """Yield what the format has no place of its own for, where there is something to say."""
    row = test.row
    plain = row.outcome in (Outcome.PASSED, Outcome.SKIPPED) and test.verdict is Verdict.AS_EXPECTED
    said = {} if plain else {"outcome": row.outcome.value, "verdict": test.verdict.value}
    if row.fallback_ops:
        said["fallback_ops"] = ",".join(row.fallback_ops)
    if row.entry:
        said["entry"] = row.entry
    if said:
        yield from _properties(said)


def _end(test: ExportedTest) -> Iterator[str]:
    row = test.row
    match test.status:
        case Status.SKIPPED:
            yield f"<skipped type={_attribute(row.outcome.value)} message={_attribute(first_line(test.reason))}/>\n"
        case Status.FAILED:
            tag = "failure" if _is_failure(test) else "error"
            message = first_line(row.message) or _said_instead(test)
            kind = f"type={_attribute(row.outcome.value)} message={_attribute(message)}"
            yield f"<{tag} {kind}>{_content(row.details or row.message)}</{tag}>\n"
        case Status.PASSED:
            return


def _is_failure(test: ExportedTest) -> bool:
    """Tell whether a check failed, or a verdict on a test that ran to its end; all else is an error."""
    return test.row.outcome is Outcome.FAILED or not test.row.outcome.is_bad


def _said_instead(test: ExportedTest) -> str:
    return f"{test.verdict.words}: {outcome_word(test.row.outcome)}"


def _properties(values: dict[str, str]) -> Iterator[str]:
    yield "<properties>\n"
    for name, value in values.items():
        yield f"<property name={_attribute(name)} value={_attribute(value)}/>\n"
    yield "</properties>\n"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f" {name}={_attribute(value)}" for name, value in values.items())


def _attribute(text: str) -> str:
    return quoteattr(_possible(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _content(text: str) -> str:
    return escape(_possible(text)).replace("\r", "&#13;")


def _possible(text: str) -> str:
    """Return the text with every character that XML cannot hold written as an escape."""
    return _IMPOSSIBLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}".rstrip("0").rstrip(".")
