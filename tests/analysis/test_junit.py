"""Reading JUnit XML: names that are the same on every machine, and the ends of every writer."""

from __future__ import annotations

import pytest

from conformance.analysis.junit import Case, Unmapped, map_cases, read_junit
from conformance.errors import UsageError
from conformance.model.identity import Suite
from conformance.model.outcome import Outcome


def test_a_bomb_of_entities_is_refused() -> None:
    levels = "".join("<!ENTITY a{} '{}'>".format(n, f"&a{n - 1};" * 20) for n in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "xxxxxxxxxxxxxxxx">{levels}]><testsuite name="x">&a11;</testsuite>'
    with pytest.raises(UsageError) as caught:
        read_junit(bomb.encode(), "x.xml")
    assert caught.value.slug == "bad-junit"


def test_files_are_named_as_on_every_machine() -> None:
    def file(name: str, classname: str = "", suite: Suite = Suite.UPSTREAM) -> str:
        mapped, _, _ = map_cases([Case(name, classname, "test_x", Outcome.PASSED)], device="npu", suite=suite)
        return mapped[0].identity.file

    assert file("test/nn/test_a.py") == file("/home/me/pytorch/test/nn/test_a.py") == "nn/test_a.py"
    assert file("", "test.nn.test_a.TestX") == file("", "nn.test_a.TestX") == "nn/test_a.py"
    assert file("", "test_a.TestOuter.TestInner") == "test_a.py"
    assert file("..\\test\\test_a.py") == "test_a.py"
    assert file("tests/test_a.py", suite=Suite.LOCAL) == "tests/test_a.py"
    assert file("opinfo") == "opinfo"


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [
        ("", "passed"),
        ("<failure/>", "failed"),
        ("<failure message='[XPASS(strict)] known'/>", "xpassed"),
        ("<failure message='Unexpected success'/>", "xpassed"),
        ("<failure message='Timeout &gt;60.0s'/>", "timed_out"),
        ("<error>worker 'gw0' crashed while running 'x'</error>", "crashed"),
        ("<error message='failed on setup'/>", "error"),
        ("<failure type='out_of_memory'/>", "out_of_memory"),
        ("<error type='AssertionError'/>", "error"),
        ("<skipped/>", "skipped"),
        ("<skipped type='pytest.xfail'/>", "xfailed"),
        ("<skipped type='crashed' message='as expected'/>", "crashed"),
        ("<flakyFailure/>", "flaky"),
        ("<properties><property name='outcome' value='flaky'/></properties>", "flaky"),
        ("<properties><property name='outcome' value='nonsense'/></properties>", "passed"),
        ("<skipped/><failure/>", "failed"),
    ],
)
def test_every_end_that_a_writer_has_words_for(inside: str, outcome: str) -> None:
    text = f"<testsuite><testcase name='test_x' classname='a.TestX' time='nan'>{inside}</testcase></testsuite>"
    (case,) = read_junit(text.encode(), "x.xml").cases
    assert (case.outcome.value, case.duration_s) == (outcome, 0.0)


def test_of_two_accounts_of_a_test_the_worse_one_stays() -> None:
    def account(*outcomes: Outcome) -> tuple[Outcome, int]:
        cases = [Case("a.py", "a.TestX", "test_x", outcome) for outcome in outcomes]
        mapped, _, again = map_cases(cases, device="npu", suite=Suite.LOCAL)
        return mapped[0].case.outcome, again

    assert account(Outcome.PASSED, Outcome.ERROR) == account(Outcome.ERROR, Outcome.PASSED) == (Outcome.ERROR, 1)
    assert account(Outcome.FAILED, Outcome.ERROR, Outcome.PASSED) == (Outcome.FAILED, 2)


def test_a_name_loses_the_device_only_where_class_and_method_carry_it() -> None:
    def identity(classname: str, name: str) -> str:
        mapped, _, _ = map_cases([Case("a.py", classname, name, Outcome.PASSED)], device="npu", suite=Suite.LOCAL)
        return mapped[0].identity.test_id

    assert identity("a.TestXNPU", "test_y_npu_float32") == "a.py::TestX::test_y_float32"
    assert identity("a.TestXPRIVATEUSE1", "test_y_privateuse1") == "a.py::TestX::test_y"
    assert identity("a.TestXNPU", "test_move") == "a.py::TestXNPU::test_move"
    assert identity("a.TestX", "test_move_to_npu") == "a.py::TestX::test_move_to_npu"


def test_a_case_without_a_name_is_listed() -> None:
    mapped, unmapped, _ = map_cases([Case("a.py", "", " ", Outcome.PASSED)], device="npu", suite=Suite.LOCAL)
    assert (mapped, unmapped) == ([], [Unmapped("a.py:: ", "it has no name")])
