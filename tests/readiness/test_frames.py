"""The user's own lines are told from torch's, the standard library's and this harness's."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from conformance.readiness import frames
from conformance.readiness.crumb import Crumb, read_crumb

HERE = str(Path(__file__).resolve())
TORCH = torch.nn.functional.__file__ or ""
STANDARD = json.__file__


def test_frames_of_torch_and_the_standard_library_are_left_out() -> None:
    found = frames.chosen([(STANDARD, 1, "loads"), (HERE, 5, "mine"), (TORCH, 9, "linear"), ("<string>", 1, "eval")])
    assert [frame.function for frame in found] == ["mine"]
    assert found[0].path.endswith("test_frames.py")
    assert found[0].line == 5


def test_an_installed_package_is_shown_only_where_nothing_of_the_user_is() -> None:
    package = "/usr/lib/python3/site-packages/somepackage/model.py"
    assert [str(frame) for frame in frames.chosen([(package, 3, "forward")])] == ["somepackage/model.py:3 in forward"]
    assert [frame.function for frame in frames.chosen([(HERE, 5, "mine"), (package, 3, "forward")])] == ["mine"]


def test_the_frames_of_an_exception_have_the_innermost_last() -> None:
    def inner() -> None:
        torch.ones(2) @ torch.ones(3)

    try:
        inner()
    except RuntimeError as error:
        found = frames.of_traceback(error.__traceback__)
    assert found[-1].function == "inner"
    assert found[-1].code == "torch.ones(2) @ torch.ones(3)"


def test_a_dump_of_faulthandler_gives_the_current_thread() -> None:
    dump = (
        "Fatal Python error: Segmentation fault\n\n"
        'Thread 0x01 (most recent call first):\n  File "/home/me/other.py", line 1 in wait\n\n'
        "Current thread 0x02 (most recent call first):\n"
        f'  File "{TORCH}", line 7 in linear\n  File "{HERE}", line 12 in inner\n  File "{HERE}", line 3 in outer\n'
    )
    assert [frame.function for frame in frames.of_dump(dump)] == ["outer", "inner"]
    assert frames.of_dump("") == ()


def test_the_traceback_that_autograd_prints_is_read() -> None:
    text = f'Error detected in X. Traceback of forward call:\n  File "{HERE}", line 4, in forward\n    return x\n'
    assert [frame.line for frame in frames.of_text(text)] == [4]


def test_a_crumb_says_what_was_running(tmp_path: Path) -> None:
    path = tmp_path / "crumb"
    path.touch()
    assert read_crumb(path) == ("", "")
    crumb = Crumb(path)
    crumb.enter("forward")
    crumb.operator("aten::a_long_name.with_overload")
    crumb.operator("aten::mm")
    assert read_crumb(path) == ("forward", "aten::mm")
    crumb.operator("")
    assert read_crumb(path) == ("forward", "")
