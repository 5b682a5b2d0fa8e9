from __future__ import annotations

import faulthandler
import tempfile
from pathlib import Path

from conformance.report.stack import innermost_frames, raising_frame

ENV = "/env/lib/python3.11/site-packages"
OPINFO = f"""Fatal Python error: Segmentation fault

Thread 0x00007f2609e9f6c0 (most recent call first):
  <no Python frame>

Current thread 0x00007f262e7ceb80 (most recent call first):
  File "{ENV}/torch/testing/_internal/opinfo/core.py", line 847 in <lambda>
  File "{ENV}/conformance/suites/opinfo.py", line 375 in _wrapped
  File "/src/conformance/suites/gradients.py", line 49 in first_order
  File "/src/conformance/suites/parametrize.py", line 95 in run
  File "{ENV}/torch/testing/_internal/common_device_type.py", line 551 in instantiated_test
  File "{ENV}/torch/testing/_internal/common_utils.py", line 3553 in wrapper
  File "/usr/lib/python3.11/unittest/case.py", line 579 in _callTestMethod
  File "/usr/lib/python3.11/unittest/case.py", line 623 in run
  File "{ENV}/_pytest/unittest.py", line 408 in runtest
  File "/src/conformance/cli/main.py", line 44 in main
  File "/env/bin/conformance", line 8 in <module>

Extension modules: numpy._core._multiarray_umath (total: 1)
"""


def test_frames_of_the_harness_pytest_and_wrappers_are_left_out() -> None:
    assert innermost_frames(OPINFO) == ("torch/testing/_internal/opinfo/core.py:847 in <lambda>",)


def test_at_most_three_frames_of_a_file_of_ones_own() -> None:
    calls = "".join(f'  File "/my/conformance/test_x.py", line {number} in f{number}\n' for number in range(1, 6))
    below = f'  File "{ENV}/_pytest/python.py", line 187 in pytest_pyfunc_call\n'
    assert innermost_frames(f"Current thread 0x1 (most recent call first):\n{calls}{below}") == (
        "/my/conformance/test_x.py:1 in f1",
        "/my/conformance/test_x.py:2 in f2",
        "/my/conformance/test_x.py:3 in f3",
    )


def test_a_stack_of_nothing_but_the_harness_keeps_its_innermost_frame() -> None:
    stack = OPINFO.replace(f'  File "{ENV}/torch/testing/_internal/opinfo/core.py", line 847 in <lambda>\n', "")
    assert innermost_frames(stack) == ("conformance/suites/opinfo.py:375 in _wrapped",)


def test_another_thread_is_read_where_the_one_that_died_ran_no_python() -> None:
    died = "Current thread 0x2 (most recent call first):\n  <no Python frame>\n\n"
    other = 'Thread 0x1 (most recent call first):\n  File "/x/test_x.py", line 5 in test_x\n'
    assert innermost_frames(died + other) == ("/x/test_x.py:5 in test_x",)


def test_a_text_without_a_stack_gives_no_frames() -> None:
    assert innermost_frames("") == innermost_frames("Traceback (most recent call last):\n  File 'x'") == ()


def test_what_faulthandler_writes_today_is_read() -> None:
    def deep() -> str:
        with tempfile.TemporaryFile() as stream:
            faulthandler.dump_traceback(stream, all_threads=True)
            stream.seek(0)
            return stream.read().decode()

    (first, second, *_) = innermost_frames(deep())
    assert first.startswith(f"{Path(__file__)}:")
    assert first.endswith(" in deep")
    assert second.endswith(" in test_what_faulthandler_writes_today_is_read")


RAISED = f"""Traceback (most recent call last):
  File "{ENV}/torch/testing/_internal/common_device_type.py", line 1161, in test_wrapper
    return test(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^
  File "/src/test/test_sparse.py", line 4012, in test_out
    output = op(sample.input)
  File "{ENV}/torch/testing/_internal/opinfo/core.py", line 1178, in __call__
    return self.op(*args, **kwargs)
RuntimeError: no such kernel
"""
WRAPPED = f"""
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/lib/python3.11/unittest/case.py", line 58, in testPartExecutor
    yield
  File "{ENV}/torch/testing/_internal/common_device_type.py", line 1173, in test_wrapper
    raise e_tracked from e
Exception: Caused by sample input at index 0
"""


def test_the_frame_that_raised_is_of_the_test_and_not_of_what_checks_it() -> None:
    assert raising_frame(RAISED) == raising_frame(RAISED + WRAPPED) == ("/src/test/test_sparse.py:4012 in test_out",)


def test_a_frame_of_autograd_tells_less_than_that_of_the_test() -> None:
    engine = (
        f'  File "{ENV}/torch/autograd/graph.py", line 9, in _engine_run_backward\n    return engine()\nRuntimeError'
    )
    assert raising_frame(RAISED.replace("RuntimeError", engine)) == raising_frame(RAISED)
    alone = f"Traceback (most recent call last):\n{engine}: no such kernel\n"
    assert raising_frame(alone) == ("torch/autograd/graph.py:9 in _engine_run_backward",)


def test_an_exception_while_another_was_handled_is_the_one_that_counts() -> None:
    after = RAISED.replace("4012", "5").replace("in test_out", "in cleanup")
    text = f"{RAISED}\nDuring handling of the above exception, another exception occurred:\n\n{after}"
    assert raising_frame(text) == ("/src/test/test_sparse.py:5 in cleanup",)


def test_frames_of_pytests_short_traceback_are_read() -> None:
    text = "test/test_sparse.py:12: in test_a\n    f()\nlib/mine.py:3: in f\n    raise KeyError\nE   KeyError\n"
    assert raising_frame(text) == ("lib/mine.py:3 in f",)


def test_a_failure_in_nothing_but_the_harness_has_no_telling_frame() -> None:
    harness = 'Traceback (most recent call last):\n  File "/src/conformance/suites/forward.py", line 3, in forward\n'
    assert raising_frame(harness) == raising_frame("") == raising_frame(OPINFO) == ()
