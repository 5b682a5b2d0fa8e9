"""Measure how long skiplists take: to import, check and count a large list, and to find the entries of many tests.

``python benchmarks/skiplist.py disabled.json --device npu`` imports that list of PyTorch's form, writes it as TOML,
reads, lints and counts it; without a path it makes one up. Then it applies lists of 1,000, 8,000 and 32,000 entries to
34,000 tests. Times are of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TypeVar

from conformance.model.identity import Identity, Suite
from conformance.skiplist import Category, Context, Entry, Expectation, Match, compile_skiplist, load_skiplist
from conformance.skiplist.formats import import_list
from conformance.skiplist.formats.imported import Imported, ImportOptions
from conformance.skiplist.lint import lint
from conformance.skiplist.stats import By, stats
from conformance.skiplist.write import render_list

TESTS = 34_000
SIZES = (1_000, 8_000, 32_000)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "complex64")
TODAY = date(2026, 11, 1)
LIMIT_LIST_S = 5.0
LIMIT_APPLY_S = 0.2

Value = TypeVar("Value")


def timed(function: Callable[[], Value]) -> tuple[Value, float]:
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def made_up_tests(count: int) -> list[Identity]:
    """Return tests of a hundred operators in a file, with the spread of PyTorch's test_ops."""
    tests = []
    for number in range(count):
        dtype = DTYPES[number % len(DTYPES)]
        op = f"nn.functional.op{number // len(DTYPES) % 600}"
        template = f"test_property_{number // (len(DTYPES) * 600)}"
        name = f"{template}_{op.replace('.', '_')}_{dtype}"
        tests.append(Identity("test_ops.py", "TestCommon", name, Suite.UPSTREAM, template, op, None, dtype))
    return tests


def made_up_list(tests: Sequence[Identity]) -> str:
    names = {}
    for test in tests:
        method = f"{test.name.removesuffix(f'_{test.dtype}')}_npu_{test.dtype}"
        names[f"{method} (__main__.{test.class_name}PRIVATEUSE1)"] = ["", [""]]
    return json.dumps(names)


def measure_list(text: str, source: str, device: str) -> Sequence[Entry]:
    options = ImportOptions(device=device, added=TODAY, prefix=device)

    def work() -> Imported:
        return import_list("disabled-tests", text, source, options)

    context = Context(today=TODAY)
    found, import_s = timed(work)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list.toml"
        _, write_s = timed(lambda: file.write_text(render_list(found.entries), encoding="utf-8"))
        skiplist, load_s = timed(lambda: load_skiplist([file]))
    report, lint_s = timed(lambda: lint(skiplist, context=context))
    counts, stats_s = timed(lambda: stats(skiplist, context=context))
    print(f"{source}: {found.read:,} read, {found.mapped:,} mapped to {len(found.entries):,} entries")
    for note in found.notes:
        print(f"  {note.count:,}: {note.text}")
    whole = counts.whole
    share = whole.without_reason / whole.listed
    print(f"  without a reason: {whole.without_reason:,} of {whole.listed:,} ids ({share:.1%})")
    for by in (By.CLASS, By.DTYPE):
        top = ", ".join(f"{part.key} {part.tests:,}" for part in counts.by[by][:4])
        print(f"  by {by}: {top}, ... ({len(counts.by[by])} in all)")
    total = import_s + write_s + load_s + lint_s + stats_s
    print(
        f"  import {import_s:.2f} s, write {write_s:.2f} s, read {load_s:.2f} s, lint {lint_s:.2f} s "
        f"({len(report.findings):,} findings), stats {stats_s:.2f} s"
    )
    print(f"  together {total:.2f} s, {total / LIMIT_LIST_S:.0%} of the {LIMIT_LIST_S:.0f} s allowed")
    return skiplist.entries


def measure_apply(name: str, entries: Sequence[Entry], tests: Sequence[Identity]) -> None:
    matcher, compile_s = timed(lambda: compile_skiplist(entries, Context("2.13.0", today=TODAY)))
    matched, apply_s = timed(lambda: matcher.apply(tests))
    total = compile_s + apply_s
    print(
        f"  {name:<44} compile {compile_s * 1e3:6.1f} ms, apply {apply_s * 1e3:6.1f} ms, "
        f"{total / LIMIT_APPLY_S:4.0%} of {LIMIT_APPLY_S} s; {len(matched):,} matched"
    )


def entry(number: int, template: Entry, **changes: object) -> Entry:
    return replace(template, id=f"entry-{number}", **changes)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="a list of disabled tests; one is made up without")
    parser.add_argument("--device", default="npu")
    arguments = parser.parse_args()
    tests = made_up_tests(TESTS)
    if arguments.path:
        real = measure_list(arguments.path.read_text(encoding="utf-8"), arguments.path.name, arguments.device)
    else:
        real = measure_list(made_up_list(tests[:32_000]), "made up", arguments.device)
    template = Entry("x", Expectation.FAIL, Category.UNKNOWN, "", "", TODAY)
    print(f"applied to {len(tests):,} tests:")
    measure_apply(f"the list above, {len(real):,} entries", real, tests)
    for size in SIZES:
        some = tests[:size]
        exact = [entry(number, template, tests=(test.test_id,)) for number, test in enumerate(some)]
        measure_apply(f"{size:,} entries with one id each", exact, tests)
        any_file = [entry(n, template, tests=(f"*::TestCommon::{test.name}",)) for n, test in enumerate(some)]
        measure_apply(f"{size:,} entries with one id for any file", any_file, tests)
        one = [entry(0, template, tests=tuple(test.test_id for test in some))]
        measure_apply(f"one entry with {size:,} ids", one, tests)
    for size in SIZES[:2]:
        rules = [
            entry(
                n, template, match=Match(ops=(f"*.op{n % 600}",), dtypes=(DTYPES[n % 8], "complex*"), files=("test_*",))
            )
            for n in range(size)
        ]
        measure_apply(f"{size:,} entries with patterns for 3 fields", rules, tests)


if __name__ == "__main__":
    main()
