"""Snapshots: what is written comes back, what is damaged is refused, what differs is found."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import resources
from conformance.analysis import opdb
from conformance.analysis.opdb_diff import FieldChange, compare, sizes_of
from conformance.analysis.opdb_find import find
from conformance.analysis.opdb_format import FACTS, MODULES, OPERATORS, OVERLOADS, files_of
from conformance.errors import InfrastructureError, UsageError
from conformance.model.operator import ModuleInventory
from conformance.model.overload import (
    Dispatch,
    Measurement,
    OperatorRecord,
    Overload,
    Phase,
    Snapshot,
    Unmeasured,
)

FLOATS = ("float32", "float64")


def operator(name: str, **fields: object) -> OperatorRecord:
    plain = OperatorRecord(
        name=name,
        variant="",
        aten_name=name,
        aliases=(),
        group="pointwise",
        dtypes=FLOATS,
        backward_dtypes=FLOATS,
        privateuse1_dtypes=FLOATS,
        privateuse1_backward_dtypes=FLOATS,
        forms=("method",),
        supports=("autograd", "out"),
        samples={"float32": 2},
        complete=True,
        reached=dict.fromkeys(Phase, ()),
        unmeasured=(),
    )
    return dataclasses.replace(plain, **fields)  # type: ignore[arg-type]


def overload(name: str, *kernels: str, tags: tuple[str, ...] = (), arguments: str = "Tensor self") -> Overload:
    return Overload(name=name, schema=f"{name}({arguments}) -> Tensor", tags=tags, kernels=kernels)


def reached(**phases: tuple[str, ...]) -> dict[Phase, tuple[str, ...]]:
    return {phase: phases.get(phase.value, ()) for phase in Phase}


SNAPSHOT = Snapshot(
    torch="2.99.0",
    build="2.99.0+cpu",
    measurement=Measurement(samples=9, dtypes="the first", seed=1),
    operators=(
        operator("abs", aliases=("absolute",), reached=reached(forward=("aten::abs",), out=("aten::abs.out",))),
        operator(
            "div.floor_rounding",
            variant="floor_rounding",
            aten_name="div",
            aliases=("divide",),
            reached=reached(forward=("aten::abs", "prims::div"), backward=("aten::abs",)),
        ),
        operator("div.trunc_rounding", variant="trunc_rounding", aliases=("divide",)),
        operator(
            "jiterator",
            dtypes=(),
            backward_dtypes=(),
            privateuse1_dtypes=("int8",),
            privateuse1_backward_dtypes=("bool",),
            forms=(),
            supports=(),
            samples={},
            complete=False,
            unmeasured=(Unmeasured("int8", "forward", 3, 'RuntimeError: "no" \\ é'),),
        ),
    ),
    overloads=(
        overload("aten::abs", "CompositeExplicitAutograd", tags=("core", "pointwise")),
        overload("aten::abs.out", "CPU", "SparseCPU", arguments="Tensor self, *, Tensor(a!) out"),
        overload("aten::div.Tensor", "CPU", tags=("core",)),
        overload("aten::relu", "CompositeImplicitAutograd"),
    ),
    modules=(ModuleInventory("nn.Linear", FLOATS),),
)


def write(snapshot: Snapshot, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in files_of(snapshot).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(SNAPSHOT, tmp_path / "2.99.0")


def test_what_is_written_comes_back(folder: Path) -> None:
    loaded = opdb.load(folder)
    assert loaded == SNAPSHOT
    assert files_of(loaded) == files_of(SNAPSHOT)


def test_lists_have_one_record_a_line_and_leave_out_what_is_empty(folder: Path) -> None:
    lines = (folder / OPERATORS).read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 2 + len(SNAPSHOT.operators))
    assert set(json.loads(lines[1].rstrip(","))) == {
        *("name", "aten_name", "aliases", "group", "dtypes", "backward_dtypes", "forms", "supports", "samples"),
        *("forward", "out"),
    }
    assert '"forward":["abs","prims::div"]' in lines[2]
    assert '"dtypes":[]' in lines[4]
    assert all(line.isascii() for line in lines)


def test_a_snapshot_of_nothing_comes_back_too(tmp_path: Path) -> None:
    empty = dataclasses.replace(SNAPSHOT, operators=(), overloads=(), modules=())
    assert opdb.load(write(empty, tmp_path / "0")) == empty


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / OVERLOADS).unlink(), "cannot read"),
        (lambda folder: (folder / MODULES).write_bytes(b"\xff\xfe"), "modules.json is damaged"),
        (lambda folder: (folder / FACTS).write_text(""), "snapshot.json is damaged"),
        (lambda folder: (folder / FACTS).write_text("[]"), "has schema None"),
        (lambda folder: (folder / OPERATORS).write_text("{}"), "it is no list"),
        (lambda folder: (folder / OPERATORS).write_text("[1]"), "operators.json is damaged"),
        (lambda folder: (folder / OPERATORS).write_text("[\n]\n"), "counts 4 operators where operators.json has 0"),
        (replaced(FACTS, '"schema": 1', '"schema": 2'), "has schema 2, and this harness reads 1"),
        (replaced(FACTS, '"torch"', '"other"'), "lacks 'torch'"),
        (replaced(FACTS, '"modules": 1', '"modules": 2'), "counts 2 modules where modules.json has 1"),
        (replaced(FACTS, '"seed": 1', '"seed": "x"'), "does not fit"),
        (replaced(OPERATORS, '"group"', '"herd"'), "lacks 'group'"),
        (replaced(OPERATORS, '"dtypes":["float32","float64"]', '"dtypes":"float32"'), "no list of texts"),
        (replaced(OPERATORS, '"samples":{"float32":2}', '"samples":[2]'), "does not fit"),
        (replaced(OPERATORS, '"div.trunc_rounding"', '"div.floor_rounding"'), "'div.floor_rounding' twice"),
        (replaced(OVERLOADS, "aten::relu(", "aten::relu"), "is no schema"),
        (replaced(OVERLOADS, "]\n", ""), "overloads.json is damaged"),
    ],
)
def test_a_damaged_snapshot_is_refused_and_the_file_named(
    folder: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(folder)
    with pytest.raises(InfrastructureError, match="take the snapshot again") as caught:
        opdb.load(folder)
    assert caught.value.slug == "bad-snapshot"
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let two versions, and things that are none, stand in for what comes with the harness."""
    for version in ("2.9.1", "2.10.0", "nightly"):
        write(dataclasses.replace(SNAPSHOT, torch=version), tmp_path / "op_db" / version)
    (tmp_path / "op_db" / "2.11.0").mkdir()
    (tmp_path / "op_db" / "README.md").touch()
    monkeypatch.setattr(resources, "op_db", lambda: tmp_path / "op_db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_versions_are_ordered_as_versions_and_hold_only_snapshots(shipped: Path) -> None:
    assert opdb.versions() == ["nightly", "2.9.1", "2.10.0"]


def test_a_version_is_found_with_and_without_its_build(shipped: Path) -> None:
    assert opdb.load("2.10.0").torch == opdb.load("2.10.0+cu130").torch == "2.10.0"


def test_a_version_means_what_comes_with_the_harness_and_a_path_the_folder(shipped: Path) -> None:
    write(dataclasses.replace(SNAPSHOT, build="mine"), shipped / "2.10.0")
    assert opdb.load("2.10.0").build == "2.99.0+cpu"
    assert opdb.load("./2.10.0").build == opdb.load(Path("2.10.0")).build == "mine"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("2.10.1", "near: 2.10.0"),
        ("toaster", "there are nightly, 2.9.1, 2.10.0"),
        ("", "there is no snapshot"),
        ("op_db", "holds no snapshot.json"),
        ("op_db/2.11.0", "holds no snapshot.json"),
        ("op_db/README.md", "is no snapshot"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_what_there_is(shipped: Path, source: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        opdb.load(source)
    assert caught.value.slug == "unknown-snapshot"


def test_an_overload_is_dispatched_to_the_first_kernel_in_the_dispatchers_order() -> None:
    order = [way.value for way in Dispatch if way is not Dispatch.NONE]
    for size in range(len(order) + 1):
        for kernels in itertools.combinations(order, size):
            expected = next((way for way in order if way in kernels), "none")
            assert overload("aten::x", *sorted(kernels), "SparseCPU").dispatch.value == expected


def test_overloads_know_the_operators_that_reach_them() -> None:
    assert SNAPSHOT.exercised() == {
        "aten::abs": ("abs", "div.floor_rounding"),
        "aten::abs.out": ("abs",),
        "aten::div.Tensor": (),
        "aten::relu": (),
    }
    assert SNAPSHOT.operators[1].overloads == ("aten::abs", "prims::div")


def test_the_denominators_count_what_is_not_reached_too() -> None:
    assert sizes_of(SNAPSHOT) == {
        "operators": 4,
        "overloads": 4,
        "overloads reached by operators": 2,
        "core overloads": 2,
        "core overloads reached by operators": 1,
        "modules": 1,
    }


def test_an_inventory_has_every_operator_with_the_dtypes_declared_for_the_device() -> None:
    cpu, neuron = SNAPSHOT.inventory("cpu"), SNAPSHOT.inventory("neuron")
    assert [info.name for info in cpu] == [info.name for info in neuron] == [op.name for op in SNAPSHOT.operators]
    assert (cpu[3].dtypes, neuron[3].dtypes) == ((), ("int8",))
    assert (cpu[0].supports_autograd, cpu[0].supports_out, cpu[3].supports_out) == (True, True, False)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("abs", "abs"),
        ("aten::abs", "aten::abs"),
        ("abs.out", "aten::abs.out"),
        ("absolute", "abs"),
        ("nn.Linear", "nn.Linear"),
        ("relu", "aten::relu"),
    ],
)
def test_entries_are_found_by_what_people_call_them(name: str, found: str) -> None:
    assert find(SNAPSHOT, name).name == found


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("div", "near: div.floor_rounding, div.trunc_rounding, aten::div.Tensor [unknown-name]"),
        ("divide", "near: div.floor_rounding, div.trunc_rounding [unknown-name]"),
        ("aten::div", "near: aten::div.Tensor, div.floor_rounding, div.trunc_rounding [unknown-name]"),
        ("div_floor_rounding", "near: div.floor_rounding"),
        ("torch.abs", "near: abs"),
        ("Linear", "near: nn.Linear"),
        ("jiterater", "near: jiterator"),
        ("", "`conformance opdb show` has"),
        ("torch.", "`conformance opdb show` has"),
        ("%s", "`conformance opdb show` has"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(SNAPSHOT, name)
    assert hint in f"{caught.value} [{caught.value.slug}]"


def test_a_snapshot_does_not_differ_from_itself() -> None:
    diff = compare(SNAPSHOT, SNAPSHOT)
    assert diff.comparable
    for kind in (diff.operators, diff.overloads, diff.modules):
        assert (kind.added, kind.removed, kind.changed) == ((), (), ())


def changes(before: OperatorRecord, after: OperatorRecord) -> list[FieldChange]:
    diff = compare(
        dataclasses.replace(SNAPSHOT, operators=(before,)), dataclasses.replace(SNAPSHOT, operators=(after,))
    )
    return [field for change in diff.operators.changed for field in change.fields]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"group": "shape"}, [FieldChange("group", ("pointwise",), ("shape",))]),
        ({"aten_name": "y"}, [FieldChange("aten_name", ("x",), ("y",))]),
        ({"aliases": ("ex",)}, [FieldChange("aliases", (), ("ex",))]),
        ({"forms": ()}, [FieldChange("forms", ("method",), ())]),
        ({"supports": ("autograd", "sparse")}, [FieldChange("supports", ("out",), ("sparse",))]),
        (
            {"reached": reached(backward=("aten::x",))},
            [FieldChange("backward", (), ("aten::x",))],
        ),
        (
            {"unmeasured": (Unmeasured("int8", "out", 2, "TypeError: no"),)},
            [FieldChange("unmeasured", (), ("int8 out: TypeError: no",))],
        ),
        # What a backend from outside is declared is said once where it follows the CPU, and apart where it does not.
        (
            {"dtypes": ("float32",), "privateuse1_dtypes": ("float32",)},
            [FieldChange("dtypes", ("float64",), ())],
        ),
        ({"privateuse1_dtypes": ("float32",)}, [FieldChange("privateuse1_dtypes", ("float64",), ())]),
        (
            {"backward_dtypes": (), "privateuse1_backward_dtypes": ("float32",)},
            [
                FieldChange("backward_dtypes", FLOATS, ()),
                FieldChange("privateuse1_backward_dtypes", ("float64",), ()),
            ],
        ),
        ({"samples": {"float32": 99}, "complete": False}, []),
    ],
)
def test_each_field_that_changes_is_named_with_what_it_lost_and_gained(
    fields: dict[str, object], expected: list[FieldChange]
) -> None:
    assert changes(operator("x"), operator("x", **fields)) == expected


