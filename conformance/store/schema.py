"""The SQL of the database: tables and views, with the comments that make up its documentation.

Text that repeats (names, messages, tracebacks, sets of overloads) is stored once and referred to by number: a run of
150,000 tests takes about 60 bytes a test, its tracebacks apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.compilation import COMPILE_TEMPLATES, COMPILING_SUITES
from conformance.model.identity import Suite
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.registration import RegistrationKind
from conformance.model.run import RunState

if TYPE_CHECKING:
    from enum import Enum

# "tcnf" in ASCII: marks a SQLite file as one of ours before any of its tables is read.
APPLICATION_ID = 0x74636E66

# The number of migrations in conformance.store.migrations; each sets PRAGMA user_version to its own number.
SCHEMA_VERSION = 5


def _values(enum: type[Enum]) -> str:
    return ", ".join(f"'{member.value}'" for member in enum)


TABLES = (
    """CREATE TABLE name (
    -- Every file, class, template, operator, module, group, dtype and worker name, once.
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT""",
    """CREATE TABLE text (
    -- Every reason, message, traceback and sample description, once.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of the text, 12 bytes: an index over it stays small
    text TEXT NOT NULL
) STRICT""",
    """CREATE TABLE signature (
    -- Every normalised failure text, once: failures with one signature have one cause.
    id INTEGER PRIMARY KEY,
    signature TEXT NOT NULL UNIQUE
) STRICT""",
    """CREATE TABLE overload (
    -- Every ATen overload that was seen on the CPU, such as aten::sin.out.
    id INTEGER PRIMARY KEY,
    overload TEXT NOT NULL UNIQUE
) STRICT""",
    """CREATE TABLE fallback_set (
    -- Every set of overloads that ran on the CPU during some test; the empty set is one of them.
    id INTEGER PRIMARY KEY,
    overloads TEXT NOT NULL UNIQUE              -- sorted, joined by commas; '' is the empty set
) STRICT""",
    """CREATE TABLE fallback_set_overload (
    -- The members of every fallback set.
    fallback_set_id INTEGER NOT NULL REFERENCES fallback_set(id),
    overload_id INTEGER NOT NULL REFERENCES overload(id),
    PRIMARY KEY (fallback_set_id, overload_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE inventory (
    -- What torch declares for one device: the denominators. Runs with the same content share one.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of the torch version, the device and the content
    torch_version TEXT NOT NULL,
    device TEXT NOT NULL
) STRICT""",
    """CREATE TABLE inventory_operator (
    -- The operators (OpInfos) of an inventory.
    inventory_id INTEGER NOT NULL REFERENCES inventory(id),
    op_id INTEGER NOT NULL REFERENCES name(id),
    aten_name TEXT NOT NULL,
    group_id INTEGER NOT NULL REFERENCES name(id),
    supports_autograd INTEGER NOT NULL CHECK (supports_autograd IN (0, 1)),
    supports_out INTEGER NOT NULL CHECK (supports_out IN (0, 1)),
    PRIMARY KEY (inventory_id, op_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE inventory_operator_dtype (
    -- The dtypes an operator declares for the device.
    inventory_id INTEGER NOT NULL,
    op_id INTEGER NOT NULL,
    dtype_id INTEGER NOT NULL REFERENCES name(id),
    position INTEGER NOT NULL,                  -- the order in which they were declared
    PRIMARY KEY (inventory_id, op_id, dtype_id),
    FOREIGN KEY (inventory_id, op_id) REFERENCES inventory_operator(inventory_id, op_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE inventory_module (
    -- The modules of an inventory.
    inventory_id INTEGER NOT NULL REFERENCES inventory(id),
    module_id INTEGER NOT NULL REFERENCES name(id),
    PRIMARY KEY (inventory_id, module_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE inventory_module_dtype (
    -- The dtypes a module declares.
    inventory_id INTEGER NOT NULL,
    module_id INTEGER NOT NULL,
    dtype_id INTEGER NOT NULL REFERENCES name(id),
    position INTEGER NOT NULL,                  -- the order in which they were declared
    PRIMARY KEY (inventory_id, module_id, dtype_id),
    FOREIGN KEY (inventory_id, module_id) REFERENCES inventory_module(inventory_id, module_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE registration_set (
    -- What a backend had registered for every ATen overload. Runs with the same content share one.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of the torch version, the device and the content
    torch_version TEXT NOT NULL,
    device TEXT NOT NULL
) STRICT""",
    f"""CREATE TABLE registration (
    -- One overload of a set: a kernel, a composite, a fallback to the CPU, or nothing (a call raises).
    registration_set_id INTEGER NOT NULL REFERENCES registration_set(id),
    overload_id INTEGER NOT NULL REFERENCES overload(id),
    kind TEXT NOT NULL CHECK (kind IN ({_values(RegistrationKind)})),
    PRIMARY KEY (registration_set_id, overload_id)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE skiplist_entry (
    -- Every entry of a skiplist, once in each form that some run knew it in.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of all columns that follow
    entry TEXT NOT NULL,                        -- its id in the list
    expect TEXT NOT NULL,
    category TEXT NOT NULL,
    reason TEXT NOT NULL,
    link TEXT NOT NULL,
    owner TEXT NOT NULL,
    added TEXT NOT NULL,
    expires TEXT NOT NULL,
    message TEXT NOT NULL,                      -- the regular expression that a failure must match; '' for any
    guess INTEGER NOT NULL CHECK (guess IN (0, 1))
) STRICT""",
    """CREATE TABLE run_skiplist_entry (
    -- The entries in force in a run, also those that spoke of no test.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    entry_ref INTEGER NOT NULL REFERENCES skiplist_entry(id),
    PRIMARY KEY (run_id, entry_ref)
) STRICT, WITHOUT ROWID""",
    f"""CREATE TABLE run (
    -- One execution of a plan on one device.
    run_id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice, even after a run was deleted
    key TEXT NOT NULL UNIQUE,                   -- a UUID in hexadecimal, unique across machines
    created_at TEXT NOT NULL,                   -- UTC, ISO 8601
    started_at TEXT,
    finished_at TEXT,
    state TEXT NOT NULL CHECK (state IN ({_values(RunState)})),
    suites TEXT NOT NULL CHECK (json_valid(suites)),            -- JSON array
    device TEXT NOT NULL,
    device_name TEXT NOT NULL,
    emulated INTEGER NOT NULL CHECK (emulated IN (0, 1)),
    torch_version TEXT NOT NULL,
    backend TEXT NOT NULL,
    backend_version TEXT NOT NULL,
    harness_version TEXT NOT NULL,
    python_version TEXT NOT NULL,
    host TEXT NOT NULL,
    operating_system TEXT NOT NULL,
    command TEXT NOT NULL,
    selection TEXT NOT NULL,                    -- '' when all of the suites was asked for
    probe TEXT NOT NULL,                        -- how fallbacks were seen; '' when nothing looked
    seed INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment)),  -- JSON object
    inventory_id INTEGER REFERENCES inventory(id),
    planned INTEGER NOT NULL DEFAULT 0,         -- rows of this run in plan
    plan_digest TEXT NOT NULL DEFAULT '',       -- of all test ids that were collected, before any shard was cut out
    collected INTEGER NOT NULL DEFAULT 0,       -- how many those were
    shard INTEGER,                              -- the part of the plan that this run undertook, from 1; NULL: all of it
    shards INTEGER,                             -- into how many parts the plan was cut
    split TEXT NOT NULL DEFAULT '',             -- how: 'count', or the digest of the durations it was cut by
    launch TEXT NOT NULL DEFAULT '',            -- what the shards of one launch share, such as a CI run's number
    retries INTEGER NOT NULL DEFAULT 0,         -- further attempts allowed after a failure, crash or time-out
    resumed INTEGER NOT NULL DEFAULT 0,         -- how often the run was taken up again
    skiplist TEXT NOT NULL DEFAULT '',          -- the skiplists in force; '' when none was
    run_skipped INTEGER NOT NULL DEFAULT 0 CHECK (run_skipped IN (0, 1)),   -- what they skip was run all the same
    versions TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(versions)),       -- JSON array of [name, version] pairs
    registration_set_id INTEGER REFERENCES registration_set(id),
    owner TEXT NOT NULL DEFAULT '',             -- the process that writes it: its id and its start in clock ticks
    CHECK ((shard IS NULL) = (shards IS NULL) AND (shard IS NULL OR shard BETWEEN 1 AND shards))
) STRICT""",
    f"""CREATE TABLE run_shard (
    -- The shards that a run was merged from.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    shard INTEGER NOT NULL,
    key TEXT NOT NULL,                          -- of the shard's own run; '' where it is missing or has no tests
    state TEXT NOT NULL CHECK (state IN ({_values(RunState)})),
    host TEXT NOT NULL,
    command TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    planned INTEGER NOT NULL,
    PRIMARY KEY (run_id, shard)
) STRICT, WITHOUT ROWID""",
    f"""CREATE TABLE run_outcome (
    -- How many tests of a run have an outcome (last attempts); kept up to date with result.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    outcome TEXT NOT NULL CHECK (outcome IN ({_values(Outcome)})),
    tests INTEGER NOT NULL,
    PRIMARY KEY (run_id, outcome)
) STRICT, WITHOUT ROWID""",
    f"""CREATE TABLE test (
    -- Every test under its device-neutral identity, once for all runs.
    id INTEGER PRIMARY KEY,
    test_id TEXT NOT NULL,                      -- such as opinfo::TestOperators::test_out_add_float32
    revision INTEGER NOT NULL DEFAULT 0,        -- counts up when a later suite describes the same test id differently
    suite TEXT NOT NULL CHECK (suite IN ({_values(Suite)})),
    file_id INTEGER NOT NULL REFERENCES name(id),
    class_id INTEGER NOT NULL REFERENCES name(id),
    template_id INTEGER NOT NULL REFERENCES name(id),
    op_id INTEGER REFERENCES name(id),
    module_id INTEGER REFERENCES name(id),
    dtype_id INTEGER REFERENCES name(id),
    architecture_id INTEGER REFERENCES name(id),
    UNIQUE (test_id, revision)
) STRICT""",
    "CREATE INDEX test_op ON test(op_id, dtype_id) WHERE op_id IS NOT NULL",
    "CREATE INDEX test_module ON test(module_id, dtype_id) WHERE module_id IS NOT NULL",
    """CREATE TABLE spelling (
    -- How to write a test's node id from its test id: put head in place of its first cut characters, and insert infix
    -- before its last tail characters. A few hundred rows stand for all node ids of all runs.
    id INTEGER PRIMARY KEY,
    head TEXT NOT NULL,
    cut INTEGER NOT NULL,
    infix TEXT NOT NULL,
    tail INTEGER NOT NULL,
    UNIQUE (head, cut, infix, tail)
) STRICT""",
    """CREATE TABLE plan (
    -- The tests a run undertook to report on.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    test_ref INTEGER NOT NULL REFERENCES test(id),
    position INTEGER NOT NULL,                  -- the order in which they were collected, from 0
    spelling_id INTEGER NOT NULL REFERENCES spelling(id),
    entry_ref INTEGER REFERENCES skiplist_entry(id),            -- the entry that speaks of the test; NULL: none
    PRIMARY KEY (run_id, test_ref)
) STRICT, WITHOUT ROWID""",
    f"""CREATE TABLE result (
    -- One attempt at one planned test.
    run_id INTEGER NOT NULL,
    test_ref INTEGER NOT NULL,
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    outcome TEXT NOT NULL CHECK (outcome IN ({_values(Outcome)})),
    duration_us INTEGER NOT NULL,               -- setup, call and teardown, in microseconds
    worker_id INTEGER REFERENCES name(id),
    fallback_set_id INTEGER REFERENCES fallback_set(id),        -- inside the window; NULL = not observed
    test_fallback_set_id INTEGER REFERENCES fallback_set(id),   -- anywhere in the test; NULL = not observed
    samples INTEGER,
    samples_passed INTEGER,
    failing_sample_id INTEGER REFERENCES text(id),
    reason_id INTEGER REFERENCES text(id),
    message_id INTEGER REFERENCES text(id),
    details_id INTEGER REFERENCES text(id),
    signature_id INTEGER REFERENCES signature(id),
    inside_set_id INTEGER REFERENCES fallback_set(id),          -- kernels that computed on the CPU; NULL = not observed
    tolerance_id INTEGER REFERENCES text(id),                   -- within which it was compared; NULL = not known
    PRIMARY KEY (run_id, test_ref, attempt),
    FOREIGN KEY (run_id, test_ref) REFERENCES plan(run_id, test_ref)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE compilation (
    -- What torch.compile did during an attempt; tests that compile nothing have no row here.
    run_id INTEGER NOT NULL,
    test_ref INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    backend_id INTEGER NOT NULL REFERENCES name(id),            -- the dynamo backend
    compile_us INTEGER,                         -- wall time of all compilations, in microseconds
    graphs INTEGER NOT NULL,
    breaks INTEGER NOT NULL,
    recompilations INTEGER,
    peak_bytes INTEGER,                         -- the most memory that was allocated on the device; NULL = not known
    PRIMARY KEY (run_id, test_ref, attempt),
    FOREIGN KEY (run_id, test_ref, attempt) REFERENCES result(run_id, test_ref, attempt)
) STRICT, WITHOUT ROWID""",
)

_COMPILING = ", ".join(f"'{template}'" for template in COMPILE_TEMPLATES)
# Whether a test uses torch.compile.
COMPILES = (
    f"test.suite IN ({', '.join(repr(suite.value) for suite in COMPILING_SUITES)})"
    f" AND test.template_id IN (SELECT id FROM name WHERE name IN ({_COMPILING}))"
)
# Whether a test says something about eager mode, which is what the status of an operator is of.
EAGER = f"NOT ({COMPILES})"

# The node id of a row of plan, test and spelling: the inverse of conformance.store.text.spelling.
NODE_ID = (
    "spelling.head"
    " || substr(test.test_id, spelling.cut + 1, length(test.test_id) - spelling.cut - spelling.tail)"
    " || spelling.infix"
    " || substr(test.test_id, length(test.test_id) - spelling.tail + 1)"
)

# A row of result is the last attempt at its test when no other has a higher number.
LAST_RESULT = """result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )"""

# Whether the operator under test ran on the CPU: NULL (not observed) and the empty set both count as no.
FELL_BACK = (
    "result.fallback_set_id IS NOT NULL"
    " AND result.fallback_set_id IS NOT (SELECT id FROM fallback_set WHERE overloads = '')"
)

TEST_RESULTS = f"""SELECT plan.run_id, test.test_id, {NODE_ID} AS node_id,
        test.suite, file.name AS file, class.name AS class, template.name AS template,
        op.name AS op, module.name AS module, dtype.name AS dtype,
        coalesce(result.outcome, 'not_run') AS outcome,
        fallback.overloads AS fallback_ops,             -- NULL = not observed, '' = observed, none
        test_fallback.overloads AS test_fallback_ops,
        result.samples, result.samples_passed, coalesce(failing_sample.text, '') AS failing_sample,
        coalesce(result.duration_us, 0) / 1e6 AS duration_s,
        coalesce(reason.text, '') AS reason, coalesce(message.text, '') AS message,
        result.signature_id, coalesce(signature.signature, '') AS signature, coalesce(result.attempt, 0) AS attempt,
        coalesce(worker.name, '') AS worker, coalesce(details.text, '') AS details,
        architecture.name AS architecture, coalesce(entry.entry, '') AS entry, coalesce(entry.expect, '') AS expect,
        inside.overloads AS inside_ops, coalesce(tolerance.text, '') AS tolerance
    FROM run
    JOIN plan ON plan.run_id = run.run_id
    JOIN test ON test.id = plan.test_ref
    JOIN spelling ON spelling.id = plan.spelling_id
    JOIN name AS file ON file.id = test.file_id
    JOIN name AS class ON class.id = test.class_id
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN name AS op ON op.id = test.op_id
    LEFT JOIN name AS module ON module.id = test.module_id
    LEFT JOIN name AS dtype ON dtype.id = test.dtype_id
    LEFT JOIN name AS architecture ON architecture.id = test.architecture_id
    LEFT JOIN skiplist_entry AS entry ON entry.id = plan.entry_ref
    LEFT JOIN {LAST_RESULT}
    LEFT JOIN fallback_set AS fallback ON fallback.id = result.fallback_set_id
    LEFT JOIN fallback_set AS test_fallback ON test_fallback.id = result.test_fallback_set_id
    LEFT JOIN fallback_set AS inside ON inside.id = result.inside_set_id
    LEFT JOIN text AS failing_sample ON failing_sample.id = result.failing_sample_id
    LEFT JOIN text AS reason ON reason.id = result.reason_id
    LEFT JOIN text AS message ON message.id = result.message_id
    LEFT JOIN text AS details ON details.id = result.details_id
    LEFT JOIN text AS tolerance ON tolerance.id = result.tolerance_id
    LEFT JOIN signature ON signature.id = result.signature_id
    LEFT JOIN name AS worker ON worker.id = result.worker_id"""

_STATUS = f"""CASE
        WHEN planned - not_run = 0 THEN '{OperatorStatus.UNTESTED}'
        WHEN crashed > 0 THEN '{OperatorStatus.CRASHING}'
        WHEN failed > 0 AND passed = 0 AND flaky = 0 THEN '{OperatorStatus.FAILING}'
        WHEN failed > 0 OR flaky > 0 THEN '{OperatorStatus.PARTIAL}'
        WHEN passed > 0 AND fallback > 0 THEN '{OperatorStatus.FALLBACK}'
        WHEN passed > 0 THEN '{OperatorStatus.NATIVE}'
        ELSE '{OperatorStatus.SKIPPED}'
    END"""


_COUNTED = f"""count(*) AS planned,
        count(*) FILTER (WHERE result.outcome IN ('passed', 'xpassed')) AS passed,
        count(*) FILTER (WHERE result.outcome IN ('failed', 'error')) AS failed,
        count(*) FILTER (WHERE result.outcome = 'skipped') AS skipped,
        count(*) FILTER (WHERE result.outcome = 'xfailed') AS xfailed,
        count(*) FILTER (WHERE result.outcome IN ('crashed', 'timed_out', 'out_of_memory')) AS crashed,
        count(*) FILTER (WHERE result.outcome IS NULL OR result.outcome = 'not_run') AS not_run,
        count(*) FILTER (WHERE result.outcome = 'flaky') AS flaky,
        count(*) FILTER (WHERE {FELL_BACK}) AS fallback"""


def _observed(subject: str, dtype: str) -> str:
    """Return the SELECT that counts the tests of each operator or module, over all or one by one dtype."""
    return f"""SELECT plan.run_id, test.{subject}_id AS subject_id, {dtype} AS dtype_id,
        {_COUNTED}
    FROM plan
    JOIN test ON test.id = plan.test_ref
    LEFT JOIN {LAST_RESULT}
    WHERE test.{subject}_id IS NOT NULL{"" if dtype == "NULL" else f" AND {dtype} IS NOT NULL"}
        AND {EAGER}
    GROUP BY 1, 2, 3"""


def _untested(subject: str, dtype: str) -> str:
    """Return the SELECT that has a row of zeros for what the inventory declares and the run did not plan."""
    inventory = f"inventory_{'operator' if subject == 'op' else 'module'}{'' if dtype == 'NULL' else '_dtype'}"
    # CROSS JOIN keeps SQLite from reading the whole plan for each of them.
    same_dtype = "" if dtype == "NULL" else " AND test.dtype_id = declared.dtype_id"
    return f"""SELECT run.run_id, declared.{subject}_id, {dtype}, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM run JOIN {inventory} AS declared ON declared.inventory_id = run.inventory_id
    WHERE NOT EXISTS (
        SELECT 1 FROM test CROSS JOIN plan ON plan.run_id = run.run_id AND plan.test_ref = test.id
        WHERE test.{subject}_id = declared.{subject}_id{same_dtype}
            AND {EAGER}
    )"""


def _status_view(view: str, subject: str, comment: str) -> str:
    # SQLite carries a condition on run_id into each part of this union, but would not through a GROUP BY around it:
    # hence the parts do not overlap, and one run out of thirty costs a thirtieth.
    parts = (
        _observed(subject, "NULL"),
        _untested(subject, "NULL"),
        _observed(subject, "test.dtype_id"),
        _untested(subject, "declared.dtype_id"),
    )
    union = "\n    UNION ALL\n    ".join(parts)
    return f"""CREATE VIEW {view} AS
    -- {comment}
    SELECT run_id, subject.name AS {subject}, dtype.name AS dtype, {_STATUS} AS status,
        planned, passed, failed, skipped, xfailed, crashed, not_run, flaky, fallback
    FROM (
    {union}
    ) AS counted
    JOIN name AS subject ON subject.id = counted.subject_id
    LEFT JOIN name AS dtype ON dtype.id = counted.dtype_id"""


_MODE = "CASE template.name {} END".format(
    " ".join(f"WHEN '{template}' THEN '{mode}'" for template, mode in COMPILE_TEMPLATES.items())
)
_LAST_COMPILATION = """compilation ON compilation.run_id = result.run_id AND compilation.test_ref = result.test_ref
        AND compilation.attempt = result.attempt"""

VIEWS = (
    f"""CREATE VIEW test_results AS
    -- One row for each planned test of each run, with its last attempt.
    {TEST_RESULTS}""",
    """CREATE VIEW test_attempts AS
    -- One row for each attempt at each test of each run, earlier attempts too.
    SELECT result.run_id, test.test_id, result.attempt, result.outcome, result.duration_us / 1e6 AS duration_s,
        coalesce(message.text, '') AS message, coalesce(worker.name, '') AS worker,
        coalesce(details.text, '') AS details
    FROM result
    JOIN test ON test.id = result.test_ref
    LEFT JOIN text AS message ON message.id = result.message_id
    LEFT JOIN text AS details ON details.id = result.details_id
    LEFT JOIN name AS worker ON worker.id = result.worker_id""",
    _status_view(
        "operator_status",
        "op",
        "The status of every operator of every run in eager mode: over all its tests (dtype NULL) and by dtype.",
    ),
    _status_view(
        "module_status",
        "module",
        "The status of every module of every run in eager mode: over all its tests (dtype NULL) and by dtype.",
    ),
    f"""CREATE VIEW compile_results AS
    -- One row for each planned test that uses torch.compile, with what it did in the last attempt.
    SELECT plan.run_id, test.test_id, test.suite, op.name AS op, module.name AS module, dtype.name AS dtype,
        {_MODE} AS mode,
        coalesce(result.outcome, 'not_run') AS outcome, backend.name AS backend,
        compilation.compile_us / 1e6 AS compile_s, compilation.graphs, compilation.breaks,
        compilation.recompilations, compilation.peak_bytes
    FROM plan
    JOIN test ON test.id = plan.test_ref
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN name AS op ON op.id = test.op_id
    LEFT JOIN name AS module ON module.id = test.module_id
    LEFT JOIN name AS dtype ON dtype.id = test.dtype_id
    LEFT JOIN {LAST_RESULT}
    LEFT JOIN {_LAST_COMPILATION}
    LEFT JOIN name AS backend ON backend.id = compilation.backend_id
    WHERE {COMPILES}""",
    f"""CREATE VIEW compile_status AS
    -- The status of every operator and module of every run under torch.compile, static (compile) and dynamic apart.
    SELECT run_id, op.name AS op, module.name AS module, mode, {_STATUS} AS status,
        planned, passed, failed, skipped, xfailed, crashed, not_run, flaky, fallback,
        compile_s, graphs, breaks, recompilations, peak_bytes
    FROM (
    SELECT plan.run_id, test.op_id, test.module_id, {_MODE} AS mode,
        {_COUNTED},
        sum(compilation.compile_us) / 1e6 AS compile_s, sum(compilation.graphs) AS graphs,
        sum(compilation.breaks) AS breaks, sum(compilation.recompilations) AS recompilations,
        max(compilation.peak_bytes) AS peak_bytes
    FROM plan
    JOIN test ON test.id = plan.test_ref
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN {LAST_RESULT}
    LEFT JOIN {_LAST_COMPILATION}
    WHERE {COMPILES} AND (test.op_id IS NOT NULL OR test.module_id IS NOT NULL)
    GROUP BY 1, 2, 3, 4
    ) AS counted
    LEFT JOIN name AS op ON op.id = counted.op_id
    LEFT JOIN name AS module ON module.id = counted.module_id""",
)
