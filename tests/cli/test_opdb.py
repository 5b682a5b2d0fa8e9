# ruff: noqa: E501 (a schema stands in one line)
"""``conformance opdb``: what it prints, for which snapshot, and how it refuses."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from expecttest import TestCase

from conformance import resources
from conformance.analysis.calls import FILE, load_calls
from conformance.analysis.opdb import load
from conformance.cli.opdb import command
from conformance.errors import InfrastructureError, UsageError
from conformance.model.calls import ArchitectureCalls
from conformance.model.operator import ModuleInventory
from conformance.model.overload import Measurement, Phase
from tests.analysis.test_opdb import SNAPSHOT, operator, overload, reached, write


def opdb(*arguments: str) -> str:
    """Return what the command prints on stdout."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        command.main([*arguments], standalone_mode=False)
    return stream.getvalue()


NEWER = dataclasses.replace(
    SNAPSHOT,
    torch="2.100.0",
    build="2.100.0+cpu",
    measurement=Measurement(samples=5, dtypes="the first", seed=1),
    operators=(
        operator("abs", dtypes=("bool", "float32"), privateuse1_dtypes=("bool", "float32"), supports=("out", "sparse")),
        *SNAPSHOT.operators[2:],
        operator("new", reached=reached(forward=("aten::abs",))),
    ),
    overloads=(
        *SNAPSHOT.overloads[:1],
        overload("aten::abs.out", "CPU", arguments="Tensor self, bool kind, *, Tensor(a!) out"),
        overload("aten::div.Tensor", "CPU", tags=("core", "new")),
        overload("aten::relu", "CPU"),
        *(overload(f"aten::x{number}", "CPU") for number in range(4)),
    ),
    modules=(ModuleInventory("nn.Linear", ("float32",)),),
)


