"""A run as annotations of GitHub Actions: workflow commands on standard output.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; a step shows ten of each level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.analysis.signature import signature
from conformance.report.exporting import first_line
from conformance.report.layout import printable
from conformance.report.verdicts import verdict_notes, verdict_title
from conformance.report.words import counted, outcome_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.analysis.gate import Judged
    from conformance.analysis.verdict import Verdict
    from conformance.model.outcome import Outcome
    from conformance.report.verdicts import JudgedRun
    from conformance.store.history import Seen

LIMIT = 10
_LONGEST = 3_000


@dataclass(slots=True)
class _Group:
    """The tests of one verdict that fail for one cause, or pass against one entry."""

    verdict: Verdict
    first: Judged[Seen]
    tests: int = 0


def render_github(judged: JudgedRun, places: Mapping[str, tuple[str, int]], suites: Mapping[str, str]) -> str:
    """Return the annotations: an error for each cause that fails the run, a warning for what the list does not say.

    ``places`` has the file and line of each entry of the skiplist, so that its annotation stands there; ``suites`` the
    suite of each test that may be named. One notice has the sum.
    """
    groups = _groups(judged.gate.judged)
    failing = [group for group in groups if judged.gate.fails(group.verdict)]
    others = [group for group in groups if group not in failing and group.verdict.fails_strict]
    lines = [_command("notice", f"Conformance of {_device(judged)}", _sum(judged))]
    for level, found in (("error", failing), ("warning", others)):
        shown = found if len(found) <= LIMIT else found[: LIMIT - 1]
        lines += [_annotation(level, group, judged, places, suites) for group in shown]
        if len(shown) < len(found):
            rest = sum(group.tests for group in found[len(shown) :])
            title = f"{counted(len(found) - len(shown), 'more cause')}"
            lines.append(_command(level, title, f"{counted(rest, 'test')}; the job summary and the database have all."))
    return "".join(f"{line}\n" for line in lines)


def _groups(judged: Iterable[Judged[Seen]]) -> list[_Group]:
    """Return the judged tests by verdict, outcome and cause, the worst verdict and the largest cause first."""
    groups: dict[tuple[Verdict, Outcome, str], _Group] = {}
    order: list[Verdict] = []
    for one in judged:
        if one.verdict not in order:
            order.append(one.verdict)
        cause = f"entry {one.result.entry}" if one.verdict.is_good_news else signature(one.result.message)
        group = groups.setdefault((one.verdict, one.result.outcome, cause), _Group(one.verdict, one))
        group.tests += 1
    return sorted(
        groups.values(), key=lambda group: (order.index(group.verdict), -group.tests, group.first.result.test_id)
    )


def _annotation(
    level: str,
    group: _Group,
    judged: JudgedRun,
    places: Mapping[str, tuple[str, int]],
    suites: Mapping[str, str],
) -> str:
    result = group.first.result
    entry = f", entry {result.entry}" if result.entry else ""
    lines = [first_line(result.message) or outcome_word(result.outcome)]
    if result.fallback_ops:
        lines.append(f"on the CPU: {', '.join(result.fallback_ops)}")
    lines.append(f"first: {result.test_id}")
    run = judged.run
    suite = suites.get(result.test_id, "")
    lines.append(repeat_command(result.test_id, suite, run.device, command=run.command, environment=run.environment))
    title = f"{group.verdict.words}{entry}: {counted(group.tests, 'test')} on {_device(judged)}"
    file, line = places.get(result.entry, ("", 0))
    return _command(level, title, "\n".join(map(printable, lines)), file=file, line=line)


def _device(judged: JudgedRun) -> str:
    run = judged.run
    return f"{run.device}{' (EMULATED)' if run.emulated else ''}, torch {run.torch_version}"


def _sum(judged: JudgedRun) -> str:
    return "\n".join([verdict_title(judged), *verdict_notes(judged)])


def _command(level: str, title: str, text: str, *, file: str = "", line: int = 0) -> str:
    properties = [f"title={_property(printable(title))}"]
    if file:
        properties.append(f"file={_property(file)}")
    if line:
        properties.append(f"line={line}")
    return f"::{level} {','.join(properties)}::{_data(text[:_LONGEST])}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
