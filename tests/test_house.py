"""The house itself: the wheel, the README, the two commands, the folders that hold data only."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_alone_runs_the_main_job(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, "--target", str(tmp_path / "lib"), str(wheel)], check=True, timeout=300)
    code = (
        "import conformance, sys; from conformance import resources\n"
        "print(conformance.__file__, resources.op_db(), resources.skiplists(), resources.site_templates())\n"
    )
    env = {
        "PYTHONPATH": str(tmp_path / "lib"),
        "OMP_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(Path.home()),
    }
    done = subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(path.startswith(str(tmp_path / "lib")) for path in done.stdout.split()), done.stdout
    command = [sys.executable, "-m", "conformance"]
    run = ["run", "--device", "neuron", "--ops", "add,nn.Linear", "--templates", "forward", "--dtypes", "one"]
    ran = subprocess.run([*command, *run], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    subprocess.run([*command, "site", "build", "--out", "site"], cwd=tmp_path, env=env, check=True, capture_output=True)
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / "operators.html").is_file()


@pytest.mark.parametrize("folder", ["site", "op_db", "skiplists"])
def test_data_folders_hold_no_python(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert list((ROOT / folder).rglob("*.py")) == []


def test_readme_commands_exist() -> None:
    """Every command line of the README parses: the options it uses are there."""
    text = (ROOT / "README.md").read_text()
    lines = [
        line.partition("#")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", text, re.S)
        for line in block.splitlines()
    ]
    commands = [line for line in lines if line.startswith("conformance ")]
    assert len(commands) >= 6
    for line in commands:
        words = re.findall(r"'[^']*'|\S+", line)
        names = [word for word in words[1:3] if not word.startswith("-")]
        names = names[:2] if names[0] in ("site", "skiplist", "opdb", "upstream") else names[:1]
        page = subprocess.run(
            [sys.executable, "-m", "conformance", *names, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for option in (word for word in words if word.startswith("--")):
            assert option in page, f"{option} of {line!r} is not in the help of {names}"


def test_readme_names_the_two_commands_and_they_exist() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target} " in readme
        assert re.search(rf"^{target}:", makefile, re.M)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_readme_links_lead_to_files() -> None:
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"`(docs/[\w./-]+)`|\]\((docs/[\w./-]+)\)", text):
        assert (ROOT / next(part for part in path if part)).is_file(), path


def test_plugin_options_in_the_readme_exist(pytester: pytest.Pytester) -> None:
    used = set(re.findall(r"--conformance-\w+", (ROOT / "README.md").read_text()))
    page = pytester.runpytest_subprocess("--help").stdout.str()
    assert used
    assert [option for option in used if option not in page] == []
