"""A checkout is whole or not there: from git servers, clones, folders and tarballs, through interruptions."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.suites.upstream import from_git
from conformance.suites.upstream.checkout import read_marker
from conformance.suites.upstream.fetch import PUBLIC_REPOSITORY, Fetched, fetch
from tests.suites import upstream_source as made

WANTED = {name for name in made.FILES if name.startswith(("test/", "tools/", "version.txt"))} | {
    name for name in made.FILES if name.startswith("aten/") and "Other" not in name
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.repository(tmp_path_factory.mktemp("source") / "pytorch")


@pytest.fixture
def server(tmp_path: Path, source: Path) -> str:
    return made.server(tmp_path / "server.git", source)


@pytest.fixture
def bring(tmp_path: Path) -> Callable[..., Fetched]:
    def run(**options: Any) -> Fetched:
        return fetch(**{"version": "2.13.0", "dest": tmp_path / "out" / "checkout", "source": None, **options})

    return run


def files_of(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts and not path.name.startswith(".conformance")
    }


def nothing_looks_whole(tmp_path: Path) -> bool:
    return not (tmp_path / "out" / "checkout").exists()


def test_the_tag_is_cloned_without_history_and_without_what_is_not_needed(
    bring: Callable[..., Fetched], server: str, source: Path
) -> None:
    fetched = bring(source=server)
    assert fetched.fresh
    assert files_of(fetched.folder) == WANTED
    assert (fetched.checkout.version, fetched.checkout.tag) == ("2.13.0", "v2.13.0")
    assert fetched.checkout.commit == made.git(source, "rev-parse", "v2.13.0^{commit}").strip()
    assert made.git(fetched.folder, "rev-list", "--count", "HEAD").strip() == "1"
    assert made.git(fetched.folder, "status", "--porcelain", "--untracked-files=no") == ""
    assert os.access(fetched.folder / "test/scripts/run.sh", os.X_OK)
    missing = made.git(fetched.folder, "rev-list", "--objects", "--missing=print", "HEAD")
    big = made.git(source, "rev-parse", "v2.13.0:torch/big.txt").strip()
    assert f"?{big}" in missing  # it has not been downloaded


def test_a_second_call_finds_the_first_ones_work(bring: Callable[..., Fetched], server: str) -> None:
    first = bring(source=server)
    before = (first.folder / "test/test_ops.py").stat().st_mtime_ns
    second = bring(source="/nowhere")
    assert not second.fresh
    assert second.checkout == first.checkout
    assert (first.folder / "test/test_ops.py").stat().st_mtime_ns == before


def test_another_release_is_another_tag(bring: Callable[..., Fetched], server: str) -> None:
    fetched = bring(source=server, version="v2.12")
    assert fetched.checkout.version == "2.12.0"
    assert "test_old.py" in fetched.checkout.files()


def test_a_commit_between_releases_is_fetched_by_its_number(
    bring: Callable[..., Fetched], server: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.devices.installed import InstalledTorch

    commit = made.git(source, "rev-parse", "main").strip()
    for module in ("revision", "fetch"):
        monkeypatch.setattr(
            f"conformance.suites.upstream.{module}.installed_torch",
            lambda: InstalledTorch(version="2.14.0.dev20261001+cpu", commit=commit),
        )
    fetched = bring(source=server, version=None)
    assert (fetched.checkout.version, fetched.checkout.tag, fetched.checkout.commit) == ("2.14.0", "", commit)
    assert fetched.notes == ()


def test_a_server_that_cannot_leave_files_out_still_serves(
    bring: Callable[..., Fetched], tmp_path: Path, source: Path
) -> None:
    fetched = bring(source=made.server(tmp_path / "plain.git", source, filters=False))
    assert files_of(fetched.folder) == WANTED


@pytest.mark.parametrize("kind", ["clone", "bare", "folder", "tarball", "tarball-without-folder"])
def test_local_sources_give_the_same_files(
    bring: Callable[..., Fetched], tmp_path: Path, source: Path, kind: str
) -> None:
    plain = made.write_files(tmp_path / "plain")
    where = {
        "clone": lambda: source,
        "bare": lambda: Path(made.server(tmp_path / "bare.git", source).removeprefix("file://")),
        "folder": lambda: plain,
        "tarball": lambda: made.tarball(tmp_path / "release.tar.gz", plain),
        "tarball-without-folder": lambda: made.tarball(tmp_path / "release.tar.gz", plain, outer=""),
    }[kind]()
    fetched = bring(source=str(where))
    assert files_of(fetched.folder) == WANTED
    assert fetched.checkout.version == "2.13.0"
    assert bool(fetched.checkout.commit) == (kind in ("clone", "bare"))
    assert os.access(fetched.folder / "test/scripts/run.sh", os.X_OK)


def test_a_clone_without_the_tag_is_copied_and_that_is_said(
    bring: Callable[..., Fetched], tmp_path: Path, source: Path
) -> None:
    made.git(tmp_path, "clone", "--quiet", source.as_uri(), "work")
    made.git(tmp_path / "work", "checkout", "--quiet", "v2.12.0")
    made.git(tmp_path / "work", "tag", "-d", "v2.13.0")
    made.write_files(tmp_path / "work")
    fetched = bring(source=str(tmp_path / "work"))
    assert files_of(fetched.folder) == WANTED | {"test/test_old.py"}
    assert any("has no v2.13.0: its files were copied as they are" in note for note in fetched.notes)
    assert fetched.checkout.tag == ""


def test_what_a_source_lacks_is_said(bring: Callable[..., Fetched], tmp_path: Path) -> None:
    made.write_files(tmp_path / "plain", {"version.txt": "2.13.0\n", "test/test_a.py": "", "test/scripts/run.sh": ""})
    (note,) = bring(source=str(tmp_path / "plain")).notes
    assert "the source lacks tools/, aten/src/ATen/native/native_functions.yaml" in note


def refused(bring: Callable[..., Fetched], **options: Any) -> ConformanceError:
    with pytest.raises(ConformanceError) as caught:
        bring(**options)
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_wrong_version_is_refused_and_nothing_is_left(bring: Callable[..., Fetched], tmp_path: Path) -> None:
    made.write_files(tmp_path / "plain")
    error = refused(bring, source=str(tmp_path / "plain"), version="2.12.1")
    assert (error.slug, error.exit_code) == ("upstream-mismatch", 2)
    assert "the source is PyTorch 2.13.0, not 2.12.1; give --torch 2.13.0" in str(error)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".checkout.lock"}


def test_a_tag_whose_files_say_another_version_is_refused(
    bring: Callable[..., Fetched], tmp_path: Path, source: Path
) -> None:
    copy = tmp_path / "copy"
    made.git(tmp_path, "clone", "--quiet", str(source), str(copy))
    made.git(copy, "tag", "v2.15.0", "main")
    assert refused(bring, source=str(copy), version="2.15.0").slug == "upstream-mismatch"
    assert nothing_looks_whole(tmp_path)


def test_files_of_no_known_version_are_refused(bring: Callable[..., Fetched], tmp_path: Path) -> None:
    made.write_files(tmp_path / "plain", {"test/test_a.py": "", "test/scripts/run.sh": ""})
    error = refused(bring, source=str(tmp_path / "plain"))
    assert "does not say which PyTorch it is of (version.txt is missing)" in str(error)


def test_a_server_without_the_tag_is_told_from_one_that_is_not_there(
    bring: Callable[..., Fetched], server: str, tmp_path: Path
) -> None:
    error = refused(bring, source=server, version="9.9.9")
    assert (error.slug, error.exit_code) == ("upstream-no-tag", 2)
    error = refused(bring, source=(tmp_path / "nobody.git").as_uri())
    assert (error.slug, error.exit_code) == ("upstream-unreachable", 3)
    assert "give --from a clone, a tarball or a folder of PyTorch 2.13.0" in str(error)


def test_no_network_is_one_line_and_a_password_is_not_in_it(
    bring: Callable[..., Fetched], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    error = refused(bring, source="http://me:secret@127.0.0.1:9/pytorch.git")
    assert (error.slug, error.exit_code) == ("upstream-unreachable", 3)
    assert "127.0.0.1" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("where", "slug"),
    [
        ("no/such/folder", "upstream-source"),
        ("--upload-pack=touch x", "upstream-source"),
        ("https://127.0.0.1:9/pytorch-v2.13.0.tar.gz", "upstream-source"),
        ("ext::sh -c touch% x", "upstream-unreachable"),
    ],
)
def test_sources_that_cannot_be_are_refused_by_name(bring: Callable[..., Fetched], where: str, slug: str) -> None:
    assert refused(bring, source=where).slug == slug
    assert not Path("x").exists()


def test_without_git_it_says_what_else_there_is(
    bring: Callable[..., Fetched], server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(bring, source=server)
    assert (error.slug, error.exit_code) == ("no-git", 3)
    made.write_files(tmp_path / "plain")
    assert bring(source=str(tmp_path / "plain")).fresh


def test_variables_of_a_git_hook_do_not_lead_elsewhere(
    bring: Callable[..., Fetched], server: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made.git(source, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(source / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(source / ".git/index"))
    assert files_of(bring(source=server).folder) == WANTED
    monkeypatch.undo()
    assert made.git(source, "rev-parse", "HEAD") == before
    assert made.git(source, "status", "--porcelain") == ""


def test_a_fetch_that_breaks_off_goes_on_where_it_was(
    bring: Callable[..., Fetched], server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_git, "BATCH", 2)
    script = (
        'case "$*" in *read-tree*) if [ $(grep -c read-tree $log) -ge 3 ] && [ ! -e $log.on ]; then\n'
        'echo "fatal: the remote end hung up" >&2; exit 128; fi;; esac'
    )
    log = made.git_that(tmp_path / "bin", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    error = refused(bring, source=server)
    assert error.slug == "upstream-unreachable"
    assert "broke off at part 3 of" in str(error)
    assert "the same command goes on" in str(error)
    assert nothing_looks_whole(tmp_path)
    staged = files_of(tmp_path / "out" / ".checkout.part")
    assert staged
    assert staged < WANTED
    Path(f"{log}.on").touch()
    log.write_text("")
    objects = len(list((tmp_path / "out/.checkout.part/.git/objects/pack").glob("*.pack")))
    assert files_of(bring(source=server).folder) == WANTED
    assert " fetch " not in log.read_text()  # the commit and its folders were there
    assert objects >= 2  # and so were the files of the first parts


@pytest.mark.parametrize("part", [1, 2, 4])
def test_kill_at_any_part_leaves_no_checkout_and_the_next_call_completes_it(
    bring: Callable[..., Fetched], server: str, tmp_path: Path, part: int
) -> None:
    # The staged repository is left with a lock, as a git that was killed leaves it.
    script = (
        f'case "$*" in *read-tree*) if [ $(grep -c read-tree $log) -eq {part} ]; then\n'
        "touch .git/index.lock; kill -9 $PPID; exit 1; fi;; esac"
    )
    made.git_that(tmp_path / "bin", script)
    code = (
        "import sys; from pathlib import Path\n"
        "from conformance.suites.upstream import from_git; from_git.BATCH = 2\n"
        "from conformance.suites.upstream.fetch import fetch\n"
        "fetch(version='2.13.0', dest=Path(sys.argv[1]), source=sys.argv[2])\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out" / "checkout"), server],
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -9
    assert nothing_looks_whole(tmp_path)
    fetched = bring(source=server)
    assert files_of(fetched.folder) == WANTED
    assert made.git(fetched.folder, "status", "--porcelain", "--untracked-files=no") == ""


def test_what_was_staged_from_one_source_is_not_mixed_with_another(
    bring: Callable[..., Fetched], server: str, tmp_path: Path, source: Path
) -> None:
    staging = tmp_path / "out" / ".checkout.part"
    staging.mkdir(parents=True)
    made.git(staging, "init", "--quiet")
    made.git(staging, "remote", "add", "origin", "https://example.invalid/other.git")
    (staging / "test").mkdir()
    (staging / "test" / "test_foreign.py").touch()
    assert files_of(bring(source=server).folder) == WANTED


def test_a_folder_that_is_something_else_is_never_touched(
    bring: Callable[..., Fetched], server: str, tmp_path: Path
) -> None:
    dest = tmp_path / "out" / "checkout"
    dest.mkdir(parents=True)
    assert bring(source=server).fresh  # an empty folder is taken
    mine = tmp_path / "mine"
    (mine / "test").mkdir(parents=True)
    (mine / "test" / "test_mine.py").write_text("mine")
    error = refused(bring, source=server, dest=mine)
    assert error.slug == "upstream-dest"
    assert "not a checkout of this command" in str(error)
    assert (mine / "test" / "test_mine.py").read_text() == "mine"
    error = refused(bring, source=server, version="2.12.0")
    assert "is a checkout of PyTorch 2.13.0" in str(error)


def test_a_checkout_that_lost_files_is_not_taken_for_whole(bring: Callable[..., Fetched], server: str) -> None:
    fetched = bring(source=server)
    (fetched.folder / "test/test_ops.py").unlink()
    error = refused(bring, source=server)
    assert "1 files have gone from" in str(error)


def test_the_marker_says_what_was_fetched(bring: Callable[..., Fetched], server: str) -> None:
    fetched = bring(source=server)
    assert read_marker(fetched.folder) == {
        "schema": 1,
        "version": "2.13.0",
        "revision": "v2.13.0",
        "tag": "v2.13.0",
        "commit": fetched.checkout.commit,
        "source": server,
        "files": 8,
    }


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_a_damaged_tarball_is_refused_and_nothing_is_left(
    bring: Callable[..., Fetched], tmp_path: Path, damage: str
) -> None:
    archive = made.tarball(tmp_path / "release.tar.gz", made.write_files(tmp_path / "plain"))
    whole = archive.read_bytes()
    archive.write_bytes(
        {"cut": whole[: len(whole) * 2 // 3], "text": b"no archive at all\n" * 50, "empty": b""}[damage]
    )
    error = refused(bring, source=str(archive))
    assert error.slug == "upstream-archive"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".checkout.lock"}


def test_a_tarball_cannot_write_outside_of_its_folder(bring: Callable[..., Fetched], tmp_path: Path) -> None:
    plain = made.write_files(tmp_path / "plain")
    archive = made.tarball(tmp_path / "good.tar.gz", plain)
    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w") as tar:
        for name in ("pytorch/test/../../../escaped.py", "/pytorch/test/escaped.py"):
            tar.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("pytorch/test/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "target")
        tar.addfile(link)
        for name in ("version.txt", "test/test_ops.py", "test/link.py/inner.py"):
            tar.add(plain / "version.txt", arcname=f"pytorch/{name}")
    fetched = bring(source=str(evil))
    assert not list(tmp_path.rglob("escaped.py"))
    assert not (tmp_path / "target").exists()
    assert any("left out of evil.tar: pytorch/test/link.py" in note for note in fetched.notes)
    assert archive.exists()


def test_a_tarball_of_something_else_is_refused(bring: Callable[..., Fetched], tmp_path: Path) -> None:
    (tmp_path / "other" / "src").mkdir(parents=True)
    (tmp_path / "other" / "src" / "a.py").touch()
    error = refused(bring, source=str(made.tarball(tmp_path / "other.tar.gz", tmp_path / "other")))
    assert error.slug == "upstream-missing"


def test_a_disk_that_refuses_is_one_line(bring: Callable[..., Fetched], server: str) -> None:
    error = refused(bring, source=server, dest=Path("/proc/nowhere/checkout"))
    assert (error.slug, error.exit_code) == ("upstream-unwritable", 3)


def test_an_installed_torch_built_from_another_commit_is_pointed_out(
    bring: Callable[..., Fetched], server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.devices.installed import InstalledTorch

    monkeypatch.setattr(
        "conformance.suites.upstream.fetch.installed_torch",
        lambda: InstalledTorch(version="2.13.0+vendor", commit="f" * 40),
    )
    assert any("but the installed torch was built from ffffffffffff" in note for note in bring(source=server).notes)


def test_two_at_once_make_one_checkout(server: str, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from conformance.suites.upstream.fetch import fetch\n"
        "print(fetch(version='2.13.0', dest=Path(sys.argv[1]), source=sys.argv[2]).fresh)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out" / "checkout"), server]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert sorted(out.strip() for out, _ in said) == ["False", "True"]
    assert files_of(tmp_path / "out" / "checkout") == WANTED


def test_the_default_source_is_pytorchs_own() -> None:
    assert PUBLIC_REPOSITORY == "https://github.com/pytorch/pytorch.git"


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        ("2.13.0", "v2.13.0"),
        ("v2.6", "v2.6.0"),
        ("2.13.0+cu130", "v2.13.0"),
        ("2.14.0rc2", "v2.14.0-rc2"),
        ("2.13.1", "v2.13.1"),
    ],
)
def test_a_version_has_the_tag_that_pytorch_gives_it(version: str, tag: str) -> None:
    from conformance.suites.upstream.revision import revision_for

    assert revision_for(version).tag == tag


@pytest.mark.parametrize("version", ["latest", "", "2.14.0.dev20261001", "2.14.0a0+git1234567"])
def test_a_version_without_a_tag_is_refused(version: str) -> None:
    from conformance.suites.upstream.revision import revision_for

    with pytest.raises(UsageError) as caught:
        revision_for(version)
    assert caught.value.slug == "bad-torch-version"


def test_no_torch_and_no_version_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.suites.upstream.revision import revision_for

    monkeypatch.setattr("conformance.suites.upstream.revision.installed_torch", lambda: None)
    with pytest.raises(InfrastructureError, match="give --torch VERSION"):
        revision_for()
    assert revision_for("2.13.0").tag == "v2.13.0"
