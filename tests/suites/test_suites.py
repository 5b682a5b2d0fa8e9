"""The suites over the installed torch: what they plan, and that each template can fail."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from conformance.suites import DEFAULT_SUITES, inventory
from conformance.suites.selection import ON_DEMAND, TEMPLATES
from tests.conftest import outcomes, rows, run_conformance


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    done = run_conformance("collect", "--device", "cpu", cwd=tmp_path_factory.mktemp("collect"))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _template(test_id: str) -> str:
    suite, _, name = test_id.split("::")
    return f"{suite}.{next(word for word in TEMPLATES[suite] if name.startswith(f'test_{word}_'))}"


def test_the_plan_covers_every_operator_module_and_template(planned: list[str]) -> None:
    counts = collections.Counter(map(_template, planned))
    assert set(counts) == {
        f"{suite}.{name}" for suite in DEFAULT_SUITES for name in TEMPLATES[suite] if name not in ON_DEMAND
    }
    declared = sum(len(info.dtypes) for info in inventory.operators("cpu"))
    assert counts["opinfo.forward"] == declared
    assert counts["opinfo.dtypes"] == len(inventory.operators("cpu"))
    assert counts["modules.forward"] >= 2 * len(inventory.modules("cpu"))
    assert 10_000 < len(planned) < 14_000
    assert len(set(planned)) == len(planned)


def test_every_operator_has_a_group_and_few_have_none_better_than_other() -> None:
    groups = collections.Counter(info.group for info in inventory.operators("cpu"))
    assert groups["other"] <= 5
    assert {"pointwise", "reduction", "linear algebra", "fft", "indexing", "normalisation", "attention"} <= set(groups)


BROKEN = {
    "forward": "aten::sin=wrong",
    "backward": "aten::cos=wrong",  # the derivative of sin
    "second_order": "aten::cos=nan",
    "out": "aten::sin=wrong",
    "variants": "aten::sin=wrong",
    "noncontiguous": "aten::sin=wrong",
    "neg_view": "aten::sin=wrong",
    "dtypes": "aten::sin=not_implemented",
    "reference": "aten::sin=wrong",
}


@pytest.mark.parametrize("fault", sorted(set(BROKEN.values())))
def test_each_template_notices_a_broken_operator(tmp_path: Path, fault: str) -> None:
    templates = [template for template, its_fault in BROKEN.items() if its_fault == fault]
    done = run_conformance(
        *("run", "opinfo", "--device", "neuron", "--ops", "sin", "--dtypes", "float32", "--db", "out.sqlite"),
        *("--templates", ",".join(templates), "--workers", "0"),
        cwd=tmp_path,
        env={"CONFORMANCE_NEURON_FAULTS": fault},
    )
    assert done.returncode == 1, done.stderr
    found = dict(rows(tmp_path / "out.sqlite", "select template, outcome from test_results"))
    assert found == {f"test_{template}": "failed" for template in templates}


def test_module_templates_notice_a_broken_operator(tmp_path: Path) -> None:
    done = run_conformance(
        *("run", "modules", "--device", "neuron", "--ops", "nn.Linear", "--dtypes", "float32", "--db", "out.sqlite"),
        cwd=tmp_path,
        env={"CONFORMANCE_NEURON_FAULTS": "aten::addmm=wrong;aten::mm=wrong;aten::_copy_from=wrong@1000000"},
    )
    assert done.returncode == 1, done.stderr
    found = dict(rows(tmp_path / "out.sqlite", "select template, outcome from test_results"))
    broken = ("forward", "backward", "noncontiguous", "pickle")
    assert {found[f"test_{template}"] for template in broken} == {"failed"}
    assert {found[f"test_{template}"] for template in ("state_dict", "to")} == {"passed"}


@pytest.mark.parametrize(
    ("template", "op", "dtype", "fault"),
    [
        ("conj_view", "sin", "complex64", "aten::sin=wrong"),
        ("errors", "gather", "float32", "aten::gather=error"),
        ("memory_format", "nn.BatchNorm2d", "float32", "aten::native_batch_norm=wrong"),
    ],
)
def test_the_other_templates_notice_it_too(tmp_path: Path, template: str, op: str, dtype: str, fault: str) -> None:
    done = run_conformance(
        *("run", "--device", "neuron", "--ops", op, "--dtypes", dtype, "--templates", template, "--db", "out.sqlite"),
        *("--skiplist", "none"),
        cwd=tmp_path,
        env={"CONFORMANCE_NEURON_FAULTS": fault},
    )
    assert done.returncode == 1, done.stderr
    assert "unfit" not in done.stderr  # the device works but for one operator, after the last test too
    assert "failed" in outcomes(tmp_path / "out.sqlite").values()


def test_random_operators_are_compared_in_kind_and_uninitialised_ones_too(tmp_path: Path) -> None:
    done = run_conformance(
        *("run", "opinfo", "--device", "neuron", "--db", "out.sqlite", "--dtypes", "float32"),
        *("--ops", "nn.functional.dropout,empty,randn,bernoulli", "--templates", "backward,noncontiguous,variants"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert set(outcomes(tmp_path / "out.sqlite").values()) <= {"passed", "skipped", "xfailed"}
    assert "passed" in outcomes(tmp_path / "out.sqlite").values()


def test_the_tolerance_of_each_comparison_is_recorded(tmp_path: Path) -> None:
    arguments = ("--ops", "sin", "--templates", "forward,reference", "--device", "cpu", "--skiplist", "none")
    run_conformance("run", "opinfo", *arguments, cwd=tmp_path)
    query = "select template, dtype, tolerance from test_results where dtype in ('float32', 'bfloat16') order by 1, 2"
    assert rows(tmp_path / "conformance.sqlite", query) == [
        ("test_forward", "bfloat16", "rtol 0.016, atol 0.01"),  # the OpInfo of sin widens PyTorch's own 1e-05
        ("test_forward", "float32", "rtol 1.3e-06, atol 1e-05"),
        ("test_reference", "float32", "rtol 1.3e-06, atol 1e-05"),
    ]
