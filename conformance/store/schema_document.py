"""Print docs/schema.md: ``python -m conformance.store.schema_document > docs/schema.md``."""

from __future__ import annotations

import sqlite3
import sys
from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.store.migrations import migrate
from conformance.store.schema import APPLICATION_ID, SCHEMA_VERSION
from conformance.store.text import DETAILS_LIMIT, MESSAGE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTRODUCTION = f"""# The database

One SQLite file holds any number of runs. `sqlite3`, `sqlite-utils` and Datasette open it as it is. This page is printed
by `python -m conformance.store.schema_document`, and a test proves that it says what the code does.

The six views `test_results`, `test_attempts`, `operator_status`, `module_status`, `compile_results` and
`compile_status` are a contract: columns may be added, none is renamed or removed. The tables below them may change; a
file of an older harness is brought up to date when it is next written to. `PRAGMA user_version` is the schema's number,
{SCHEMA_VERSION} here, `PRAGMA application_id` is {APPLICATION_ID:#x}, and `_sqlite_migrations` says which steps were
applied when.

The file is in WAL mode while it is written: results are committed at least every half second, and a process that is
killed loses no more than the results it had not committed. Copy a database that is in use with
`sqlite3 FILE ".backup COPY"`, not with `cp`. Reasons, messages, signatures and sample descriptions are cut at
{MESSAGE_LIMIT:,} characters, details at {DETAILS_LIMIT:,}, with a mark that says how many were cut; a NUL is
stored as `\\x00`, a lone surrogate as `\\udXXX`.

What failed most often in the latest run:

```sql
SELECT signature, count(*) AS tests, min(test_id) AS example
FROM test_results
WHERE run_id = (SELECT max(run_id) FROM run) AND outcome IN ('failed', 'error', 'crashed', 'timed_out', 'out_of_memory')
GROUP BY signature ORDER BY tests DESC LIMIT 20;
```

The history of one test:

```sql
SELECT run_id, outcome, duration_s, message FROM test_results
WHERE test_id = 'opinfo::TestOperators::test_out_add_float32' ORDER BY run_id;
```

Operators that pass in eager mode and not when they are compiled for static shapes:

```sql
SELECT op, eager.status AS eager, compiled.status AS compiled
FROM operator_status AS eager JOIN compile_status AS compiled USING (run_id, op)
WHERE run_id = 1 AND eager.dtype IS NULL AND compiled.mode = 'compile'
  AND eager.status IN ('native', 'fallback') AND compiled.status NOT IN ('native', 'fallback', 'skipped', 'untested');
```

Operators that are native for float32 and not for bfloat16:

```sql
SELECT op, other.status FROM operator_status AS one JOIN operator_status AS other USING (run_id, op)
WHERE run_id = 1 AND one.dtype = 'float32' AND one.status = 'native'
  AND other.dtype = 'bfloat16' AND other.status <> 'native';
```
"""

_COUNTS = {
    "status": "native, partial, fallback, failing, crashing, skipped or untested; see the glossary",
    "planned": "tests planned; the seven counts from passed to flaky sum to it",
    "passed": "tests that passed, expected or not",
    "failed": "tests that failed, in the test itself or in setup or teardown",
    "skipped": "tests that asked not to be run",
    "xfailed": "tests that failed as PyTorch's own mark says they should",
    "crashed": "tests whose process crashed, exceeded the time limit or ran out of memory",
    "not_run": "tests for which nothing came back",
    "flaky": "tests that passed only at a further attempt, after one that failed",
    "fallback": "tests in which the operator or module under test ran on the CPU, whatever their outcome",
}

