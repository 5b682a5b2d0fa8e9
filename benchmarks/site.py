"""Build the website from 200,000 results, and measure it: seconds to build, bytes to send, milliseconds to answer.

python benchmarks/site.py [--results 200000] [--runs 30] [--newest 30000] [--no-browser]

The newest of the runs has ``--newest`` tests, the others share the rest of the results; all are of one scope, so that
every curve, history and comparison is worked out. Operators, dtypes and overloads are those of the newest snapshot that
comes with the harness. The browser is Debian's Chromium; without it, or without playwright, its figures are left out.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.analysis import opdb
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration, RegistrationKind
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunInfo, RunState
from conformance.publish.site_build import build_site
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.model.overload import Snapshot

TEMPLATES = tuple(f"test_template_{number:02d}" for number in range(40))
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# What the issue of the website asks for.
SECONDS_TO_BUILD, START_BYTES, OPERATORS_BYTES, USABLE_MS, KEY_MS = 15.0, 150_000, 400_000, 1000.0, 50.0


@dataclass(frozen=True)
class Size:
    """How much the database holds."""

    results: int
    runs: int
    newest: int

    def tests_of(self, number: int) -> int:
        """Return how many tests a run plans, counted from 0."""
        if number == self.runs - 1:
            return self.newest
        return (self.results - self.newest) // max(self.runs - 1, 1)


def write_database(path: Path, size: Size, snapshot: Snapshot) -> None:
    tests = list(_tests(snapshot, size.newest))
    chance = random.Random(0)
    tempers = {operator.name: chance.random() for operator in snapshot.operators}
    kinds = tuple(RegistrationKind)
    registered = [
        Registration(overload.name, chance.choices(kinds, (40, 40, 15, 5))[0]) for overload in snapshot.overloads
    ]
    entries = [
        ListedEntry(f"entry-{number}", "fail", "precision", "why", owner="team", added="2026-01-01")
        for number in range(300)
    ]
    with Database.create_or_open(path) as database:
        for number in range(size.runs):
            writer = RunWriter(database, flush_interval_s=3600, batch_rows=20_000)
            writer.begin(_info(number, snapshot))
            writer.write_inventory(operators=snapshot.inventory("neuron"), modules=snapshot.modules)
            writer.write_registrations(registered)
            writer.write_skiplist(entries)
            # The others plan every so-and-so-many-th test, so that all operators are in each run.
            count = size.tests_of(number)
            plan = [
                PlannedTest(identity.test_id, identity, f"entry-{place % 300}" if place % 40 == 0 else "")
                for place, identity in enumerate(tests)
                if place * count // len(tests) != (place + 1) * count // len(tests)
            ]
            writer.write_plan(plan)
            writer.start(started_at=f"2026-10-{number + 1:02d}T02:00:00Z")
            for planned in plan:
                writer.add(_result(planned.identity, tempers, number, chance))
            writer.finish(RunState.COMPLETE, finished_at=f"2026-10-{number + 1:02d}T05:00:00Z")


def _info(number: int, snapshot: Snapshot) -> RunInfo:
    return RunInfo(
        key=f"{number:032x}",
        created_at=f"2026-10-{number + 1:02d}T02:00:00Z",
        suites=("opinfo",),
        device="neuron",
        device_name="made up by a benchmark",
        emulated=True,
        torch_version=snapshot.torch,
        backend="benchmark",
        backend_version="1",
        harness_version="0",
        python_version="3",
        host="",
        operating_system="",
        command="conformance run",
        probe="observer",
        skiplist="neuron",
    )


def _tests(snapshot: Snapshot, count: int) -> Iterator[Identity]:
    """Yield so many tests, as evenly over operators, dtypes and templates as they go."""
    made = 0
    for template in TEMPLATES:
        for operator in snapshot.operators:
            formatted = operator.name.replace(".", "_")
            for dtype in operator.privateuse1_dtypes:
                if made == count:
                    return
                made += 1
                yield Identity(
                    "opinfo",
                    "TestOperators",
                    f"{template}_{formatted}_{dtype}",
                    Suite.OPINFO,
                    template,
                    op=operator.name,
                    dtype=dtype,
                )
    raise SystemExit(f"there are only {made:,} tests; ask for fewer")


def _result(identity: Identity, tempers: dict[str, float], number: int, chance: random.Random) -> Result:
    temper = tempers[identity.op or ""]
    dice = chance.random()
    seconds = round(chance.expovariate(20), 6)
    fails = (temper < 0.10 and dice < 0.5) or dice < 0.002
    if fails:
        message = f"RuntimeError: cause {int(temper * 3000)} at 0x{chance.getrandbits(32):x} of {identity.op}"
        return Result(
            identity.test_id,
            Outcome.FAILED,
            seconds,
            message=message + "\nMismatched elements: 3 / 25 (12.0%)",
            details="Traceback (most recent call last):\n" + "  File x.py, line 3, in f\n" * 12,
            signature=f"RuntimeError: cause {int(temper * 3000)} at ADDRESS of {identity.op}",
            samples=SampleAccount(8, 3, "sample 2: float32[5, 5]"),
            fallback=FallbackAccount(),
        )
    if dice < 0.08:
        return Result(
            identity.test_id, Outcome.SKIPPED, seconds, reason="not supported here", fallback=FallbackAccount()
        )
    falls_back = 0.10 <= temper < 0.35 + 0.004 * (15 - number)
    inside = (f"aten::{(identity.op or '').replace('.', '_')}",) if falls_back else ()
    return Result(
        identity.test_id,
        Outcome.PASSED,
        seconds,
        samples=SampleAccount(8, 8),
        fallback=FallbackAccount(inside, (*inside, "aten::_local_scalar_dense")),
    )


def packed(folder: Path, *names: str) -> int:
    """Return the bytes that a web server sends for these files, each compressed."""
    return sum(len(gzip.compress((folder / name).read_bytes(), 9, mtime=0)) for name in names)


def scripts_of(folder: Path, page: str) -> list[str]:
    """Return what a page loads at once: itself, its style sheet and its scripts."""
    text = (folder / page).read_text(encoding="utf-8")
    return [page, *(f"static/{path.name}" for path in (folder / "static").iterdir() if f"static/{path.name}" in text)]


def verdict(value: float, limit: float) -> str:
    return "ok" if value <= limit else "MISSED"


def measure_browser(folder: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("browser           left out: playwright is not installed")
        return
    executable = shutil.which("chromium")
    if executable is None:
        print("browser           left out: there is no chromium on PATH")
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        tab = chromium.new_page(viewport={"width": 1280, "height": 900})
        tab.add_init_script(_WATCH)
        for name, limit in (("index.html", USABLE_MS), ("operators.html", USABLE_MS), ("overloads.html", None)):
            times = []
            for _ in range(5):
                tab.goto((folder / name).as_uri())
                tab.wait_for_function("() => window.usable !== undefined")
                times.append(tab.evaluate("window.usable"))
            mark = f"  {verdict(statistics.median(times), limit)} (under {limit:.0f} ms)" if limit else ""
            print(
                f"{name:17} usable after {statistics.median(times):4.0f} ms, "
                f"the slowest of five {max(times):4.0f} ms{mark}"
            )
        for name, ready in (
            ("operators.html", "document.querySelector('.elsewhere a') !== null"),
            ("tests.html", "document.querySelector('table.listed') !== null"),
            ("overloads.html", "true"),
        ):
            tab.goto((folder / name).as_uri())
            _press(tab, "a")
            tab.wait_for_function(ready)
            rounds = [_keys(tab) for _ in range(ROUNDS)]
            shown = tab.locator(".controls output").inner_text()
            # Other work on the machine slows single rounds down, not the same key in most of them.
            typical = [statistics.median(times) for times in zip(*rounds, strict=True)]
            print(
                f"{name:17} a key answers in {statistics.median(typical):3.0f} ms, "
                f"the slowest of {len(typical)} keys in {max(typical):3.0f} ms  "
                f"{verdict(max(typical), KEY_MS)} (under {KEY_MS:.0f} ms); {shown}"
            )
        chromium.close()


# From the key to the picture: a frame, and what is run right after it was painted.
_WATCH = """
window.answers = [];
const painted = (use) => requestAnimationFrame(() => { const port = new MessageChannel();
  port.port1.onmessage = () => use(performance.now()); port.port2.postMessage(0); });
