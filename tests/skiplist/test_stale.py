"""Which entries no longer hold, by what runs saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.skiplist.conditions import Context
from conformance.skiplist.known import known_tests
from conformance.skiplist.observed import Evidence, Observed
from conformance.skiplist.stale import EntryEvidence, find_stale
from conformance.skiplist.vocabulary import Expectation
from tests.skiplist.building import entry, op_test

if TYPE_CHECKING:
    from conformance.skiplist.entry import Entry

ADD, SUB, MUL, DIV = (op_test(op) for op in ("add", "sub", "mul", "div"))
RUN = known_tests("run 1", [ADD, SUB, MUL, DIV], complete=True)
SEEN = {
    ADD.test_id: Observed(Outcome.PASSED),
    SUB.test_id: Observed(Outcome.FAILED),
    MUL.test_id: Observed(Outcome.PASSED),
    DIV.test_id: Observed(Outcome.SKIPPED),
}


def look(one: Entry, *others: Entry, complete: bool = True, **options: object) -> EntryEvidence:
    known = RUN if complete else known_tests("run 1", RUN.tests, complete=False)
    return find_stale([one, *others], known, [SEEN], **options)[0]  # type: ignore[arg-type]


def counts(found: EntryEvidence) -> list[int]:
    return [found.count(kind) for kind in Evidence]


def test_an_entry_of_ids_is_stale_when_all_of_them_pass() -> None:
    found = look(entry(tests=[ADD.test_id, "*::TestCommon::test_out_mul_float32"]))
    assert (found.is_stale, found.is_partly_stale, counts(found)) == (True, False, [2, 0, 0, 0])
    assert found.stale_ids == (ADD.test_id, "*::TestCommon::test_out_mul_float32")


def test_an_entry_of_ids_is_stale_in_part_when_some_pass() -> None:
    found = look(entry(tests=[ADD.test_id, SUB.test_id, DIV.test_id]))
    assert (found.is_stale, found.is_partly_stale, counts(found)) == (False, True, [1, 0, 1, 1])
    assert found.stale_ids == (ADD.test_id,)


def test_patterns_are_stale_only_as_a_whole() -> None:
    passing, mixed = look(entry(ops=["add", "mul"])), look(entry(ops=["add", "sub"]))
    assert (passing.is_stale, passing.stale_patterns) == (True, True)
    assert (mixed.is_stale, mixed.is_partly_stale, mixed.stale_patterns) == (False, True, False)
    unseen = look(entry(ops=["add", "div"]))
    assert (unseen.is_stale, unseen.is_partly_stale) == (False, True)


def test_nothing_is_stale_that_no_run_has_run() -> None:
    skipped = look(entry(tests=[DIV.test_id], expect=Expectation.SKIP))
    assert (skipped.is_stale, skipped.is_partly_stale, counts(skipped)) == (False, False, [0, 0, 0, 1])
    assert not look(entry(tests=["other.py::T::x"])).is_stale


def test_what_is_gone_is_stale_only_in_a_whole_run_that_took_in_its_file() -> None:
    gone = entry(tests=["test_ops.py::TestCommon::test_gone"])
    assert look(gone).is_stale
    assert look(gone).gone == gone.tests
    assert not look(gone, complete=False).is_stale
    nothing = entry(ops=["none"])
    assert look(nothing).is_stale
    assert not look(nothing, complete=False).is_stale
    assert not look(entry(ops=["none"], files=["elsewhere.py"])).is_stale


def test_both_parts_of_an_entry_have_to_go_for_it_to_be_stale() -> None:
    both = look(entry(tests=[ADD.test_id], ops=["sub"]))
    assert (both.is_stale, both.stale_ids, both.stale_patterns) == (False, (ADD.test_id,), False)
    assert look(entry(tests=[ADD.test_id], ops=["mul"])).is_stale


def test_an_entry_that_another_one_beats_is_looked_at_too() -> None:
    beaten, exact = entry("beaten", ops=["add"]), entry("exact", tests=[ADD.test_id])
    assert look(beaten, exact).is_stale


def test_several_runs_have_to_agree_and_enough_of_them_to_have_looked() -> None:
    one = entry(tests=[ADD.test_id])
    failing = {ADD.test_id: Observed(Outcome.FAILED)}
    silent: dict[str, Observed] = {}
    assert find_stale([one], RUN, [SEEN, SEEN])[0].is_stale
    assert not find_stale([one], RUN, [SEEN, failing])[0].is_stale
    assert find_stale([one], RUN, [SEEN, silent])[0].is_stale
    assert not find_stale([one], RUN, [SEEN, silent], at_least=2)[0].is_stale


def test_inactive_entries_are_left_alone() -> None:
    assert (
        find_stale([entry(tests=[ADD.test_id], torch="<2")], RUN, [SEEN], context=Context(torch_version="2.13")) == ()
    )