_VIEW_COLUMNS = {
    "test_results": {
        "run_id": "the run's number",
        "test_id": (
            "the test's device-neutral id, such as `opinfo::TestOperators::test_out_add_float32`, or for a file of "
            "PyTorch's own `test_ops.py::TestCommon::test_out_add_float32`"
        ),
        "node_id": "what pytest called the test in this run",
        "suite": "opinfo, modules, models, upstream or local",
        "file": "POSIX path relative to the suite's root",
        "class": "the generic class, '' for a function",
        "template": "the test method before operator and dtype were filled in",
        "op": "the operator under test, by its full name; NULL where the test has none",
        "module": "the module under test, by its full name; NULL where the test has none",
        "dtype": "torch's name without `torch.`; NULL where the test has none",
        "outcome": ", ".join(outcome.value for outcome in Outcome),
        "fallback_ops": "overloads that ran on the CPU inside the window, joined by commas; '' none, NULL not observed",
        "test_fallback_ops": "the same anywhere in the test",
        "samples": "sample inputs that ran; NULL for tests that do not count them",
        "samples_passed": "sample inputs that passed",
        "failing_sample": "the first sample that failed; '' when none did",
        "duration_s": "setup, call and teardown of the last attempt, in seconds",
        "tolerance": "the widest by which numbers could differ from the CPU's, rtol and atol; '' not known, or none",
        "reason": "why the test was skipped or expected to fail",
        "message": "the line that says what went wrong",
        "signature_id": "equal for failures with the same signature; NULL when there is none",
        "signature": "the normalised message",
        "attempt": (
            "the number of the last attempt, from 1; 0 while nothing has come back. The end of a run, interrupted or "
            "not, makes not_run the attempt 1 of each test without a result: 0 stays where a run goes on or was killed"
        ),
        "worker": "the worker that ran it",
        "details": "the traceback, or the stack of the process that died",
        "architecture": "the model's architecture, such as llama; NULL where the test has none",
        "entry": "the id of the skiplist's entry that speaks of the test; '' where none does",
        "expect": "what that entry expects: skip, fail, crash, timeout, fallback or flaky",
        "inside_ops": (
            "overloads with a kernel of the device that copied its inputs to the CPU and computed there; '' none, "
            "NULL not observed"
        ),
    },
    "test_attempts": {
        "run_id": "the run's number",
        "test_id": "the test's device-neutral id",
        "attempt": "the number of the attempt, from 1",
        "outcome": "how this attempt ended; the last of several that passes is flaky",
        "duration_s": "setup, call and teardown, in seconds",
        "message": "the line that says what went wrong",
        "worker": "the worker that ran it",
        "details": "the traceback, or the stack of the process that died",
    },
    "operator_status": {
        "run_id": "the run's number",
        "op": "the operator, by its full name; those of the inventory that no test was planned for are there too",
        "dtype": "one dtype, or NULL for the row over all tests of the operator",
        **_COUNTS,
    },
    "module_status": {
        "run_id": "the run's number",
        "module": "the module, by its full name; those of the inventory that no test was planned for are there too",
        "dtype": "one dtype, or NULL for the row over all tests of the module",
        **_COUNTS,
    },
    "compile_results": {
        "run_id": "the run's number",
        "test_id": "the test's device-neutral id",
        "suite": "opinfo or modules",
        "op": "the operator under test, by its full name; NULL for modules",
        "module": "the module under test, by its full name; NULL for operators",
        "dtype": "torch's name without `torch.`",
        "mode": "compile (static shapes) or dynamic",
        "outcome": ", ".join(outcome.value for outcome in Outcome),
        "backend": "the dynamo backend; NULL where nothing was compiled, and in the columns that follow",
        "compile_s": "wall time of all compilations of the test, in seconds; NULL too where this torch does not tell",
        "graphs": "graphs that the backend compiled; 0 where dynamo left the function to eager mode",
        "breaks": "graph breaks",
        "recompilations": "compilations of code that was compiled before, for other inputs; NULL too as compile_s",
        "peak_bytes": "the most memory allocated on the device in the test; NULL too where the device keeps no peak",
    },
    "compile_status": {
        "run_id": "the run's number",
        "op": "the operator, by its full name; NULL for modules. What no compiling test was planned for has no row",
        "module": "the module, by its full name; NULL for operators",
        "mode": "compile (static shapes) or dynamic",
        **_COUNTS,
        "compile_s": "the sum over its tests, in seconds; NULL where none has a number, here and below",
        "graphs": "the sum over its tests",
        "breaks": "the sum over its tests",
        "recompilations": "the sum over its tests",
        "peak_bytes": "the highest of its tests",
    },
}


def schema_document() -> str:
    """Return the text of docs/schema.md."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection)
        return "\n".join([_INTRODUCTION, *_views(connection), *_tables(connection)])
    finally:
        connection.close()


def _views(connection: sqlite3.Connection) -> Iterator[str]:
    yield "## Views\n"
    for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY rowid"):
        comment = sql.splitlines()[1].strip().removeprefix("-- ")
        yield f"### {name}\n\n{comment}\n\n| column | content |\n|---|---|"
        for _, column, *_ in connection.execute(f"PRAGMA table_info({name})"):
            yield f"| `{column}` | {_VIEW_COLUMNS[name][column]} |"
        yield ""


def _tables(connection: sqlite3.Connection) -> Iterator[str]:
    yield "## Tables\n"
    for kind, name, table, sql in connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master"
        " WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE '%sqlite%'"
        " AND tbl_name NOT LIKE '%sqlite%' ORDER BY rowid"
    ):
        heading = f"### {name}\n\n" if kind == "table" else f"An index of `{table}`:\n\n"
        yield f"{heading}```sql\n{sql};\n```\n"


if __name__ == "__main__":
    sys.stdout.write(schema_document())
