from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.publish.marks import FELL_BACK
from conformance.store import Database, operator_statuses, resolve_run
from tests.publish.building import DTYPES, built, info, write_run
from tests.publish.reading import Tag, page, pages
from tests.sample_run import ODD_OPERATOR

if TYPE_CHECKING:
    from pathlib import Path

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'"
)

SCRIPTS = ("site.js", "query.js", "find.js", "table.js", "tests.js", "compare.js")

HOSTILE = {
    "<script>alert(1)</script>": Outcome.PASSED,
    "../../etc": Outcome.FAILED,
    "a/b": Outcome.SKIPPED,
    "t": Outcome.PASSED,
    "T": Outcome.FAILED,
    '"><img src=x onerror=alert(1)>': Outcome.CRASHED,
    "{{ 7 * 7 }}": Outcome.PASSED,
}


def _number(text: str) -> int:
    return int(re.findall(r"[\d,]+", text)[0].replace(",", ""))


def _tallies(tag: Tag) -> tuple[list[int], int]:
    """Return the counts of a legend and the sum it states."""
    counts = [_number(item.one("span", class_="n").text) for item in tag.all("li") if not item.has("class_", "sum")]
    return counts, _number(tag.one("li", class_="sum").one("span", class_="n").text)


def test_every_page_is_well_formed_and_framed(sample_site: Path, models_site: Path, compiled_site: Path) -> None:
    for path in (*pages(sample_site), *pages(models_site), *pages(compiled_site)):
        document = page(path)
        assert len(document.all("h1")) == 1, path
        assert document.one("html").attributes["lang"] == "en"
        assert document.one("meta", http_equiv="Content-Security-Policy").attributes["content"] == POLICY
        assert document.one("head").one("title").text.startswith("EMULATED")
        assert document.one("aside", class_="emulated").text.startswith("EMULATED"), path
        assert not document.all("style")
        assert not [tag for tag in document._walk() if "style" in tag.attributes], path
        assert not [name for tag in document._walk() for name in tag.attributes if name.startswith("on")], path
        assert all("src" in script.attributes and not script.children for script in document.all("script"))


@pytest.mark.parametrize("name", ["sample_site", "models_site", "beside_models_site", "compiled_site"])
def test_tables_say_what_they_are(request: pytest.FixtureRequest, name: str) -> None:
    for path in pages(request.getfixturevalue(name)):
        for table in page(path).all("table"):
            assert table.one("caption").text, path
            assert all(head.has("scope", "col") for head in table.one("thead").all("th")), path
            columns = len(table.one("thead").all("th"))
            for row in table.one("tbody").all("tr"):
                cells = [tag for tag in row.children if isinstance(tag, Tag)]
                assert [cell for cell in cells if cell.name == "th" and cell.has("scope", "row")], path
                assert len(cells) == columns, path


@pytest.mark.parametrize(
    "name", ["sample_site", "series_site", "models_site", "beside_models_site", "compiled_site", "beside_compiled_site"]
)
def test_ids_are_unique_and_every_link_leads_somewhere(request: pytest.FixtureRequest, name: str) -> None:
    site: Path = request.getfixturevalue(name)
    documents = {path.resolve(): page(path) for path in pages(site)}
    ids = {}
    for path, document in documents.items():
        found = [tag.attributes["id"] for tag in document._walk() if "id" in tag.attributes]
        assert len(found) == len(set(found)), path
        ids[path] = set(found)
    followed = 0
    for path, document in documents.items():
        for tag in document._walk():
            for attribute in ("href", "src", "action"):
                if attribute not in tag.attributes:
                    continue
                link = urlsplit(tag.attributes[attribute])
                if tag.name == "a" and link.scheme in ("http", "https"):
                    assert tag.attributes["rel"] == "noreferrer"
                    continue
                assert not link.scheme, (path, link)
                assert not link.netloc, (path, link)
                assert not link.path.startswith("/"), (path, link)
                target = (path.parent / unquote(link.path)).resolve() if link.path else path
                assert target.is_file(), (path, link)
                assert target.is_relative_to(site.resolve())
                if link.fragment and "=" not in link.fragment:
                    assert unquote(link.fragment) in ids[target], (path, link)
                followed += 1
    assert followed > 400


