"""The traps of outcome truth, each with the smallest test file that falls into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import outcomes, rows

CASES = {
    "subtest": (
        """
        import unittest
        class TestA(unittest.TestCase):
            def test_a(self):
                with self.subTest(i=1):
                    self.assertEqual(1, 2)
                with self.subTest(i=2):
                    self.assertEqual(2, 2)
        """,
        "failed",
    ),
    "passing subtests": (
        """
        import unittest
        class TestA(unittest.TestCase):
            def test_a(self):
                for i in range(3):
                    with self.subTest(i=i):
                        pass
        """,
        "passed",
    ),
    "expected failure": (
        """
        import unittest
        class TestA(unittest.TestCase):
            @unittest.expectedFailure
            def test_a(self):
                assert False
        """,
        "xfailed",
    ),
    "unexpected success": (
        """
        import unittest
        class TestA(unittest.TestCase):
            @unittest.expectedFailure
            def test_a(self):
                pass
        """,
        "xpassed",
    ),
    "xfail mark": ("import pytest\n@pytest.mark.xfail(reason='known')\ndef test_a(): assert False\n", "xfailed"),
    "xfail mark that passes": ("import pytest\n@pytest.mark.xfail(reason='known')\ndef test_a(): pass\n", "xpassed"),
    "strict xfail that passes": ("import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): pass\n", "xpassed"),
    "xfail without running": ("import pytest\n@pytest.mark.xfail(run=False)\ndef test_a(): assert False\n", "xfailed"),
    "skip": ("import pytest\n@pytest.mark.skip(reason='no chip')\ndef test_a(): pass\n", "skipped"),
    "skip inside": ("import pytest\ndef test_a(): pytest.skip('no chip')\n", "skipped"),
    "setup error": (
        "import pytest\n@pytest.fixture\ndef broken(): raise ValueError('setup')\ndef test_a(broken): pass\n",
        "error",
    ),
    "teardown error": (
        """
        import pytest
        @pytest.fixture
        def broken():
            yield
            raise ValueError("teardown")
        def test_a(broken): pass
        """,
        "error",
    ),
    "failure and teardown error": (
        """
        import pytest
        @pytest.fixture
        def broken():
            yield
            raise ValueError("teardown")
        def test_a(broken): assert 0
        """,
        "failed",
    ),
    "failure": ("def test_a(): assert 1 == 2\n", "failed"),
    "pass": ("def test_a(): pass\n", "passed"),
}
ENGINES = {
    "plain": (),
    "workers": ("--conformance-workers", "2"),
    "xdist": ("-n", "2"),
}


def _run(pytester: pytest.Pytester, *arguments: str) -> Path:
    database = pytester.path / "results.sqlite"
    pytester.runpytest_subprocess("--conformance-device", "cpu", "--conformance-db", str(database), *arguments)
    return database


@pytest.mark.parametrize("engine", ENGINES)
def test_each_trap_ends_in_its_true_outcome(pytester: pytest.Pytester, engine: str) -> None:
    names = {}
    for number, (name, (source, outcome)) in enumerate(CASES.items()):
        file = f"test_case{number}"
        pytester.makepyfile(**{file: source})
        names[f"{file}.py"] = (name, outcome)
    database = _run(pytester, *ENGINES[engine])
    found = {names[test_id.partition("::")[0]][0]: outcome for test_id, outcome in outcomes(database).items()}
    assert found == {name: outcome for name, (_, outcome) in CASES.items()}


def test_skip_and_expected_failure_keep_their_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.skip(reason="no chip")
        def test_skip(): pass
        @pytest.mark.xfail(reason="known bug")
        def test_xfail(): assert False
        """
    )
    database = _run(pytester)
    assert rows(database, "select template, reason from test_results order by 1") == [
        ("test_skip", "no chip"),
        ("test_xfail", "known bug"),
    ]


@pytest.mark.parametrize("engine", ["workers", "xdist"])
def test_a_crash_is_recorded_for_the_test_that_ran_and_the_rest_goes_on(pytester: pytest.Pytester, engine: str) -> None:
    pytester.makepyfile(
        """
        import os, pytest
        @pytest.mark.parametrize("n", range(20))
        def test_it(n):
            if n == 7:
                os.kill(os.getpid(), 11)
        """
    )
    database = _run(pytester, *ENGINES[engine])
    found = outcomes(database)
    assert len(found) == 20
    assert {test_id for test_id, outcome in found.items() if outcome != "passed"} == {
        test_id for test_id in found if test_id.endswith("[7]")
    }
    assert found[next(test_id for test_id in found if test_id.endswith("[7]"))] == "crashed"


def test_without_its_options_the_plugin_does_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test_a(): assert 'torch' not in sys.modules\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert "conformance" not in result.stdout.str().replace("plugins: conformance", "").partition("collected")[2]
    assert not list(pytester.path.glob("*.sqlite"))


def test_every_option_carries_the_prefix(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest_subprocess("--help").stdout.str()
    section = text.partition("conformance of a PyTorch device")[2].partition("\n\n")[0]
    options = [word for word in section.replace("=", " ").split() if word.startswith("--")]
    assert len(options) >= 6
    assert all(option.startswith("--conformance-") for option in options)


def test_a_file_that_does_not_import_is_one_recorded_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_good="def test_a(): pass", test_broken="import no_such_module_here")
    database = _run(pytester, "--continue-on-collection-errors")
    assert outcomes(database) == {"test_good.py::test_a": "passed", "test_broken.py::(collection)": "error"}
    ((message,),) = rows(database, "select message from test_results where outcome = 'error'")
    assert "no_such_module_here" in message


def test_the_plan_is_stored_before_the_first_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sqlite3
        def test_a():
            connection = sqlite3.connect("results.sqlite")
            assert connection.execute("select count(*) from plan").fetchone() == (2,)
            assert connection.execute("select state from run").fetchone() == ("running",)
        def test_b(): pass
        """
    )
    database = _run(pytester)
    assert set(outcomes(database).values()) == {"passed"}


def test_maxfail_leaves_lost_tests_that_are_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): assert 0\ndef test_b(): pass\ndef test_c(): pass\n")
    database = _run(pytester, "-x")
    assert sorted(outcomes(database).values()) == ["failed", "not_run", "not_run"]
    assert rows(database, "select state from run") == [("interrupted",)]


def test_two_tests_with_one_id_are_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest
        class TestA(unittest.TestCase):
            def test_a(self): pass
        TestB = type("TestA", (unittest.TestCase,), {"test_a": lambda self: None})
        """
    )
    result = pytester.runpytest_subprocess("--conformance-db", "results.sqlite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: conformance: two collected tests have the id *TestA::test_a*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--conformance-device", "toaster"], "*unknown device 'toaster'*devices with an adapter here: *cpu*neuron*"),
        (["--conformance-db", "x.sqlite", "--conformance-workers", "many"], "*number of workers is 'many'*"),
        (["--conformance-db", "x.sqlite", "--conformance-timeout", "3"], "*needs a process that can be killed*"),
        (["--conformance-db", "x.sqlite", "--conformance-workers", "2", "-n", "2"], "*exclude each other*"),
        (["--conformance-db", "x.sqlite", "--conformance-dtypes", "float33"], "*no such dtype; near: *float32*"),
    ],
)
def test_bad_options_end_in_one_line(pytester: pytest.Pytester, arguments: list[str], message: str) -> None:
    pytester.makepyfile("def test_a(): pass")
    result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str()
