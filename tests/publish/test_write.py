from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from conformance.errors import InfrastructureError, UsageError
from conformance.publish import write
from conformance.publish.pages import JsonFile
from conformance.publish.write import MARKER, check_folder, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STATIC = (*("compare.js", "find.js", "icon.svg", "query.js", "site.css", "site.js", "table.js", "tests.js"),)
FILES = [JsonFile("api/a.json", {"schema": 1})]


def _tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    written = write_site(FILES, tmp_path / "a" / "site")
    site = tmp_path / "a" / "site"
    assert _tree(site) == [
        MARKER,
        ".nojekyll",
        "api/a.json",
        *(f"static/{name}" for name in STATIC),
    ]
    assert written.files == 3 + len(STATIC)
    assert written.size == sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["site"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_the_site_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_site(FILES, tmp_path / "site")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "site").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "site" / "api" / "a.json").stat().st_mode) == 0o644


def test_an_empty_folder_and_an_earlier_site_are_replaced(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    write_site([JsonFile("api/old.json", {}), *FILES], site)
    write_site(FILES, site)
    assert "api/old.json" not in _tree(site)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_site(FILES, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "api" / "a.json").is_file()


@pytest.mark.parametrize("marker", [None, "", "[]", '{"schema": 1}', '{"entries": 3}', "\ufffd"])
def test_a_folder_of_others_is_left_alone(tmp_path: Path, marker: str | None) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "precious.txt").write_text("mine")
    if marker is not None:
        (site / MARKER).write_text(marker)
    with pytest.raises(UsageError, match=r"precious\.txt") as caught:
        write_site(FILES, site)
    assert caught.value.slug == "not-a-site"
    assert "\n" not in str(caught.value)
    assert (site / "precious.txt").read_text() == "mine"


def test_files_that_others_put_into_a_site_are_not_removed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(FILES, site)
    (site / "CNAME").write_text("example.org")
    with pytest.raises(UsageError, match="CNAME"):
        write_site(FILES, site)
    assert (site / "CNAME").exists()


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("")
    with pytest.raises(UsageError) as caught:
        write_site(FILES, tmp_path / "site")
    assert caught.value.slug == "not-a-site"


def test_the_current_folder_is_not_pulled_from_under_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "site" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    for folder in (inside, inside.parent):
        with pytest.raises(UsageError, match="current folder"):
            check_folder(folder)


def test_a_build_that_fails_leaves_the_earlier_site_and_no_rubbish(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(FILES, site)
    before = _tree(site)

    def failing() -> Iterator[JsonFile]:
        yield JsonFile("api/new.json", {})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(failing(), site)
    assert _tree(site) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_swap_that_fails_puts_the_earlier_site_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    write_site([JsonFile("api/old.json", {})], site)
    rename = type(site).rename

    def broken(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(type(site), "rename", broken)
    with pytest.raises(InfrastructureError, match="No space left on device") as caught:
        write_site(FILES, site)
    assert caught.value.slug == "site-unwritable"
    assert "api/old.json" in _tree(site)


def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write", full)
    with pytest.raises(InfrastructureError, match="No space left on device"):
        write_site(FILES, tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../out.json", "/tmp/out.json", "api/../../out.json"])
def test_no_page_is_written_outside_its_site(tmp_path: Path, path: str) -> None:
    with pytest.raises(AssertionError, match="stay inside"):
        write_site([JsonFile(path, {})], tmp_path / "site")


def test_publishing_never_imports_torch() -> None:
    import subprocess

    code = "import sys, conformance.publish.site_build; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