class TestTexts(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.before = str(write(SNAPSHOT, Path(folder.name) / "2.99.0"))
        self.after = str(write(NEWER, Path(folder.name) / "2.100.0"))

    def test_shows_how_much_there_is(self) -> None:
        self.assertExpectedInline(
            opdb("show", "--snapshot", self.before),
            """\
torch 2.99.0, taken from 2.99.0+cpu

  operators         4
  overloads         4, of which 2 are Core ATen
  modules           1
  measured          at most 9 samples of each of these dtypes: the first
  reach none        1 operator: div.trunc_rounding
  not measured      1 operator: jiterator
  partly measured   none

Operators by group
  group      operators
  --------------------
  pointwise          4

Overloads by what answers on plain CPU tensors, and how many of them an operator reaches
                                                                                core
  dispatch                                overloads  reached    share  core  reached
  ----------------------------------------------------------------------------------
  CPU                                             2        1   50.0 %     1        0
  CompositeExplicitAutogradNonFunctional          0        0  no data     0        0
  CompositeExplicitAutograd                       1        1    100 %     1        1
  CompositeImplicitAutograd                       1        0      0 %     0        0
  none                                            0        0  no data     0        0
  all                                             4        2   50.0 %     2        1
""",
        )

    def test_shows_an_operator(self) -> None:
        self.assertExpectedInline(
            opdb("show", "div.floor_rounding", "--snapshot", self.before),
            """\
div.floor_rounding, an operator of torch 2.99.0

  group             pointwise
  ATen name         div
  aliases           divide
  dtypes            float32, float64
  backward dtypes   float32, float64
  on PrivateUse1    the same dtypes as on the CPU
  other forms       method
  supports          autograd, out
  samples run       2 float32

Overloads that its samples reach on the CPU
  overload                     dispatch  core  forward  backward  variants  out
  -----------------------------------------------------------------------------
  aten::abs   CompositeExplicitAutograd  core        x         x
  prims::div                   not ATen              x
""",
        )

    def test_shows_an_overload(self) -> None:
        self.assertExpectedInline(
            opdb("show", "aten::abs", "--snapshot", self.before),
            """\
aten::abs, an overload of torch 2.99.0

  schema            aten::abs(Tensor self) -> Tensor
  Core ATen         yes
  tags              core, pointwise
  dispatch          CompositeExplicitAutograd: It is made of other overloads, for any backend that
                    has no kernel of its own for it.
  kernels           CompositeExplicitAutograd
  reached by        2 operators
  in forward        abs, div.floor_rounding
  in backward       div.floor_rounding
""",
        )

    def test_shows_an_overload_that_nothing_reaches(self) -> None:
        self.assertExpectedInline(
            opdb("show", "relu", "--snapshot", self.before),
            """\
aten::relu, an overload of torch 2.99.0

  schema            aten::relu(Tensor self) -> Tensor
  Core ATen         no
  tags              none
  dispatch          CompositeImplicitAutograd: It is made of other overloads, before autograd: a
                    backend sees only those.
  kernels           CompositeImplicitAutograd
  reached by        no operator, as far as it was measured
""",
        )

    def test_shows_a_module(self) -> None:
        self.assertExpectedInline(
            opdb("show", "nn.Linear", "--snapshot", self.before),
            """\
nn.Linear, a module of torch 2.99.0

  dtypes            float32, float64
""",
        )

    def test_shows_an_operator_in_markdown(self) -> None:
        self.assertExpectedInline(
            opdb("show", "abs", "--snapshot", self.before, "--format", "md"),
            """\
### abs, an operator of torch 2.99.0

- group: `pointwise`
- ATen name: `abs`
- aliases: `absolute`
- dtypes: `float32, float64`
- backward dtypes: `float32, float64`
- on PrivateUse1: `the same dtypes as on the CPU`
- other forms: `method`
- supports: `autograd, out`
- samples run: `2 float32`

**Overloads that its samples reach on the CPU**

| overload | dispatch | core | forward | backward | variants | out |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| `aten::abs` | CompositeExplicitAutograd | core | x |  |  |  |
| `aten::abs.out` | CPU |  |  |  |  | x |
""",
        )

    def test_shows_a_difference(self) -> None:
        self.assertExpectedInline(
            opdb("diff", self.before, self.after, "--top", "2"),
            """\
torch 2.99.0 -> 2.100.0

Note: the two were not measured in the same way: the overloads that operators reach may differ for
that reason alone.

                                       2.99.0  2.100.0  change
  ------------------------------------------------------------
  operators                                 4        4
  overloads                                 4        8      +4
  overloads reached by operators            2        1      -1
  core overloads                            2        2
  core overloads reached by operators       1        1
  modules                                   1        1

Operators: 1 added, 1 removed, 1 changed (aliases 1, dtypes 1, supports 1, forward 1, out 1)
  + new
  - div.floor_rounding
  ~ abs
      aliases: -absolute
      dtypes: -float64, +bool
      supports: -autograd, +sparse
      forward: -abs
      out: -abs.out

Overloads: 4 added, 0 removed, 3 changed (kernels 2, schema 1, tags 1, dispatch 1)
  + aten::x0
  + aten::x1
  ... and 2 more added; --top 0 shows all
  ~ aten::abs.out
      - aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor
      + aten::abs.out(Tensor self, bool kind, *, Tensor(a!) out) -> Tensor
      kernels: -SparseCPU
  ~ aten::relu
      kernels: -CompositeImplicitAutograd, +CPU
      dispatch: -CompositeImplicitAutograd, +CPU
  ~ aten::div.Tensor
      tags: +new

Modules: 0 added, 0 removed, 1 changed (dtypes 1)
  ~ nn.Linear
      dtypes: -float64
""",
        )

    def test_shows_a_difference_in_markdown(self) -> None:
        self.assertExpectedInline(
            opdb("diff", self.before, self.after, "--top", "2", "--format", "md"),
            """\
### torch 2.99.0 -> 2.100.0

> the two were not measured in the same way: the overloads that operators reach may differ for that reason alone

| | 2.99.0 | 2.100.0 | change |
| --- | ---: | ---: | ---: |
| operators | 4 | 4 |  |
| overloads | 4 | 8 | +4 |
| overloads reached by operators | 2 | 1 | -1 |
| core overloads | 2 | 2 |  |
| core overloads reached by operators | 1 | 1 |  |
| modules | 1 | 1 |  |

#### Operators: 1 added, 1 removed, 1 changed (aliases 1, dtypes 1, supports 1, forward 1, out 1)

- added `new`
- removed `div.floor_rounding`
- changed `abs`
  - aliases: lost `absolute`
  - dtypes: lost `float64`; gained `bool`
  - supports: lost `autograd`; gained `sparse`
  - forward: lost `aten::abs`
  - out: lost `aten::abs.out`

#### Overloads: 4 added, 0 removed, 3 changed (kernels 2, schema 1, tags 1, dispatch 1)

- added `aten::x0`
- added `aten::x1`
- ... and 2 more added
- changed `aten::abs.out`
  - schema: lost `aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor`; gained `aten::abs.out(Tensor self, bool kind, *, Tensor(a!) out) -> Tensor`
  - kernels: lost `SparseCPU`
- changed `aten::relu`
  - kernels: lost `CompositeImplicitAutograd`; gained `CPU`
  - dispatch: lost `CompositeImplicitAutograd`; gained `CPU`
- changed `aten::div.Tensor`
  - tags: gained `new`

#### Modules: 0 added, 0 removed, 1 changed (dtypes 1)

- changed `nn.Linear`
  - dtypes: lost `float64`
""",
        )


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(write(SNAPSHOT, tmp_path / "2.99.0"))


def test_an_operator_that_could_not_be_measured_says_why(folder: str) -> None:
    lines = opdb("show", "jiterator", "--snapshot", folder).splitlines()
    assert "  on PrivateUse1    int8; backward: bool" in lines
    assert "  samples run       none, at most 9: there are more" in lines
    assert '  not measured      int8 forward, 3 samples: RuntimeError: "no" \\ é' in lines
    assert not [line for line in lines if "Overloads" in line]


def test_json_of_an_operator_has_every_field(folder: str) -> None:
    shown = json.loads(opdb("show", "jiterator", "--snapshot", folder, "--format", "json"))
    fields = {field.name for field in dataclasses.fields(SNAPSHOT.operators[0])}
    assert set(shown) == {"schema", "kind", "torch", *fields}
    assert (shown["schema"], shown["kind"], shown["torch"]) == (1, "operator", "2.99.0")
    assert shown["privateuse1_dtypes"] == ["int8"]
    assert set(shown["reached"]) == {str(phase) for phase in Phase}


def test_json_of_an_overload_has_the_operators_by_phase(folder: str) -> None:
    shown = json.loads(opdb("show", "aten::abs", "--snapshot", folder, "--format", "json"))
    assert shown["operators"] == ["abs", "div.floor_rounding"]
    assert shown["operators_by_phase"] == {
        "forward": ["abs", "div.floor_rounding"],
        "backward": ["div.floor_rounding"],
        "variants": [],
        "out": [],
    }
    assert shown["dispatch"] == "CompositeExplicitAutograd"


def test_json_of_everything_and_of_a_module(folder: str) -> None:
    shown = json.loads(opdb("show", "--snapshot", folder, "--format", "json"))
    assert shown["sizes"]["core overloads"] == 2
    assert shown["dispatch"] == {
        "CPU": 2,
        "CompositeExplicitAutograd": 1,
        "CompositeExplicitAutogradNonFunctional": 0,
        "CompositeImplicitAutograd": 1,
        "none": 0,
    }
    assert (shown["not_measured"], shown["reach_none"]) == (["jiterator"], ["div.trunc_rounding"])
    module = json.loads(opdb("show", "nn.Linear", "--snapshot", folder, "--format", "json"))
    assert module["dtypes"] == ["float32", "float64"]


def test_json_of_a_difference_has_all_of_it(folder: str, tmp_path: Path) -> None:
    after = str(write(NEWER, tmp_path / "2.100.0"))
    shown = json.loads(opdb("diff", folder, after, "--format", "json", "--top", "1"))
    assert shown["schema"] == 1
    assert not shown["comparable"]
    assert shown["overloads"]["added"] == ["aten::x0", "aten::x1", "aten::x2", "aten::x3"]
    assert shown["sizes"]["overloads"] == {"before": 4, "after": 8}
    (change,) = shown["modules"]["changed"]
    assert change == {"name": "nn.Linear", "fields": [{"field": "dtypes", "removed": ["float64"], "added": []}]}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for version in ("2.9.1", "2.10.0"):
        write(dataclasses.replace(SNAPSHOT, torch=version), tmp_path / "op_db" / version)
    monkeypatch.setattr(resources, "op_db", lambda: tmp_path / "op_db")
    return tmp_path / "op_db"


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    from importlib import metadata

    def answer(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", answer)


@pytest.mark.parametrize(
    ("version", "shown", "note"),
    [
        ("2.9.1+cpu", "torch 2.9.1", ""),
        ("2.11.0+cpu", "torch 2.10.0", "no snapshot of torch 2.11.0, which is installed: this is torch 2.10.0"),
        (None, "torch 2.10.0", "torch is not installed: this is torch 2.10.0"),
    ],
)
def test_the_installed_torch_is_shown_or_the_newest_with_a_note(
    shipped: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: str | None,
    shown: str,
    note: str,
) -> None:
    installed(monkeypatch, version)
    assert opdb("show").startswith(f"{shown}, ")
    error = capsys.readouterr().err
    assert note in error
    assert bool(error) == bool(note)


def test_without_any_snapshot_it_says_how_to_take_one(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "op_db", lambda: shipped / "2.9.1")
    with pytest.raises(UsageError, match="`conformance opdb snapshot` takes one"):
        opdb("show")


def test_unknown_names_and_snapshots_are_usage_errors(folder: str) -> None:
    with pytest.raises(UsageError, match="near: abs, aten::abs"):
        opdb("show", "Abs", "--snapshot", folder)
    with pytest.raises(UsageError, match=r"no snapshot of torch '1\.0'"):
        opdb("diff", folder, "1.0")


def test_versions_that_differ_in_their_build_only_are_told_apart(tmp_path: Path, folder: str) -> None:
    other = str(write(dataclasses.replace(SNAPSHOT, build="2.99.0+cu130"), tmp_path / "cuda"))
    text = opdb("diff", folder, other)
    assert text.startswith("torch 2.99.0+cpu -> 2.99.0+cu130\n")
    assert "Operators: 0 added, 0 removed, 0 changed\n" in text


def test_a_snapshot_is_written_where_it_was_asked_for_and_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from conformance.suites import snapshot

    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
    monkeypatch.setattr(snapshot, "take_snapshot", functools.partial(snapshot.take_snapshot, names=["abs"], samples=1))
    line = opdb("snapshot", "--out", str(tmp_path / "a" / "b"))
    (path,) = (tmp_path / "a" / "b").iterdir()
    taken = load(path)
    assert line.startswith(f"{path}: torch {taken.torch}, 1 operators, 3,")
    assert taken.operators[0].samples["float32"] == 1
    assert os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
    assert "abs" in opdb("show", "abs", "--snapshot", str(path))


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.suites import snapshot

    def never(**_: object) -> None:
        raise AssertionError("measured all the same")

    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
    monkeypatch.setattr(snapshot, "take_snapshot", never)
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match="cannot write"):
        opdb("snapshot", "--out", str(tmp_path / "file"))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["show", "--help"], ["show", "add"], ["diff", "2.13.0", "2.14.1"], ["snapshot", "--help"]]
)
def test_nothing_but_a_new_snapshot_needs_torch(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom conformance.cli.opdb import command\n"
        f"command.main({arguments!r}, standalone_mode=False)\n"
        "print('LOADED', [name for name in ('torch', 'numpy', 'rich', 'jinja2') if name in sys.modules], "
        "file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "LOADED []"
    assert done.stdout


def test_the_record_of_architectures_goes_beside_the_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    import conformance.readiness.calls as recording

    taken = ArchitectureCalls("2.13.0", "5.24.0", {"llama": ("aten::mm",)}, {"odd": "not made: why"})
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    monkeypatch.setattr(recording, "record_calls", lambda progress: progress("llama") or taken)
    output = opdb("architectures", "--out", str(tmp_path))
    (folder,) = tmp_path.iterdir()
    assert load_calls(folder / FILE) == taken
    assert re.search(r"torch [\d.]+, transformers [\d.]+, 1 architecture recorded, 1 not or in part$", output.rstrip())


def test_a_place_that_cannot_hold_the_record_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        opdb("architectures", "--out", str(tmp_path / "file"))
