"""What would be free if one cause were gone."""

from __future__ import annotations

from conformance.analysis.causes import ListedTest, Rank, own_operators, rank_causes
from conformance.skiplist.observed import Evidence


def listed(
    entry: str,
    op: str | None = None,
    module: str | None = None,
    evidence: Evidence = Evidence.HOLDS,
    architectures: frozenset[str] | None = None,
) -> ListedTest:
    return ListedTest(entry, op, module, "", evidence, architectures)


LISTED = [
    *[listed("many", "add")] * 5,
    listed("many", "sub"),
    listed("few", "sub"),
    listed("few", "sin", evidence=Evidence.PASSES),
    listed("few", "cos"),
    listed("module", module="nn.Linear"),
    listed("", "tan"),
]
CORE = {
    "aten::add.Tensor": ("add",),
    "aten::sub.Tensor": ("sub",),
    "aten::sin": ("sin",),
    "aten::exp": ("exp",),
    "aten::cat": (),
}


def test_an_operator_is_free_when_no_other_cause_keeps_a_test_of_it() -> None:
    found = {cause.name: cause for cause in rank_causes(LISTED, lambda one: one.entry)}
    assert {name: (cause.tests, cause.touched, cause.operators, cause.modules) for name, cause in found.items()} == {
        "many": (6, 2, ("add",), ()),
        "few": (3, 3, ("cos", "sin"), ()),
        "module": (1, 0, (), ("nn.Linear",)),
    }
    assert found["few"].stale == 1


def test_core_overloads_are_free_with_all_of_their_own_operators() -> None:
    found = {cause.name: cause.core for cause in rank_causes(LISTED, lambda one: one.entry, core=CORE)}
    assert found == {"many": ("aten::add.Tensor",), "few": ("aten::sin",), "module": ()}
    both = {"aten::x": ("add", "cos")}
    assert all(not cause.core for cause in rank_causes(LISTED, lambda one: one.entry, core=both))
    assert all(cause.core is None for cause in rank_causes(LISTED, lambda one: one.entry))


def test_a_test_without_a_cause_keeps_its_operator_on_the_list() -> None:
    found = rank_causes([listed("a", "add"), listed("", "add")], lambda one: one.entry, core=CORE)
    assert [(cause.name, cause.operators, cause.core) for cause in found] == [("a", (), ())]


def test_causes_are_ranked_by_what_is_asked_for() -> None:
    order = {by: [cause.name for cause in rank_causes(LISTED, lambda one: one.entry, core=CORE, by=by)] for by in Rank}
    assert order[Rank.TESTS] == ["many", "few", "module"]
    assert order[Rank.OPERATORS] == ["few", "many", "module"]
    assert order[Rank.CORE] == ["many", "few", "module"]


def test_own_operators_are_those_of_the_name_or_those_that_reach_little_else() -> None:
    found = own_operators(
        ["aten::add.Tensor", "aten::add.Scalar", "aten::convolution", "aten::mul.Tensor", "aten::nobody"],
        {"add": "add", "conv2d": "conv2d", "conv1d": "conv1d", "linalg.det": "linalg_det", "mul": "mul"},
        {
            "add": ["aten::add.Tensor"],
            "linalg.det": ["aten::mul.Tensor", "aten::add.Scalar"],
            "conv1d": ["aten::convolution"],
            "conv2d": ["aten::convolution", "aten::add.Tensor"],
            "mul": ["aten::mul.Tensor"],
        },
    )
    assert found == {
        "aten::add.Tensor": ("add",),
        "aten::add.Scalar": ("add",),
        "aten::convolution": ("conv1d",),
        "aten::mul.Tensor": ("mul",),
        "aten::nobody": (),
    }


def test_architectures_of_tests_that_pass_do_not_count_and_none_at_all_is_no_data() -> None:
    tests = [
        listed("few", "sin", architectures=frozenset({"llama"})),
        listed("most", "cos", architectures=frozenset({"llama", "mpt"})),
        listed("most", "tan", architectures=frozenset({"t5"})),
        listed("stale", "exp", evidence=Evidence.PASSES, architectures=frozenset({"a", "b", "c", "d"})),
        listed("none", "add", architectures=frozenset()),
    ]
    found = rank_causes(tests, lambda one: one.entry, by=Rank.ARCHITECTURES)
    assert [(cause.name, cause.architectures) for cause in found] == [
        ("most", ("llama", "mpt", "t5")),
        ("few", ("llama",)),
        ("none", ()),
        ("stale", ()),
    ]
    assert {cause.architectures for cause in rank_causes(LISTED, lambda one: one.entry)} == {None}
