"""Show what failed by signature: one cause, one row, and the command that repeats one of its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.groups import failure_groups
from conformance.analysis.repeat import repeat_command
from conformance.analysis.signature import LENGTH_LIMIT, signature
from conformance.publish.findings import MODULE, OPERATOR, Findings
from conformance.publish.marks import outcome_mark
from conformance.publish.pages import FailureGroup, FailuresPage, Link
from conformance.publish.redaction import published_environment, without_local_paths
from conformance.publish.slugs import anchor
from conformance.publish.wording import number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from conformance.analysis.groups import FailureGroup as Group
    from conformance.store import ResultRow

_SUBJECTS_SHOWN = 6
_GROUPS_SHOWN = 1000
_MESSAGE_SHOWN = 600

# aten/src/ATen/core/dispatch/OperatorEntry.cpp lists every kernel of an operator after such a failure, one a line.
_DISPATCHER = ": registered at "


@dataclass(frozen=True, slots=True)
class _Origin:
    suite: str
    test_id: str
    subject: tuple[str, str] | None


def shown_failures(findings: Findings, listed: Collection[str]) -> tuple[FailureGroup, ...]:
    """Return every signature of the run, as conformance.analysis groups them.

    ``listed`` are the ids of the tests that stand on the page of tests with neither operator nor module.
    """
    origins: dict[str, _Origin] = {}

    def noted() -> Iterator[ResultRow]:
        for row in findings.bad_results():
            origins[row.test_id] = _Origin(row.suite, row.test_id, _subject_of(row))
            yield row

    groups = failure_groups(noted())
    return tuple(_shown(group, origins[group.example], findings, listed) for group in groups)


def _subject_of(row: ResultRow) -> tuple[str, str] | None:
    if row.op:
        return OPERATOR, row.op
    if row.module:
        return MODULE, row.module
    return None


def _shown(group: Group, first: _Origin, findings: Findings, listed: Collection[str]) -> FailureGroup:
    subjects = [(OPERATOR, name) for name in group.operators] + [(MODULE, name) for name in group.modules]
    links = tuple(Link(name, findings.links.get((noun, name), "")) for noun, name in subjects)
    href = findings.links.get(first.subject, "") if first.subject else ""
    if group.example in listed:
        href = "tests.html"
    return FailureGroup(
        mark=outcome_mark(group.outcome),
        signature=_whole_words(group.signature) or "(no message)",
        message=clipped(without_local_paths(_beyond(group.signature, group.message))),
        tests=group.tests,
        subjects=links[:_SUBJECTS_SHOWN],
        rest=links[_SUBJECTS_SHOWN:],
        example=Link(group.example, f"{href}#{anchor(group.example)}" if href else ""),
        command=repeat_command(
            first.test_id,
            first.suite,
            findings.run.device,
            command=findings.run.command,
            environment=published_environment(findings.run.environment),
        ),
    )


def _whole_words(text: str) -> str:
    """End a signature that was cut at its longest length where a word ends."""
    if len(text) < LENGTH_LIMIT - 1:
        return text
    head, _, _ = text.rpartition(" ")
    return f"{head or text} \u2026"


def _beyond(text: str, message: str) -> str:
    """Return the lines of a message that say more than its signature, which is the message without its numbers."""
    lines = [line.rstrip() for line in message.splitlines() if _DISPATCHER not in line]
    return "\n".join(line for line in lines if line and signature(line) not in text)


def clipped(message: str) -> str:
    """Shorten a long message, saying so: the database keeps all of it."""
    if len(message) <= _MESSAGE_SHOWN:
        return message
    head = message[: _MESSAGE_SHOWN + 1]
    kept = head[: max((place for place, sign in enumerate(head) if sign.isspace()), default=_MESSAGE_SHOWN)].rstrip()
    return f"{kept} \u2026 [{number(len(message) - len(kept))} more characters in the database]"


def failures_page(groups: tuple[FailureGroup, ...]) -> FailuresPage:
    """Return the page of all signatures."""
    return FailuresPage(
        groups=groups[:_GROUPS_SHOWN],
        more=max(len(groups) - _GROUPS_SHOWN, 0),
        tests=sum(group.tests for group in groups),
    )
