from __future__ import annotations

import pytest

from conformance.publish.redaction import STACK_SHOWN, death_stack, without_local_paths


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('File "/home/alice/venv/lib/torch/_ops.py", line 3', 'File "torch/_ops.py", line 3'),
        ('File "/Users/al ice/my code/a.py", line 3', 'File "my code/a.py", line 3'),
        ("C:\\Users\\alice\\src\\op\\a.cpp:12", "op/a.cpp:12"),
        ("~/src/deep/a.py", "deep/a.py"),
        ("in /home/alice", "in ~"),
        (f"in /{'root'}/x.py", "in x.py"),
        ("/opt/conda/lib/libtorch.so(+0x1f) [0x7f]", "lib/libtorch.so(+0x1f) [0x7f]"),
        ("https://pytorch.org/docs/stable", "https://pytorch.org/docs/stable"),
        ("3 / 25 of a/b/c, and </b>", "3 / 25 of a/b/c, and </b>"),
    ],
)
def test_a_local_path_keeps_its_end_only(text: str, shown: str) -> None:
    assert without_local_paths(text) == shown


def _frames(count: int, file: str = "/srv/torch/core.py") -> list[str]:
    return [f'  File "{file}", line {number} in call' for number in range(count)]


def test_a_python_stack_starts_at_the_call_that_died() -> None:
    details = [
        "Fatal Python error: Aborted",
        "",
        "Thread 0x1 (most recent call first):",
        "  <no Python frame>",
        "",
        "Current thread 0x2 (most recent call first):",
        *_frames(2),
        *_frames(3, "/srv/site-packages/_pytest/runner.py"),
        "",
        "Extension modules: numpy (total: 1)",
    ]
    assert death_stack("\n".join(details)).splitlines() == [
        "Fatal Python error: Aborted",
        "Current thread 0x2 (most recent call first):",
        '  File "torch/core.py", line 0 in call',
        '  File "torch/core.py", line 1 in call',
    ]


def test_a_stack_inside_the_runner_is_kept() -> None:
    details = ["Current thread 0x2 (most recent call first):", *_frames(2, "/srv/_pytest/runner.py")]
    assert "_pytest/runner.py" in death_stack("\n".join(details))


def test_a_long_stack_is_cut_at_a_line() -> None:
    newest_first = death_stack("\n".join(["Current thread 0x2 (most recent call first):", *_frames(500)]))
    assert len(newest_first) <= STACK_SHOWN
    assert newest_first.endswith("in call\n\u2026")
    assert "line 0 in" in newest_first
    other = death_stack("\n".join(f"line {number}" for number in range(900)))
    assert len(other) <= STACK_SHOWN
    assert other.startswith("\u2026\nline ")
    assert other.endswith("line 899")
    assert len(death_stack("x" * 9000)) <= STACK_SHOWN
