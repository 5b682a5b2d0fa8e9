"""Decide the status of an operator or module from its counts."""

from __future__ import annotations

from conformance.model.operator import OperatorStatus


def operator_status(
    *,
    passed: int = 0,
    failed: int = 0,
    skipped: int = 0,
    xfailed: int = 0,
    crashed: int = 0,
    not_run: int = 0,
    flaky: int = 0,
    fallback: int = 0,
) -> OperatorStatus:
    """Return the status that tests with these outcomes make; the definitions are those of OperatorStatus.

    ``passed`` includes unexpected passes, ``failed`` errors, ``crashed`` timeouts and out-of-memory deaths;
    ``flaky`` are those that passed only after an attempt that failed;
    ``fallback`` is in how many tests the operator ran on the CPU. ``not_run`` changes nothing: a lost test says
    nothing about the operator. Tests that use torch.compile are counted by themselves, for a status of their own. The
    views ``operator_status`` and ``compile_status`` of the database say the same in SQL.
    """
    del not_run
    if passed + failed + skipped + xfailed + crashed + flaky == 0:
        return OperatorStatus.UNTESTED
    if crashed:
        return OperatorStatus.CRASHING
    if failed or flaky:
        return OperatorStatus.PARTIAL if passed or flaky else OperatorStatus.FAILING
    if passed:
        return OperatorStatus.FALLBACK if fallback else OperatorStatus.NATIVE
    return OperatorStatus.SKIPPED
