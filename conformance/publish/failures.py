"""Show what failed by signature: one cause, one row, and the command that repeats one of its tests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.analysis.signature import LENGTH_LIMIT, signature
from conformance.publish.charts import Tally
from conformance.publish.context import signature_anchor
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.marks import outcome_mark, outcome_rank
from conformance.publish.pages import Link
from conformance.publish.pages_overview import FailureGroup, FailuresPage
from conformance.publish.redaction import published_environment, without_local_paths
from conformance.publish.wording import number

if TYPE_CHECKING:
    from conformance.analysis.groups import FailureGroup as Group
    from conformance.publish.charts import Tally
from conformance.publish.context import Site

_SUBJECTS_SHOWN = 6
GROUPS_SHOWN = 1000
_MESSAGE_SHOWN = 600

# aten/src/ATen/core/dispatch/OperatorEntry.cpp lists every kernel of an operator after such a failure, one a line.
_DISPATCHER = ": registered at "


def shown_failures(site: Site) -> tuple[FailureGroup, ...]:
    """Return every signature of the run, as conformance.analysis groups them."""
    return tuple(_shown(group, site) for group in site.groups[:GROUPS_SHOWN])


def _shown(group: Group, site: Site) -> FailureGroup:
    findings = site.findings
    subjects = [(OPERATOR, name) for name in group.operators] + [(MODULE, name) for name in group.modules]
    links = tuple(Link(name, findings.links.get((noun, name), "")) for noun, name in subjects)
    first = findings.history.matrix.tests[site.places[group.example]]
    return FailureGroup(
        anchor=signature_anchor(group.signature, str(group.outcome)),
        mark=outcome_mark(group.outcome),
        signature=whole_words(group.signature) or "(no message)",
        message=clipped(without_local_paths(_beyond(group.signature, group.message))),
        tests=group.tests,
        subjects=links[:_SUBJECTS_SHOWN],
        rest=links[_SUBJECTS_SHOWN:],
        example=Link(group.example, site.test_href(first)),
        command=repeat_command(
            first.test_id,
            first.suite,
            findings.run.device,
            command=findings.run.command,
            environment=published_environment(findings.run.environment),
        ),
        since=site.since(group.example),
    )


def whole_words(text: str) -> str:
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


def failures_page(site: Site, groups: tuple[FailureGroup, ...]) -> FailuresPage:
    """Return the page of all signatures; ``outcomes`` counts those shown."""
    return FailuresPage(
        groups=groups,
        outcomes=_outcomes(groups),
        more=max(len(site.groups) - len(groups), 0),
        tests=sum(group.tests for group in site.groups),
        total=len(site.groups),
    )


def _outcomes(groups: tuple[FailureGroup, ...]) -> tuple[Tally, ...]:
    marks = {group.mark.code: group.mark for group in groups}
    counts = Counter(group.mark.code for group in groups)
    return tuple(Tally(marks[code], counts[code]) for code in sorted(marks, key=outcome_rank))
