"""Build the page of architectures: which run as they are, what keeps the others from it, and how to repeat that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.analysis.architectures import OPERATOR, Architecture, Architectures, Hindrance, Phase
from conformance.analysis.repeat import repeat_command
from conformance.model.operator import OperatorStatus
from conformance.publish.architectures import Callers, architecture_link
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.context import signature_anchor
from conformance.publish.failures import clipped, whole_words
from conformance.publish.marks import (
    ARCHITECTURE_MARKS,
    NO_DATA,
    STATUS_ORDER,
    architecture_mark,
    outcome_mark,
    outcome_rank,
)
from conformance.publish.pages import Link
from conformance.publish.pages_models import ArchitectureRow, HindranceRow, ModelsPage, OperatorModels
from conformance.publish.pages_subjects import Cell
from conformance.publish.redaction import published_environment, without_local_paths
from conformance.publish.slugs import named_anchor
from conformance.publish.trend import run_name
from conformance.publish.wording import counted, number, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.publish.architectures import ModelsFinding
    from conformance.publish.context import Site
    from conformance.publish.findings import Subject
    from conformance.store import RunRow

_HINDRANCES_SHOWN = 20
_NAMES_SHOWN = 6
_OPERATOR_NAMES = 20
_OVERLOADS_NAMED = 4


def models_page(site: Site) -> ModelsPage:
    """Return the table of all architectures, those first that do not run; without any it says so."""
    finding = site.findings.models
    if finding is None:
        return ModelsPage(no_data(site), "", "", "", "", (), None, (), "", (), (), "", (), 0, ())
    found = finding.found
    tallies = architecture_tallies(found)
    called = tuple(sorted({name for each in found.items for name in each.calls}))
    places = {name: place for place, name in enumerate(called)}
    return ModelsPage(
        no_data="",
        headline=headline(found),
        share=f"{share(found.as_is, finding.total)} of all that were planned, skipped ones included",
        evidence=_evidence(finding),
        other_run=other_run(site),
        unknown=_unknown(found),
        bar=stacked_bar(tallies),
        tallies=tallies,
        letters=" ".join(f"{mark.letter}:{mark.code}" for mark in ARCHITECTURE_MARKS.values()),
        phases=found.phases,
        calls=called,
        command=_any_test(finding),
        hindrances=tuple(_hindrance_row(site, each) for each in found.hindrances[:_HINDRANCES_SHOWN]),
        hindrances_more=max(len(found.hindrances) - _HINDRANCES_SHOWN, 0),
        rows=tuple(_row(site, each, places) for each in sorted(found.items, key=_worst_first)),
    )


def no_data(site: Site) -> str:
    """Say why nothing is known of architectures."""
    emulated = "emulated " if site.run.emulated else ""
    return (
        f"No data: no run on the {emulated}device \u2018{site.run.device}\u2019 in this database has a result of an "
        f"architecture. The suite \u2018models\u2019 gives them."
    )


def headline(found: Architectures) -> str:
    """Say how many of all architectures run as they are, those with a fallback apart."""
    lead = f"{number(found.as_is)} of {counted(len(found.items), 'architecture')} run as they are"
    if not found.as_is:
        return f"{lead}."
    if not found.observed:
        return f"{lead}; whether the CPU did the work was not observed."
    native, fallback = found.count(OperatorStatus.NATIVE), found.count(OperatorStatus.FALLBACK)
    return f"{lead}: {number(native)} natively, {number(fallback)} with a fallback to the CPU."


def architecture_tallies(found: Architectures) -> tuple[Tally, ...]:
    """Return how many architectures have which status, leaving out those that none has."""
    tallies = ((code, sum(str(each.status) == code for each in found.items)) for code in STATUS_ORDER)
    return tuple(Tally(architecture_mark(code), count) for code, count in tallies if count)


def other_run(site: Site) -> str:
    """Say which run the architectures are of, where it is not the one that the site shows; empty where it is."""
    finding = site.findings.models
    if finding is None or finding.run.id == site.run.id:
        return ""
    run = finding.run
    parts = [f"torch {run.torch_version}", str(run.state)]
    parts += [f"limited to {without_local_paths(run.selection)}"] if run.selection else []
    return (
        f"Run {site.run.id}, which this site shows, has no result of an architecture. These are of run {run_name(run)} "
        f"on the same device: {', '.join(parts)}."
    )


def _evidence(finding: ModelsFinding) -> str:
    tests = [phase for each in finding.found.items for phase in each.phases.values()]
    missing = sum(str(phase.outcome) == "not_run" for phase in tests)
    lost = f"; {number(missing)} have no result" if missing else ""
    return (
        f"{counted(len(tests), 'test')} of tiny models with random weights, each compared with the CPU{lost}. An "
        "architecture runs as it is if all of its tests passed, those of torch.compile apart."
    )


def _unknown(found: Architectures) -> tuple[str, ...]:
    with_data = {name for each in found.items for name in each.phases}
    without = [name for name in found.phases if name not in with_data]
    sentences = [f"No data for {_listed(without)}: the run has no such test of any architecture."] if without else []
    unexplained = sum(bool(each.unexplained) for each in found.items)
    if unexplained:
        one = unexplained == 1
        sentences.append(
            f"{counted(unexplained, 'architecture')} {'has' if one else 'have'} a failure that names no overload; "
            f"\u2018conformance model NAME\u2019 looks for the operator that is to blame."
        )
    sentences.append(
        "A run records which overloads ran on the CPU and which a failure is about, and not those that ran on the "
        "device: an architecture calls many more than are listed here."
    )
    if found.record:
        lacking_it = sum(each.recorded is None for each in found.items)
        lacking = f" Of {counted(lacking_it, 'architecture')} nothing is recorded." if lacking_it else ""
        sentences.append(
            f"Which ones it calls was recorded once, with {found.record}, on tensors that say they are on a device: "
            f"the word calls: finds them, "
            f"and overloads and operators name their architectures.{lacking}"
        )
    return tuple(sentences)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _worst_first(each: Architecture) -> tuple[int, str]:
    order = (
        OperatorStatus.CRASHING,
        OperatorStatus.FAILING,
        OperatorStatus.PARTIAL,
        OperatorStatus.UNTESTED,
        OperatorStatus.FALLBACK,
        OperatorStatus.SKIPPED,
        OperatorStatus.NATIVE,
    )
    return order.index(each.status), each.name


def overload_link(name: str) -> Link:
    """Return the way to an overload's row, or for an operator of ATen's to its overloads."""
    return Link(name, f"overloads.html#{named_anchor('o', name) if '::' in name else f'q=aten::{name}'}")


def _row(site: Site, each: Architecture, places: Mapping[str, int]) -> ArchitectureRow:
    finding = site.findings.models
    assert finding is not None
    run = finding.run
    # Of several that are as bad the first phase says it best: what computes nothing cannot generate either.
    worst = min((each.phases[name] for name in finding.found.phases if name in each.phases), key=_badness)
    message = without_local_paths(_first_lines(worst.message)) if worst.failed else ""
    return ArchitectureRow(
        anchor=named_anchor("m", each.name),
        name=each.name,
        mark=architecture_mark(each.status),
        cells=tuple(_cell(site, each.phases.get(name), name) for name in finding.found.phases),
        blockers=tuple(overload_link(name) for name in each.blockers),
        fallback=tuple(overload_link(name) for name in each.fallback),
        calls=" ".join(str(places[name]) for name in each.calls),
        note=without_local_paths(each.reason),
        message=clipped(message),
        signature=_signature(site, worst),
        test=Link(worst.test_id, _href(site, worst)),
        command="" if each.status is OperatorStatus.NATIVE else _command(run, worst.test_id, worst.suite),
    )


def _command(run: RunRow, test_id: str, suite: str) -> str:
    return repeat_command(
        test_id, suite, run.device, command=run.command, environment=published_environment(run.environment)
    )


def _any_test(finding: ModelsFinding) -> str:
    """Return the command that repeats the first test of all; any other one takes its id in place of that."""
    first = finding.found.items[0].phases
    phase = next(first[name] for name in finding.found.phases if name in first)
    return _command(finding.run, phase.test_id, phase.suite)


def _badness(phase: Phase) -> int:
    return outcome_rank(outcome_mark(phase.outcome, fell_back=bool(phase.fallback)).code)


def _first_lines(message: str) -> str:
    """Return a message without the account of its samples: a test of an architecture has one."""
    return message.partition("\n\n0 of 1 samples passed; ")[0]


def _cell(site: Site, phase: Phase | None, name: str) -> Cell:
    if phase is None:
        return Cell(NO_DATA, f"{name}: {NO_DATA.word}", count=0)
    mark = outcome_mark(phase.outcome, fell_back=bool(phase.fallback))
    return Cell(mark, f"{name}: {mark.word}", href=_href(site, phase))


def _href(site: Site, phase: Phase) -> str:
    """Return where a test stands; tests of another run than the one shown have no page."""
    finding = site.findings.models
    if finding is None or finding.run.id != site.run.id:
        return ""
    return site.href_of(phase.test_id)


def _signature(site: Site, phase: Phase) -> Link | None:
    finding = site.findings.models
    if not phase.failed or finding is None or finding.run.id != site.run.id:
        return None
    return Link("All failures of this cause", f"failures.html#{signature_anchor(phase.signature, str(phase.outcome))}")


def _hindrance_row(site: Site, each: Hindrance) -> HindranceRow:
    finding = site.findings.models
    assert finding is not None
    shown = finding.run.id == site.run.id
    if each.kind == OPERATOR:
        mark = replace(
            architecture_mark("failing" if each.blocks else "fallback"),
            definition="Failures are about it." if each.blocks else "It ran on the CPU.",
        )
        link = overload_link(each.name)
    else:
        mark = outcome_mark(each.outcome)
        href = f"failures.html#{signature_anchor(each.name, each.outcome)}" if shown else ""
        link = Link(whole_words(each.name) or "(no message)", href)
    links = tuple(map(architecture_link, each.concerned))
    return HindranceRow(
        mark=mark,
        title=link.text,
        href=link.href,
        blocks=len(each.blocks),
        alone=len(each.alone),
        on_cpu=len(each.on_cpu),
        architectures=links[:_NAMES_SHOWN],
        rest=links[_NAMES_SHOWN:],
    )


def operator_models(site: Site, subject: Subject) -> OperatorModels:
    """Return what is known of the architectures that call an operator's overloads."""
    finding = site.findings.models
    if finding is None:
        return OperatorModels(no_data(site), (), (), (), ())
    found = finding.found
    owned = site.owned.get(subject.name, Callers((), (), ()))
    blocked = tuple(map(architecture_link, owned.blocked))
    others = tuple(map(architecture_link, owned.others))
    recorded = f", as recorded with {found.record}" if found.record else ""
    if owned.names:
        own = _listed(owned.names) if len(owned.names) <= _OVERLOADS_NAMED else counted(len(owned.names), "overload")
        sentence = (
            f"{number(len(blocked) + len(others))} of {counted(finding.total, 'architecture')} are known to call {own}"
            f"{recorded}; {number(len(blocked))} of them fail at it."
        )
    elif found.record:
        sentence = (
            f"None of {counted(finding.total, 'architecture')} is known to call an overload that is this operator's own"
            f"{recorded}. What it is made of they may call all the same."
        )
    else:
        sentence = (
            f"Not known: none of {counted(finding.total, 'architecture')} failed at it or ran it on the CPU, and what "
            "they run on the device is not recorded."
        )
    return OperatorModels(
        sentence=sentence,
        blocked=blocked[:_OPERATOR_NAMES],
        blocked_rest=blocked[_OPERATOR_NAMES:],
        calling=others[:_OPERATOR_NAMES],
        calling_rest=owned.others[_OPERATOR_NAMES:],
    )


def models_sentence(site: Site) -> str:
    """Say how many architectures run as they are, and of which run that is; empty where nothing is known of any."""
    finding = site.findings.models
    if finding is None:
        return ""
    of = "" if finding.run.id == site.run.id else f" That was in run {run_name(finding.run)}."
    return f"{headline(finding.found)}{of}"


def most_blocking(found: Architectures) -> Link | None:
    """Return what blocks most architectures, in a sentence that leads to all of it; None where nothing does."""
    first = next(iter(found.hindrances), None)
    if first is None or not first.blocks:
        return None
    what = first.name if first.kind == OPERATOR else f"\u2018{whole_words(first.name)}\u2019"
    return Link(f"{what} blocks {number(len(first.blocks))} of them", "models.html#blocking")
