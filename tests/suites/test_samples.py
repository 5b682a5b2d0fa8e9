"""Carrying samples to a device: layout, aliasing and flags arrive as they were."""

from __future__ import annotations

import unittest

import pytest
import torch

from conformance.suites.account import ReferenceRaised, SampleFailure, TestAccount, reference
from conformance.suites.samples import Carrier, describe, enumerate_samples, move_tensor, on_cpu, seed_everything

TENSORS = {
    "plain": lambda: torch.arange(6.0).reshape(2, 3),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "expanded": lambda: torch.arange(3.0).expand(4, 3),
    "with gaps": lambda: torch.arange(12.0)[::2],
    "with an offset": lambda: torch.arange(12.0)[5:],
    "channels last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "empty": lambda: torch.empty(0, 3),
    "scalar": lambda: torch.tensor(3.5),
    "conjugated": lambda: torch.randn(3, dtype=torch.complex64).conj(),
    "negated": lambda: torch._neg_view(torch.arange(3.0)),
    "requires grad": lambda: torch.arange(3.0).requires_grad_(),
    "parameter": lambda: torch.nn.Parameter(torch.arange(3.0)),
    "sparse": lambda: torch.eye(3).to_sparse(),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_moved_tensor_is_a_copy_of_equal_kind(name: str) -> None:
    tensor = TENSORS[name]()
    moved = move_tensor(tensor, "cpu")
    assert type(moved) is type(tensor)
    assert (moved.shape, moved.dtype, moved.requires_grad) == (tensor.shape, tensor.dtype, tensor.requires_grad)
    assert (moved.is_conj(), moved.is_neg()) == (tensor.is_conj(), tensor.is_neg())
    torch.testing.assert_close(moved, tensor)
    if tensor.layout == torch.strided:
        assert moved.stride() == tensor.stride()
        assert moved.numel() == 0 or moved.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


def test_what_shares_memory_shares_it_on_the_device_too() -> None:
    base = torch.arange(10.0)
    carried_base, view, same, other = Carrier("cpu")((base, base[2:5], base, torch.arange(10.0)))
    assert carried_base is same
    assert view.untyped_storage().data_ptr() == carried_base.untyped_storage().data_ptr()
    assert other.untyped_storage().data_ptr() != carried_base.untyped_storage().data_ptr()
    assert carried_base.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    carried_base[3] = 99.0
    assert view[1] == 99.0
    assert base[3] == 3.0


def test_devices_in_a_sample_are_translated() -> None:
    carried = Carrier("meta")([torch.device("cpu"), "cpu", {"device": "cpu"}, "sum", 3])
    assert carried == [torch.device("meta"), "meta", {"device": "meta"}, "sum", 3]


def test_samples_are_the_same_whichever_were_drawn_before() -> None:
    def draw() -> object:
        for _ in range(4):
            yield torch.randn(3)

    everything = [sample for _, sample in enumerate_samples(draw())]  # type: ignore[arg-type]
    seed_everything(1)
    torch.randn(100)
    again = [sample for _, sample in enumerate_samples(draw())]  # type: ignore[arg-type]
    for one, other in zip(everything, again, strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(everything[0], everything[1])


def test_the_cpu_says_whether_it_drew_random_numbers() -> None:
    assert on_cpu(lambda: torch.ones(3) + 1, seed=3)[1] is False
    value, random = on_cpu(lambda: torch.randn(3), seed=3)
    assert random is True
    assert torch.equal(value, on_cpu(lambda: torch.randn(3), seed=3)[0])


def test_where_the_cpu_raises_there_is_nothing_to_compare() -> None:
    with pytest.raises(ReferenceRaised, match="RuntimeError"):
        on_cpu(lambda: torch.ones(2, 3) @ torch.ones(2, 3), seed=0)


def test_descriptions_show_shape_dtype_and_strides() -> None:
    value = [
        torch.empty(2, 3),
        torch.empty(3, 2, dtype=torch.int8).t(),
        {"dim": 1},
        "x" * 200,
        torch.eye(2).to_sparse(),
    ]
    text = describe(value)
    assert text.startswith("[float32[2, 3], int8[2, 3] strides [1, 2], {dim=1}, 'xxx")
    assert text.endswith("..., float32[2, 2] sparse_coo]")


def test_an_account_counts_on_after_a_failure_and_names_the_first() -> None:
    account = TestAccount()
    for number in range(4):
        with account.sample(f"sample {number}"):
            if number in (1, 2):
                raise ValueError(f"no {number}")
    assert (account.ran, account.passed, account.first_failure) == (4, 2, "sample 1")
    with pytest.raises(SampleFailure, match=r"ValueError: no 1\n\n2 of 4 samples passed; the first failure: sample 1"):
        account.conclude()


def test_samples_without_a_reference_are_set_aside() -> None:
    account = TestAccount()
    for number in range(2):
        with account.sample(f"sample {number}"), reference():
            if number:
                raise ValueError("the CPU cannot")
    account.conclude()
    assert (account.ran, account.passed) == (1, 1)
    assert account.set_aside == ["sample 1: ValueError: the CPU cannot"]


@pytest.mark.parametrize("set_aside", [0, 2])
def test_a_test_that_compared_nothing_is_skipped_not_passed(set_aside: int) -> None:
    account = TestAccount()
    for number in range(set_aside):
        with account.sample(f"sample {number}"), reference():
            raise ValueError("the CPU cannot")
    with pytest.raises(unittest.SkipTest, match="CPU itself raises for all 2" if set_aside else "no sample"):
        account.conclude()


def test_random_numbers_from_a_seed_of_the_opinfos_own_are_noticed() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    ops = {op.full_name: op for op in op_db}
    randn = ops["randn"]
    assert on_cpu(lambda: randn.op(5, 5), seed=1)[1] is True
    attention = ops["nn.functional.scaled_dot_product_attention"]
    query = torch.randn(1, 1, 3, 4)
    assert on_cpu(lambda: attention.op(query, query, query, dropout_p=0.5), seed=1)[1] is True
    assert on_cpu(lambda: attention.op(query, query, query, dropout_p=0.0), seed=1)[1] is False
