from __future__ import annotations

import shlex

import pytest

from conformance.analysis.repeat import repeat_command


def test_names_suite_device_and_exactly_one_test() -> None:
    command = repeat_command("opinfo::TestOpInfo::test_out_add_float32", "opinfo", "neuron")
    assert command == "conformance run opinfo --device neuron --test opinfo::TestOpInfo::test_out_add_float32"


def test_reaches_the_program_as_it_is_through_a_shell() -> None:
    test_id = 'test_x.py::TestX::test_y[it\'s $HOME `date` "a"; rm *]'
    command = repeat_command(test_id, "modules", "my device")
    assert shlex.split(command) == ["conformance", "run", "modules", "--device", "my device", "--test", test_id]


@pytest.mark.parametrize(
    ("suite", "file", "command", "source"),
    [
        ("local", "test_mine.py", "", "test_mine.py"),
        ("local", "test_mine.py", "conformance run checks/test_mine.py --device cpu", "checks/test_mine.py"),
        ("local", "test_mine.py", "conformance run ./checks/test_mine.py::TestX --device cpu", "checks/test_mine.py"),
        ("local", "test_mine.py", "conformance run 'my checks/test_mine.py'", "my checks/test_mine.py"),
        ("local", "checks/a/test_mine.py", "conformance run lib/checks/ --device cpu", "lib/checks"),
        ("local", "test_mine.py", "conformance run test_other_test_mine.py --device cpu", "test_mine.py"),
        ("local", "test_mine.py", "pytest 'unbalanced", "test_mine.py"),
        ("upstream", "nn/test_pooling.py", "conformance run pt/test/nn/test_pooling.py", "pt/test/nn/test_pooling.py"),
        ("upstream", "nn/test_pooling.py", "conformance run pt/test", "pt/test/nn/test_pooling.py"),
        ("upstream", "nn/test_pooling.py", "conformance run pt/test/nn", "pt/test/nn/test_pooling.py"),
        ("upstream", "nn/test_pooling.py", "", "nn/test_pooling.py"),
        ("opinfo", "opinfo", "conformance run checks/opinfo", "opinfo"),
    ],
)
def test_finds_the_file_of_a_test_in_the_command_of_its_run(suite: str, file: str, command: str, source: str) -> None:
    words = shlex.split(repeat_command(f"{file}::TestX::test_y", suite, "cpu", command=command))
    assert words == ["conformance", "run", source, "--device", "cpu", "--test", f"{file}::TestX::test_y"]


@pytest.mark.parametrize("option", ["--upstream 'my pt'", "--upstream='my pt'"])
@pytest.mark.parametrize("source", ["upstream", "nn/test_pooling.py", ""])
def test_names_the_checkout_that_the_run_was_given(option: str, source: str) -> None:
    test_id = "nn/test_pooling.py::TestX::test_y"
    words = shlex.split(
        repeat_command(test_id, "upstream", "cpu", command=f"conformance run {source} --slow {option} --device cpu")
    )
    assert words[2:] == ["nn/test_pooling.py", "--upstream", "my pt", "--slow", "--device", "cpu", "--test", test_id]


def test_keeps_the_first_file_where_the_id_is_relative_to_its_folder() -> None:
    command = "conformance run a/test_one.py a/b/test_two.py --device cpu"
    words = shlex.split(repeat_command("b/test_two.py::test_y", "local", "cpu", command=command))
    assert words[2:4] == ["a/test_one.py", "a/b/test_two.py"]


def test_injected_faults_and_the_profile_are_set_again() -> None:
    environment = {
        "CONFORMANCE_NEURON_FAULTS": "aten::sin=wrong;aten::cos=nan",
        "CONFORMANCE_NEURON_PROFILE": "full",
        "CONFORMANCE_DB": "x.sqlite",
        "OMP_NUM_THREADS": "1",
    }
    command = repeat_command("opinfo::TestOperators::test_out_add", "opinfo", "neuron", environment=environment)
    assert command == (
        "CONFORMANCE_NEURON_FAULTS='aten::sin=wrong;aten::cos=nan' CONFORMANCE_NEURON_PROFILE=full "
        "conformance run opinfo --device neuron --test opinfo::TestOperators::test_out_add"
    )


def test_another_backend_of_torch_compile_is_set_again() -> None:
    environment = {"CONFORMANCE_COMPILE_BACKEND": "eager", "CONFORMANCE_CACHE": "/x"}
    command = repeat_command("opinfo::TestOperators::test_compile_add", "opinfo", "cpu", environment=environment)
    assert command.startswith("CONFORMANCE_COMPILE_BACKEND=eager conformance run ")
