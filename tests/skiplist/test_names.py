"""Names on a device and without it."""

from __future__ import annotations

import pytest

from conformance.skiplist.dtypes import DTYPES, dtype_at_end
from conformance.skiplist.names import neutral, on_device, other_device


@pytest.mark.parametrize(
    ("class_name", "name", "expected"),
    [
        ("TestFooPRIVATEUSE1", "test_x_npu_float32", ("TestFoo", "test_x_float32")),
        ("TestFooPRIVATEUSE1", "test_x_privateuse1_float32", ("TestFoo", "test_x_float32")),
        ("TestFooNPU", "test_x_npu", ("TestFoo", "test_x")),
        ("TestFooNPU", "test_x_npu_float32_int64", ("TestFoo", "test_x_float32_int64")),
        ("TestFooNPU", "test_x_npu_float8_e4m3fn", ("TestFoo", "test_x_float8_e4m3fn")),
        ("TestFooNPU", "test_npu_x_npu_bool", ("TestFoo", "test_npu_x_bool")),
        ("TestFooNPU", "test_x_npu[a_npu]", ("TestFoo", "test_x[a_npu]")),
        ("TestAutocastNPU", "test_cast_cache_is_global", None),
        ("TestFoo", "test_move_to_npu", None),
        ("TestTransformersPRIVATEUSE1", "test_is_causal_gpu_cpu", None),
        ("TestFooPRIVATEUSE1", "test_x_npu_something", None),
        ("NPU", "test_x_npu", None),
        ("TestFooNPU", "_npu", None),
    ],
)
def test_the_device_is_taken_out_where_class_and_method_carry_it(
    class_name: str, name: str, expected: tuple[str, str] | None
) -> None:
    assert neutral(class_name, name, "npu") == expected


@pytest.mark.parametrize("name", ["test_x", "test_x_float32", "test_x_float32_int64", "test_x_float32[a-b]"])
def test_the_way_to_a_device_leads_back(name: str) -> None:
    classes, method = on_device("TestFoo", name, "neuron")
    assert classes == ("TestFooPRIVATEUSE1", "TestFooNEURON")
    assert {neutral(spelt, method, "neuron") for spelt in classes} == {("TestFoo", name)}


def test_a_class_of_another_device_is_known() -> None:
    assert other_device("TestFooCPU", "npu") == "cpu"
    assert other_device("TestFooNPU", "npu") == ""
    assert other_device("TestFoo", "npu") == ""
    assert other_device("CPU", "npu") == ""


def test_every_dtype_of_this_torch_is_known() -> None:
    import torch

    names = {str(value).removeprefix("torch.") for value in vars(torch).values() if isinstance(value, torch.dtype)}
    assert names - DTYPES == set()


def test_a_dtype_is_read_from_the_end_of_a_name() -> None:
    assert [dtype_at_end(f"test_x_{dtype}") for dtype in sorted(DTYPES)] == sorted(DTYPES)
    assert dtype_at_end("test_out_add") is None
    assert dtype_at_end("test_float32") == "float32"
