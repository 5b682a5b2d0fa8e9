"""What recorded results say of an overload, and what they leave unsaid."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.model.operator import OperatorStatus
from conformance.model.overload import Measurement, OperatorRecord, Overload, Phase, Snapshot
from conformance.readiness.evidence import Evidence, OperatorEvidence
from conformance.readiness.findings import OverloadUse, Place, Standing
from conformance.readiness.judge import Judge

SCHEMAS = {
    "aten::mul.Tensor": ("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", ("CPU",)),
    "aten::mul_.Tensor": ("aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", ("CPU",)),
    "aten::mul.out": ("aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", ("CPU",)),
    "aten::mul.Scalar": ("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", ("CPU",)),
    "aten::pad": ("aten::pad(Tensor self, int[2] by=[0, 1]) -> Tensor", ("CompositeExplicitAutograd",)),
    "aten::cat": ("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", ("CPU",)),
    "aten::rare": ("aten::rare(Tensor self) -> Tensor", ("CPU",)),
}


def operator(name: str, reached: tuple[str, ...]) -> OperatorRecord:
    return OperatorRecord(
        name=name,
        variant="",
        aten_name=name,
        aliases=(),
        group="pointwise",
        dtypes=("float32",),
        backward_dtypes=(),
        privateuse1_dtypes=("float32",),
        privateuse1_backward_dtypes=(),
        forms=(),
        supports=(),
        samples={},
        complete=True,
        reached={Phase.FORWARD: reached},
        unmeasured=(),
    )


SNAPSHOT = Snapshot(
    torch="2.13.0",
    build="2.13.0",
    measurement=Measurement(1, "one", 0),
    operators=(
        operator("mul", ("aten::mul.Tensor", "aten::mul_.Tensor", "aten::mul.Scalar")),
        operator("pad", ("aten::pad", "aten::cat")),
        operator("other", ("aten::mul.Tensor", "aten::cat")),
    ),
    overloads=tuple(Overload(name, schema, (), kernels) for name, (schema, kernels) in SCHEMAS.items()),
    modules=(),
)


def evidence(
    operators: Mapping[tuple[str, str | None], OperatorEvidence],
    *,
    saw_fallbacks: bool = True,
    fell_back: Mapping[str, tuple[str, ...]] | None = None,
) -> Evidence:
    place = Place("neuron", "a device", False, "b", "1", "2.13.0", "observer")
    return Evidence("run 1", place, operators, saw_fallbacks, fell_back or {})


def found(status: OperatorStatus, *fallbacks: str) -> OperatorEvidence:
    return OperatorEvidence(status, fallbacks)


def judged(given: Evidence, overload: str, *dtypes: str) -> tuple[Standing, str]:
    (use,) = Judge(given, SNAPSHOT).judged([OverloadUse(overload, 2, ("forward",), dtypes, Standing.UNMEASURED)])
    return use.standing, use.why


NATIVE, FALLBACK = OperatorStatus.NATIVE, OperatorStatus.FALLBACK


def test_the_operator_that_is_native_speaks_for_its_overload() -> None:
    given = evidence({("mul", "float32"): found(NATIVE)})
    assert judged(given, "aten::mul.Tensor", "float32") == (Standing.NATIVE, "mul is native in float32")


def test_another_dtype_says_nothing() -> None:
    given = evidence({("mul", "float32"): found(NATIVE), ("mul", None): found(NATIVE)})
    assert judged(given, "aten::mul.Tensor", "int64")[0] is Standing.UNMEASURED


def test_over_several_dtypes_the_worst_counts() -> None:
    given = evidence({("mul", "float32"): found(NATIVE), ("mul", "int64"): found(FALLBACK, "aten::mul.out")})
    standing, why = judged(given, "aten::mul.Tensor", "float32", "int64")
    assert (standing, why) == (Standing.FALLBACK, "aten::mul.out fell back in mul in int64")


@pytest.mark.parametrize("overload", ["aten::mul.Tensor", "aten::mul_.Tensor"])
def test_the_out_variant_of_the_same_arguments_is_the_same_kernel(overload: str) -> None:
    given = evidence({("mul", "float32"): found(FALLBACK, "aten::mul.out")})
    assert judged(given, overload, "float32")[0] is Standing.FALLBACK


def test_an_overload_with_other_arguments_is_not() -> None:
    given = evidence({("mul", "float32"): found(FALLBACK, "aten::mul.out")})
    standing, why = judged(given, "aten::mul.Scalar", "float32")
    assert (standing, why) == (Standing.NATIVE, "mul passed in float32, and this overload did not fall back")


def test_the_operator_named_after_it_goes_before_others() -> None:
    given = evidence({("mul", "float32"): found(NATIVE), ("other", "float32"): found(FALLBACK, "aten::mul.out")})
    assert judged(given, "aten::mul.Tensor", "float32")[0] is Standing.NATIVE


def test_what_is_made_of_others_falls_back_with_them() -> None:
    given = evidence({("pad", "float32"): found(FALLBACK, "aten::cat")})
    assert judged(given, "aten::pad", "float32") == (Standing.FALLBACK, "pad fell back in float32")


def test_operators_that_contradict_each_other_leave_it_unclear() -> None:
    given = evidence({("pad", "float32"): found(FALLBACK, "aten::cat"), ("other", "float32"): found(NATIVE)})
    assert judged(given, "aten::cat", "float32")[0] is Standing.UNCLEAR


@pytest.mark.parametrize("status", [OperatorStatus.FAILING, OperatorStatus.CRASHING])
def test_an_operator_that_fails_speaks_for_the_overload_it_is_named_after_only(status: OperatorStatus) -> None:
    given = evidence({("mul", "float32"): found(status), ("pad", "float32"): found(status)})
    assert judged(given, "aten::mul.Tensor", "float32") == (Standing.FAILS, f"mul is {status} in float32")
    assert judged(given, "aten::cat", "float32") == (Standing.UNCLEAR, f"pad is {status} in float32")


def test_a_partial_operator_leaves_it_unclear() -> None:
    given = evidence({("mul", "float32"): found(OperatorStatus.PARTIAL)})
    assert judged(given, "aten::mul.Tensor", "float32") == (Standing.UNCLEAR, "mul is partial in float32")


@pytest.mark.parametrize("status", [OperatorStatus.SKIPPED, OperatorStatus.UNTESTED])
def test_skipped_and_untested_operators_are_no_measurement(status: OperatorStatus) -> None:
    given = evidence({("mul", "float32"): found(status)})
    standing, why = judged(given, "aten::mul.Tensor", "float32")
    assert standing is Standing.UNMEASURED
    assert "mul, other" in why


def test_an_overload_that_no_operator_reaches_was_never_measured() -> None:
    given = evidence({})
    assert judged(given, "aten::rare") == (Standing.UNMEASURED, "no operator of PyTorch's tests reaches it")
    assert judged(given, "torchvision::nms")[0] is Standing.UNMEASURED


def test_a_fallback_seen_in_a_module_counts_where_no_operator_reaches_it() -> None:
    given = evidence({}, fell_back={"aten::rare": ("nn.Rare",)})
    assert judged(given, "aten::rare") == (Standing.FALLBACK, "fell back in nn.Rare")


def test_where_nobody_looked_a_pass_is_not_native() -> None:
    given = evidence({("mul", "float32"): found(NATIVE)}, saw_fallbacks=False)
    assert judged(given, "aten::mul.Tensor", "float32")[0] is Standing.UNCLEAR


def test_the_page_of_a_site_that_tells_no_overloads_for_a_dtype_still_tells_of_a_fallback() -> None:
    given = evidence({("mul", "float32"): OperatorEvidence(FALLBACK, None)})
    assert judged(given, "aten::mul.Tensor", "float32") == (Standing.FALLBACK, "mul fell back in float32")
