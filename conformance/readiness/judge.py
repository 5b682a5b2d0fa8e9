"""Say of each overload that a model calls what recorded results say about it; what they do not say stays unsaid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.model.operator import OperatorStatus
from conformance.model.overload import NAMESPACE, Dispatch, Snapshot
from conformance.readiness.evidence import Evidence, OperatorEvidence
from conformance.readiness.findings import OverloadUse, Standing

_BAD = (OperatorStatus.FAILING, OperatorStatus.CRASHING)
_SILENT = (OperatorStatus.UNTESTED, OperatorStatus.SKIPPED)
# The answer of an overload for one dtype: the standing, and what it rests on.
_Answer = tuple[Standing, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Known:
    """The operators that reach one overload and were tested, for one dtype; ``own`` are those named after it."""

    reached: Mapping[str, OperatorEvidence]
    own: Mapping[str, OperatorEvidence]

    def with_status(self, statuses: Iterable[OperatorStatus]) -> list[str]:
        """Return the operators with one of these statuses, those named after the overload first."""
        wanted = tuple(statuses)
        names = [name for name, item in self.reached.items() if item.status in wanted]
        return sorted(names, key=lambda name: (name not in self.own, name))


class Judge:
    """Answer from one run's results and one snapshot of which operator reaches which overload."""

    def __init__(self, evidence: Evidence, snapshot: Snapshot) -> None:
        self._evidence = evidence
        self._reaching = snapshot.exercised()
        self._aten_names = {operator.name: operator.aten_name for operator in snapshot.operators}
        self._dispatch = {overload.name: overload.dispatch for overload in snapshot.overloads}
        self._form = {overload.name: _form(overload.schema) for overload in snapshot.overloads}

    def judged(self, uses: Sequence[OverloadUse]) -> tuple[OverloadUse, ...]:
        """Return the overloads with their standings; over several dtypes the worst counts."""
        return tuple(self._judged(use) for use in uses)

    def _judged(self, use: OverloadUse) -> OverloadUse:
        answers = [self._answer(use.name, dtype) for dtype in use.dtypes or (None,)]
        standing, why, fallbacks = max(answers, key=lambda answer: answer[0].severity)
        return replace(
            use,
            standing=standing,
            why=why,
            fallbacks=fallbacks,
            fallback_calls=use.calls if standing is Standing.FALLBACK else 0,
        )

    def _answer(self, overload: str, dtype: str | None) -> _Answer:
        if overload not in self._reaching:
            return Standing.UNMEASURED, "no overload of this name in the snapshot of ATen", ()
        known = self._known(overload, dtype)
        at = f" in {dtype}" if dtype else ""
        if not known.reached:
            names = self._reaching[overload]
            seen = self._seen_anywhere(overload)
            if seen:
                return Standing.FALLBACK, f"fell back in {_few(self._evidence.fell_back[seen[0]]) or 'a test'}", seen
            if not names:
                return Standing.UNMEASURED, "no operator of PyTorch's tests reaches it", ()
            return Standing.UNMEASURED, f"no result{at} of the operators that reach it: {_few(names)}", ()
        for operators in (known.own, known.reached):
            found = self._said_by(operators, overload, at)
            if found is not None:
                return found
        first = known.with_status(OperatorStatus)[0]
        return Standing.UNCLEAR, f"{first} is {known.reached[first].status}{at}", ()

    def _said_by(self, operators: Mapping[str, OperatorEvidence], overload: str, at: str) -> _Answer | None:
        """Return what some operators say of an overload; None where they leave it open.

        The operators named after it are asked first: another one may call it with other dtypes than its own.
        """
        fell = {name: self._same(item.fallbacks, overload) for name, item in operators.items()}
        fell = {name: names for name, names in fell.items() if names}
        native = [name for name, item in operators.items() if item.status is OperatorStatus.NATIVE]
        if fell and native:
            one, other = next(iter(fell)), native[0]
            return Standing.UNCLEAR, f"{_few(fell[one])} fell back in {one}{at}, while {other} is native{at}", ()
        if fell:
            name, names = next(iter(fell.items()))
            return Standing.FALLBACK, f"{_few(names)} fell back in {name}{at}", names
        if native:
            if self._evidence.saw_fallbacks:
                return Standing.NATIVE, f"{native[0]} is native{at}", ()
            return Standing.UNCLEAR, f"{native[0]} passed{at}, but nobody looked for fallbacks", ()
        named_after = any(_family(self._aten_names[name]) == _family(overload) for name in operators)
        bad = [name for name, item in operators.items() if item.status in _BAD]
        if named_after and bad and len(bad) == len(operators):
            return Standing.FAILS, f"{bad[0]} is {operators[bad[0]].status}{at}", ()
        for name, item in operators.items():
            if item.status is OperatorStatus.FALLBACK:
                if self._is_whole(overload) and item.fallbacks is not None:
                    # Everything passed, what fell back is listed, and this is not in the list.
                    return Standing.NATIVE, f"{name} passed{at}, and this overload did not fall back", ()
                if named_after:
                    # What it is made of fell back: it has no kernel of its own that could be seen to.
                    return Standing.FALLBACK, f"{name} fell back{at}", item.fallbacks or ()
        return None

    def _known(self, overload: str, dtype: str | None) -> _Known:
        found = {}
        for name in self._reaching[overload]:
            item = self._evidence.operators.get((name, dtype))
            if item is not None and item.status not in _SILENT:
                found[name] = item
        own = {name: item for name, item in found.items() if _family(self._aten_names[name]) == _family(overload)}
        return _Known(found, own)

    def _same(self, recorded: Sequence[str] | None, overload: str) -> tuple[str, ...]:
        return tuple(item for item in recorded or () if self._is_same(item, overload))

    def _seen_anywhere(self, overload: str) -> tuple[str, ...]:
        return self._same(tuple(self._evidence.fell_back), overload)

    def _is_same(self, recorded: str, overload: str) -> bool:
        """Tell whether a recorded overload is this one, or its in-place form or out variant: one kernel serves them."""
        if recorded == overload:
            return True
        mine, theirs = self._form.get(overload), self._form.get(recorded)
        return mine is not None and mine == theirs and _family(recorded) == _family(overload)

    def _is_whole(self, overload: str) -> bool:
        """Tell whether a backend answers the overload itself, or by its own out variant."""
        return self._dispatch.get(overload) in (Dispatch.CPU, Dispatch.NON_FUNCTIONAL)


def _family(name: str) -> str:
    """Return what an overload, its in-place form and its out variant share: ``mul`` of ``aten::mul_.Tensor``."""
    return name.removeprefix(NAMESPACE).partition(".")[0].rstrip("_")


def _form(schema: str) -> tuple[str, ...]:
    """Return the arguments of a schema without the tensors that it writes into, and without defaults."""
    inside = schema.partition("(")[2].rpartition(") ->")[0]
    parts = re.split(r", (?![^\[]*\])", inside)
    keyword_only = False
    kept = []
    for part in parts:
        if part == "*":
            keyword_only = True
        elif not (keyword_only and "!)" in part):
            kept.append(re.sub(r"\([a-z!]+\)|=.*", "", part))
    return tuple(kept)


def _few(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
