"""What a report on one model says, before it becomes text, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.model.compilation import CompileMode
from conformance.readiness.findings import Comparison, Compilation, OverloadUse, Readiness, Standing, Trouble
from conformance.report.rows import shown
from conformance.report.words import NO_DATA, counted, number, share

_UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first column is code, the others are short texts; ``hidden`` rows were left out."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of the report in the order in which they are shown.

    ``facts`` are pairs of a name and a text. ``trouble`` has a line on what happened, and the user's own lines.
    """

    title: str
    verdict: str
    notes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    trouble: tuple[str, ...]
    frames: tuple[tuple[str, str], ...]
    overloads: Table
    reasons: Table | None


def page_of(readiness: Readiness, *, top: int) -> Page:
    """Return the page; ``top`` is how many overloads are listed, 0 for all of them."""
    limit = top or None
    return Page(
        title=f"{readiness.model} on {'EMULATED ' if readiness.place.emulated else ''}{readiness.place.device}",
        verdict=readiness.sentence,
        notes=readiness.notes,
        facts=tuple(_facts(readiness)),
        trouble=tuple(_trouble(readiness.trouble)),
        frames=tuple((str(frame), frame.code) for frame in (readiness.trouble.frames if readiness.trouble else ())),
        overloads=_overloads(readiness, limit),
        reasons=_reasons(readiness, limit) if readiness.evidence else None,
    )


def _facts(readiness: Readiness) -> list[tuple[str, str]]:
    place = readiness.place
    size = f"{counted(readiness.parameters, 'parameter')}, {size_word(readiness.parameter_bytes)}"
    facts = [("model", f"{readiness.model}, {size if readiness.parameter_bytes else NO_DATA}")]
    if readiness.evidence:
        facts += [("phases", ", ".join(readiness.phases)), ("results", readiness.evidence)]
    else:
        facts.append(("ran", ", ".join(readiness.phases)))
    facts.append(("device", f"{place.device_name or place.device} ({place.device})"))
    if place.torch_version:
        facts += [("torch", place.torch_version), ("backend", f"{place.backend} {place.backend_version}".strip())]
    if place.device != "cpu":
        facts.append(("fallbacks", f"seen by: {place.probe or 'nobody'}"))
    if readiness.evidence:
        return facts
    facts += [("compared", _compared(item)) for item in readiness.comparisons] or [("compared", NO_DATA)]
    if readiness.seconds:
        times = ", ".join(f"{phase} {time_word(seconds)}" for phase, seconds in readiness.seconds.items())
        facts.append(("time", f"{times} (a second run that nobody watched)"))
    facts += [("compiled", text) for item in readiness.compilations for text in _compiled(item)]
    facts += [("advice", text) for text in advice(readiness.compilations)]
    peak = readiness.peak_bytes
    facts.append(("memory", f"{NO_DATA}: the device does not tell" if peak is None else f"at most {size_word(peak)}"))
    moved = sum(use.moved_bytes for use in readiness.overloads)
    if moved:
        facts.append(("moved", f"{size_word(moved)} into and out of calls that fell back"))
    return facts


def _compiled(item: Compilation) -> list[str]:
    name = "static shapes" if item.mode == CompileMode.STATIC.value else "dynamic shapes"
    if item.problem:
        return [f"{name}, backend {item.backend or NO_DATA}: {item.problem}"]
    again = NO_DATA if item.recompilations is None else number(item.recompilations)
    spent = NO_DATA if item.compile_s is None else time_word(item.compile_s)
    what = item.difference or "equal to the CPU"
    first = (
        f"{name}, backend {item.backend}: {what}; {counted(item.graphs, 'graph')}, {counted(item.breaks, 'break')}, "
        f"recompilations: {again}, compiling took {spent}"
    )
    return [first] + [f"{name}, {size.size}: {size.problem or _again(size.recompilations)}" for size in item.sizes]


def _again(recompilations: int | None) -> str:
    if recompilations is None:
        return NO_DATA
    return f"compiled again, {number(recompilations)}x" if recompilations else "no new compilation"


