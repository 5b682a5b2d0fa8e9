"""The gate: what a run comes to, and that nothing falls through it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from conformance.analysis.gate import GateResult, gate, undertakes_all_of
from conformance.analysis.verdict import Baseline, Verdict
from conformance.errors import ConformanceError
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.model.run import RunInfo
from tests.store.building import INFO

FAILS = {"x": ListedEntry("x", "fail", "unsupported-op", "because", message="no kernel")}


@dataclass(frozen=True)
class Seen:
    test_id: str
    outcome: Outcome = Outcome.PASSED
    fallback_ops: tuple[str, ...] | None = ()
    message: str = ""
    entry: str = ""


def judge(
    *results: Seen,
    entries: Mapping[str, ListedEntry] = FAILS,
    baseline: Mapping[str, Baseline] | None = None,
    strict: bool = False,
    whole: bool = False,
    unknown: int = 0,
) -> GateResult[Seen]:
    return gate(results, entries, baseline, strict, whole=whole, unknown=unknown)


def counts(result: GateResult[Seen]) -> dict[str, int]:
    return {found.value: count for found, count in result.counts.items() if count}


def test_a_quiet_run_passes_and_names_nothing() -> None:
    result = judge(Seen("a"), Seen("b", Outcome.SKIPPED), Seen("c", Outcome.FAILED, message="no kernel", entry="x"))
    assert (result.exit_code, result.judged, result.planned) == (0, (), 3)
    assert set(result.counts) == set(Verdict)
    assert counts(result) == {"as_expected": 3}


def test_counts_add_up_and_the_worst_comes_first() -> None:
    result = judge(
        Seen("fixed"),
        Seen("lost", Outcome.NOT_RUN),
        Seen("b", Outcome.CRASHED, None),
        Seen("a", Outcome.FAILED),
        Seen("known", Outcome.FAILED),
        baseline={"fixed": (Outcome.FAILED, ()), "known": (Outcome.FAILED, ()), "a": (Outcome.PASSED, ())},
    )
    assert result.planned == 5
    assert [(judged.verdict.value, judged.result.test_id, judged.before) for judged in result.judged] == [
        ("lost", "lost", None),
        ("regression", "a", Outcome.PASSED),
        ("new_failure", "b", None),
        ("fixed", "fixed", Outcome.FAILED),
    ]
    assert [judged.result.test_id for judged in result.failing] == ["lost", "a", "b"]
    assert result.exit_code == 1


def test_an_unexpected_pass_fails_only_a_strict_run() -> None:
    passing = Seen("a", entry="x")
    assert judge(passing).exit_code == 0
    strict = judge(passing, strict=True)
    assert (strict.exit_code, [judged.verdict for judged in strict.failing]) == (1, [Verdict.UNEXPECTED_PASS])


@pytest.mark.parametrize(
    "seen",
    [
        Seen("a", Outcome.NOT_RUN),
        Seen("a", Outcome.SKIPPED),
        Seen("a", fallback_ops=("aten::sin",)),
        Seen("a", Outcome.ERROR),
    ],
)
def test_what_the_baseline_did_better_fails_the_run(seen: Seen) -> None:
    assert judge(seen, baseline={"a": (Outcome.PASSED, ())}).exit_code == 1


def test_a_run_without_tests_is_no_success() -> None:
    assert judge().exit_code == 1
    assert judge(baseline={}).exit_code == 1


def test_tests_that_the_baseline_had_are_gone_and_fail_a_whole_run_only() -> None:
    baseline: Mapping[str, Baseline] = dict.fromkeys(("c", "b", "a"), (Outcome.PASSED, ()))
    part, whole = (judge(Seen("b"), baseline=baseline, whole=whole) for whole in (False, True))
    assert part.gone == whole.gone == ("a", "c")
    assert (part.exit_code, whole.exit_code) == (0, 1)
    assert judge(Seen("a")).gone == ()


def test_tests_in_shards_that_are_missing_fail_a_run_also_without_a_baseline() -> None:
    assert (judge(Seen("a"), unknown=3).exit_code, judge(Seen("a"), unknown=3).unknown) == (1, 3)


def test_it_is_counted_where_nobody_looked_for_fallbacks_any_more() -> None:
    baseline: Mapping[str, Baseline] = {"a": (Outcome.PASSED, ()), "b": (Outcome.PASSED, None)}
    result = judge(Seen("a", fallback_ops=None), Seen("b", fallback_ops=None), baseline=baseline)
    assert (result.unobserved, result.has_baseline, judge(Seen("a")).has_baseline) == (1, True, False)


def test_an_entry_that_is_not_in_force_is_an_error() -> None:
    with pytest.raises(ConformanceError) as caught:
        judge(Seen("a", entry="gone"))
    assert (caught.value.slug, "'gone'" in str(caught.value)) == ("unknown-entry", True)


@dataclass(frozen=True)
class Undertaken:
    """A run as far as it matters here, with the defaults of the store's sample."""

    info: RunInfo = INFO
    shard: int | None = None

    @property
    def device(self) -> str:
        return self.info.device

    @property
    def suites(self) -> tuple[str, ...]:
        return self.info.suites

    @property
    def selection(self) -> str:
        return self.info.selection

    @property
    def torch_version(self) -> str:
        return self.info.torch_version


def test_a_run_undertakes_all_of_an_equal_one_and_nothing_is_lost_that_it_was_not_asked_for() -> None:
    def run(shard: int | None = None, **changes: object) -> Undertaken:
        return Undertaken(dataclasses.replace(INFO, **changes), shard)  # type: ignore[arg-type]

    assert undertakes_all_of(run(), run())
    assert undertakes_all_of(run(suites=("opinfo", "modules")), run(suites=("opinfo",)))
    assert not undertakes_all_of(run(suites=("opinfo",)), run(suites=("opinfo", "modules")))
    assert not undertakes_all_of(run(selection="--ops sub"), run())
    assert not undertakes_all_of(run(torch_version="2.14.0"), run())
    assert not undertakes_all_of(run(device="cpu"), run())
    assert not undertakes_all_of(run(shard=1), run())
    assert not undertakes_all_of(run(), run(shard=1))
