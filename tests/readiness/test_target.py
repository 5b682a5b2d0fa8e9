"""What a user may name as a model, and what goes wrong while it is made: one clear line each."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.readiness.subject import load
from conformance.readiness.target import Target, TargetKind, parse_target

MODELS = Path(__file__).with_name("small_models.py")


def test_the_three_kinds_are_told_apart() -> None:
    assert parse_target("pkg.mod:make") == Target("pkg.mod:make", TargetKind.MODULE, "pkg.mod", "make")
    assert parse_target(f"{MODELS}:llama").kind is TargetKind.FILE
    assert parse_target(f"{MODELS}:llama").function == "llama"
    assert parse_target(str(MODELS)).function == ""
    assert parse_target("gpt-sw3") == Target("gpt-sw3", TargetKind.ARCHITECTURE, "gpt-sw3")


@pytest.mark.parametrize("text", ["", ":f", "a b", "pkg.mod:", "pkg.mod:f()", "pkg-mod:f", "nofile.py", "no/file.py:f"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_target(text)
    assert error.value.slug in ("bad-target", "unknown-model")
    assert "\n" not in str(error.value)


def made(tmp_path: Path, body: str, function: str = "model") -> ConformanceError:
    path = tmp_path / f"written_{abs(hash(body))}.py"
    path.write_text(f"import torch\n{body}\n")
    with pytest.raises(ConformanceError) as error:
        load(parse_target(f"{path}:{function}" if function else str(path)), seed=0)
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def model(): return None", "returned a NoneType; it must return a torch.nn.Module and its example inputs"),
        ("def model(): return torch.nn.ReLU()", "returned a module without inputs"),
        ("def model(): return 3, torch.ones(2)", "returned a int first"),
        ("def model(): return torch.nn.ReLU(), 'text'", "returned a str as the inputs"),
        ("def model(): return torch.nn.ReLU(), (), 1", "returned a int third"),
        ("def model(): raise ValueError('no\\nluck')", "raised ValueError: no luck at"),
        ("def model(): raise SystemExit(1)", "raised SystemExit"),
        ("def model(n): return torch.nn.ReLU(), n", "missing 1 required positional argument"),
        ("def model(): return torch.nn.Linear(2, 2, device='meta'), torch.ones(2)", "returned a module on meta"),
        ("import nonexistent_package_x", "No module named 'nonexistent_package_x'"),
    ],
)
def test_a_function_that_does_the_wrong_thing_is_one_line(tmp_path: Path, body: str, words: str) -> None:
    error = made(tmp_path, body)
    assert (error.slug, error.exit_code) == ("bad-model", 2)
    assert words in str(error)


@pytest.mark.parametrize(
    "body",
    [
        "def model():\n    from urllib.request import urlopen\n    urlopen('http://nowhere.invalid/weights')",
        'def model():\n    raise OSError("We couldn\'t connect to the hub to load the files")',
        "def model():\n  try: raise ConnectionError(1)\n  except OSError as e: raise ValueError(2) from e",
    ],
)
def test_a_model_that_needs_the_network_is_told_so(tmp_path: Path, body: str) -> None:
    error = made(tmp_path, body)
    assert error.slug == "model-needs-network"
    assert "load the weights from a local folder" in str(error)


def test_a_model_that_is_too_big_for_this_machine_is_told_so(tmp_path: Path) -> None:
    error = made(tmp_path, "def model(): return torch.nn.Linear(1 << 21, 1 << 21), torch.ones(1)")
    assert isinstance(error, InfrastructureError)
    assert error.slug == "model-too-big"


def test_a_function_that_is_not_there_is_met_with_those_that_are(tmp_path: Path) -> None:
    error = made(tmp_path, "def makes_it(): pass", "make_it")
    assert error.slug == "unknown-model"
    assert "near: makes_it" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        "def anything(): return torch.nn.ReLU(), torch.ones(2)",
        "def help_me(n): pass\ndef _private(): pass\ndef anything(): return torch.nn.ReLU(), torch.ones(2)",
        "def other(): pass\ndef model(): return torch.nn.ReLU(), torch.ones(2)",
        "from os.path import join\ndef anything(): return torch.nn.ReLU(), {'input': torch.ones(2)}",
    ],
)
def test_the_one_obvious_function_of_a_file_is_found(tmp_path: Path, body: str) -> None:
    path = tmp_path / f"obvious_{abs(hash(body))}.py"
    path.write_text(f"import torch\n{body}\n")
    subject = load(parse_target(str(path)), seed=0)
    assert isinstance(subject.module, torch.nn.ReLU)


def test_a_file_without_an_obvious_function_asks_which(tmp_path: Path) -> None:
    error = made(tmp_path, "def one(): pass\ndef two(): pass", "")
    assert error.slug == "bad-target"
    assert "functions without arguments: one, two" in str(error)


def test_an_unknown_module_is_told_from_an_import_inside_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no module 'no_such_package"):
        load(parse_target("no_such_package_y.models:make"), seed=0)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), [("perceptron", 1, []), ("convolution", 1, []), ("recurrent", 0, ["x"])]
)
def test_inputs_may_be_a_tensor_a_tuple_or_a_dict(name: str, args: int, kwargs: list[str]) -> None:
    subject = load(parse_target(f"{MODELS}:{name}"), seed=0)
    assert (len(subject.args), list(subject.kwargs)) == (args, kwargs)
    assert subject.parameters > 0
    assert subject.parameter_bytes >= 4 * subject.parameters
