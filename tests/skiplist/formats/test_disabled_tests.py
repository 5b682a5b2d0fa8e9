"""PyTorch's and Ascend's list of disabled tests, both ways."""

from __future__ import annotations

import json

import pytest

from conformance.errors import UsageError
from conformance.skiplist.entry import Skiplist
from conformance.skiplist.formats import export_list
from conformance.skiplist.formats.exported import Exported
from conformance.skiplist.known import known_tests
from conformance.skiplist.matching import MatchedBy, compile_skiplist
from conformance.skiplist.vocabulary import Expectation
from tests.skiplist.building import entry, identity, op_test
from tests.skiplist.formats.reading import imported, left_out, notes, told

LIST = {
    "test_exp_npu_float32 (__main__.TestTorchDeviceTypePRIVATEUSE1)": ["", [""]],
    "test_exp_npu_int8 (__main__.TestTorchDeviceTypePRIVATEUSE1)": ["", [""]],
    "test_seq_npu (__main__.TestNpuNPU)": ["https://example.org/issues/7", []],
    "test_conv_npu_float16 (__main__.TestModulePRIVATEUSE1)": ["", ["A2", "910A"]],
    "test_stream (__main__.StreamTests)": ["", ["Streams are incomplete."]],
    "test_ge_cuda (jit.test_tracer.TestTracer)": ["only test_jit_legacy.py", [""]],
    "test_mac (__main__.TestMac)": ["https://example.org/8", ["mac", "win"]],
    "test_linux (__main__.TestLinux)": ["https://example.org/9", ["mac", "linux"]],
    "test_opset_cpu_float32 (__main__.TestOnnx_Type.TORCH_NNCPU)": ["", []],
    "test_broken": ["", []],
    "test_value (__main__.TestValue)": "",
    "test_value (__main__.TestValue2)": ["", [1]],
}


def test_names_on_a_device_become_device_neutral_ids_for_any_file() -> None:
    found = imported("disabled-tests", json.dumps(LIST), prefix="npu")
    assert [told(one) for one in found.entries] == [
        (
            "npu-TestTorchDeviceType",
            "skip",
            "",
            "",
            {},
            ("*::TestTorchDeviceType::test_exp_float32", "*::TestTorchDeviceType::test_exp_int8"),
        ),
        ("npu-TestNpu", "skip", "", "https://example.org/issues/7", {}, ("*::TestNpu::test_seq",)),
        ("npu-TestModule", "skip", "Listed for A2, 910A only.", "", {}, ("*::TestModule::test_conv_float16",)),
        ("npu-StreamTests", "skip", "Streams are incomplete.", "", {}, ("*::StreamTests::test_stream",)),
        ("npu-TestTracer", "skip", "only test_jit_legacy.py", "", {}, ("*::TestTracer::test_ge_cuda",)),
        ("npu-TestLinux", "skip", "", "https://example.org/9", {}, ("*::TestLinux::test_linux",)),
        (
            "npu-TestOnnx_Type.TORCH_NNCPU",
            "skip",
            "",
            "",
            {},
            ("*::TestOnnx_Type.TORCH_NNCPU::test_opset_cpu_float32",),
        ),
    ]
    assert left_out(found) == [
        ("test_mac (__main__.TestMac)", 0, "it is disabled under macOS, Windows only"),
        ("test_broken", 0, "it is not of the form 'test (module.Class)'"),
        ("test_value (__main__.TestValue)", 0, "its value is not of the form [text, [platform, ...]]"),
        ("test_value (__main__.TestValue2)", 0, "its value is not of the form [text, [platform, ...]]"),
    ]
    assert notes(found) == {
        "it is disabled on some devices only, which no entry expresses": 1,
        "it names no device": 3,
        "it is spelt for another device and kept as it is": 1,
    }


def test_a_name_that_json_would_lose_is_counted() -> None:
    found = imported("disabled-tests", '{"test_a (m.TestA)": ["", []], "test_a (m.TestA)": ["https://x.org", []]}')
    assert (found.read, found.mapped) == (2, 1)
    assert found.entries[0].link == "https://x.org"
    assert left_out(found)[0][2] == "it is named again further down, and there it counts"


def test_two_spellings_of_one_test_are_listed_once_and_noted() -> None:
    text = '{"test_a_npu (m.TestANPU)": ["", []], "test_a_privateuse1 (m.TestAPRIVATEUSE1)": ["", []]}'
    found = imported("disabled-tests", text)
    assert found.entries[0].tests == ("*::TestA::test_a",)
    assert notes(found) == {"another name means the same test, which is listed once": 1}


def test_imported_ids_match_tests_of_whatever_file() -> None:
    found = imported("disabled-tests", json.dumps(LIST))
    test = identity("test_torch.py::TestTorchDeviceType::test_exp_float32")
    matched = compile_skiplist(found.entries).match(test)
    assert matched is not None
    assert matched.by is MatchedBy.TEST_IN_ANY_FILE


@pytest.mark.parametrize("text", ["", "[]", "[[]]", "1", "{", '{"a": }', "[" * 100_000])
def test_what_is_no_such_list_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"^list\.txt is ") as caught:
        imported("disabled-tests", text)
    assert caught.value.slug == "bad-import"


