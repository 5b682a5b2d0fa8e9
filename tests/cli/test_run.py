"""``conformance run`` as its users run it: on the emulated neuron, with real operators."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows, run_conformance

FAULTS = (
    "aten::sin=wrong;aten::cos=nan;aten::tan=segfault;aten::exp=hang;aten::log=not_implemented;"
    "aten::sqrt=exit:3;aten::abs=error"
)
FAULTY = {
    "sin": "failed",
    "cos": "failed",
    "tan": "crashed",
    "exp": "timed_out",
    "log": "failed",
    "sqrt": "crashed",
    "abs": "failed",
    "add": "passed",
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faulty")
    done = run_conformance(
        *("run", "opinfo", "--device", "neuron", "--templates", "forward", "--dtypes", "float32"),
        *("--ops", ",".join(FAULTY), "--timeout", "3", "--workers", "2", "--db", "out.sqlite"),
        cwd=folder,
        env={"CONFORMANCE_NEURON_FAULTS": FAULTS},
    )
    assert done.returncode == 1, done.stderr
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    return folder


def test_every_injected_fault_has_its_true_outcome(faulty: Path) -> None:
    found = dict(rows(faulty / "out.sqlite", "select op, outcome from test_results"))
    assert found == FAULTY


def test_the_failing_sample_is_named_with_shape_and_dtype(faulty: Path) -> None:
    ((samples, passed, sample, message),) = rows(
        faulty / "out.sqlite",
        "select samples, samples_passed, failing_sample, message from test_results where op = 'sin'",
    )
    assert 0 <= passed < samples
    assert sample.startswith("sample 0: float32[")
    assert "Tensor-likes are not close" in message
    assert f"{passed} of {samples} samples passed" in message


def test_the_summary_gives_the_command_that_repeats_one_test(faulty: Path) -> None:
    text = (faulty / "stdout").read_text()
    line = next(line for line in text.splitlines() if "repeat" in line and "_tan_" in line)
    assert "conformance run opinfo --device neuron --test opinfo::TestOperators::test_forward_tan_float32" in line
    arguments = line.split("conformance ", 1)[1].split()
    done = run_conformance(*arguments, "--db", "again.sqlite", cwd=faulty)
    assert done.returncode == 0, done.stderr
    assert outcomes(faulty / "again.sqlite") == {"opinfo::TestOperators::test_forward_tan_float32": "passed"}


def test_the_run_row_says_emulated_and_how_it_was_started(faulty: Path) -> None:
    ((emulated, device, state, command, selection, environment, probe),) = rows(
        faulty / "out.sqlite",
        "select emulated, device, state, command, selection, environment, probe from run",
    )
    assert (emulated, device, state) == (1, "neuron", "complete")
    assert command.startswith("conformance run opinfo --device neuron")
    assert selection == f"--ops {','.join(FAULTY)} --dtypes float32 --templates forward"
    assert json.loads(environment)["CONFORMANCE_NEURON_FAULTS"] == FAULTS
    assert probe == "backend account"
    assert "EMULATED neuron" in (faulty / "stderr").read_text()


def test_fallbacks_are_those_of_the_operator_under_test(tmp_path: Path) -> None:
    done = run_conformance(
        *("run", "opinfo", "--device", "neuron", "--templates", "forward", "--dtypes", "float32"),
        *("--ops", "add,special.bessel_j0", "--db", "out.sqlite"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = dict(rows(tmp_path / "out.sqlite", "select op, fallback_ops from test_results"))
    assert found == {"add": "", "special.bessel_j0": "aten::special_bessel_j0.out"}
    statuses = dict(
        rows(tmp_path / "out.sqlite", "select op, status from operator_status where dtype is null and planned > 0")
    )
    assert statuses == {"add": "native", "special.bessel_j0": "fallback"}
    assert (
        rows(
            tmp_path / "out.sqlite", "select count(*) from operator_status where status = 'untested' and dtype is null"
        )[0][0]
        > 600
    )


def test_pytest_xdist_and_the_command_give_the_same_rows(tmp_path: Path) -> None:
    selection = {
        "ops": "sin,special.bessel_j0,add,nn.Linear,empty,div.floor_rounding",
        "templates": "forward,backward,out,errors",
    }
    query = (
        "select test_id, suite, file, class, template, op, module, dtype, outcome, fallback_ops, test_fallback_ops,"
        " samples, samples_passed, reason, message from test_results order by test_id"
    )
    done = run_conformance(
        *("run", "--device", "neuron", "--db", "run.sqlite", "--ops", selection["ops"]),
        *("--templates", selection["templates"], "--skiplist", "none"),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 1), done.stderr
    want = rows(tmp_path / "run.sqlite", query)
    assert len(want) > 60
    assert {row[1] for row in want} == {"opinfo", "modules"}
    import subprocess

    for name, more in {"plain": [], "xdist": ["-n", "2"], "workers": ["--conformance-workers", "2"]}.items():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more]
        command += ["--pyargs", "conformance.suites.opinfo", "conformance.suites.modules"]
        command += ["--conformance-device", "neuron", "--conformance-db", f"{name}.sqlite"]
        command += [f"--conformance-{key}={value}" for key, value in selection.items()]
        command.append("--conformance-skiplist=none")  # what is expected is a failure for pytest all the same
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert ran.returncode == done.returncode, ran.stdout + ran.stderr
        assert rows(tmp_path / f"{name}.sqlite", query) == want, name


def test_a_missing_real_device_is_said(tmp_path: Path) -> None:
    done = run_conformance("run", "--device", "neuron", cwd=tmp_path, env={"CONFORMANCE_NEURON": "real"})
    assert done.returncode == 3
    assert "no TorchNeuron" in done.stderr


def test_what_is_printed_by_imports_is_not_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("print('printed')\ndef test_a(): print('inside')\n")
    # PyTorch's common_utils.py imports it, before pytest captures what is printed.
    (tmp_path / "hypothesis.py").write_text("print('loud')\nraise ImportError('not here')\n")
    arguments = ("collect", "test_it.py", "--device", "neuron", "--format", "json")
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = run_conformance(*arguments, cwd=tmp_path, env={**environment, "CONFORMANCE_NEURON": "emulated"})
    assert [test["test_id"] for test in json.loads(done.stdout)["tests"]] == ["test_it.py::test_a"]
    assert "loud" in done.stderr


def test_collect_lists_what_run_would_plan(tmp_path: Path) -> None:
    arguments = ["--device", "cpu", "--ops", "sin,nn.Linear"]
    text = run_conformance("collect", *arguments, cwd=tmp_path)
    listed = text.stdout.split()
    done = run_conformance("run", *arguments, "--db", "out.sqlite", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(listed) == sorted(outcomes(tmp_path / "out.sqlite"))
    data = json.loads(run_conformance("collect", *arguments, "--format", "json", cwd=tmp_path).stdout)
    assert [test["test_id"] for test in data["tests"]] == listed
