"""What surrounds every page: the run in one line, and the notices nobody may overlook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.publish.pages import Frame, Link, Notice, RunMark
from conformance.publish.wording import counted, instant, number

if TYPE_CHECKING:
    from conformance.publish.findings import Findings
    from conformance.store import RunRow


def run_mark(run: RunRow) -> RunMark:
    """Return what every page says about the run."""
    return RunMark(
        id=run.id,
        device=run.device,
        device_name=run.device_name,
        emulated=run.emulated,
        torch_version=run.torch_version,
        harness_version=run.harness_version,
        date=instant(run.started_at or run.created_at),
        state=str(run.state),
    )


def notices(findings: Findings) -> tuple[Notice, ...]:
    """Return what limits the meaning of every figure of the site, the gravest first."""
    run = findings.run
    found = []
    if run.emulated:
        found.append(
            Notice(
                "emulated",
                "EMULATED",
                f"A stand-in on the CPU took the place of the device \u2018{run.device}\u2019. "
                "Nothing on this site was measured on the real device.",
            )
        )
    found += _state_notices(run)
    if run.selection:
        found.append(
            Notice(
                "warning",
                "Only a part was asked for",
                f"The run was limited to: {run.selection}. What lies outside that selection reads as untested.",
            )
        )
    faults = injected_faults(run)
    if faults:
        found.append(
            Notice(
                "warning",
                "Faults were injected on purpose",
                f"The device was told to misbehave: {faults}. What fails because of it says nothing about the device.",
            )
        )
    if not findings.fallback_observed:
        found.append(
            Notice(
                "warning",
                "Fallbacks were not observed",
                "No probe looked at where operators ran. Here \u2018native\u2019 only says that tests passed; "
                "whether the CPU did the work is not known.",
            )
        )
    return tuple(found)


def injected_faults(run: RunRow) -> str:
    """Return the faults that the run asked the emulated device for, empty where there were none."""
    return run.environment.get("CONFORMANCE_NEURON_FAULTS", "").strip()


def _state_notices(run: RunRow) -> list[Notice]:
    state = str(run.state)
    missing = run.counts.get(Outcome.NOT_RUN, 0)
    without = f"{number(missing)} of {counted(run.planned, 'planned test')} have no result."
    if state == RunState.COMPLETE.value:
        if not missing:
            return []
        return [Notice("warning", "Tests were lost", f"The run is complete, but {without}")]
    if state == RunState.INTERRUPTED.value:
        return [Notice("warning", "The run was interrupted", f"Its figures are partial: {without}")]
    if state in (RunState.PLANNED.value, RunState.RUNNING.value):
        return [
            Notice(
                "warning",
                "The run is not finished",
                f"Its state is \u2018{state}\u2019 and its figures are partial: {without}",
            )
        ]
    return [
        Notice(
            "warning",
            f"Unknown run state \u2018{state}\u2019",
            "This version of the harness does not know it; build the site with a newer one.",
        )
    ]


def frame(findings: Findings, *, section: str, title: str, depth: int = 0) -> Frame:
    """Return the frame of a page that lies ``depth`` folders below the site's root."""
    run = findings.run
    prefix = "EMULATED \u00b7 " if run.emulated else ""
    return Frame(
        root="../" * depth,
        section=section,
        title=f"{prefix}{title} \u00b7 {run.device} conformance",
        run=run_mark(run),
        notices=notices(findings),
        sections=_sections(findings),
        find=_find(findings),
    )


def _sections(findings: Findings) -> tuple[Link, ...]:
    """Return the navigation: a run of test files needs no tables of operators, one of operators none of files."""
    only_files = bool(findings.files)
    shown = {
        "Operators": bool(findings.operators) or not only_files,
        "Modules": bool(findings.modules) or not only_files,
        "Tests": only_files,
    }
    labels = ("Overview", "Operators", "Modules", "Tests", "Failures", "Runs", "Method")
    return tuple(
        Link(label, "index.html" if label == "Overview" else f"{label.lower()}.html")
        for label in labels
        if shown.get(label, True)
    )


def _find(findings: Findings) -> str:
    if findings.operators:
        return "operators.html"
    return "modules.html" if findings.modules else ""
