"""Where a test failed: the frames that tell, out of what faulthandler printed of a death or Python of an exception."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 3

# faulthandler: _Py_DumpTracebackThreads and dump_frame in CPython's Python/traceback.c
_THREAD = re.compile(r"^(?:Current thread|Thread|Stack) .*\(most recent call first\):$")
_FRAME = re.compile(r'^\s+File "(?P<path>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')

# traceback.TracebackException.format, which `pytest --tb=native` writes; pytest's own frames of --tb=short.
_RAISED = re.compile(r'^\s*File "(?P<path>.*)", line (?P<line>\d+), in (?P<function>.*)$')
_SHORT = re.compile(r"^(?P<path>\S.*):(?P<line>\d+): in (?P<function>\S+)$")
_CAUSE = re.compile(r"^The above exception was the direct cause of the following exception:$")
_CONTEXT = re.compile(r"^During handling of the above exception, another exception occurred:$")

_RUNNER = re.compile(r"/(?:_pytest|pluggy|xdist|execnet)/")
_HARNESS = re.compile(
    r"/conformance/(?:(?:analysis|cli|devices|emulator|engine|model|probes|publish|report|skiplist|store|suites)/"
    r"|(?:__main__|plugin)\.py$)"
)
# What stands between the test method and pytest: unittest, and the wrappers of torch/testing/_internal/common_*.py.
_CALLS_THE_TEST = ("_callTestMethod", "pytest_pyfunc_call")
_WRAPPERS = ("instantiated_test", "wrapper", "test_wrapper")
_CHECKS = re.compile(r"/torch/testing/|/unittest/")
# They hand on a call of somebody else's, so that an error inside says nothing of them.
_PASS_ON = re.compile(r"/torch/(?:autograd/|(?:_tensor|_ops|overrides|utils/_contextlib|nn/modules/module)\.py$)")
_TORCH_TESTING = re.compile(r"/torch/testing/_internal/common_\w+\.py$")
_INSTALLED = re.compile(r"^.*/(?:site-packages|dist-packages|lib/python3\.\d+)/")


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str
    line: str
    function: str

    @property
    def is_harness(self) -> bool:
        return bool(_HARNESS.search(self.path))

    @property
    def is_wrapper(self) -> bool:
        return bool(_TORCH_TESTING.search(self.path)) and self.function in _WRAPPERS

    def __str__(self) -> str:
        return f"{_INSTALLED.sub('', self.path)}:{self.line} in {self.function}"


def innermost_frames(details: str) -> tuple[str, ...]:
    """Return the innermost frames of the test in a stack that faulthandler wrote, at most three, the latest call first.

    Frames of the harness and of pytest are left out; where the test is nothing else, the innermost of the harness's
    stays. A text without such a stack gives none.
    """
    frames = _inside_the_test(_stack(details))
    telling = [frame for frame in frames if not frame.is_harness]
    return tuple(str(frame) for frame in (telling or frames[:1])[:MOST])


def raising_frame(details: str) -> tuple[str, ...]:
    """Return the innermost frame that tells where an exception came from; none where no traceback has one.

    Of an exception that was raised from another, the other's: PyTorch's tests wrap what a sample raised. Frames of the
    harness, pytest, unittest and torch.testing tell nothing, those of autograd less than the test's.
    """
    frames = [
        frame
        for frame in _inside_the_test(_traceback(details))
        if not frame.is_harness and not _CHECKS.search(frame.path)
    ]
    telling = [frame for frame in frames if not _PASS_ON.search(frame.path)]
    return tuple(str(frame) for frame in (telling or frames)[:1])


def _traceback(details: str) -> list[_Frame]:
    """Return the frames of the first exception of those that were raised from each other, the innermost first."""
    chains: list[list[_Frame]] = [[]]
    raised = True
    for line in details.splitlines():
        if _CAUSE.match(line):
            raised = False
        elif _CONTEXT.match(line):
            chains.append([])
            raised = True
        elif raised and (match := _RAISED.match(line) or _SHORT.match(line)):
            chains[-1].insert(0, _Frame(match["path"].replace("\\", "/"), match["line"], match["function"]))
    return chains[-1]


def _stack(details: str) -> list[_Frame]:
    """Return the frames of the thread that died, or of the first that ran Python where it ran none."""
    threads: list[list[_Frame]] = []
    current: list[_Frame] = []
    for line in details.splitlines():
        if _THREAD.match(line):
            threads.append([])
            if line.startswith("Current thread"):
                current = threads[-1]
        elif threads and (match := _FRAME.match(line)):
            threads[-1].append(_Frame(match["path"].replace("\\", "/"), match["line"], match["function"]))
    return current or next((frames for frames in threads if frames), [])


def _inside_the_test(frames: list[_Frame]) -> list[_Frame]:
    for position, frame in enumerate(frames):
        if frame.function in _CALLS_THE_TEST:
            frames = frames[:position]
            break
    return [frame for frame in frames if not (frame.is_wrapper or _RUNNER.search(frame.path))]
