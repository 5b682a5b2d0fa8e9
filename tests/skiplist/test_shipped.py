"""The lists that come with the harness are sound, and explain what the emulated device shows."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from conformance.skiplist import Expectation, load_skiplist, skiplist_of_device

Conformance = Callable[..., subprocess.CompletedProcess[str]]


def test_every_entry_has_a_reason_a_link_and_says_where_it_was_seen() -> None:
    folder = skiplist_of_device("neuron")
    assert folder is not None
    entries = load_skiplist([folder]).entries
    assert len(entries) >= 10
    for entry in entries:
        assert len(entry.reason) > 15
        assert entry.link
        assert entry.emulated is not None
        assert entry.expect is not Expectation.SKIP
        assert not entry.guess


def test_lint_finds_nothing(conformance: Conformance) -> None:
    done = conformance("skiplist", "lint", "--device", "neuron", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings" in done.stdout


def test_a_run_on_the_emulated_device_is_clean(conformance: Conformance) -> None:
    arguments = ("run", "opinfo", "--device", "neuron", "--ops", "mode,tensor_split,gather", "--db", "a.sqlite")
    done = conformance(*arguments, env={"CONFORMANCE_NEURON": "emulated"})
    assert done.returncode == 0, done.stdout
    done = conformance(*arguments, "--skiplist", "none", env={"CONFORMANCE_NEURON": "emulated"})
    assert done.returncode == 1
