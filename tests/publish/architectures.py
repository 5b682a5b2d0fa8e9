"""Write a run of the suite models in which architectures end in every way that the pages tell apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.analysis.signature import signature
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunState
from conformance.store import Database, RunWriter
from tests.publish.building import info

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATES = ("forward", "generate", "backward")

_QR = "NotImplementedError: Could not run 'aten::linalg_qr' with arguments from the 'neuron' backend."
_OFF = "AssertionError: scores: off by 0.25\n\n0 of 1 samples passed; the first failure: 8 tokens"
_EXP = "NotImplementedError: \"exp_cpu\" not implemented for 'Int'"
_LINE = (
    'Traceback (most recent call last):\n  File "/home/someone/site-packages/transformers/modeling_t5.py", line 9, in '
    f"forward\n    scores = torch.exp(scores)\n             ^^^^^^^^^^^^^^^^^\n{_EXP}\n"
)

# For each architecture and template: outcome, message, what fell back (None: nobody could see), traceback.
Fate = tuple[Outcome, str, "tuple[str, ...] | None", str]
_PASS: Fate = (Outcome.PASSED, "", (), "")
_SIN: Fate = (Outcome.PASSED, "", ("aten::sin",), "")
_NO_QR: Fate = (Outcome.FAILED, _QR, (), "")
_WRONG: Fate = (Outcome.FAILED, _OFF, (), "")
_DEAD: Fate = (Outcome.CRASHED, "Aborted (signal 6)", None, "")
_SKIP: Fate = (Outcome.SKIPPED, "not made: it needs a package", (), "")
_LOST: Fate = (Outcome.NOT_RUN, "", None, "")
_NO_EXP: Fate = (Outcome.FAILED, _EXP, ("aten::exp", "aten::sin"), _LINE)

FATES: dict[str, tuple[Fate, Fate, Fate]] = {
    "<b>evil</b>": (_PASS, _PASS, _PASS),
    "bloom": (_LOST, _LOST, _LOST),
    "falcon": (_SIN, _PASS, _PASS),
    "gemma3n": (_SKIP, _SKIP, _SKIP),
    "jamba": (_NO_QR, _PASS, _WRONG),
    "llama": (_PASS, _PASS, _PASS),
    "mamba": (_PASS, _DEAD, _PASS),
    "mixtral": (_NO_QR, _NO_QR, _NO_QR),
    "olmo": (_PASS, _SKIP, _WRONG),
    "t5": (_NO_EXP, _NO_EXP, _NO_EXP),
}


def write_architectures(
    path: Path, *, copies: int = 1, probe: str = "observer", emulated: bool = True, torch_version: str = "2.99.0"
) -> Path:
    """Write a complete run of these architectures; with ``copies`` each under that many names.

    No record of what architectures call comes with the harness for its torch, unless one is asked for.
    """
    with Database.create_or_open(path) as database:
        writer = RunWriter(database, flush_interval_s=3600)
        run = info(
            key=f"{0xA0DE15:032x}",
            suites=("models",),
            command="conformance run models --device neuron",
            torch_version=torch_version,
            probe=probe,
            emulated=emulated,
        )
        writer.begin(replace(run, created_at="2026-11-20T02:00:00Z"))
        fates = {
            f"{name}{number or ''}_{template}": (name, f"{name}{number or ''}", place, template)
            for number in range(copies)
            for name in FATES
            for place, template in enumerate(TEMPLATES)
        }
        plan = [
            PlannedTest(identity.test_id, identity)
            for identity in (
                Identity(
                    *("models", "TestModels", f"test_{template}_{own}", Suite.MODELS, f"test_{template}"),
                    architecture=own,
                )
                for _, own, _, template in fates.values()
            )
        ]
        writer.write_plan(plan)
        writer.start(started_at="2026-11-20T02:00:05Z")
        for planned, (name, _, place, _) in zip(plan, fates.values(), strict=True):
            outcome, text, fell_back, details = FATES[name][place]
            if outcome is Outcome.NOT_RUN:
                continue
            silent = outcome is Outcome.SKIPPED
            writer.add(
                Result(
                    planned.identity.test_id,
                    outcome,
                    0.5,
                    reason=text if silent else "",
                    message="" if silent else text,
                    signature=signature(text) if outcome.is_bad else "",
                    details=details,
                    samples=None if outcome.is_death else SampleAccount(1, 0 if outcome.is_bad else 1, "8 tokens"),
                    fallback=FallbackAccount(fell_back, fell_back) if probe and fell_back is not None else None,
                )
            )
        writer.finish(RunState.COMPLETE, finished_at="2026-11-20T02:30:00Z")
    return path
