"""``conformance upstream`` as its user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance.suites import upstream
from tests.conftest import Run
from tests.suites import upstream_source as made


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Return a folder in PyTorch's shape whose version is that of the installed torch."""
    from conformance.devices.installed import installed_torch
    from conformance.suites.upstream.revision import release_of

    torch = installed_torch()
    assert torch is not None
    return made.write_files(tmp_path / "pytorch", {**made.FILES, "version.txt": f"{release_of(torch.version)}a0\n"})


def test_fetch_prints_the_folder_and_list_finds_it(conformance: Run, plain: Path, tmp_path: Path) -> None:
    env = {"CONFORMANCE_CACHE": str(tmp_path / "cache")}
    done = conformance("upstream", "fetch", "--from", str(plain), env=env)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path / "cache" / "upstream"
    assert (folder / "test" / "test_ops.py").is_file()
    assert "5 files of tests" in done.stderr.splitlines()[-1]
    again = conformance("upstream", "fetch", env=env)  # no source is needed, none is asked
    assert again.stdout == done.stdout
    assert again.stderr.splitlines()[-1].endswith("fetched before")
    listed = conformance("upstream", "list", "--names", env=env)
    assert listed.returncode == 0, listed.stderr
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["group", "file"],
        ["operators", "test_ops.py"],
        ["modules", "nn/test_pooling.py"],
        ["tensors", "test_torch.py"],
        ["transforms", "functorch/test_ops.py"],
    ]
    assert "warning" not in listed.stderr
    assert "4 files" in listed.stderr
    assert "test_modules.py" in listed.stderr  # curated, and not there


def test_list_says_what_imports_and_how_many_tests_there_are(conformance: Run, plain: Path) -> None:
    (plain / "test" / "test_modules.py").write_text("import nothing_of_that_name\n")
    done = conformance("upstream", "list", "--upstream", str(plain))
    assert done.returncode == 0, done.stderr
    rows = {line.split()[1]: line.split(maxsplit=2)[2].strip() for line in done.stdout.splitlines()[1:]}
    assert rows["test_ops.py"].split() == ["2", "yes"]
    assert rows["test_modules.py"].startswith("-  no: ModuleNotFoundError: No module named 'nothing_of_that_name'")
    assert "5 files, 4 import here, 5 tests on cpu" in done.stderr


def test_the_json_has_the_same_and_more(conformance: Run, plain: Path) -> None:
    done = conformance(
        "upstream", "list", "--upstream", str(plain), "--format", "json", "--device", "neuron", "test_ops.py",
        "nn/attention/test_deep.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert document["root"] == str(plain / "test")
    assert document["device"] == "neuron"
    assert document["warning"] is None
    assert [(row["file"], row["group"], row["tests"], row["imports"]) for row in document["files"]] == [
        ("test_ops.py", "operators", 2, True),
        ("nn/attention/test_deep.py", None, 1, True),
    ]


def test_all_lists_what_is_not_curated_too(conformance: Run, plain: Path) -> None:
    done = conformance("upstream", "list", "--upstream", str(plain), "--all", "--names", "--format", "json")
    assert [row["file"] for row in json.loads(done.stdout)["files"]] == [
        "functorch/test_ops.py",
        "nn/attention/test_deep.py",
        "nn/test_pooling.py",
        "test_ops.py",
        "test_torch.py",
    ]


def test_a_mismatch_is_a_warning_and_with_strict_an_error(conformance: Run, plain: Path) -> None:
    (plain / "version.txt").write_text("2.1.0a0\n")
    done = conformance("upstream", "list", "--upstream", str(plain), "--names")
    assert done.returncode == 0
    assert done.stderr.startswith("conformance: warning: the test files are PyTorch 2.1.0's, the installed torch is ")
    done = conformance("upstream", "list", "--upstream", str(plain), "--names", "--strict")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.endswith("[upstream-mismatch]")


@pytest.mark.parametrize(
    ("arguments", "code", "slug"),
    [
        (["fetch", "--torch", "nonsense"], 2, "bad-torch-version"),
        (["fetch", "--from", "no-such-folder"], 2, "upstream-source"),
        (["fetch", "--from", "http://127.0.0.1:9/x.git"], 3, "upstream-unreachable"),
        (["list"], 3, "upstream-missing"),
        (["list", "--upstream", "no-such-folder"], 2, "upstream-missing"),
        (["list", "--upstream", "pytorch", "test_nothing.py"], 2, "upstream-no-file"),
        (["list", "--upstream", "pytorch", "--device", "toaster"], 2, "unknown-device"),
        (["list", "--upstream", "pytorch", "--device", "tpu", "test_ops.py"], 3, "no-device"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gets_one_line_and_an_exit_code(
    conformance: Run, plain: Path, tmp_path: Path, arguments: list[str], code: int, slug: str
) -> None:
    no_proxy = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), "")
    done = conformance("upstream", *arguments, env={"CONFORMANCE_CACHE": str(tmp_path / "cache"), **no_proxy})
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("conformance: error: ")]
    assert len(errors) == 1, done.stderr
    assert errors[0].endswith(f"[{slug}]")
    assert done.stdout == ""


def test_help_describes_both_commands(conformance: Run) -> None:
    page = conformance("upstream", "--help").stdout
    assert "fetch" in page
    assert "list" in page
    assert "--from" in conformance("upstream", "fetch", "--help").stdout
    assert "--strict" in conformance("upstream", "list", "--help").stdout


def test_the_page_uses_commands_and_options_that_exist(conformance: Run) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "upstream.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line.partition("#")[0].split() for block in blocks for line in block.splitlines()]
    assert len(lines) >= 6
    pages = {name: conformance("upstream", name, "--help").stdout for name in ("fetch", "list")}
    for program, noun, verb, *rest in lines:
        assert (program, noun) == ("conformance", "upstream")
        assert all(option in pages[verb] for option in rest if option.startswith("--"))
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {name for line in re.findall(r"import (.+)", snippet) for name in line.split(", ")}
    assert names == {"check_version", "curated_files", "find_checkout"}
    assert names <= set(upstream.__all__)
