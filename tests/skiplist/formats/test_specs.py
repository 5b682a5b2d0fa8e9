"""TorchNeuron's JSON specs and torch-spyre's YAML."""

from __future__ import annotations

import json
import sys

import pytest

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.matching import compile_skiplist
from tests.skiplist.building import identity, op_test
from tests.skiplist.formats.reading import imported, left_out, notes, told

SPECS = [
    {
        "file": "test/test_ops.py",
        "class": "TestCommon",
        "methods": ["test_out"],
        "xfail": {"test_out_add_neuron_float32": {"reason": "Off by one, https://example.org/5."}},
        "skip_tests": [
            {"tests": ["test_dtypes", "test_errors"], "reason": "Hangs."},
            "test_plain",
            {"test_named": "Short form.", "test_bare": None},
        ],
        "colour": "blue",
    },
    {"folder": "test/nn", "skip_classes": {"TestPool": {"reason": "No pooling."}}, "skip_tests": ["", 5]},
]


def test_specs_are_read_in_every_shape() -> None:
    found = imported("neuron-spec", json.dumps(SPECS), device="neuron", prefix="neuron")
    common = {"classes": ("TestCommon",), "files": ("test_ops.py",)}
    assert [told(one) for one in found.entries] == [
        (
            "neuron-test_ops",
            "fail",
            "Off by one, https://example.org/5.",
            "https://example.org/5",
            {"names": ("*test_out_add_float32*",), **common},
            (),
        ),
        ("neuron-test_ops-2", "skip", "Hangs.", "", {"names": ("*test_dtypes*", "*test_errors*"), **common}, ()),
        ("neuron-test_ops-3", "skip", "", "", {"names": ("*test_bare*", "*test_plain*"), **common}, ()),
        ("neuron-test_ops-4", "skip", "Short form.", "", {"names": ("*test_named*",), **common}, ()),
        ("neuron-nn", "skip", "No pooling.", "", {"classes": ("*TestPool*",), "files": ("nn/*",)}, ()),
    ]
    assert [(text, why.partition(";")[0]) for text, _, why in left_out(found)] == [
        ("test_ops: colour", "the key is not known"),
        ("test_ops: methods", "it chooses tests to run"),
        ("nn: skip_tests: ''", "it is no name"),
        ("nn: skip_tests: ''", "it is no name"),
    ]
    matched = compile_skiplist(found.entries).match(op_test("add"))
    assert matched is not None
    assert matched.entry.id == "neuron-test_ops"


@pytest.mark.parametrize("wrapped", [SPECS[1], {"a": SPECS[1], "b": 1}, [[SPECS[1]]]])
def test_specs_are_found_alone_named_or_nested(wrapped: object) -> None:
    assert len(imported("neuron-spec", json.dumps(wrapped), device="neuron").entries) == 1


@pytest.mark.parametrize("text", ["{", "{}", "[]", "3", '{"a": {"file": "x"}}'])
def test_what_holds_no_spec_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        imported("neuron-spec", text)
    assert caught.value.slug == "bad-import"


YAML = r"""
test_suite_config:
  files:
    - path: ${TORCH_ROOT}/test/test_binary_ufuncs.py
      unlisted_test_mode: skip
      tests:
        - names:
            - TestBinaryUfuncs::test_contig
            - TestBinaryUfuncs::test_scalar.*
          mode: xfail_strict
          tags: [a]
        - names: ["*TestBinaryUfuncs*::test_ok"]
          mode: mandatory_success
          edits:
            ops:
              include: [{name: add}]
              exclude: [{name: gcd, description: "No gcd, https://example.org/g"}]
            modules:
              exclude: [{name: torch.nn.Linear}]
            dtypes:
              exclude: [{name: bool}, {nome: x}]
        - names: [TestBinaryUfuncs::test_skipped]
          mode: skip
        - names: [test_without_class, "TestA::test_(x|y)"]
          mode: xfail
        - names: [TestA::test_z]
          mode: maybe
    - path: ${TORCH_ROOT}/test/.*py
      unlisted_test_mode: mandatory_success
    - path: "a(b"
  global:
    supported_dtypes: [{name: float16}, {name: float64, force_xfail: true}]
    supported_ops: [{name: mul, force_xfail: true}, {name: add}]
"""


def test_modes_and_exclusions_become_entries() -> None:
    pytest.importorskip("yaml")
    found = imported("spyre-yaml", YAML, device="spyre", prefix="s")
    where = {"classes": ("TestBinaryUfuncs",), "files": ("test_binary_ufuncs.py",)}
    loose = {"templates": ("test_ok",), "classes": ("*TestBinaryUfuncs*",), "files": ("test_binary_ufuncs.py",)}
    assert [told(one)[:5] for one in found.entries] == [
        ("s-TestBinaryUfuncs", "fail", "", "", {"templates": ("test_contig",), **where}),
        ("s-TestBinaryUfuncs-2", "fail", "", "", {"templates": ("test_scalar*",), **where}),
        (
            "s-TestBinaryUfuncs-gcd",
            "skip",
            "No gcd, https://example.org/g",
            "https://example.org/g",
            {"ops": ("gcd",), **loose},
        ),
        ("s-TestBinaryUfuncs-nn.Linear", "skip", "", "", {"modules": ("nn.Linear",), **loose}),
        ("s-TestBinaryUfuncs-bool", "skip", "", "", {"dtypes": ("bool",), **loose}),
        ("s-TestBinaryUfuncs-3", "skip", "", "", {"templates": ("test_skipped",), **where}),
        ("s-mul", "fail", "", "", {"ops": ("mul",)}),
        ("s-float64", "fail", "", "", {"dtypes": ("float64",)}),
    ]
    assert [text for text, _, _ in left_out(found)] == [
        "test_binary_ufuncs.py: unlisted_test_mode: skip",
        "*TestBinaryUfuncs*::test_ok: edits.ops.include",
        "TestBinaryUfuncs: {'nome': 'x'}",
        "test_without_class",
        "TestA::test_(x|y)",
        "TestA::test_z: mode: maybe",
        "a(b",
        "global.supported_ops: add",
        "global.supported_dtypes: float16",
    ]
    assert notes(found) == {"it has to pass": 1}
    test = identity("test_binary_ufuncs.py::TestBinaryUfuncs::test_scalar_x_int8", template="test_scalar_x")
    matched = compile_skiplist(found.entries[:6]).match(test)
    assert matched is not None
    assert matched.entry.id == "s-TestBinaryUfuncs-2"


@pytest.mark.parametrize(
    "text", ["", "a: [", "test_suite_config: 3", "- 1", "!!python/object/apply:os.system ['true']"]
)
def test_what_is_no_configuration_is_refused(text: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(UsageError) as caught:
        imported("spyre-yaml", text)
    assert caught.value.slug == "bad-import"


def test_without_pyyaml_the_way_to_get_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InfrastructureError, match=r"pip install 'torch-conformance\[yaml\]'"):
        imported("spyre-yaml", YAML)
