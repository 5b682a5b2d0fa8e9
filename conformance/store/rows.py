"""What the queries return: frozen rows, one field a fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.model.compilation import CompileMode
    from conformance.model.listed import ListedEntry
    from conformance.model.operator import OperatorStatus
    from conformance.model.outcome import Outcome
    from conformance.model.run import RunState


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: its number in this database, everything of RunInfo, how far it got and what it counted.

    ``counts`` has every outcome as a key and sums to ``planned``: a planned test without a result counts as not run.
    ``started_at`` and ``finished_at`` are UTC in ISO 8601, None before it happened. ``plan_digest`` is of the
    ``collected`` test ids, of which the run planned those of ``shard`` (all where it is None).
    """

    id: int
    key: str
    created_at: str
    suites: tuple[str, ...]
    device: str
    device_name: str
    emulated: bool
    torch_version: str
    backend: str
    backend_version: str
    harness_version: str
    python_version: str
    host: str
    operating_system: str
    command: str
    selection: str
    probe: str
    seed: int
    state: RunState
    started_at: str | None
    finished_at: str | None
    planned: int
    plan_digest: str = ""
    collected: int = 0
    shard: int | None = None
    shards: int | None = None
    split: str = ""
    launch: str = ""
    retries: int = 0
    resumed: int = 0
    owner: str = ""
    skiplist: str = ""
    run_skipped: bool = False
    versions: tuple[tuple[str, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[Outcome, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One planned test of one run with its last attempt.

    A planned test without a result has the outcome ``not_run`` and ``attempt`` 0. ``fallback_ops`` are the overloads
    that ran on the CPU inside the operator-under-test window, ``test_fallback_ops`` those anywhere in the test; both
    are None where no probe looked, and empty where one looked and saw none. Durations are in seconds. ``entry`` and
    ``expect`` are those of the skiplist's entry that speaks of the test, empty where none does. ``inside_ops`` are
    overloads with a kernel of the device that computed on the CPU, None where nobody could see that. ``tolerance`` is
    that of the comparison with the CPU (``rtol 1.3e-06, atol 1e-05``), empty where it is not known.
    """

    test_id: str
    node_id: str
    suite: str
    file: str
    class_name: str
    template: str
    op: str | None
    module: str | None
    dtype: str | None
    outcome: Outcome
    fallback_ops: tuple[str, ...] | None
    test_fallback_ops: tuple[str, ...] | None
    samples: int | None
    samples_passed: int | None
    failing_sample: str
    duration_s: float
    reason: str
    message: str
    details: str
    signature: str
    attempt: int
    worker: str
    architecture: str | None = None
    entry: str = ""
    expect: str = ""
    inside_ops: tuple[str, ...] | None = None
    tolerance: str = ""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of the skiplist in force in a run, and how many planned tests it speaks of, by outcome."""

    entry: ListedEntry
    tests: int
    counts: Mapping[Outcome, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountRow:
    """The tests of a run that share one key (a template, group, dtype, suite or outcome; "" where a test has none).

    ``counts`` has every outcome as a key and sums to ``planned``; ``fallback`` is how many of the tests saw their
    operator fall back to the CPU.
    """

    key: str
    planned: int
    counts: Mapping[Outcome, int]
    fallback: int


@dataclass(frozen=True, slots=True)
class OperatorStatusRow:
    """The status of one operator in one run: over all its tests (``dtype`` None) or over those of one dtype.

    ``group`` is "" for an operator that has tests but is not in the run's inventory. Counts are in tests (last
    attempts): ``passed`` includes passes that PyTorch's own mark did not expect, ``failed`` errors in setup and
    teardown, ``crashed`` tests that timed out or ran out of memory; ``flaky`` are those that passed only after an
    attempt that failed. The seven counts from ``passed`` to ``flaky`` sum to ``planned``. ``fallback`` counts the
    tests, of any outcome, in which the operator ran on the CPU, and ``fallback_ops`` names the overloads that did.
    """

    op: str
    dtype: str | None
    group: str
    status: OperatorStatus
    planned: int
    passed: int
    failed: int
    skipped: int
    xfailed: int
    crashed: int
    not_run: int
    flaky: int
    fallback: int
    fallback_ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleStatusRow:
    """The status of one module in one run; the fields are those of OperatorStatusRow, without a group."""

    module: str
    dtype: str | None
    status: OperatorStatus
    planned: int
    passed: int
    failed: int
    skipped: int
    xfailed: int
    crashed: int
    not_run: int
    flaky: int
    fallback: int
    fallback_ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompileStatusRow:
    """The status of one operator or module (the other is None) in one run when it is compiled in one mode.

    The counts are those of OperatorStatusRow. ``compile_s``, ``graphs``, ``breaks`` and ``recompilations`` are sums
    over its tests and ``peak_bytes`` the highest, None where no test has a number.
    """

    op: str | None
    module: str | None
    mode: CompileMode
    status: OperatorStatus
    planned: int
    passed: int
    failed: int
    skipped: int
    xfailed: int
    crashed: int
    not_run: int
    flaky: int
    fallback: int
    compile_s: float | None
    graphs: int | None
    breaks: int | None
    recompilations: int | None
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class CompileRow:
    """What torch.compile did in the last attempt at one test; ``backend`` is empty where it did nothing.

    Numbers that nobody could tell are None.
    """

    test_id: str
    suite: str
    op: str | None
    module: str | None
    dtype: str | None
    mode: CompileMode
    outcome: Outcome
    backend: str
    compile_s: float | None
    graphs: int | None
    breaks: int | None
    recompilations: int | None
    peak_bytes: int | None


class SkipRow(NamedTuple):
    """Skipped tests of one reason: ``entry`` is that of the skiplist that says so, empty where it was the test.

    ``test_id`` is the first of the ``tests`` in the order of ids.
    """

    reason: str
    entry: str
    tests: int
    test_id: str


class FallbackRow(NamedTuple):
    """An ATen overload that ran on the CPU inside the window, in how many tests, and for which operators or modules."""

    overload: str
    tests: int
    operators: tuple[str, ...]