def advice(compilations: Sequence[Compilation]) -> list[str]:
    """Return what to do where sizes vary, or where the model comes apart into several graphs."""
    works = {item.mode: item for item in compilations if not item.problem}
    static, dynamic = works.get(CompileMode.STATIC.value), works.get(CompileMode.DYNAMIC.value)
    found = []
    varied = static is not None and any(size.recompilations for size in static.sizes)
    if varied and dynamic is not None and not any(size.recompilations or size.problem for size in dynamic.sizes):
        found.append("Sizes that vary: compile with dynamic=True; one compilation took all that were tried.")
    elif varied and static is not None and dynamic is not None and _is_less(dynamic, static):
        found.append(
            f"Sizes that vary: with dynamic=True {counted(dynamic.recompilations or 0, 'recompilation')} took all that "
            f"were tried, with static shapes {number(static.recompilations or 0)}; or pad to few sizes (buckets)."
        )
    elif varied:
        found.append("Sizes that vary: pad to few sizes (buckets); each new one is compiled anew.")
    if static is not None and static.breaks:
        found.append(f"{counted(static.breaks, 'graph break')}: TORCH_LOGS=graph_breaks names the lines.")
    return found


def _is_less(dynamic: Compilation, static: Compilation) -> bool:
    return (
        dynamic.recompilations is not None
        and static.recompilations is not None
        and dynamic.recompilations < static.recompilations
        and not any(size.problem for size in dynamic.sizes)
    )


def _compared(item: Comparison) -> str:
    if item.difference:
        return f"{item.phase}: {item.difference}"
    if item.tensors == 0:
        return f"{item.phase}: {NO_DATA}, the model gives no tensors"
    if item.random or item.largest is None:
        return f"{item.phase}: shapes and dtypes of {counted(item.tensors, 'tensor')} equal"
    return f"{item.phase}: {counted(item.tensors, 'tensor')} equal to the CPU, largest difference {item.largest:.3g}"


def _trouble(trouble: Trouble | None) -> list[str]:
    if trouble is None:
        return []
    lines = [f"{trouble.overload or 'no operator'}, in phase {trouble.phase}: {trouble.message}"]
    if trouble.inputs:
        lines.append(f"it was given {trouble.inputs}")
    return lines


def _overloads(readiness: Readiness, limit: int | None) -> Table:
    measured = not readiness.evidence
    total = readiness.total_seconds
    uses = sorted(readiness.overloads, key=lambda use: (-use.standing.severity, -(use.seconds or 0), -use.calls))
    rows = shown(uses, limit)
    head = ("overload", "calls", "on device") if measured else ("overload", "calls", "would be")
    more = ("registered", "time", "moved") if measured else ("dtypes",)
    cells = [_measured(use, total) if measured else _judged(use) for use in rows]
    counts = ", ".join(f"{readiness.count(standing)} {standing}" for standing in Standing if readiness.count(standing))
    title = f"{counted(len(uses), 'overload')}: {counts}" if uses else f"Overloads: {NO_DATA}"
    return Table(title, (*head, *more), tuple(cells), len(uses) - len(rows))


def _measured(use: OverloadUse, total: float | None) -> tuple[str, ...]:
    standing = f"{use.standing} {use.fallback_calls}x" if use.standing is Standing.FALLBACK else str(use.standing)
    part = share(round(use.seconds * 1e9), round(total * 1e9)) if use.seconds is not None and total else NO_DATA
    moved = size_word(use.moved_bytes) if use.moved_bytes else "-"
    return (use.name, number(use.calls), standing, use.registered or NO_DATA, part, moved)


def _judged(use: OverloadUse) -> tuple[str, ...]:
    return (use.name, number(use.calls), str(use.standing), ", ".join(use.dtypes) or "-")


def _reasons(readiness: Readiness, limit: int | None) -> Table:
    """Return what the answers rest on, for everything that would not be native."""
    uses = [use for use in readiness.overloads if use.standing is not Standing.NATIVE]
    uses.sort(key=lambda use: -use.standing.severity)
    rows = shown(uses, limit)
    cells = tuple((use.name, f"{use.standing}: {use.why}") for use in rows)
    return Table("What is not native, and why", ("overload", "why"), cells, len(uses) - len(rows))


def size_word(size: int) -> str:
    """Return a number of bytes with three digits, such as ``9.92 kB``."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def time_word(seconds: float) -> str:
    """Return a span of time with two or three digits, such as ``1.2 ms``."""
    if seconds < 1:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s"


def joined(frames: Sequence[tuple[str, str]]) -> list[str]:
    """Return frames as lines, each with its code beneath it."""
    return [line for where, code in frames for line in (where, *([f"    {code}"] if code else []))]
