"""Workers that collect again, where a fork would not be sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import outcomes, rows
from tests.engine.running import attempts, results, run_pytest

SOURCE = """
import os, sys, time, pytest, torch

@pytest.mark.parametrize("n", range(8))
def test_many(n): assert n != 5
def test_dies(): os.abort()
def test_hangs(): time.sleep(60)
@pytest.mark.parametrize("n", range(8))
def test_more(n): pass
"""
EMULATED = {"CONFORMANCE_NEURON": "emulated"}


def test_spawned_workers_record_what_forked_ones_do(tmp_path: Path) -> None:
    found = []
    for way in ("fork", "spawn"):
        folder = tmp_path / way
        folder.mkdir()
        options = ("--conformance-workers", "2", "--conformance-timeout", "3", "--conformance-start", way)
        done = run_pytest(folder, *options, test_it=SOURCE)
        assert done.returncode == 1, done.stdout + done.stderr
        found.append(results(folder))
        assert "15 passed" in done.stdout
    assert found[0] == found[1]


def test_a_file_that_uses_the_device_when_it_is_imported_is_run_all_the_same(tmp_path: Path) -> None:
    source = f"{SOURCE}\nX = torch.ones(2, device='neuron')\ndef test_it(): assert X.sum().item() == 2\n"
    options = ("--conformance-device", "neuron", "--conformance-workers", "2", "--conformance-timeout", "5")
    done = run_pytest(tmp_path, *options, environment=EMULATED, test_it=source)
    assert "workers are started anew and collect again: collecting the tests initialised 'neuron'" in done.stderr
    found = outcomes(tmp_path / "out.sqlite")
    assert found["test_it.py::test_it"] == "passed"
    assert sorted(set(found.values())) == ["crashed", "failed", "passed", "timed_out"]
    assert len(found) == 19
    assert not rows(tmp_path / "out.sqlite", "select 1 from run where state <> 'complete'")


def test_a_fork_that_is_not_sound_is_refused(tmp_path: Path) -> None:
    source = "import torch\nX = torch.ones(2, device='neuron')\ndef test_it(): pass\n"
    options = ("--conformance-device", "neuron", "--conformance-workers", "2", "--conformance-start", "fork")
    done = run_pytest(tmp_path, *options, environment=EMULATED, test_it=source)
    assert done.returncode == 4
    assert "workers cannot be forked: collecting the tests initialised 'neuron'" in done.stderr
    assert "[no-fork]" in done.stderr


def test_a_collection_that_differs_each_time_is_told(tmp_path: Path) -> None:
    source = "import os, pytest\n@pytest.mark.parametrize('n', [os.getpid()])\ndef test_it(n): pass\n"
    done = run_pytest(tmp_path, "--conformance-workers", "1", "--conformance-start", "spawn", test_it=source)
    assert done.returncode == 4
    assert "collecting again gave other tests than the first time" in done.stderr
    assert "[workers-die]" in done.stderr


def test_a_resumed_run_goes_on_in_spawned_workers(tmp_path: Path) -> None:
    source = "import pathlib, pytest\ndef test_a(): pass\ndef test_b():\n"
    source += "    if not pathlib.Path('again').exists(): pytest.exit('stop')\ndef test_c(): pass\n"
    options = ("--conformance-workers", "1", "--conformance-start", "spawn")
    run_pytest(tmp_path, *options, test_it=source)
    (tmp_path / "again").touch()
    done = run_pytest(tmp_path, *options, "--conformance-resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert attempts(tmp_path) == [(name, 1, "passed") for name in ("test_a", "test_b", "test_c")]


def test_retries_and_shards_work_with_spawned_workers(tmp_path: Path) -> None:
    options = ("--conformance-workers", "1", "--conformance-start", "spawn", "--conformance-retries", "1")
    run_pytest(tmp_path, *options, "--conformance-shard", "1/2", "-k", "many", test_it=SOURCE)
    found = attempts(tmp_path)
    assert len({name for name, _, _ in found}) == 4
    other = tmp_path / "other"
    other.mkdir()
    run_pytest(other, *options, "--conformance-shard", "2/2", "-k", "many", test_it=SOURCE)
    assert {name for name, _, _ in attempts(other)} | {name for name, _, _ in found} == {
        f"test_many[{n}]" for n in range(8)
    }
    assert [row for row in found + attempts(other) if row[0] == "test_many[5]"] == [
        ("test_many[5]", 1, "failed"),
        ("test_many[5]", 2, "failed"),
    ]


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_each_worker_has_a_slice_of_its_own(tmp_path: Path, way: str) -> None:
    source = """
import os, time, pytest
@pytest.mark.parametrize("n", range(8))
def test_it(n):
    time.sleep(0.2)
    raise AssertionError(os.environ["SLICE"])
"""
    conftest = """
from conformance.devices import cpu
type(cpu.CPU).worker_environment = lambda self, index, count: {"SLICE": f"{index} of {count}"}
"""
    options = ("--conformance-workers", "2", "--conformance-start", way)
    run_pytest(tmp_path, *options, test_it=source, conftest=conftest)
    found = rows(tmp_path / "out.sqlite", "select distinct worker, message from test_results order by 1")
    assert found == [("w0", "AssertionError: 0 of 2"), ("w1", "AssertionError: 1 of 2")]
