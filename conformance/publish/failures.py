"""Show what failed by signature: one cause, one row, and the command that repeats one of its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.groups import failure_groups
from conformance.analysis.repeat import repeat_command
from conformance.publish.findings import MODULE, OPERATOR, Findings
from conformance.publish.marks import outcome_mark
from conformance.publish.pages import FailureGroup, FailuresPage, Link
from conformance.publish.slugs import anchor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.analysis.groups import FailureGroup as Group
    from conformance.store import ResultRow

_SUBJECTS_SHOWN = 6
_GROUPS_SHOWN = 1000
_MESSAGE_SHOWN = 600


@dataclass(frozen=True, slots=True)
class _Origin:
    suite: str
    test_id: str
    subject: tuple[str, str] | None


def shown_failures(findings: Findings) -> tuple[FailureGroup, ...]:
    """Return every signature of the run, as conformance.analysis groups them."""
    origins: dict[str, _Origin] = {}

    def noted() -> Iterator[ResultRow]:
        for row in findings.bad_results():
            origins[row.test_id] = _Origin(row.suite, row.test_id, _subject_of(row))
            yield row

    groups = failure_groups(noted())
    return tuple(_shown(group, origins[group.example], findings) for group in groups)


def _subject_of(row: ResultRow) -> tuple[str, str] | None:
    if row.op:
        return OPERATOR, row.op
    if row.module:
        return MODULE, row.module
    return None


def _shown(group: Group, first: _Origin, findings: Findings) -> FailureGroup:
    subjects = [(OPERATOR, name) for name in group.operators] + [(MODULE, name) for name in group.modules]
    href = findings.links.get(first.subject, "") if first.subject else ""
    return FailureGroup(
        mark=outcome_mark(group.outcome),
        signature=clipped(group.signature) or "(no message)",
        message=clipped(group.message),
        tests=group.tests,
        subjects=tuple(Link(name, findings.links.get((noun, name), "")) for noun, name in subjects[:_SUBJECTS_SHOWN]),
        more=max(len(subjects) - _SUBJECTS_SHOWN, 0),
        example=Link(group.example, f"{href}#{anchor(group.example)}" if href else ""),
        command=repeat_command(first.test_id, first.suite, findings.run.device, command=findings.run.command),
    )


def clipped(message: str) -> str:
    """Shorten a long message, saying so: the database keeps all of it."""
    more = len(message) - _MESSAGE_SHOWN
    if more <= 0:
        return message
    return f"{message[:_MESSAGE_SHOWN].rstrip()} \u2026 [{more} more characters in the database]"


def failures_page(groups: tuple[FailureGroup, ...]) -> FailuresPage:
    """Return the page of all signatures."""
    return FailuresPage(
        groups=groups[:_GROUPS_SHOWN],
        more=max(len(groups) - _GROUPS_SHOWN, 0),
        tests=sum(group.tests for group in groups),
    )
