"""Files of a PyTorch checkout: found, imported as they are, narrowed to what was asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows

OPS = """
import shared_by_files
from torch.testing._internal.common_device_type import instantiate_device_type_tests, onlyCUDA, ops
from torch.testing._internal.common_methods_invocations import op_db, unary_ufuncs
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_utils import TestCase, slowTest

class TestThings(TestCase):
    @ops(op_db)
    def test_op(self, device, dtype, op): assert shared_by_files.WORD == "here"
    @ops(unary_ufuncs)
    def test_unary(self, device, dtype, op): pass
    @modules(module_db)
    def test_module(self, device, dtype, module_info, training): pass
    @onlyCUDA
    def test_other(self, device): pass
    @slowTest
    def test_slow(self, device): pass

instantiate_device_type_tests(TestThings, globals())
"""
Conformance = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "test" / "functorch").mkdir(parents=True)
    (root / "version.txt").write_text("2.13.0a0\n")
    (root / "test" / "run_test.py").touch()
    (root / "test" / "conftest.py").write_text("raise RuntimeError('upstream conftests do not load')\n")
    (root / "test" / "shared_by_files.py").write_text("WORD = 'here'\n")
    (root / "test" / "test_ops.py").write_text(OPS)
    (root / "test" / "functorch" / "test_ops.py").write_text(
        "from functorch import vmap\nimport beside\ndef test_it(): assert beside.X == 1\n"
    )
    (root / "test" / "functorch" / "beside.py").write_text("X = 1\n")
    (root / "test" / "test_nn.py").write_text("import nothing_of_this_name\n")
    return root


def test_the_curated_files_are_run_and_one_that_does_not_import_is_one_row(
    conformance: Conformance, checkout: Path, tmp_path: Path
) -> None:
    options = ("--ops", "sin", "--dtypes", "float32", "--workers", "2")
    done = conformance("run", "upstream", "--upstream", str(checkout), "--device", "cpu", *options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert outcomes(tmp_path / "conformance.sqlite") == {
        "test_ops.py::TestThings::test_op_sin_float32": "passed",
        "test_ops.py::TestThings::test_unary_sin_float32": "passed",
        "test_nn.py::(collection)": "error",
    }


def test_files_of_another_version_are_run_with_a_warning_and_refused_when_strict(
    conformance: Conformance, checkout: Path, tmp_path: Path
) -> None:
    (checkout / "version.txt").write_text("2.1.0a0\n")
    arguments = ("run", "functorch/test_ops.py", "--upstream", str(checkout), "--device", "cpu")
    refused = conformance(*arguments, "--strict")
    assert refused.returncode == 2
    assert "PyTorch 2.1.0's" in refused.stderr
    assert "[upstream-mismatch]" in refused.stderr
    assert not (tmp_path / "conformance.sqlite").exists()
    done = conformance(*arguments)
    assert done.returncode == 0, done.stderr
    assert "warning: the test files are PyTorch 2.1.0's" in done.stderr


def test_a_failure_of_a_sample_says_what_the_sample_raised(
    conformance: Conformance, checkout: Path, tmp_path: Path
) -> None:
    (checkout / "test" / "test_wrapped.py").write_text(
        "def test_it():\n"
        "    try:\n"
        "        raise NotImplementedError('no such kernel')\n"
        "    except NotImplementedError as error:\n"
        "        raise Exception('Caused by sample input at index 3: SampleInput(input=1)') from error\n"
        "def test_other():\n"
        "    raise Exception('Caused by haste') from ValueError('x')\n"
    )
    conformance("run", "test_wrapped.py", "--upstream", str(checkout), "--device", "cpu")
    assert rows(tmp_path / "conformance.sqlite", "select message, signature from test_results order by test_id") == [
        (
            "NotImplementedError: no such kernel\n\nCaused by sample input at index 3: SampleInput(input=1)",
            "NotImplementedError: no such kernel",
        ),
        ("Exception: Caused by haste", "Exception: Caused by haste"),
    ]


def test_a_test_of_several_devices_gets_them_all(conformance: Conformance, checkout: Path, tmp_path: Path) -> None:
    source = "import unittest\nfrom torch.testing._internal.common_device_type import *\n"
    source += "from torch.testing._internal.common_utils import TestCase\nclass TestMany(TestCase):\n"
    source += "    @deviceCountAtLeast(2)\n    def test_two(self, devices):\n"
    source += "        self.assertEqual(devices, ['neuron:0', 'neuron:1'])\n"
    source += "    @deviceCountAtLeast(3)\n    def test_three(self, devices): pass\n"
    (checkout / "test" / "test_many.py").write_text(f"{source}instantiate_device_type_tests(TestMany, globals())\n")
    arguments = ("test_many.py", "--upstream", str(checkout), "--device", "neuron", "--workers", "2")
    conformance("run", *arguments, env={"CONFORMANCE_NEURON": "emulated"})
    assert outcomes(tmp_path / "conformance.sqlite") == {
        "test_many.py::TestMany::test_two": "passed",
        "test_many.py::TestMany::test_three": "skipped",
    }


def test_equal_names_in_two_folders_are_two_files(conformance: Conformance, checkout: Path, tmp_path: Path) -> None:
    arguments = ("functorch/test_ops.py", "test_ops.py", "--upstream", str(checkout), "--device", "neuron")
    conformance("run", *arguments, "-k", "test_it or test_op_sin_neuron_float", env={"CONFORMANCE_NEURON": "emulated"})
    assert outcomes(tmp_path / "conformance.sqlite") == {
        "functorch/test_ops.py::test_it": "passed",
        "test_ops.py::TestThings::test_op_sin_float16": "passed",
        "test_ops.py::TestThings::test_op_sin_float32": "passed",
        "test_ops.py::TestThings::test_op_sin_float64": "passed",
    }


def test_one_operator_is_all_that_is_instantiated(conformance: Conformance, checkout: Path) -> None:
    source = checkout / "test" / "test_ops.py"
    source.write_text(f"{OPS}\nprint('instantiated', sum(name.startswith('test') for name in dir(TestThingsCPU)))\n")
    done = conformance("collect", "test_ops.py", "--upstream", str(checkout), "--device", "cpu", "--ops", "nn.Linear")
    assert done.stdout.split() == [
        f"test_ops.py::TestThings::test_module_nn_Linear_{dtype}" for dtype in ("float32", "float64")
    ]


def test_slow_tests_and_those_of_other_devices_are_included_when_asked_for(
    conformance: Conformance, checkout: Path, tmp_path: Path
) -> None:
    arguments = (
        "test_ops.py",
        "--upstream",
        str(checkout),
        "--device",
        "neuron",
        "-k",
        "test_slow_neuron or test_other_neuron",
    )
    emulated = {"CONFORMANCE_NEURON": "emulated"}
    conformance("run", *arguments, env=emulated)
    conformance("run", *arguments, "--slow", "--include-cuda-only", env=emulated)
    found = rows(tmp_path / "conformance.sqlite", "select run_id, template, outcome from test_results order by 1, 2")
    assert found == [
        (1, "test_other", "skipped"),
        (1, "test_slow", "skipped"),
        (2, "test_other", "passed"),
        (2, "test_slow", "passed"),
    ]


def test_the_command_that_repeats_a_test_runs_it_alone(
    conformance: Conformance, checkout: Path, tmp_path: Path
) -> None:
    from conformance.analysis.repeat import repeat_command

    first = ("test_ops.py", "--upstream", str(checkout), "--device", "cpu", "--ops", "sin")
    conformance("run", *first)
    ((command,),) = rows(tmp_path / "conformance.sqlite", "select command from run")
    test_id = "test_ops.py::TestThings::test_unary_sin_int64"
    import shlex

    conformance(*shlex.split(repeat_command(test_id, "upstream", "cpu", command=command))[1:])
    assert outcomes(tmp_path / "conformance.sqlite") == {test_id: "passed"}


def test_a_checkout_of_another_version_is_a_warning(conformance: Conformance, checkout: Path) -> None:
    (checkout / "version.txt").write_text("2.6.0\n")
    done = conformance("collect", "functorch/test_ops.py", "--upstream", str(checkout), "--device", "cpu")
    assert done.returncode == 0
    assert "conformance: warning: the test files are PyTorch 2.6.0's, the installed torch is" in done.stderr
