"""docs/verdicts.md says what the code says."""

from __future__ import annotations

import os
import re
from pathlib import Path

from conformance.analysis.compare import Change
from conformance.analysis.verdict import Baseline, Verdict, verdict
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.skiplist.vocabulary import Expectation

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "verdicts.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
SINE: tuple[str, ...] = ("aten::sin.out",)

ENDS: dict[str, tuple[Outcome, tuple[str, ...] | None]] = {
    "passed": (Outcome.PASSED, ()),
    "passed on the CPU": (Outcome.PASSED, SINE),
    "passed, nobody looked": (Outcome.PASSED, None),
    "xfailed, xpassed": (Outcome.XPASSED, ()),
    "flaky": (Outcome.FLAKY, ()),
    "failed, error": (Outcome.FAILED, ()),
    "crashed": (Outcome.CRASHED, None),
    "timed_out": (Outcome.TIMED_OUT, None),
    "out_of_memory": (Outcome.OUT_OF_MEMORY, None),
    "skipped": (Outcome.SKIPPED, None),
    "not_run": (Outcome.NOT_RUN, None),
}
BASELINES: dict[str, Baseline | None] = {
    "no baseline": None,
    "passed": (Outcome.PASSED, ()),
    "passed on the CPU": (Outcome.PASSED, SINE),
    "failed": (Outcome.FAILED, ()),
    "crashed": (Outcome.CRASHED, None),
    "skipped, not_run": (Outcome.SKIPPED, None),
}


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def verdict_table() -> list[str]:
    fails = {
        verdict: "yes" if verdict.is_unexpected else "if strict" if verdict.fails_strict else "" for verdict in Verdict
    }
    rows = [row([f"`{verdict}`", fails[verdict], verdict.definition]) for verdict in Verdict]
    return ["| verdict | fails the run | when |", "|---|---|---|", *rows]


def entry_table() -> list[str]:
    rows = []
    for name, (outcome, fallback) in ENDS.items():
        found = [
            verdict(outcome, fallback, "", ListedEntry("x", str(expect), "unknown", "because"), None)
            for expect in Expectation
        ]
        rows.append(row([f"{name}", *(one.words for one in found)]))
    heads = [f"`{expect}`" for expect in Expectation]
    return [row(["outcome, entry expects", *heads]), "|---" * (len(heads) + 1) + "|", *rows]


def baseline_table() -> list[str]:
    rows = []
    for name, (outcome, fallback) in ENDS.items():
        found = [verdict(outcome, fallback, "", None, baseline) for baseline in BASELINES.values()]
        rows.append(row([name, *(one.words for one in found)]))
    return [row(["outcome, baseline", *BASELINES]), "|---" * (len(BASELINES) + 1) + "|", *rows]


def change_table() -> list[str]:
    rows = [row([f"`{change}`", "yes" if change.is_worse else "", change.definition]) for change in Change]
    return ["| change | worse | when |", "|---|---|---|", *rows]


TABLES = {
    "verdicts": verdict_table(),
    "entries": entry_table(),
    "baselines": baseline_table(),
    "changes": change_table(),
}


def documented(name: str) -> list[str]:
    found = re.search(rf"<!-- table: {name} -->\n((?:\|.*\n)+)", TEXT)
    assert found, name
    return found[1].splitlines()


def test_every_table_is_the_one_of_the_code() -> None:
    if os.environ.get("EXPECTTEST_ACCEPT"):
        text = TEXT
        for name, lines in TABLES.items():
            table = "\n".join([f"<!-- table: {name} -->", *lines, ""])
            before, mark, after = text.partition(f"<!-- table: {name} -->\n")
            assert mark, name
            text = before + table + re.sub(r"\A(?:\|.*\n)*", "", after)
        DOCUMENT.write_text(text, encoding="utf-8")
        return
    for name, lines in TABLES.items():
        assert documented(name) == lines