def test_entries_that_come_and_go_are_named_and_counted() -> None:
    after = dataclasses.replace(
        SNAPSHOT,
        measurement=Measurement(samples=1, dtypes="the first", seed=1),
        operators=SNAPSHOT.operators[1:],
        overloads=(
            *SNAPSHOT.overloads[:2],
            overload("aten::div.Tensor", tags=("core", "pointwise"), arguments="Tensor self, Tensor other"),
            overload("aten::new"),
        ),
        modules=(ModuleInventory("nn.Linear", ("float32",)), ModuleInventory("nn.New", ())),
    )
    diff = compare(SNAPSHOT, after)
    assert not diff.comparable
    assert (diff.operators.added, diff.operators.removed) == ((), ("abs",))
    assert (diff.overloads.added, diff.overloads.removed) == (("aten::new",), ("aten::relu",))
    (change,) = diff.overloads.changed
    assert change.name == "aten::div.Tensor"
    assert change.fields == (
        FieldChange(
            "schema",
            ("aten::div.Tensor(Tensor self) -> Tensor",),
            ("aten::div.Tensor(Tensor self, Tensor other) -> Tensor",),
        ),
        FieldChange("tags", (), ("pointwise",)),
        FieldChange("kernels", ("CPU",), ()),
        FieldChange("dispatch", ("CPU",), ("none",)),
    )
    assert diff.modules.added == ("nn.New",)
    assert diff.sizes["operators"] == (4, 3)
    assert diff.sizes["overloads reached by operators"] == (2, 1)


