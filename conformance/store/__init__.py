"""The SQLite database of runs: one writer a run, and the queries that reports and the site are made of."""

from __future__ import annotations

from conformance.store.connection import Database
from conformance.store.plan import plan_digest
from conformance.store.queries import (
    compile_results,
    compile_statuses,
    compiles_only,
    counts_by,
    fallback_operators,
    listed_entries,
    module_statuses,
    modules,
    operator_statuses,
    operators,
    registrations,
    resolve_run,
    results,
    runs,
    skips,
)
from conformance.store.resuming import LastAttempt
from conformance.store.rows import (
    CompileRow,
    CompileStatusRow,
    CountRow,
    EntryRow,
    FallbackRow,
    ModuleStatusRow,
    OperatorStatusRow,
    ResultRow,
    RunRow,
    SkipRow,
)
from conformance.store.writer import RunWriter

__all__ = [
    "CompileRow",
    "CompileStatusRow",
    "CountRow",
    "Database",
    "EntryRow",
    "FallbackRow",
    "LastAttempt",
    "ModuleStatusRow",
    "OperatorStatusRow",
    "ResultRow",
    "RunRow",
    "RunWriter",
    "SkipRow",
    "compile_results",
    "compile_statuses",
    "compiles_only",
    "counts_by",
    "fallback_operators",
    "listed_entries",
    "module_statuses",
    "modules",
    "operator_statuses",
    "operators",
    "plan_digest",
    "registrations",
    "resolve_run",
    "results",
    "runs",
    "skips",
]
