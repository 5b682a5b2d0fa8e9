"""Answer the question of one model and one device: run it there, or ask recorded results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.analysis import opdb
from conformance.errors import UsageError
from conformance.model.overload import Snapshot
from conformance.readiness.evidence import Evidence, read_evidence
from conformance.readiness.findings import OverloadUse, Place, Readiness, Standing, Verdict, from_json
from conformance.readiness.isolate import Death, Orders, carry_out
from conformance.readiness.judge import Judge
from conformance.readiness.verdict import predicted_sentence, predicted_verdict, sentence_of

_NOT_COMPILED = "Nothing was compiled: what torch.compile does there cannot be said without the device."
_EMULATED = "Emulated: a stand-in ran in place of the device; these results say nothing about the hardware."


@dataclass(frozen=True, slots=True)
class Question:
    """What a user asks about one model."""

    target: str
    train: bool = False
    new_tokens: int = 0
    seed: int = 0
    probe: str = "auto"
    tolerance: float | None = None
    timeout: float = 600.0
    compiles: bool = False

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the names of the phases that are asked for."""
        wanted = (("forward", True), ("generate", self.new_tokens > 0), ("train", self.train))
        return tuple(name for name, asked in wanted if asked)


def run_there(question: Question, device: str) -> Readiness:
    """Run the model on a device of this machine; a death of the device's process is an answer too."""
    answer = carry_out(_orders(question, device, capture=False), timeout=question.timeout)
    if not isinstance(answer, Death):
        return _labelled(from_json(answer["readiness"]))
    known = from_json(answer.known) if answer.known is not None else _nothing_known(question, device)
    sentence = sentence_of(answer.verdict, (), trouble=answer.trouble)
    return _labelled(replace(known, verdict=answer.verdict, sentence=sentence, trouble=answer.trouble))


def ask_results(question: Question, results: Path, *, selector: str, device: str | None) -> Readiness:
    """Say from recorded results what would happen; ``device`` must be that of the results where it is given.

    Raises ``UsageError`` (``other-device``) where it is another.
    """
    evidence = read_evidence(results, selector)
    if device is not None and device != evidence.place.device:
        raise UsageError(
            "other-device",
            f"{evidence.source} is about '{evidence.place.device}', not '{device}'; leave --device out, or give others",
        )
    answer = carry_out(_orders(question, evidence.place.device, capture=True), timeout=question.timeout)
    if isinstance(answer, Death):
        raise UsageError("bad-model", f"capturing the model on the CPU: {answer.trouble.message}")
    captured = answer["captured"]
    snapshot, notes = _snapshot(evidence)
    uses = Judge(evidence, snapshot).judged(_uses(captured["overloads"]))
    verdict = predicted_verdict(uses)
    return _labelled(
        Readiness(
            model=captured["model"],
            parameters=captured["parameters"],
            parameter_bytes=captured["parameter_bytes"],
            phases=question.phases,
            place=evidence.place,
            verdict=verdict,
            sentence=predicted_sentence(verdict, uses),
            overloads=uses,
            evidence=evidence.source,
            notes=(*captured["notes"], *evidence.notes, *notes, *([_NOT_COMPILED] if question.compiles else [])),
        )
    )


def _orders(question: Question, device: str, *, capture: bool) -> Orders:
    return Orders(
        target=question.target,
        device=device,
        train=question.train,
        new_tokens=question.new_tokens,
        seed=question.seed,
        probe=question.probe,
        tolerance=question.tolerance,
        capture=capture,
        compiles=question.compiles,
    )


def _uses(items: Iterable[Mapping[str, Any]]) -> list[OverloadUse]:
    return [
        OverloadUse(
            name=item["name"],
            calls=item["calls"],
            phases=tuple(item["phases"]),
            dtypes=tuple(item["dtypes"]),
            standing=Standing.UNMEASURED,
        )
        for item in items
    ]


def _snapshot(evidence: Evidence) -> tuple[Snapshot, list[str]]:
    """Return the snapshot of the torch that the results are of, else the newest, and what is to be said of it."""
    wanted = opdb.public_version(evidence.place.torch_version)
    known = opdb.versions()
    if wanted in known:
        return opdb.load(wanted), []
    if not known:
        raise UsageError("unknown-snapshot", "the folder op_db holds no snapshot; take one with `conformance opdb`")
    return opdb.load(known[-1]), [
        f"Which operator reaches which overload was taken from torch {known[-1]}: there is no snapshot of {wanted}."
    ]


def _nothing_known(question: Question, device: str) -> Readiness:
    return Readiness(
        model=question.target,
        parameters=0,
        parameter_bytes=0,
        phases=question.phases,
        place=Place(device, "", False, "", "", ""),
        verdict=Verdict.UNKNOWN,
        sentence="",
    )


def _labelled(readiness: Readiness) -> Readiness:
    if not readiness.place.emulated:
        return readiness
    return replace(readiness, notes=(_EMULATED, *readiness.notes))
