# ruff: noqa: E501 (commands stand in one line)
from __future__ import annotations

import tempfile
from pathlib import Path

from expecttest import TestCase

from conformance.analysis.signature import signature
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.report.findings import collect_findings
from conformance.report.layout import width_of
from conformance.report.text import render_text
from conformance.store import Database
from tests.report.runs import id_of, write_run
from tests.sample_run import build_sample


def render(path: Path, run_id: int = 1, top: int = 20) -> str:
    with Database.open_existing(path) as db:
        return render_text(collect_findings(db, run_id, top=top))


class TestText(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_shows_a_run_with_everything(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", operators=13)
        self.assertExpectedInline(
            render(path, top=3),
            """\
Run 1 (933305f9) on neuron: complete
EMULATED: a stand-in ran in place of the device; these results say nothing about the hardware.
INCOMPLETE: the run is complete; 4 of 145 planned tests have no result.
  suites    opinfo, modules, local
  device    emulated neuron (neuron)
  torch     2.13.0
  backend   conformance emulator 0.1.0
  probe     observer
  host      trn2-<host>, Linux 6.8 x86_64, Python 3.11.7
  started   2026-10-01T02:00:05Z
  finished  2026-10-01T03:12:41Z
  command   conformance run opinfo modules --device neuron -k 'not "slow"'

Outcomes
  outcome        tests   share
  ----------------------------
  passed            96  66.2 %
  failed            19  13.1 %
  error              1   0.7 %
  skipped           12   8.3 %
  xfailed            4   2.8 %
  xpassed            1   0.7 %
  crashed            2   1.4 %
  timed out          2   1.4 %
  out of memory      2   1.4 %
  flaky              2   1.4 %
  not run            4   2.8 %
  planned          145   100 %
  In 25 tests the operator under test fell back to the CPU.

Operators by status, of 13 operators in the inventory
  status    operators   share
  ---------------------------
  native            6  46.2 %
  partial           1   7.7 %
  fallback          2  15.4 %
  failing           1   7.7 %
  crashing          1   7.7 %
  skipped           1   7.7 %
  untested          1   7.7 %

Modules by status, of 7 modules in the inventory
  status    modules   share
  -------------------------
  native          3  42.9 %
  partial         1  14.3 %
  fallback        1  14.3 %
  failing         1  14.3 %
  crashing        0     0 %
  skipped         0     0 %
  untested        1  14.3 %

Templates
                                                                         timed out of       not fell
  template   planned passed failed error skipped xfailed xpassed crashed   out memory flaky run back
  --------------------------------------------------------------------------------------------------
  test_out        36     26      6     0       2       1       0       0     0      1     0   0    7
  test_backward
                  36     21      3     0       7       1       0       0     1      0     0   3    7
  test_forward
                  36     29      3     0       2       1       0       1     0      0     0   0    7
  (15 more)       37     20      7     1       1       1       1       1     1      1     2   1    4

Operator groups
                                                                        timed out of       not fell
  group     planned passed failed error skipped xfailed xpassed crashed   out memory flaky run back
  -------------------------------------------------------------------------------------------------
  pointwise      99     68     12     0      10       3       0       1     1      1     0   3   21
  (none)         37     20      7     1       1       1       1       1     1      1     2   1    4
  other           9      8      0     0       1       0       0       0     0      0     0   0    0

Overloads that fell back to the CPU in the operator under test
  overload                 tests  operators
  -----------------------------------------
  aten::abs.out                9          1
  aten::mul.out                9          1
  aten::_foreach_add.List      7          3
  ... and 2 more

Skips: 12 tests for 4 reasons
  tests  by    reason
  ---------------------------------------------------------
  5      test  does not require grad
  3      test  Skipped! bfloat16 is not supported on neuron
  3      test  Skipped! float32 is not supported on neuron
  1      test  not here

Failures: 26 tests with 9 signatures
  1. 8 tests of 2 operators and 1 module: 8 failed
     says    AssertionError: Tensor-likes are not close!
             Mismatched elements: 4 / 25 (47.0%)
             Greatest absolute difference: 0.447 at index (0, 2) (up to 1e-05 allowed)
             Greatest relative difference: 1.47 at index (0, 0) (up to 1.3e-06 allowed)
     sample  2 of 8 passed; first failure: sample 2: Tensor[(5, 5), float32]
     first   modules::TestModules::test_module_backward_nn_LayerNorm_bfloat16
     repeat  conformance run modules --device neuron --test modules::TestModules::test_module_backward_nn_LayerNorm_bfloat16
  2. 4 tests of 1 module: 4 failed
     says    ValueError: <b>not bold</b> & "quotes" in 'nn.MultiheadAttention'\\x00 \\ud800 end
     sample  2 of 8 passed; first failure: sample 2: Tensor[(5, 5), float32]
     first   modules::TestModules::test_module_backward_nn_MultiheadAttention_bfloat16
     repeat  conformance run modules --device neuron --test modules::TestModules::test_module_backward_nn_MultiheadAttention_bfloat16
  3. 4 tests: 1 failed, 1 crashed, 1 timed out, 1 out of memory
     says    assert 1 == 2
     first   tests/test_local.py::TestLocal::test_crashed
     repeat  conformance run tests/test_local.py --device neuron --test tests/test_local.py::TestLocal::test_crashed
  ... and 6 more

Lost: 4 planned tests came back without a result (not run)
  opinfo::TestOperators::test_backward_clamp_bfloat16
  opinfo::TestOperators::test_backward_clamp_float32
  opinfo::TestOperators::test_backward_clamp_int64
  tests/test_local.py::TestLocal::test_not_run
""",
        )

    def test_shows_an_interrupted_run_as_such_first(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", runs=3, operators=13)
        self.assertExpectedInline(
            "\n".join(render(path, run_id=3).splitlines()[:6]),
            """\
Run 3 (545b9749) on neuron: interrupted
EMULATED: a stand-in ran in place of the device; these results say nothing about the hardware.
INCOMPLETE: the run is interrupted; 50 of 145 planned tests have no result.
SELECTION: only a part of the suites was asked for: --ops '*'
  suites    opinfo, modules, local
  device    emulated neuron (neuron)""",
        )

    def test_shows_a_run_without_tests_or_inventory_as_no_data(self) -> None:
        path = write_run(self.folder / "db", [], probe="")
        self.assertExpectedInline(
            render(path),
            """\
Run 1 (ab12cd34) on neuron: complete
UNOBSERVED: no probe looked for CPU fallbacks; an operator shown as native may have used one.
  suites    opinfo
  device    Trainium2 (neuron)
  torch     2.13.0
  backend   torch-neuronx 2.13.3.1
  probe     none
  host      host, Linux, Python 3.11.7
  started   2026-10-01T00:00:01Z
  finished  2026-10-01T00:01:00Z
  command   conformance run opinfo --device neuron

Outcomes
  outcome  tests    share
  -----------------------
  planned      0  no data
  Tests in which the operator under test fell back to the CPU: no data.

Operators: no data

Templates: no data

Operator groups: no data

Overloads that fell back to the CPU in the operator under test: no data

Failures: no data
""",
        )

    def test_shows_neither_zero_nor_a_column_of_fallbacks_without_a_probe(self) -> None:
        path = write_run(self.folder / "db", [Result(id_of("test_a"), Outcome.PASSED)], probe="", inventory=["a", "b"])
        text = render(path).partition("\n\n")[2]
        assert "fell\n" not in text
        self.assertExpectedInline(
            text,
            """\
Outcomes
  outcome  tests  share
  ---------------------
  passed       1  100 %
  planned      1  100 %
  Tests in which the operator under test fell back to the CPU: no data.

Status by dtype of 1 operator (inventory: 2 operators)
  name  status  dtypes
  -----------------------------
  a     native  native: float32

Templates
  template  planned  passed
  -------------------------
  test            1       1

Overloads that fell back to the CPU in the operator under test: no data

Failures: none
""",
        )

    def test_tells_a_narrow_run_by_dtype_on_one_screen(self) -> None:
        seen = FallbackAccount(("aten::x",), ("aten::x",))
        results = [
            Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount()),
            Result(id_of("test_a_float64"), Outcome.PASSED, fallback=seen),
            Result(id_of("test_b"), Outcome.PASSED, fallback=FallbackAccount()),
            Result(id_of("test_b_float64"), Outcome.FAILED, message="no 1", signature="no N"),
        ]
        path = write_run(self.folder / "db", results, inventory=["a", "b", "c"], planned=["test_d"])
        self.assertExpectedInline(
            render(path).partition("\n\n")[2],
            """\
Outcomes
  outcome  tests   share
  ----------------------
  passed       3  60.0 %
  failed       1  20.0 %
  not run      1  20.0 %
  planned      5   100 %
  In 1 test the operator under test fell back to the CPU.

Status by dtype of 3 operators (inventory: 3 operators)
  name  status    dtypes
  --------------------------------------------------
  a     fallback  native: float32; fallback: float64
  b     partial   native: float32; failing: float64
  d     untested  untested: 1 dtype

Templates
                                     not  fell
  template  planned  passed  failed  run  back
  --------------------------------------------
  test            5       3       1    1     1

Overloads that fell back to the CPU in the operator under test
  overload  tests  operators
  --------------------------
  aten::x       1          1

Failures: 1 test with 1 signature
  1. 1 test of 1 operator: 1 failed
     says    no 1
     first   opinfo::TestX::test_b_float64
     repeat  conformance run opinfo --device neuron --test opinfo::TestX::test_b_float64

Lost: 1 planned test came back without a result (not run)
  opinfo::TestX::test_d
""",
        )

    def test_tells_of_fallbacks_in_tests_without_an_operator(self) -> None:
        seen = FallbackAccount((), ("aten::x",))
        results = [Result("test_mine.py::test_a", Outcome.PASSED, fallback=seen)]
        self.assertExpectedInline(
            render(write_run(self.folder / "db", results)).partition("\n\n")[2],
            """\
Outcomes
  outcome  tests  share
  ---------------------
  passed       1  100 %
  planned      1  100 %
  In 1 test without an operator under test something ran on the CPU.

Templates
                             fell
  template  planned  passed  back
  -------------------------------
  test_a          1       1     0

Overloads that ran on the CPU in tests without an operator under test
  overload  tests
  ---------------
  aten::x       1

Failures: none
""",
        )
        both = [*results, Result(id_of("test_b"), Outcome.PASSED, fallback=FallbackAccount())]
        text = render(write_run(self.folder / "both", both))
        assert "In 0 tests the operator under test fell back to the CPU.\n" in text
        assert "In 1 test without an operator under test something ran on the CPU.\n" in text
        assert "in the operator under test: none seen\n" in text
        assert "in tests without an operator under test\n" in text
        clean = [Result("test_mine.py::test_a", Outcome.PASSED, fallback=FallbackAccount())]
        assert "In 0 tests without an operator" in render(write_run(self.folder / "clean", clean))

    def test_is_silent_about_fallbacks_of_the_cpu(self) -> None:
        results = [Result(id_of("test_a"), Outcome.PASSED)]
        text = render(write_run(self.folder / "db", results, device="cpu", probe="none"))
        assert "UNOBSERVED" not in text
        assert "the CPU" not in text

    def test_shows_the_message_once_and_where_a_process_died(self) -> None:
        message = (
            "AssertionError: Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
            f"Greatest absolute difference: {'0' * 60} at index (1,) (up to 1e-05 allowed)\n\n"
            "1 of 2 samples passed; the first failure: sample 1: float32[2]"
        )
        stack = 'Current thread 0x01 (most recent call first):\n  File "/x/test_x.py", line 3 in deep\n'
        results = [
            Result(
                id_of("test_a"),
                Outcome.FAILED,
                message=message,
                signature=signature(message),
                samples=SampleAccount(2, 1, "sample 1: float32[2]"),
            ),
            Result(
                id_of("test_b"),
                Outcome.CRASHED,
                message="the worker process died: SIGSEGV (signal 11)",
                signature="SIGSEGV in deep",
                details=stack + '  File "/x/test_x.py", line 9 in test_b\n',
            ),
        ]
        self.assertExpectedInline(
            render(write_run(self.folder / "db", results)).partition("Failures")[2],
            """\
: 2 tests with 2 signatures
  1. 1 test of 1 operator: 1 failed
     says    AssertionError: Tensor-likes are not close!
             Mismatched elements: 1 / 2 (50.0%)
             Greatest absolute difference:
             000000000000000000000000000000000000000000000000000000000000 at index (1,) (up to 1e-05
             allowed)
     sample  1 of 2 passed; first failure: sample 1: float32[2]
     first   opinfo::TestX::test_a
     repeat  conformance run opinfo --device neuron --test opinfo::TestX::test_a
  2. 1 test of 1 operator: 1 crashed
     says    the worker process died: SIGSEGV (signal 11)
     cause   SIGSEGV in deep
     stack   /x/test_x.py:3 in deep
             /x/test_x.py:9 in test_b
     first   opinfo::TestX::test_b
     repeat  conformance run opinfo --device neuron --test opinfo::TestX::test_b
""",
        )

    def test_says_none_seen_where_a_probe_looked(self) -> None:
        path = write_run(self.folder / "db", [Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount())])
        assert "in the operator under test: none seen\n" in render(path)

    def test_fits_100_columns_but_for_ids_and_commands(self) -> None:
        long = "x" * 150
        path = build_sample(self.folder / "sample.sqlite", runs=3, operators=60)
        messy = write_run(
            self.folder / "db",
            [
                Result(
                    id_of(f"test_{long}"),
                    Outcome.FAILED,
                    message=f"{long * 9} \x1b[31m \u6f22 \u202e",
                    signature=long,
                    fallback=FallbackAccount((f"aten::{long}",), (f"aten::{long}",)),
                )
            ],
            probe=long,
        )
        texts = [render(path, run_id) for run_id in (1, 2, 3)] + [render(messy)]
        copied = (id_of("test_"), "     first   ", "     repeat  ")
        for line in "".join(texts).splitlines():
            assert width_of(line) <= 100 or line.startswith(copied), line
            assert line.isprintable()
            assert line == line.rstrip()

    def test_is_the_same_every_time(self) -> None:
        one = build_sample(self.folder / "one.sqlite", operators=30)
        two = build_sample(self.folder / "two.sqlite", operators=30)
        assert render(one) == render(one) == render(two)