def test_searches_that_pages_link_to_are_ones_that_the_table_knows(sample_site: Path) -> None:
    table = page(sample_site / "operators.html")
    known = {
        "status": {item.attributes["data-code"] for item in table.one("div", class_="static-legend").all("li")},
        "dtype": {option.text for option in table.one("select", id="dtype").all("option")},
        "group": {option.text for option in table.one("select", id="group").all("option")},
    }
    seen = set()
    for link in page(sample_site / "index.html").all("a"):
        target, _, fragment = link.attributes["href"].partition("#")
        if target == "operators.html" and fragment:
            search = unquote(fragment.replace("+", " ")).removeprefix("q=")
            key, _, value = search.partition(":")
            assert value.strip('"') in known[key]
            assert (" " in value) == value.startswith('"')
            seen.add(key)
    assert seen == set(known)


def test_nothing_comes_from_elsewhere(sample_site: Path) -> None:
    for path in sample_site.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for namespace in ("http://www.w3.org/2000/svg", "http://www.w3.org/2005/Atom"):
                text = text.replace(namespace, "")
            assert "http://" not in text, path
            assert "https://" not in text, path


def test_two_builds_are_equal_byte_for_byte(sample_database: Path, sample_site: Path, tmp_path: Path) -> None:
    again = built(sample_database, tmp_path / "another name", selector="1")
    first, second = (
        {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in (sample_site, again)
    )
    assert sorted(first) == sorted(second)
    assert first == second


def test_the_counts_of_the_front_page_add_up(sample_database: Path, sample_site: Path) -> None:
    with Database.open_existing(sample_database) as database:
        run = resolve_run(database, "1")
        rows = [row for row in operator_statuses(database, run.id) if row.dtype is None]
    statuses = Counter(row.status for row in rows)
    with_result = sum(row.planned - row.not_run for row in rows)
    index = page(sample_site / "index.html")
    native, untested = statuses[OperatorStatus.NATIVE], statuses[OperatorStatus.UNTESTED]
    assert index.one("h1").text == f"{native} of 60 operators ran natively; {untested} untested."
    percent = f"{100 * native / 60:.1f}"
    assert index.one("p", class_="share").text == (
        f"{percent} % of all operators, untested ones included; judged by {with_result} tests of the templates "
        "backward, forward and out in float32, bfloat16 and int64"
    )
    legends = [legend for legend in index.all("ul", class_="legend") if legend.all("li", class_="sum")]
    assert [_tallies(legend)[1] for legend in legends] == [60, run.planned, 7]
    for legend in legends:
        counts, total = _tallies(legend)
        assert sum(counts) == total
        assert all(counts)
    shown = {item.attributes["data-code"] for item in legends[1].all("li") if "data-code" in item.attributes}
    assert shown == {*(outcome.value for outcome in Outcome), FELL_BACK.code}


def test_every_row_of_a_breakdown_adds_up(sample_site: Path) -> None:
    index = page(sample_site / "index.html")
    tables = index.all("table", class_="breakdown")
    assert len(tables) == 5
    for table in tables:
        for row in table.one("tbody").all("tr"):
            cells = [cell for cell in row.all("td", class_="num") if not cell.has("class_", "aside")]
            total, *counts = (_number(cell.text) for cell in cells)
            assert sum(counts) == total
            assert len(row.one("svg").all("rect")) == sum(count > 0 for count in counts)
    planned = sum(_number(row.one("td", class_="total").text) for row in tables[3].one("tbody").all("tr"))
    assert planned == sum(_number(row.one("td", class_="total").text) for row in tables[4].one("tbody").all("tr"))


def test_the_table_of_operators_agrees_with_the_store(sample_database: Path, sample_site: Path) -> None:
    with Database.open_existing(sample_database) as database:
        rows = operator_statuses(database, resolve_run(database, "1").id)
    table = page(sample_site / "operators.html").one("table")
    dtypes = [head.text for head in table.one("thead").all("th", class_="dtype")]
    shown: dict[tuple[str, str | None], str] = {}
    for row in table.one("tbody").all("tr"):
        name = row.one("th").text
        shown[name, None] = row.one("span", class_="chip").text[1:]
        for dtype, cell in zip(dtypes, row.all("td", class_="c"), strict=True):
            title = cell.attributes.get("title", f"{dtype}: untested")
            shown[name, dtype] = title.split(": ")[1].split(",")[0]
            assert cell.has("class_", f"mark-{shown[name, dtype]}")
    assert {key[0] for key in shown} == {row.op for row in rows}
    for stored in rows:
        assert shown[stored.op, stored.dtype] == stored.status.value, stored
    untested = [row for row in rows if row.dtype is None and row.status is OperatorStatus.UNTESTED]
    assert untested
    for row in table.one("tbody").all("tr"):
        if row.one("span", class_="chip").has("class_", "mark-untested"):
            assert "0" not in row.one("td", class_="num").text


def test_an_operator_page_has_each_of_its_tests(sample_site: Path) -> None:
    document = page(sample_site / "operators" / "addmm.html")
    tests = document.one("table", class_="tests").one("tbody").all("tr")
    assert [row.one("span", class_="chip").text for row in tests] == ["Xfailed"] * 3
    assert "Failing sample sample 2" in tests[0].text.replace("Failing samplesample", "Failing sample sample")
    command = tests[0].one("pre", class_="command").text
    assert command == f"conformance run opinfo --device neuron --test {tests[0].one('th').text}"
    lines = [row for group in document.all("details", class_="plain") for row in group.one("tbody").all("tr")]
    assert len(lines) == 6
    status, *rows = document.one("table", class_="matrix").one("tbody").all("tr")
    assert [cell.text for cell in status.all("td")] == ["P", "P", "P", "?"]
    links = [link.attributes["href"][1:] for row in rows for link in row.all("a")]
    assert len(links) == 9
    assert set(links) == {row.attributes["id"] for row in (*tests, *lines)}
    assert _tallies(document.one("ul", class_="legend")) == ([4, 2, 3], 9)


def test_a_fallback_is_shown_where_it_happened(sample_site: Path) -> None:
    document = page(sample_site / "operators" / "abs.html")
    assert "not natively" in document.one("p", class_="lead").text
    reached = document.one("table", class_="reached").one("tbody").all("tr")
    assert [(row.one("th").text, row.one("td", class_="total").text) for row in reached[:2]] == [
        ("aten::abs.out", "9"),
        ("aten::_foreach_add.List", "3"),
    ]
    (group,) = document.all("details", class_="plain")
    assert group.one("summary").text == "Fpassed, fell back 9 tests"
    overloads = page(sample_site / "overloads.html").one("table", class_="found").one("tbody").all("tr")
    named = {row.one("th").text: row for row in overloads}
    row = named["aten::abs.out"]
    assert row.one("td", class_="num").text == "9"
    assert "on the CPU" in row.text
    assert row.attributes["id"] == "o-aten::abs.out"


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    message = "<script>alert('message')</script>"
    site = built(write_run(tmp_path / "db.sqlite", HOSTILE, message=message), tmp_path / "site")
    for path in pages(site):
        document = page(path)
        assert {script.attributes["src"].rsplit("/", 1)[1] for script in document.all("script")} <= set(SCRIPTS)
        assert not document.all("img")
        assert "49" not in document.one("h1").text
    names = {path.name for path in (site / "operators").iterdir()}
    assert len({name.lower() for name in names}) == len(HOSTILE)
    assert {path.name for path in tmp_path.iterdir()} == {"db.sqlite", "site"}
    shown = {page(path).one("h1").one("code").text for path in (site / "operators").iterdir()}
    assert shown == set(HOSTILE)
    assert message in page(site / "failures.html").text


def test_the_sample_with_odd_operators_shows_their_names(sample_site: Path) -> None:
    rows = page(sample_site / "operators.html").one("table").one("tbody").all("tr")
    assert ODD_OPERATOR in [row.one("th").text for row in rows]


def test_an_interrupted_run_alone_makes_a_site_that_says_so(tmp_path: Path) -> None:
    database = write_run(
        tmp_path / "db.sqlite", {"add": Outcome.PASSED, "mul": Outcome.NOT_RUN}, state=RunState.INTERRUPTED
    )
    site = built(database, tmp_path / "site")
    for path in pages(site):
        notice = page(path).one("p", class_="notice").text
        assert notice == "The run was interrupted. Its figures are partial: 2 of 4 planned tests have no result."
    index = page(site / "index.html")
    assert index.one("h1").text == "No coverage figure: no run is complete, and this one is interrupted."
    assert "So far: 1 of 2 operators ran natively; 1 untested." in index.one("section", class_="hero").text
    assert "%" not in index.one("p", class_="share").text
    assert "interrupted" in page(site / "runs.html").one("strong", class_="tag-warning").text
    badge = json.loads((site / "badges" / "operators.json").read_text())
    assert badge["message"] == "no complete run"


def test_a_run_that_has_only_a_plan_has_no_figures(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED, "mul": None}, state=None), tmp_path / "site")
    index = page(site / "index.html")
    assert index.one("h1").text == "No coverage figure: no run is complete, and this one is planned."
    assert "No operator has a result in this run; all 2 are untested." in index.one("section", class_="hero").text
    assert "%" not in index.one("section", class_="hero").text.replace("100 %", "")
    assert not index.all("rect", class_="bar-native")[3:], "only the logo may be green"


