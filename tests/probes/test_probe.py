"""What every probe does with windows, whatever it sees fallbacks by."""

from __future__ import annotations

import pytest

from conformance.model.result import FallbackAccount
from conformance.probes import CounterProbe, Probe, current_probe, operator_window, watch_with
from conformance.probes.not_a_fallback import is_fallback


class Backend:
    """A backend that counts what falls back."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def falls_back(self, *overloads: str) -> None:
        self.counts.update(dict.fromkeys(overloads, 1))

    def divide_and_fall_back(self, overload: str) -> None:
        self.falls_back(overload)
        raise ZeroDivisionError

    def take(self) -> dict[str, int]:
        taken, self.counts = self.counts, {}
        return taken


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def probe(backend: Backend) -> CounterProbe:
    return CounterProbe(backend.take)


def test_what_falls_back_in_the_window_is_the_operators_doing(backend: Backend, probe: CounterProbe) -> None:
    backend.falls_back("aten::before")
    probe.begin_test()
    backend.falls_back("aten::sample")
    probe.open_window()
    backend.falls_back("aten::sin.out")
    probe.close_window()
    backend.falls_back("aten::isclose")
    assert probe.end_test() == FallbackAccount(
        operator=("aten::sin.out",), test=("aten::isclose", "aten::sample", "aten::sin.out")
    )


def test_the_outermost_of_nested_windows_counts(backend: Backend, probe: CounterProbe) -> None:
    probe.begin_test()
    probe.open_window()
    probe.open_window()
    probe.close_window()
    backend.falls_back("aten::sin.out")
    probe.close_window()
    assert probe.end_test() == FallbackAccount(operator=("aten::sin.out",), test=("aten::sin.out",))


def test_a_test_without_a_window_is_looked_at_as_a_whole(backend: Backend, probe: CounterProbe) -> None:
    probe.begin_test()
    backend.falls_back("aten::sin.out")
    assert probe.end_test() == FallbackAccount(operator=("aten::sin.out",), test=("aten::sin.out",))


def test_an_operator_that_was_not_called_did_not_fall_back(backend: Backend, probe: CounterProbe) -> None:
    probe.begin_test(has_subject=True)
    backend.falls_back("aten::isclose")
    assert probe.end_test() == FallbackAccount(operator=(), test=("aten::isclose",))


def test_a_window_that_an_error_leaves_is_closed(backend: Backend, probe: CounterProbe) -> None:
    watch_with(probe)
    try:
        current_probe().begin_test()
        with pytest.raises(ZeroDivisionError), operator_window():
            backend.divide_and_fall_back("aten::sin.out")
        backend.falls_back("aten::isclose")
        assert probe.end_test() == FallbackAccount(operator=("aten::sin.out",), test=("aten::isclose", "aten::sin.out"))
    finally:
        watch_with(Probe())


def test_a_window_left_open_ends_with_the_test(backend: Backend, probe: CounterProbe) -> None:
    probe.begin_test()
    probe.open_window()
    backend.falls_back("aten::sin.out")
    assert probe.end_test() == FallbackAccount(operator=("aten::sin.out",), test=("aten::sin.out",))
    probe.begin_test()
    probe.close_window()  # of the test before
    backend.falls_back("aten::cos.out")
    probe.open_window()
    probe.close_window()
    assert probe.end_test() == FallbackAccount(operator=(), test=("aten::cos.out",))


def test_what_is_to_be_undone_is_undone_when_the_test_ends(probe: CounterProbe) -> None:
    done: list[str] = []
    probe.begin_test()
    probe.when_test_ends(lambda: done.append("first"))
    probe.when_test_ends(lambda: done.append("second"))
    probe.end_test()
    probe.end_test()
    assert done == ["second", "first"]
    probe.when_test_ends(lambda: done.append("third"))
    probe.begin_test()  # a test that did not end, because its setup failed
    assert done == ["second", "first", "third"]


def test_no_probe_is_not_no_fallback() -> None:
    probe = Probe()
    probe.begin_test()
    probe.open_window()
    assert not probe.is_watching
    probe.close_window()
    assert probe.end_test() is None
    assert probe.computed_inside is None


def test_moving_data_is_no_fallback(backend: Backend, probe: CounterProbe) -> None:
    probe.begin_test()
    backend.falls_back("aten::_to_copy.out", "aten::_local_scalar_dense", "aten::copy_", "aten::nonzero")
    assert probe.end_test() == FallbackAccount(operator=("aten::nonzero",), test=("aten::nonzero",))


@pytest.mark.parametrize(("overload", "counts"), [("aten::copy_", False), ("aten::copy", True), ("aten::clone", True)])
def test_an_operator_is_named_whole(overload: str, counts: bool) -> None:
    assert is_fallback(overload) is counts
