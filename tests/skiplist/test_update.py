"""What makes a list fit a run."""

from __future__ import annotations

from datetime import date

from conformance.model.outcome import Outcome
from conformance.skiplist.edit import EntryEdit, FileEdit, edit_text
from conformance.skiplist.known import known_tests
from conformance.skiplist.load import parse_files
from conformance.skiplist.observed import Observed
from conformance.skiplist.propose import Origin
from conformance.skiplist.stale import find_stale
from conformance.skiplist.update import prune_edits, update, with_added
from tests.skiplist.building import entry_text, list_text, op_test

ADD, SUB, MUL, DIV = (op_test(op) for op in ("add", "sub", "mul", "div"))
RUN = known_tests("run 1", [ADD, SUB, MUL, DIV], complete=True)
SEEN = {
    ADD.test_id: Observed(Outcome.PASSED),
    SUB.test_id: Observed(Outcome.FAILED, None, "It is broken.", "It is broken."),
    MUL.test_id: Observed(Outcome.CRASHED, None, "signal 11", "signal 11"),
    DIV.test_id: Observed(Outcome.SKIPPED),
}
ORIGIN = Origin("run 1", date(2026, 11, 1))


def ids(*listed: str) -> str:
    return f"tests = {list(listed)!r}"


FILES = {
    "a.toml": list_text(
        entry_text("passes", ids(ADD.test_id)),
        entry_text("mixed", ids(ADD.test_id, SUB.test_id)),
        entry_text("moved", ids(MUL.test_id, DIV.test_id)),
    ),
    "b.toml": list_text(
        entry_text("alone", ids(MUL.test_id)),
        entry_text("wide", 'match = { ops = ["add", "sub"] }'),
        entry_text("patterns-pass", f'match = {{ ops = ["add"] }}\n{ids(SUB.test_id)}'),
    ),
}
SKIPLIST, _ = parse_files(list(FILES.items()))


def test_pruning_takes_out_what_passes_and_nothing_else() -> None:
    assert prune_edits(find_stale(SKIPLIST, RUN, [SEEN])) == {
        "a.toml": FileEdit(frozenset({"passes"}), {"mixed": EntryEdit(frozenset({ADD.test_id}))}),
        "b.toml": FileEdit(frozenset(), {"patterns-pass": EntryEdit(frozenset(), remove_match=True)}),
    }


def test_an_update_moves_what_does_something_else_than_expected() -> None:
    found = update(SKIPLIST, RUN, SEEN, ORIGIN)
    assert found.edits == {
        "a.toml": FileEdit(
            frozenset({"passes"}),
            {"mixed": EntryEdit(frozenset({ADD.test_id})), "moved": EntryEdit(frozenset({MUL.test_id}))},
        ),
        "b.toml": FileEdit(frozenset({"alone"}), {"patterns-pass": EntryEdit(frozenset(), remove_match=True)}),
    }
    (new,) = found.proposal.entries
    assert (str(new.expect), new.tests) == ("crash", (MUL.test_id,))
    assert [one.entry.id for one in found.left] == ["wide"]


def test_after_an_update_the_list_fits_the_run() -> None:
    found = update(SKIPLIST, RUN, SEEN, ORIGIN)
    edits = with_added(found, "b.toml")
    after, problems = parse_files([(name, edit_text(FILES[name], edit, name)) for name, edit in edits.items()])
    assert problems == ()
    again = update(after, RUN, SEEN, ORIGIN)
    assert with_added(again, "b.toml") == {}
    assert again.proposal.listed == 2


def test_new_entries_may_go_to_a_file_of_their_own() -> None:
    edits = with_added(update(SKIPLIST, RUN, SEEN, ORIGIN), "new.toml")
    assert list(edits) == ["a.toml", "b.toml", "new.toml"]
    assert edits["new.toml"].add


def test_patterns_that_expect_just_that_take_a_moved_test() -> None:
    crash = entry_text("crashes", 'match = { ops = ["mul"] }').replace('"fail"', '"crash"')
    skiplist, _ = parse_files([("a.toml", list_text(crash, entry_text("wrong", ids(MUL.test_id, SUB.test_id))))])
    found = update(skiplist, RUN, SEEN, ORIGIN)
    assert found.edits == {"a.toml": FileEdit(frozenset(), {"wrong": EntryEdit(frozenset({MUL.test_id}))})}
    assert found.proposal.entries == ()