def test_a_run_with_neither_inventory_nor_plan_has_no_data(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {}, modules=()), tmp_path / "site")
    assert "no inventory" in page(site / "index.html").one("h1").text
    assert "No data" in page(site / "index.html").text
    assert "No data" in page(site / "operators.html").text
    assert "No data" in page(site / "modules.html").text


def test_without_a_probe_nothing_is_called_native(tmp_path: Path) -> None:
    database = write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}, run=info(probe=""))
    site = built(database, tmp_path / "site")
    for path in pages(site):
        assert page(path).one("p", class_="notice").text.startswith("Fallbacks were not observed.")
    assert page(site / "index.html").one("h1").text == (
        "1 of 1 operator passed, with fallbacks not observed; 0 untested."
    )
    operator = page(site / "operators" / "add.html")
    assert "was not observed" in operator.one("p", class_="lead").text
    assert "a probe looked at none of 2 tests" in operator.text
    badge = json.loads((site / "badges" / "operators.json").read_text())
    assert "fallbacks not observed" in badge["label"]


def test_a_selection_is_announced_on_every_page(tmp_path: Path) -> None:
    run = info(selection="--ops 'add,<b>'", emulated=False, device_name="Trainium2")
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED, "mul": None}, run=run), tmp_path / "site")
    for path in pages(site):
        document = page(path)
        assert "--ops 'add,<b>'" in document.one("p", class_="notice").text
        assert not document.all("aside", class_="emulated")
        assert "EMULATED" not in document.text
    assert "No test of it was planned." in page(site / "operators" / "mul.html").one("p", class_="lead").text


