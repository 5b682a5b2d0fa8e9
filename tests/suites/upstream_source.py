"""Make a small repository in PyTorch's shape, with the tags and the files that matter, and git servers for it."""

from __future__ import annotations

import os
import stat
import subprocess
import tarfile
from pathlib import Path

FILES = {
    "version.txt": "2.13.0a0\n",
    "README.md": "not wanted\n",
    "torch/__init__.py": "raise SystemExit('the sources were imported')\n",
    "torch/big.txt": "big\n" * 5000,
    "aten/src/ATen/native/native_functions.yaml": "- func: add\n",
    "aten/src/ATen/native/ts_native_functions.yaml": "- add\n",
    "aten/src/ATen/native/tags.yaml": "- core\n",
    "aten/src/ATen/native/BinaryOps.cpp": "// add\n",
    "aten/src/ATen/native/PointwiseOps.cpp": "// addcmul\n",
    "aten/src/ATen/native/TensorCompare.cpp": "// where\n",
    "aten/src/ATen/native/UnaryOps.cpp": "// sin\n",
    "aten/src/ATen/native/Other.cpp": "// not wanted\n",
    "tools/stats/import_test_stats.py": "",
    "test/conftest.py": "raise SystemExit('upstream conftest was imported')\n",
    "test/test_torch.py": "from helper import two\n\n\ndef test_two():\n    assert two() == 2\n",
    "test/helper.py": "def two():\n    return 2\n",
    "test/test_ops.py": (
        "import unittest\n\n\n"
        "class TestOps(unittest.TestCase):\n    def test_a(self): ...\n\n    def test_b(self): ...\n"
    ),
    "test/nn/test_pooling.py": "def test_pool(): ...\n",
    "test/nn/attention/test_deep.py": "def test_deep(): ...\n",
    "test/functorch/test_ops.py": "from common_utils import x\n\n\ndef test_x(): ...\n",
    "test/functorch/common_utils.py": "x = 1\n",
    "test/expect/TestOps.test_a.expect": "1\n",
    "test/scripts/run.sh": "#!/bin/sh\n",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git with nothing of the user's configuration."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def write_files(folder: Path, files: dict[str, str] = FILES) -> Path:
    """Write the files of a revision."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "test/scripts/run.sh").chmod(0o755)
    return folder


def repository(folder: Path) -> Path:
    """Make a repository whose history has v2.12.0 and v2.13.0, and a later commit without a tag."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write_files(folder, {**FILES, "version.txt": "2.12.0a0\n", "test/test_old.py": "def test_old(): ...\n"})
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "older")
    git(folder, "tag", "-a", "v2.12.0", "-m", "2.12")
    (folder / "test/test_old.py").unlink()
    write_files(folder)
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "newer")
    git(folder, "tag", "-a", "v2.13.0", "-m", "2.13")
    write_files(folder, {"version.txt": "2.14.0a0\n"})
    git(folder, "commit", "--quiet", "-a", "-m", "later")
    return folder


def server(folder: Path, source: Path, *, filters: bool = True) -> str:
    """Make a bare copy that serves partial clones, and return its address."""
    git(source, "clone", "--quiet", "--bare", str(source), str(folder))
    git(folder, "config", "uploadpack.allowFilter", "true" if filters else "false")
    return folder.as_uri()


def tarball(path: Path, folder: Path, *, outer: str = "pytorch-v2.13.0") -> Path:
    """Pack a folder as a release is packed, with one folder around everything, or none."""
    with tarfile.open(path, "w:gz") as tar:
        for file in sorted(folder.rglob("*")):
            if ".git" not in file.parts:
                tar.add(file, arcname=str(Path(outer) / file.relative_to(folder)), recursive=False)
    return path


def git_that(folder: Path, script: str) -> Path:
    """Put a git in front of the real one: ``script`` is shell that runs first and may end; returns its log."""
    folder.mkdir()
    log = folder / "log"
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    wrapper = folder / "git"
    wrapper.write_text(f'#!/bin/sh\nlog={log}\necho "$@" >>$log\n{script}\nexec {real} "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return log
