"""The suite ``models``: its data, what it collects, and that tiny models of all kinds can be made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from conformance.suites.models import tiny
from tests.conftest import Run, outcomes, rows

needs_transformers = pytest.mark.skipif(
    find_spec("transformers") is None, reason="transformers is not installed: the extra 'models'"
)
# Of transformers 5.24.0: text-generation architectures, and those that are made tiny.
NAMES, MADE = 196, 193
KINDS = ["llama", "gpt2", "mamba2", "mixtral", "bart", "bert-generation", "rwkv", "deepseek_v3", "zamba", "musicgen"]


def configurations(value: Any) -> Iterator[Any]:
    yield value
    for key in getattr(type(value), "sub_configs_defaults", {}):
        inner = getattr(value, key, None)
        if hasattr(inner, "model_type"):
            yield from configurations(inner)


def test_the_sheet_names_each_architecture_once_and_says_why_others_are_not_made() -> None:
    known = tiny.sheet()
    content = tomlkit.parse(tiny.SHEET.read_text(encoding="utf-8")).unwrap()
    special = [name for item in content["special"] for name in item["names"]]
    assert len(special) == len(set(special))
    assert not set(special) & set(known.unbuilt)
    assert all(len(reason) > 10 for reason in known.unbuilt.values())


def test_without_transformers_the_suite_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "transformers_version", lambda: None)
    with pytest.raises(
        Exception, match=r"needs transformers; install it with `pip install 'torch-conformance\[models\]'`"
    ):
        tiny.architectures()
    monkeypatch.setattr(tiny, "transformers_version", lambda: "4.57.1")
    with pytest.raises(Exception, match=r"transformers 4\.57\.1 is too old"):
        tiny.architectures()


@needs_transformers
def test_every_name_in_the_sheet_is_an_architecture_of_the_version_it_was_tried_with() -> None:
    if tiny.transformers_version() != tiny.sheet().transformers:
        pytest.skip(f"transformers {tiny.transformers_version()} has other architectures")
    names = tiny.architectures()
    assert len(names) == NAMES
    assert {*tiny.sheet().recipes, *tiny.sheet().unbuilt} <= set(names)
    assert len(names) - len(tiny.sheet().unbuilt) == MADE
    assert len({name.replace("-", "_") for name in names}) == NAMES  # test names stay apart


@needs_transformers
@pytest.mark.parametrize("name", KINDS)
def test_a_tiny_model_is_small_deterministic_and_calls_no_network(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    import torch

    def refused(*args: Any, **keywords: Any) -> None:
        raise AssertionError("a tiny model asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    before = torch.get_rng_state()
    model = tiny.tiny_model(name, seed=1)
    assert torch.equal(before, torch.get_rng_state())
    assert 0 < sum(weight.numel() for weight in model.parameters()) < tiny.LIMIT
    again = tiny.tiny_model(name, seed=1)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(model.parameters(), again.parameters(), strict=True))


@needs_transformers
@pytest.mark.slow
def test_all_but_the_named_architectures_can_be_made_tiny() -> None:
    failed = {}
    for name in tiny.architectures():
        try:
            tiny.tiny_configuration(name)
        except tiny.NotTinyError as error:
            failed[name] = str(error)
    if tiny.transformers_version() == tiny.sheet().transformers:
        assert failed == dict(tiny.sheet().unbuilt)
    else:
        assert len(failed) < 46, failed


@needs_transformers
def test_an_architecture_that_cannot_be_made_says_why() -> None:
    with pytest.raises(tiny.NotTinyError, match="timm"):
        tiny.tiny_model("gemma3n", seed=0)


@needs_transformers
def test_collecting_makes_no_model(conformance: Run, tmp_path: Path) -> None:
    done = conformance("collect", "models", "--device", "cpu", "--format", "json")
    assert done.returncode == 0, done.stderr
    tests = json.loads(done.stdout)["tests"]
    assert len(tests) == 3 * len(tiny.architectures())
    assert {test["suite"] for test in tests} == {"models"}
    assert "models::TestModels::test_forward_llama" in {test["test_id"] for test in tests}
    assert {test["template"] for test in tests} == {"test_forward", "test_generate", "test_backward"}


@needs_transformers
def test_architectures_are_run_compared_and_recorded(conformance: Run, tmp_path: Path) -> None:
    chosen = "llama or gpt2 or gemma3n or mixtral"
    done = conformance(
        *("run", "models", "--device", "neuron", "--db", "m.sqlite", "--workers", "1", "-k", chosen),
        env={"CONFORMANCE_NEURON": "emulated"},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes(tmp_path / "m.sqlite")
    for template in ("forward", "generate", "backward"):
        assert found[f"models::TestModels::test_{template}_llama"] == "passed"
        assert found[f"models::TestModels::test_{template}_gpt2"] == "passed"
        assert found[f"models::TestModels::test_{template}_gemma3n"] == "skipped"
        # transformers counts tokens for each expert with histc on int32, which the CPU cannot do for the device.
        assert found[f"models::TestModels::test_{template}_mixtral"] == "failed"
    reasons = rows(tmp_path / "m.sqlite", "select distinct reason from test_results where test_id like '%gemma3n'")
    assert reasons == [("not made: its vision part comes from the packages timm and pillow",)]
    (message,) = rows(tmp_path / "m.sqlite", "select distinct message from test_results where test_id like '%mixtral'")
    assert "histogram_cpu" in message[0]


@needs_transformers
def test_a_wrong_number_on_the_device_fails_the_test(conformance: Run, tmp_path: Path) -> None:
    done = conformance(
        *(
            "run",
            "models",
            "--device",
            "neuron",
            "--db",
            "m.sqlite",
            "--workers",
            "1",
            "-k",
            "test_forward_llama_neuron",
        ),
        env={"CONFORMANCE_NEURON": "emulated", "CONFORMANCE_NEURON_FAULTS": "aten::silu=wrong"},
    )
    assert done.returncode == 1, done.stderr
    assert outcomes(tmp_path / "m.sqlite") == {"models::TestModels::test_forward_llama": "failed"}


@needs_transformers
def test_a_compiled_model_is_compared_and_its_graphs_counted(conformance: Run, tmp_path: Path) -> None:
    arguments = ("run", "models", "--templates", "compile", "--ops", "llama", "--device", "neuron", "--db", "m.sqlite")
    conformance(*arguments, env={"CONFORMANCE_NEURON": "emulated"})
    assert outcomes(tmp_path / "m.sqlite") == {"models::TestModels::test_compile_llama": "passed"}
    query = "select name, graphs, breaks, recompilations from compilation join name on name.id = backend_id"
    assert rows(tmp_path / "m.sqlite", query) == [("neuron", 1, 0, 0)]