def test_the_list_of_runs_marks_the_emulated_ones(sample_site: Path) -> None:
    rows = page(sample_site / "runs.html").one("table").one("tbody").all("tr")
    assert [bool(row.all("strong", class_="tag-emulated")) for row in rows] == [True, False, True]
    assert [str(row.one("th").children[0]).strip() for row in rows] == ["3", "2", "1"]
    assert [row.has("class_", "shown-run") for row in rows] == [False, False, True]


def test_the_method_defines_every_word(sample_site: Path) -> None:
    text = page(sample_site / "method.html").text
    for code in (*OperatorStatus, *Outcome):
        assert code.definition in text
    assert "seen by observer" in text
    assert "532" in text


def test_the_files_for_programs_agree_with_the_store(sample_database: Path, sample_site: Path) -> None:
    run = json.loads((sample_site / "api" / "run.json").read_text())
    operators = json.loads((sample_site / "api" / "operators.json").read_text())
    with Database.open_existing(sample_database) as database:
        stored = resolve_run(database, "1")
        rows = [row for row in operator_statuses(database, stored.id) if row.dtype is None]
    assert run["schema"] == operators["schema"] == 1
    assert run["run"]["key"] == operators["run"] == stored.key
    assert run["run"]["emulated"] is True
    assert run["tests"] == {
        "planned": stored.planned,
        "outcomes": {outcome.value: count for outcome, count in stored.counts.items()},
    }
    assert run["operators"]["total"] == sum(run["operators"]["statuses"].values()) == len(rows)
    assert {entry["name"]: entry["status"] for entry in operators["operators"]} == {
        row.op: row.status.value for row in rows
    }
    for entry in operators["operators"]:
        assert (sample_site / entry["page"]).is_file()


def test_host_home_and_tracebacks_of_failures_are_not_published(tmp_path: Path) -> None:
    details = 'Traceback\n  File "/home/alice/private/lib/torch/add.py", line 3 in add'
    run = info(
        environment={"CONFORMANCE_NEURON_PROFILE": "/home/alice/private/profiles/mine.toml"},
        command="conformance run opinfo --db /home/alice/private/runs/a.sqlite",
    )
    outcomes = {"add": Outcome.FAILED, "mul": Outcome.CRASHED}
    database = write_run(tmp_path / "db.sqlite", outcomes, details=details, message=details, run=run)
    site = built(database, tmp_path / "site")
    for path in site.rglob("*"):
        for private in ("secret-host-name", "alice", "/home", "private"):
            assert path.is_dir() or private not in path.read_text(encoding="utf-8"), path
    assert "profiles/mine.toml" in page(site / "index.html").one("dl", class_="facts").text
    assert not page(site / "operators" / "add.html").all("details", class_="stack")


def test_where_a_process_died_is_shown(tmp_path: Path) -> None:
    details = "\n".join(
        [
            "Fatal Python error: Segmentation fault",
            "Current thread 0x1 (most recent call first):",
            '  File "/venv/lib/torch/_ops.py", line 7 in <script>',
            '  File "/venv/lib/_pytest/runner.py", line 1 in run',
        ]
    )
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.CRASHED}, details=details), tmp_path / "site")
    stacks = page(site / "operators" / "add.html").all("details", class_="stack")
    assert len(stacks) == 2
    assert stacks[0].one("pre").text.endswith('File "torch/_ops.py", line 7 in <script>')


