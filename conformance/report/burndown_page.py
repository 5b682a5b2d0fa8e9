"""Put a burn-down into words and tables, and into a document for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.burndown import Kind
from conformance.analysis.burndown_rate import CONFIDENCE, HORIZON_DAYS, LEAST_STEPS, Outlook
from conformance.model.operator import OperatorStatus
from conformance.report.page import Block, Lines, Page, Paragraph, Row, Table, limited
from conformance.report.words import NO_DATA, counted, number, share
from conformance.skiplist.observed import Evidence
from conformance.skiplist.stats import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from conformance.analysis.burndown import Movement, Part, Point
    from conformance.analysis.burndown_rate import Forecast
    from conformance.analysis.causes import Cause
    from conformance.report.burndown import Burndown, Models, Present, Series

_EVIDENCE = {
    Evidence.PASSES: "passes: its entry can go",
    Evidence.IMPROVED: "improved: it does better than expected, but not well",
    Evidence.HOLDS: "holds: it does what is expected",
    Evidence.UNSEEN: "unseen: it was not run",
}
_NEVER = f"not within {HORIZON_DAYS // 365} years"


def burndown_page(found: Burndown, *, top: int) -> Page:
    """Return the burn-down as a page: where it stands, when it ends, what moved, what to fix next."""
    blocks: list[Block] = []
    if found.emulated:
        blocks.append(
            Paragraph("EMULATED: a stand-in ran in place of the device; this says nothing about the hardware.")
        )
    if found.present is not None and found.present.run.selection:
        blocks.append(Paragraph(f"Only a part of the suites was asked for: '{found.present.run.selection}'."))
    if found.announced is not None:
        blocks.append(Paragraph(announced_sentence(found)))
    blocks += [Paragraph(rate_sentence(series)) for series in (found.runs, found.lists) if series is not None]
    if found.left_out:
        blocks.append(Lines("Not on the curve", found.left_out))
    if found.present is not None:
        blocks += _present(found.present)
    if found.main is not None and found.main.parts:
        blocks.append(_parts(found.by, found.main, top))
    blocks += [_history(series, top) for series in (found.runs, found.lists) if series is not None]
    if found.present is not None:
        blocks += _causes(found.present, top)
    return Page(title_of(found), tuple(blocks))


def title_of(found: Burndown) -> str:
    """Return where the burn-down stands, in one line."""
    emulated = ", EMULATED" if found.emulated else ""
    name = f"Burn-down of {found.device}{emulated}"
    if found.main is None:
        return f"{name}: {NO_DATA}"
    first, last = found.main.points[0], found.main.points[-1]
    title = f"{name}: {counted(last.listed, 'test')} listed at {_point(last)}"
    if first is last:
        return title
    moved = last.listed - first.listed
    than = "as many as" if not moved else f"{number(abs(moved))} {'fewer' if moved < 0 else 'more'} than"
    return f"{title}, {than} at {_point(first)}"


def announced_sentence(found: Burndown) -> str:
    """Return what was announced, and that it is no measurement."""
    one = found.announced
    assert one is not None
    return (
        f"Starting point: about {number(one.tests)} tests, announced by {one.day} ({one.source}; {one.caveat}). "
        "It was not measured here, and no rate counts from it."
    )


def rate_sentence(series: Series) -> str:
    """Return how fast the count falls and when it is zero, with bounds, or why that cannot be said."""
    what = "At the runs" if series.kind is Kind.RUN else "At the changes of the list"
    found = series.forecast
    if found.outlook is Outlook.REACHED:
        return f"{what}: nothing is listed{' any more' if series.points[0].listed else ''}."
    if found.rate is None:
        return f"{what}: too few points for a rate; {LEAST_STEPS + 1} days with one are needed."
    rate = found.rate
    speed = f"{_signed(rate.per_day)} a day over {counted(rate.days, 'day')}"
    bounds = f"{CONFIDENCE} %: {_signed(rate.low)} to {_signed(rate.high)}"
    if found.outlook is Outlook.NOT_FALLING:
        return f"{what}: {speed} ({bounds}). The count does not fall: zero is not within reach."
    return f"{what}: {speed} ({bounds}). Zero: {_day(found.zero)} ({CONFIDENCE} %: {_range(found)})."


def _range(found: Forecast) -> str:
    return f"{_day(found.earliest)} to {_day(found.latest)}" if found.earliest or found.latest else _NEVER


def _day(day: date | None) -> str:
    return _NEVER if day is None else day.isoformat()


def _signed(value: float) -> str:
    return f"{value:+,.1f}"


def _present(present: Present) -> list[Block]:
    whole = sum(present.evidence.values())
    rows: list[Row] = [
        (_EVIDENCE[kind], number(count), share(count, whole)) for kind, count in present.evidence.items() if count
    ]
    rows.append(("listed", number(whole), share(whole, whole)))
    age = present.age
    sentences = []
    if age.median is not None and age.oldest is not None:
        sentences.append(
            f"Half of the tests have been listed for {counted(age.median, 'day')} or less, the oldest for "
            f"{counted(age.oldest, 'day')} (entry '{age.oldest_entry}')."
        )
    if age.unknown:
        sentences.append(f"Of {counted(age.unknown, 'test')} nothing says since when.")
    blocks: list[Block] = [Table(f"The listed tests in run {present.run.id}", ("it", "tests", "share"), tuple(rows))]
    return [*blocks, Paragraph(" ".join(sentences))] if sentences else blocks


def _parts(by: str, series: Series, top: int) -> Table:
    def row(part: Part) -> Row:
        moved = part.last - part.first
        return part.key or NONE, number(part.first), number(part.last), f"{moved:+,}" if moved else "0"

    few, more = limited([row(part) for part in series.parts], top)
    first, last = series.points[0], series.points[-1]
    return Table(f"By {by}", (by, f"{first.day}", f"{last.day}", "change"), few, more)


def _history(series: Series, top: int) -> Table:
    """Return the points, the newest first."""
    few, more = limited([_history_row(point) for point in reversed(series.points)], top)
    if series.kind is Kind.RUN:
        moved: Row = ("new", "resolved", "dropped", "gone")
        return Table("Runs", ("run", "listed", "entries", *moved, "without\nreason"), few, more)
    moved = ("new", "no longer\nlisted")
    return Table("Changes of the list", ("change", "listed", "entries", *moved, "without\nreason"), few, more)


def _history_row(point: Point) -> Row:
    moved = point.movement
    about = f" ({point.about})" if point.about else ""
    name = f"{point.day} {point.name}{about}"
    if point.kind is Kind.RUN:
        movement = [""] * 4 if moved is None else [number(count) for count in _all(moved)]
    else:
        movement = [""] * 2 if moved is None else [number(moved.new), number(moved.dropped)]
    return (name, number(point.listed), number(point.entries), *movement, number(point.without_reason))


def _all(moved: Movement) -> tuple[int, ...]:
    return moved.new, moved.resolved, moved.dropped, moved.gone


def _causes(present: Present, top: int) -> list[Block]:
    blocks: list[Block] = []
    core = ("core\nATen",) if present.core_of else ()
    if not present.core_of:
        blocks.append(
            Paragraph(f"Core ATen of torch {present.run.torch_version} is not known: it has no snapshot in op_db.")
        )
    for title, name, causes in (
        ("What to fix next: entries", "entry", present.causes),
        ("What to fix next: failures of the listed tests", "signature", present.signatures),
    ):
        rows = [_cause(cause, with_core=bool(core), with_models=present.models is not None) for cause in causes]
        few, more = limited(rows, top)
        if few:
            models = ("archi-\ntectures",) if present.models else ()
            headings = (name, "tests", "pass\nalready", "operators\ntouched", "freed", "modules\nfreed", *core, *models)
            blocks.append(Table(title, headings, few, more))
    blocks += _models(present, top)
    shown, _ = limited(present.causes, top)
    if shown:
        blocks.append(Lines("Why they are listed", tuple(_why(present, cause) for cause in shown)))
    if present.without_signature:
        blocks.append(Paragraph(f"{counted(present.without_signature, 'listed test')} left no failure to group by."))
    return blocks


def _cause(cause: Cause, *, with_core: bool, with_models: bool) -> Row:
    freed = (len(cause.operators), len(cause.modules), *((len(cause.core or ()),) if with_core else ()))
    hindered = (len(cause.architectures or ()),) if with_models else ()
    return (cause.name, *map(number, (cause.tests, cause.stale, cause.touched, *freed, *hindered)))


def _models(present: Present, top: int) -> list[Block]:
    """Return which architectures run as they are, and what hinders most of the others."""
    models = present.models
    if models is None:
        return [
            Paragraph(
                f"Architectures: {NO_DATA}. No run on this device has a result of one (`conformance run models`)."
            )
        ]
    found = models.found
    as_is = (
        f"{number(found.as_is)} of {counted(len(found.items), 'architecture')} run as they are in run {models.run.id}"
        + (f" (limited to '{models.run.selection}')" if models.run.selection else "")
        + (f", {number(found.count(OperatorStatus.NATIVE))} of them natively." if found.observed else ".")
    )
    rows: list[Row] = [
        (each.name, number(len(each.blocks)), number(len(each.alone)), number(len(each.on_cpu)))
        for each in found.hindrances
    ]
    few, more = limited(rows, top)
    if not few:
        return [Paragraph(as_is)]
    title = "What to fix next: what keeps architectures from running natively"
    return [
        Paragraph(as_is),
        Table(title, ("overload or failure", "blocks", "it alone", "only falls\nback"), few, more),
    ]


def _why(present: Present, cause: Cause) -> str:
    entry = present.entries[cause.name]
    owner = f", {entry.owner}" if entry.owner else ""
    return f"'{cause.name}' ({entry.category}{owner}): {entry.reason or '(no reason)'} {entry.link}".rstrip()


def _point(point: Point) -> str:
    return f"{'run ' if point.kind is Kind.RUN else ''}{point.name} of {point.day}"


def burndown_document(found: Burndown) -> dict[str, object]:
    """Return the burn-down for scripts."""
    one = found.announced
    return {
        "device": found.device,
        "emulated": found.emulated,
        "announced": None
        if one is None
        else {"tests": one.tests, "day": one.day, "source": one.source, "caveat": one.caveat},
        "by": found.by,
        "runs": None if found.runs is None else _series_document(found.runs),
        "lists": None if found.lists is None else _series_document(found.lists),
        "left_out": list(found.left_out),
        "present": None if found.present is None else _present_document(found.present),
    }


def _series_document(series: Series) -> dict[str, object]:
    found = series.forecast
    return {
        "points": [
            {
                "when": point.when,
                "name": point.name,
                "about": point.about,
                "listed": point.listed,
                "entries": point.entries,
                "without_reason": point.without_reason,
                "movement": point.movement,
            }
            for point in series.points
        ],
        "outlook": found.outlook.value,
        "rate": found.rate,
        "zero": found.zero,
        "earliest": found.earliest,
        "latest": found.latest,
        "parts": list(series.parts),
    }


def _present_document(present: Present) -> dict[str, object]:
    def documents(causes: Sequence[Cause]) -> list[dict[str, object]]:
        return [
            {
                "name": cause.name,
                "tests": cause.tests,
                "stale": cause.stale,
                "touched": cause.touched,
                "operators": list(cause.operators),
                "modules": list(cause.modules),
                "core": None if cause.core is None else list(cause.core),
                "architectures": None if cause.architectures is None else list(cause.architectures),
            }
            for cause in causes
        ]

    return {
        "run": present.run.id,
        "evidence": {kind.value: count for kind, count in present.evidence.items()},
        "age": present.age,
        "core_of": present.core_of,
        "entries": documents(present.causes),
        "signatures": documents(present.signatures),
        "without_signature": present.without_signature,
        "models": None if present.models is None else _models_document(present.models),
    }


def _models_document(models: Models) -> dict[str, object]:
    return {
        "run": models.run.id,
        "total": len(models.found.items),
        "as_is": models.found.as_is,
        "hindrances": [
            {
                "kind": each.kind,
                "title": each.name,
                "outcome": each.outcome or None,
                "blocks": list(each.blocks),
                "alone": list(each.alone),
                "on_cpu": list(each.on_cpu),
            }
            for each in models.found.hindrances
        ],
    }