document.addEventListener("DOMContentLoaded", () => painted((now) => { window.usable = now; }));
document.addEventListener("input", (event) => { const begun = event.timeStamp;
  painted((now) => window.answers.push(now - begun)); }, true);
"""
# A search as it is typed, word by word, and taken back to the last letter.
_SEARCH = "conv !status:native"
ROUNDS = 5


def _keys(tab: Any) -> list[float]:
    """Return the milliseconds from each key of a search to its picture."""
    tab.fill("#q", "")
    tab.wait_for_timeout(400)
    tab.evaluate("window.answers = []")
    for sign in _SEARCH:
        _press(tab, "Space" if sign == " " else sign)
    for _ in _SEARCH:
        _press(tab, "Backspace")
    tab.wait_for_timeout(200)
    answers: list[float] = tab.evaluate("window.answers")
    return answers


def _press(tab: Any, key: str) -> None:
    tab.focus("#q")
    tab.keyboard.press(key)
    tab.wait_for_timeout(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--newest", type=int, default=30_000)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder to leave the database and the site in")
    options = parser.parse_args()
    size = Size(options.results, options.runs, options.newest)
    snapshot = opdb.load(opdb.versions()[-1])
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        database, site = folder / "benchmark.sqlite", folder / "site"
        database.unlink(missing_ok=True)
        seconds = timed(lambda: write_database(database, size, snapshot))
        print(
            f"{len(snapshot.operators)} operators, {len(snapshot.overloads):,} overloads, {size.runs} runs, "
            f"{sum(size.tests_of(number) for number in range(size.runs)):,} results, "
            f"{size.newest:,} of them in the newest; written in {seconds:.1f} s"
        )
        seconds = timed(lambda: build_site(database, site))
        files = [path for path in site.rglob("*") if path.is_file()]
        print(
            f"build             {seconds:.1f} s  {verdict(seconds, SECONDS_TO_BUILD)} "
            f"(under {SECONDS_TO_BUILD:.0f} s); {len(files):,} files, "
            f"{sum(path.stat().st_size for path in files) / 1e6:.0f} MB"
            f""
        )
        for page, limit in (("index.html", START_BYTES), ("operators.html", OPERATORS_BYTES)):
            whole = packed(site, *scripts_of(site, page))
            print(
                f"{page:17} {packed(site, page) / 1000:.0f} kB compressed, "
                f"{whole / 1000:.0f} kB with style and scripts  {verdict(whole, limit)} (under {limit // 1000} kB)"
            )
        data = sorted((site / "data").iterdir())
        newest = f"data/run-{size.runs}.js"
        print(
            f"search            {packed(site, 'data/index.js') / 1000:.0f} kB compressed for names, "
            f"{packed(site, 'data/tests.js', newest) / 1000:.0f} kB for tests, loaded when a search begins; "
            f"{len(data)} files of data"
        )
        if not options.no_browser:
            measure_browser(site)


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