def test_injected_faults_are_announced_on_every_page(tmp_path: Path) -> None:
    run = info(environment={"CONFORMANCE_NEURON_FAULTS": "aten::sin=wrong"})
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}, run=run), tmp_path / "site")
    for path in pages(site):
        notice = page(path).one("p", class_="notice").text
        assert notice.startswith("Faults were injected on purpose.")
        assert "aten::sin=wrong" in notice
    assert "Injected faultsaten::sin=wrong" in page(site / "index.html").one("dl", class_="facts").text
    assert json.loads((site / "api" / "run.json").read_text())["run"]["injected_faults"] == "aten::sin=wrong"


def test_an_operator_without_a_dtype_says_why_it_is_untested(tmp_path: Path) -> None:
    database = write_run(
        tmp_path / "db.sqlite",
        {"add": Outcome.PASSED, "flash": None, "mul": None},
        declared={"flash": ()},
        run=info(selection="--ops add"),
    )
    site = built(database, tmp_path / "site")
    lead = page(site / "operators" / "flash.html").one("p", class_="lead").text
    assert lead.startswith("PyTorch declares no dtype of it for this device, so no test of it in a dtype exists.")
    assert "PyTorch declares" not in page(site / "operators" / "mul.html").one("p", class_="lead").text
    hero = page(site / "index.html").one("section", class_="hero").text
    assert "1 operator (1 untested) cannot be tested in any dtype on this device" in hero
    assert "for it there: flash." in hero


def test_a_name_is_listed_however_many_share_a_cause(tmp_path: Path) -> None:
    names = [f"op_{number:02d}" for number in range(20)]
    database = write_run(tmp_path / "db.sqlite", dict.fromkeys(names, Outcome.FAILED), fallback=names)
    site = built(database, tmp_path / "site")
    for path, shown in ((site / "index.html", 4), (site / "failures.html", 6), (site / "overloads.html", 3)):
        rest = page(path).all("details", class_="rest")
        assert rest
        for details in rest:
            assert details.one("summary").text == f"and {20 - shown} more"
            assert [link.text for link in details.all("a")] == names[shown:]


def test_a_cause_is_told_once_and_whole_words(tmp_path: Path) -> None:
    message = f"RuntimeError: {' '.join(f'wordy{number}' for number in range(99))}\n3 of 9 samples passed"
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.FAILED}, message=message), tmp_path / "site")
    row = page(site / "failures.html").one("table", class_="failures").one("tbody").one("tr")
    shown = row.one("a", class_="signature").text
    assert shown.endswith(" \u2026")
    assert set(shown.split()[1:-1]) <= set(message.split())
    short = built(write_run(tmp_path / "2.sqlite", {"add": Outcome.FAILED}, message="E: 3 is 4"), tmp_path / "short")
    row = page(short / "failures.html").one("table", class_="failures").one("tbody").one("tr")
    assert row.one("a", class_="signature").text == "E: N is N"
    assert not row.all("p", class_="message")


def test_rare_dtypes_have_columns_that_can_be_put_away(tmp_path: Path) -> None:
    common = [f"float{number}" for number in range(12)]
    declared = {"add": [*common, "rare1"], "mul": common, "sub": common, "div": common, "neg": common}
    database = write_run(tmp_path / "db.sqlite", dict.fromkeys(declared), declared=declared)
    table = page(built(database, tmp_path / "site") / "operators.html").one("table")
    assert [head.text for head in table.one("thead").all("th", class_="rare")] == ["rare1"]
    assert len(table.one("tbody").all("td", class_="rare")) == len(declared)


def test_a_module_is_not_called_an_operator(sample_site: Path) -> None:
    assert page(sample_site / "modules" / "nn.Linear.html").one("p", class_="definition").text == (
        "Native: At least one test passed, none failed, and no test saw the module fall back to the CPU."
    )
    modules = page(sample_site / "modules.html")
    assert "dtype" not in modules.one("input", id="q").attributes["placeholder"]
    assert not [chip for chip in modules.one("table").all("span") if "operator" in chip.attributes.get("title", "")]


def test_the_builder_of_these_tests_covers_its_dtypes(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}, fallback=("add",)), tmp_path / "site")
    document = page(site / "operators" / "add.html")
    heads = document.one("table", class_="matrix").one("thead").all("th", class_="dtype")
    assert [head.text for head in heads] == list(DTYPES)
    assert "aten::y" in document.text