ADD, DET = op_test("add"), op_test("linalg.det", "complex64")
EXACT = entry("exact", tests=[ADD.test_id, "*::TestFoo::test_y[a_b]", "a.py::test_function"], link="https://x.org/1")


def written(exported: Exported) -> dict[str, object]:
    document = json.loads(exported.text)
    assert list(document) == sorted(document)
    assert isinstance(document, dict)
    return document


def test_ids_are_written_as_both_spellings_of_their_class() -> None:
    exported = export_list("disabled-tests", Skiplist((EXACT,)), "neuron")
    assert written(exported) == {
        "test_out_add_neuron_float32 (__main__.TestCommonNEURON)": ["https://x.org/1", []],
        "test_out_add_neuron_float32 (__main__.TestCommonPRIVATEUSE1)": ["https://x.org/1", []],
        "test_y_neuron[a_b] (__main__.TestFooNEURON)": ["https://x.org/1", []],
        "test_y_neuron[a_b] (__main__.TestFooPRIVATEUSE1)": ["https://x.org/1", []],
    }
    assert exported.written == 2
    assert exported.notes == (("taken for a test of a device-generic class; --run would tell", 2),)
    assert [one.why for one in exported.left_out] == ["it has no class, and PyTorch disables methods of classes"]


def test_the_list_disables_the_test_in_pytorch_and_no_other() -> None:
    """Follow check_if_enable of torch/testing/_internal/common_utils.py on the names that a process would have."""
    exported = export_list("disabled-tests", Skiplist((EXACT,)), "neuron")
    parts = [name.split() for name in written(exported)]

    def disabled(class_name: str, method: str) -> bool:
        chunks = method.split("_")
        bare = "_".join(chunks[:-2]) if chunks[-1] == "float32" and chunks[-2] == "neuron" else method
        return any(class_name.startswith(c[1:-1].split(".")[-1]) and name in (method, bare) for name, c in parts)

    assert disabled("TestCommonNEURON", "test_out_add_neuron_float32")
    assert disabled("TestCommonPRIVATEUSE1", "test_out_add_neuron_float32")
    assert not disabled("TestCommonNEURON", "test_out_add_neuron_int8")
    assert not disabled("TestCommonCPU", "test_out_add_cpu_float32")


def test_a_run_fills_patterns_in_and_tells_plain_tests() -> None:
    plain = identity("test_nn.py::TestNN::test_plain")
    tests = [ADD, DET, plain, identity("opinfo::TestOperators::test_forward_add_int8", op="add", dtype="int8")]
    rule = entry("rule", ops=["*"], reason="Why.", link="")
    entries = Skiplist((rule, entry("plain", tests=[plain.test_id]), entry("gone", tests=["x.py::TestX::test_gone"])))
    node_ids = {
        plain.test_id: "test/test_nn.py::TestNN::test_plain",
        ADD.test_id: "t.py::TestCommonNEURON::test_z_neuron",
    }
    exported = export_list(
        "disabled-tests", entries, "neuron", known=known_tests("run 1", tests, complete=True), node_ids=node_ids
    )
    assert [name for name in written(exported) if "NEURON" not in name and "PRIVATE" not in name] == [
        "test_plain (__main__.TestNN)"
    ]
    assert written(exported)["test_out_linalg_det_neuron_complex64 (__main__.TestCommonNEURON)"] == ["Why.", []]
    assert [one.why for one in exported.left_out] == ["it is a test of this harness, not of PyTorch"]
    assert exported.written == 4


def test_what_is_not_wanted_or_not_active_is_left_out_by_name() -> None:
    from conformance.skiplist.conditions import Context

    entries = Skiplist(
        (
            entry("flaky", tests=["a.py::T::b"], expect=Expectation.FLAKY),
            entry("rule", ops=["add"]),
            entry("old", tests=["a.py::T::c"], torch="<2"),
        )
    )
    exported = export_list("disabled-tests", entries, "neuron", context=Context(torch_version="2.13"))
    assert written(exported) == {}
    assert [(one.entry_id, one.why) for one in exported.left_out] == [
        ("rule", "patterns can only be filled in from a run: give --run"),
        ("flaky", "its entry expects 'flaky'"),
        ("old", "torch = '<2', and this is '2.13'"),
    ]
    only = export_list("disabled-tests", entries, "neuron", expects=[Expectation.FLAKY])
    assert len(written(only)) == 2


def test_export_and_import_are_inverse_for_device_generic_tests() -> None:
    tests = [op_test(op, dtype).test_id for op in ("add", "linalg.det") for dtype in ("float32", "complex64")]
    text = export_list("disabled-tests", Skiplist((entry("x", tests=tests, link="https://x.org/1"),)), "neuron").text
    found = imported("disabled-tests", text, device="neuron")
    assert [test for one in found.entries for test in one.tests] == sorted(
        f"*::{test.partition('::')[2]}" for test in tests
    )


@pytest.mark.parametrize("name", ["test_a:: (m.TestA)", "test_* (m.TestA)", "test_a (m.::)"])
def test_names_that_no_test_can_have_are_left_out(name: str) -> None:
    found = imported("disabled-tests", json.dumps({name: ["", []]}))
    assert (found.entries, len(found.unmapped)) == ((), 1)
    assert found.unmapped[0].why == "a name in it is none that a test can have"
