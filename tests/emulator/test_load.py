"""Loading the device: profiles, environment variables, and the other backend that got there first."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conformance.emulator.profile import PROFILES, find_profile, read_profile
from conformance.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_GOOD = PROFILES / "default.toml"


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONFORMANCE_NEURON_")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, timeout=120
    )


_REPORT_ERROR = """
from conformance import emulator
from conformance.errors import ConformanceError
try:
    emulator.load({argument})
except ConformanceError as error:
    print(error.slug, error.exit_code, error)
"""


def _load_error(argument: str = "", **environment: str) -> str:
    done = _python(_REPORT_ERROR.format(argument=argument), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_neither_torch_nor_the_device() -> None:
    code = "import sys, conformance.emulator; print('torch' in sys.modules)"
    assert _python(code).stdout == "False\n"


def test_loading_twice_and_faults_and_devices_from_the_environment() -> None:
    code = """
import torch
from conformance import emulator
emulator.load(); emulator.load(); emulator.load("full")
assert not torch.neuron.is_initialized()
print(torch.neuron.device_count(), emulator.profile().name)
torch.ones(1, device="neuron").sin()
try: torch.ones(1, device="neuron").sin()
except RuntimeError as error: print(error)
try: emulator.load("default")
except Exception as error: print(error.slug, error)
"""
    done = _python(
        code,
        CONFORMANCE_NEURON_DEVICES="3",
        CONFORMANCE_NEURON_PROFILE="full",
        CONFORMANCE_NEURON_FAULTS="aten::sin=error@2",
    )
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert first == "3 full"
    assert "'aten::sin' failed (injected fault)" in second
    assert third.startswith("emulator-loaded the emulated device is loaded with the profile 'full'")


def test_another_backend_holds_the_key() -> None:
    code = "import torch; torch.utils.rename_privateuse1_backend('npu')" + _REPORT_ERROR.format(argument="")
    done = _python(code)
    assert done.stdout.startswith("privateuse1-taken 2 the backend 'npu' already uses"), done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("CONFORMANCE_NEURON_DEVICES", "0", "bad-devices 2 CONFORMANCE_NEURON_DEVICES is '0'"),
        ("CONFORMANCE_NEURON_DEVICES", "two", "bad-devices 2 CONFORMANCE_NEURON_DEVICES is 'two'"),
        ("CONFORMANCE_NEURON_FAULTS", "sin=eror", "bad-fault 2 CONFORMANCE_NEURON_FAULTS: in 'sin=eror'"),
        ("CONFORMANCE_NEURON_FAULTS", "nosuch=error", "bad-fault 2 CONFORMANCE_NEURON_FAULTS: in 'aten::nosuch=error'"),
        ("CONFORMANCE_NEURON_PROFILE", "fast", "bad-profile 2 there is no capability profile 'fast' (from CONF"),
    ],
)
def test_a_bad_environment_is_one_clear_line(variable: str, value: str, text: str) -> None:
    line = _load_error(**{variable: value})
    assert line.startswith(text)
    assert "\n" not in line


def test_calls_before_load_are_refused() -> None:
    from conformance import emulator

    for call in (emulator.counts, emulator.clear_faults, emulator.profile, lambda: emulator.inject("add", "error")):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.slug == "emulator-not-loaded"


def test_profiles_that_come_with_the_harness() -> None:
    default, full = (read_profile(find_profile(name)) for name in ("default", "full"))
    assert default.native is not None
    assert list(default.native) == sorted(set(default.native))
    assert {"add", "mm", "convolution_overrideable"} <= set(default.native)
    assert default.fallback_dtypes == ("complex32", "complex64", "complex128")
    assert default.only_default_memory_format
    assert "assumption" in default.description
    assert full.native is None
    assert not full.only_default_memory_format
    assert full.compute_as == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("schema = 1", "schema = 2", 1, "schema 2 is not known"),
        ("schema = 1", "schema = ", 1, "not valid TOML"),
        ("schema = 1", "", None, "the key 'schema' is missing"),
        ('name = "default"', 'nam = "default"', 2, "unknown key 'nam' (did you mean 'name'?)"),
        ('name = "default"', "name = 3", 2, "'name' has the wrong type (int)"),
        ('    "abs",\n', '    "abs",\n    "abs",\n', "abs", "'abs' is there twice"),
        ('    "abs",\n', '    "zzz",\n', "acos", "'acos' comes after 'zzz'"),
        ('    "abs",\n', "    3,\n", "native", "holds 3, which is not a string"),
        ("unsupported = []", 'unsupported = ["float46"]', "float46", "'float46' is unknown"),
        ("unsupported = []", 'unsuported = ["float64"]', "unsuported", "unknown key 'unsuported'"),
        ("unsupported = []", 'unsupported = "float64"', "unsupported", "must be a list of strings"),
        ('int64 = "int32"', 'int64 = "int16"', "int64", 'can only be "int32"'),
        ('int64 = "int32"', 'int32 = "int16"', "int32", "unknown key 'int32'"),
        ('formats = ["contiguous", "preserve"]', 'formats = ["nchw"]', "nchw", "'nchw' is unknown"),
        ("dynamic_shapes = false", 'dynamic_shapes = "no"', "dynamic_shapes", "give true or false"),
        ("dynamic_shapes = false", "dynamic = false", "dynamic", "unknown key 'dynamic' (did you mean"),
        ('refused_dtypes = ["complex32"', 'refused_dtypes = ["complex23"', "complex23", "'complex23' is unknown"),
        ("[compile]", "[compil]", "[compil]", "unknown key 'compil' (did you mean 'compile'?)"),
        ("gib = 16", "gib = 0", "gib", "give a number of GiB above 0"),
        ("gib = 16", 'gib = "16"', "gib", "give a number of GiB above 0"),
    ],
)
def test_a_broken_profile_names_file_line_and_remedy(
    tmp_path: Path, old: str, new: str, line: int | str | None, text: str
) -> None:
    good = _GOOD.read_text(encoding="utf-8")
    assert old in good
    path = tmp_path / "mine.toml"
    path.write_text(good.replace(old, new, 1), encoding="utf-8")
    if isinstance(line, str):
        lines = path.read_text(encoding="utf-8").splitlines()
        line = next(
            n
            for n, content in enumerate(lines, start=1)
            if content.lstrip().startswith((line, f'"{line}"')) or f'"{line}"' in content
        )
    with pytest.raises(UsageError) as caught:
        read_profile(path)
    assert caught.value.slug == "bad-profile"
    assert text in str(caught.value)
    where = f"{path}:{line}: " if line else f"{path}: "
    assert str(caught.value).startswith(where)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("abss", "has no operator 'abss' (did you mean 'abs'?)"),
        ("absolute", "'absolute' has no kernel in torch"),
        ("abs.outt", "has no operator 'abs.outt'"),
    ],
)
def test_an_operator_that_cannot_be_native_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(_GOOD.read_text(encoding="utf-8").replace('    "abs",\n', f'    "{name}",\n', 1), encoding="utf-8")
    number = path.read_text(encoding="utf-8").splitlines().index(f'    "{name}",') + 1
    line = _load_error(repr(str(path)))
    assert line.startswith(f"bad-profile 2 {path}:{number}: ")
    assert text in line


def test_a_profile_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read as text"):
        read_profile(path)


def test_a_small_profile_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'schema = 1\nname = "mine"\nnative = ["add.out", "mul"]\n[dtypes]\nunsupported = ["complex64", "float64"]\n'
        "[memory]\nformats = ['contiguous']\ngib = 0.001\n",
        encoding="utf-8",
    )
    code = f"""
import torch
from conformance import emulator
emulator.load({str(path)!r})
x = torch.ones(2, device="neuron")
emulator.counts()
x * x; x.mul_(x); x + x; x.sin()
counts = emulator.counts()
print(counts.native, counts.fallback)
for make in (
    lambda: torch.ones(2, dtype=torch.float64, device="neuron"),
    lambda: x.mul(torch.tensor(2.0, dtype=torch.complex128)).mul(2),
    lambda: torch.empty(2**20, device="neuron"),
):
    try: print(make().dtype)
    except Exception as error: print(type(error).__name__, error)
"""
    done = _python(code)
    assert done.returncode == 0, done.stderr
    counts, dtype, result, memory = done.stdout.splitlines()
    assert counts.endswith("{'aten::sin.out': 1}")
    assert all(f"'aten::{name}': 1" in counts for name in ("add.out", "mul.Tensor", "mul_.Tensor"))
    assert dtype == "NotImplementedError neuron: dtype Double is not supported"
    assert result == "NotImplementedError neuron: dtype ComplexFloat is not supported"
    assert memory.startswith("OutOfMemoryError neuron: out of memory")
