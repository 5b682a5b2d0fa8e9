"""What surrounds every page: the run in one line, and the notices nobody may overlook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.publish.choice import FAULTS, overtaken_by, wider_run
from conformance.publish.pages import Frame, Link, Notice, RunMark
from conformance.publish.wording import counted, instant, number

if TYPE_CHECKING:
    from conformance.publish.context import Site
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
    found += _other_runs(findings)
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


def _other_runs(findings: Findings) -> list[Notice]:
    """Say what younger or wider runs of the same device there are."""
    run = findings.run
    found = []
    younger = overtaken_by(run, findings.runs)
    if younger is not None:
        missing = younger.counts.get(Outcome.NOT_RUN, 0)
        state = f"shard {younger.shard} of {younger.shards}" if younger.shard else str(younger.state)
        found.append(
            Notice(
                "warning",
                f"A newer run is not complete ({state})",
                f"Run {younger.id} has a result for {number(younger.planned - missing)} of "
                f"{counted(younger.planned, 'planned test')}; this site goes on showing run {run.id}.",
                Link("All runs", "runs.html"),
            )
        )
    if run.selection:
        wider = wider_run(run, findings.runs)
        hint = "" if wider is None else f" Run {wider.id} was not limited and planned {number(wider.planned)} tests."
        found.append(
            Notice(
                "warning",
                "Only a part was asked for",
                f"The run was limited to: {run.selection}. What lies outside that selection reads as untested.{hint}",
            )
        )
    return found


def injected_faults(run: RunRow) -> str:
    """Return the faults that the run asked the emulated device for, empty where there were none."""
    return run.environment.get(FAULTS, "").strip()


def _state_notices(run: RunRow) -> list[Notice]:
    state = str(run.state)
    missing = run.counts.get(Outcome.NOT_RUN, 0)
    without = f"{number(missing)} of {counted(run.planned, 'planned test')} have no result."
    if state == RunState.COMPLETE.value:
        if run.shard is not None:
            return [
                Notice(
                    "warning",
                    f"Only shard {run.shard} of {run.shards}",
                    "The run is one part of a larger one; merge the shards and build the site from what comes out.",
                )
            ]
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


# The sections of the site, in the order of the navigation, with their pages.
SECTIONS = {
    "Overview": "index.html",
    "Operators": "operators.html",
    "Overloads": "overloads.html",
    "Modules": "modules.html",
    "Models": "models.html",
    "Tests": "tests.html",
    "Failures": "failures.html",
    "Skiplist": "skiplist.html",
    "Compare": "compare.html",
    "Runs": "runs.html",
    "Method": "method.html",
}


def frame(site: Site, *, section: str, title: str, path: str, description: str = "") -> Frame:
    """Return the frame of the page at a path of the site."""
    findings = site.findings
    run = findings.run
    prefix = "EMULATED \u00b7 " if run.emulated else ""
    name = f"{'emulated ' if run.emulated else ''}{run.device}"
    return Frame(
        root="../" * path.count("/"),
        section=section,
        title=f"{prefix}{title} \u00b7 {run.device} conformance",
        run=run_mark(run),
        notices=notices(findings),
        sections=sections(findings),
        find="operators.html" if findings.operators else "modules.html" if findings.modules else "tests.html",
        address=f"{site.address}{path}" if site.address else "",
        description=description or f"{title}: PyTorch {run.torch_version} on the device {name}, run {run.id}.",
    )


def sections(findings: Findings) -> tuple[Link, ...]:
    """Return the navigation: a run of test files alone needs no tables of operators, overloads and modules.

    Without a result of any architecture there is nothing to see among the models.
    """
    only_files = bool(findings.files) and not findings.operators and not findings.modules
    left_out = {"Operators", "Overloads", "Modules"} if only_files else set()
    if findings.models is None:
        left_out.add("Models")
    return tuple(Link(name, href) for name, href in SECTIONS.items() if name not in left_out)
