"""Decide the one word on a model and device, and say it in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.readiness.findings import Comparison, OverloadUse, Standing, Trouble, Verdict


def verdict_of(
    uses: Sequence[OverloadUse],
    *,
    comparisons: Sequence[Comparison],
    trouble: Trouble | None,
    too_big: bool,
) -> Verdict:
    """Return the verdict on a model that was run; the definitions are those of Verdict.

    A wrong result comes before a fallback: it is the worse news.
    """
    if too_big:
        return Verdict.TOO_BIG
    if any(item.difference for item in comparisons):
        return Verdict.WRONG
    if trouble is not None:
        return Verdict.FAILS
    if not uses or not all(item.tensors for item in comparisons):
        return Verdict.UNKNOWN
    standings = {use.standing for use in uses}
    if Standing.FALLBACK in standings:
        return Verdict.FALLBACK
    return Verdict.UNSEEN if Standing.UNSEEN in standings else Verdict.NATIVE


def predicted_verdict(uses: Sequence[OverloadUse]) -> Verdict:
    """Return the verdict that recorded results allow; anything that they do not cover makes it unknown."""
    standings = {use.standing for use in uses}
    if Standing.FAILS in standings:
        return Verdict.FAILS
    if not uses or standings & {Standing.UNCLEAR, Standing.UNMEASURED}:
        return Verdict.UNKNOWN
    return Verdict.FALLBACK if Standing.FALLBACK in standings else Verdict.NATIVE


def sentence_of(
    verdict: Verdict,
    uses: Sequence[OverloadUse],
    *,
    comparisons: Sequence[Comparison] = (),
    trouble: Trouble | None = None,
) -> str:
    """Return the verdict in one sentence, with what it rests on."""
    fallen = [use.name for use in uses if use.standing is Standing.FALLBACK]
    match verdict:
        case Verdict.NATIVE:
            return f"native: all {len(uses)} overloads ran on the device"
        case Verdict.FALLBACK:
            return f"with fallback: {len(fallen)} of {len(uses)} overloads ran on the CPU: {_few(fallen)}"
        case Verdict.UNSEEN:
            return f"runs, but nobody saw whether any of {len(uses)} overloads fell back to the CPU"
        case Verdict.WRONG:
            first = next(item for item in comparisons if item.difference)
            blamed = f"; first at {trouble.overload}" if trouble is not None and trouble.overload else ""
            return f"wrong results in phase {first.phase}: {first.difference}{blamed}"
        case Verdict.FAILS | Verdict.TOO_BIG | Verdict.CRASHES | Verdict.HANGS:
            return _stopped(verdict, trouble)
        case Verdict.UNKNOWN:
            what = "its results hold no tensor to compare" if uses else "the model calls no operator"
            return f"cannot be said: {what}"


def _stopped(verdict: Verdict, trouble: Trouble | None) -> str:
    if trouble is None:
        return str(verdict)
    where = trouble.overload or (f"{trouble.frames[-1]}" if trouble.frames else "an unknown place")
    return f"{verdict} at {where}, in phase {trouble.phase}: {trouble.message}"


def predicted_sentence(verdict: Verdict, uses: Sequence[OverloadUse]) -> str:
    """Return in one sentence what recorded results say would happen."""
    by = {standing: [use.name for use in uses if use.standing is standing] for standing in Standing}
    match verdict:
        case Verdict.NATIVE:
            return f"native: all {len(uses)} overloads were measured, and ran on the device"
        case Verdict.FALLBACK:
            fallen = by[Standing.FALLBACK]
            return f"with fallback: {len(fallen)} of {len(uses)} overloads fell back when measured: {_few(fallen)}"
        case Verdict.FAILS:
            return f"fails at {by[Standing.FAILS][0]}, as its own tests do"
        case _:
            parts = [
                f"{len(names)} {what}: {_few(names)}"
                for names, what in (
                    (by[Standing.UNMEASURED], "never measured"),
                    (by[Standing.UNCLEAR], "unclear"),
                    (by[Standing.FALLBACK], "would fall back"),
                )
                if names
            ]
            return f"cannot be said: of {len(uses)} overloads {'; '.join(parts) or 'none is known'}"


def _few(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