def test_what_comes_with_the_harness_loads_and_has_what_torch_has() -> None:
    """The numbers of 2.13.0 are those that torch 2.13.0 itself gives."""
    known = opdb.versions()
    assert "2.13.0" in known
    assert len(known) >= 2
    for version in known:
        snapshot = opdb.load(version)
        assert snapshot.torch == version
        assert files_of(snapshot) == {
            path.name: path.read_text(encoding="utf-8") for path in (resources.op_db() / version).glob("*.json")
        }
        names = [op.name for op in snapshot.operators]
        assert names == sorted(names)
        assert [o.name for o in snapshot.overloads] == sorted(o.name for o in snapshot.overloads)
        unknown = {name for op in snapshot.operators for name in op.overloads} - set(snapshot.exercised())
        assert not [name for name in unknown if name.startswith("aten::")]
        assert [op.name for op in snapshot.operators if not op.complete] == []
        # Of an operator without overloads it is known why; these two need none for the samples they have.
        silent = {op.name for op in snapshot.operators if not op.overloads and not op.unmeasured}
        assert silent <= {"broadcast_shapes", "contiguous"}
    sizes = sizes_of(opdb.load("2.13.0"))
    assert (sizes["operators"], sizes["overloads"], sizes["core overloads"], sizes["modules"]) == (702, 3110, 193, 114)
    assert sizes["overloads reached by operators"] > 1300
    assert sizes["core overloads reached by operators"] > 170
