"""What is installed is read without importing it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.devices.installed import (
    distribution_version,
    first_line,
    installed_torch,
    is_importable,
    versions_of,
)
from tests.devices.packages import ask


def test_what_torch_says_of_itself_is_read_without_importing_it() -> None:
    code = (
        "import sys; from conformance.devices.installed import installed_torch; found = installed_torch()\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "assert found.version == torch.__version__, found\n"
        "assert found.commit == torch.version.git_version\n"
        "assert found.cuda == (torch.version.cuda or ''), found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_torch_without_a_readable_version_file_is_known_by_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('imported')\n")
    code = "from conformance.devices.installed import installed_torch; answer = installed_torch().version"
    assert ask(tmp_path, code) == distribution_version("torch")
    (tmp_path / "torch" / "version.py").write_text("this is not Python\n")
    assert ask(tmp_path, code) == distribution_version("torch")
    (tmp_path / "torch" / "version.py").write_text("__version__: str = '9.9'\ncuda = None\nhip = '6.4'\n")
    code = (
        "from conformance.devices.installed import installed_torch; f = installed_torch()\n"
        "answer = [f.version, f.cuda, f.hip]"
    )
    assert ask(tmp_path, code) == ["9.9", "", "6.4"]


def test_no_torch_at_all_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.devices.installed.find_spec", lambda name: None)
    assert installed_torch() is None
    assert not is_importable("torch")


def test_versions_are_listed_for_what_is_installed() -> None:
    found = versions_of(("no-such-package-here", "click", "pytest"))
    assert [name for name, _ in found] == ["click", "pytest"]
    assert distribution_version("no-such-package-here", "pytest") == pytest.__version__
    assert distribution_version("no-such-package-here") is None


def test_a_dotted_name_does_not_import_its_parent(tmp_path: Path) -> None:
    (tmp_path / "parent").mkdir()
    (tmp_path / "parent" / "__init__.py").write_text("raise SystemExit('imported')\n")
    assert ask(
        tmp_path, "from conformance.devices.installed import is_importable; answer = is_importable('parent.child')"
    )


def test_a_file_that_cannot_be_read_has_no_first_line(tmp_path: Path) -> None:
    assert first_line(tmp_path / "missing") == ""
    assert first_line(tmp_path) == ""
    (tmp_path / "version").write_text("2.21.37.0 \nmore\n")
    assert first_line(tmp_path / "version") == "2.21.37.0"
