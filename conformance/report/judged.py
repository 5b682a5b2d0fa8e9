"""Say in a few lines what of a run was not as expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.verdict import Verdict
from conformance.report.layout import printable
from conformance.report.words import counted, number, outcome_word

if TYPE_CHECKING:
    from conformance.analysis.gate import GateResult
    from conformance.store import RunRow
    from conformance.store.history import Seen


def render_judged(judged: GateResult[Seen], *, baseline: RunRow | None, limit: int) -> str:
    """Return the verdicts with their counts, and the first tests that make the run fail, the worst first."""
    against = f"the skiplist and run {baseline.id}" if baseline is not None else "the skiplist; no baseline was given"
    lines = [f"Verdicts, held against {against}"]
    width = max(len(found.words) for found in Verdict)
    for found in Verdict:
        if judged.counts[found]:
            mark = "  makes the run fail" if judged.fails(found) else ""
            lines.append(f"  {found.words:<{width}}  {number(judged.counts[found]):>9}{mark}")
    failing = judged.failing
    for one in failing[:limit]:
        before = f", was {outcome_word(one.before)}" if one.before is not None else ""
        listed = f", entry {one.result.entry}" if one.result.entry else ""
        seen = f"{outcome_word(one.result.outcome)}{before}{listed}"
        lines.append(f"  {one.verdict.words}: {printable(one.result.test_id)} ({seen})")
    if len(failing) > limit:
        lines.append(f"  and {number(len(failing) - limit)} more, worst first above")
    if judged.gone and judged.whole:
        lines.append(
            f"  {counted(len(judged.gone), 'test')} of the baseline not planned any more: {judged.gone[0]}, ..."
        )
    if judged.unobserved:
        lines.append(f"  nobody looked for fallbacks in {counted(judged.unobserved, 'test')} where the baseline did")
    return "\n".join(lines)
