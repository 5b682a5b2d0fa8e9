"""Finding a checkout of PyTorch's tests, its version, and the files that are worth running."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from conformance.errors import ConformanceError, InfrastructureError
from conformance.suites.upstream import (
    Checkout,
    absent_files,
    check_version,
    curated_files,
    find_checkout,
)
from conformance.suites.upstream.checkout import MARKER
from conformance.suites.upstream.curated import LIST, _groups
from conformance.suites.upstream.fetch import fetch
from conformance.suites.upstream.git import batches, without_password
from conformance.suites.upstream.inspection import FileReport, inspect_files
from conformance.suites.upstream.wanted import FILES, is_wanted, lacking
from tests.suites import upstream_source as made

OPTIONS = ("-p", "conformance.plugin", "--conformance-device=cpu")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return made.write_files(tmp_path / "pytorch")


def test_a_checkout_is_found_by_its_root_and_by_its_test_folder(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_root, by_tests = find_checkout(plain, "2.13.0"), find_checkout(plain / "test", "2.13.0")
    assert by_root == by_tests
    assert by_root.root == plain / "test"
    assert by_root.version == "2.13.0"  # version.txt says 2.13.0a0, as it does at the tag
    (tmp_path / "link").symlink_to(plain / "test")
    assert find_checkout(tmp_path / "link", "2.13.0").version == "2.13.0"
    assert find_checkout(str(plain), "2.13.0") == by_root
    monkeypatch.chdir(tmp_path)
    assert find_checkout("pytorch", "2.13.0") == by_root  # wherever the files are used from


def test_files_are_those_of_tests_relative_to_the_folder(plain: Path) -> None:
    checkout = find_checkout(plain, "2.13.0")
    assert checkout.files() == (
        "functorch/test_ops.py",
        "nn/attention/test_deep.py",
        "nn/test_pooling.py",
        "test_ops.py",
        "test_torch.py",
    )
    assert all(checkout.path(file).is_file() for file in checkout.files())


@pytest.mark.parametrize("what", ["missing", "file", "empty", "other"])
def test_a_folder_that_is_no_checkout_is_one_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "file":
        path.write_text("")
    elif what != "missing":
        path.mkdir()
    if what == "other":
        (path / "test").mkdir()
        (path / "test" / "notes.txt").write_text("")
    with pytest.raises(ConformanceError) as caught:
        find_checkout(path, "2.13.0")
    assert (caught.value.slug, caught.value.exit_code) == ("upstream-missing", 2)
    assert str(path) in str(caught.value)


def test_a_checkout_that_was_interrupted_is_not_taken(tmp_path: Path) -> None:
    staged = made.write_files(tmp_path / ".v2.13.0.part")
    for path in (staged, staged / "test"):
        with pytest.raises(ConformanceError) as caught:
            find_checkout(path, "2.13.0")
        assert caught.value.slug == "upstream-incomplete"


def test_without_a_folder_the_cache_is_asked(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFORMANCE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InfrastructureError, match="`conformance upstream fetch` makes one") as caught:
        find_checkout(None, "2.13.0+cpu")
    assert caught.value.slug == "upstream-missing"
    fetched = fetch(version="2.13.0", dest=None, source=str(plain))
    assert fetched.folder == tmp_path / "cache" / "torch-conformance" / "upstream" / "v2.13.0"
    assert find_checkout(None, "2.13.0+cpu") == fetched.checkout
    (fetched.folder / MARKER).unlink()
    with pytest.raises(InfrastructureError):  # somebody's folder in its place: not what was fetched
        find_checkout(None, "2.13.0+cpu")


@pytest.mark.parametrize(
    ("checkout", "torch", "words"),
    [
        ("2.13.0", "2.13.0", None),
        ("2.13.0", "2.13.0+cu130", None),
        ("2.13.0", "2.13.0a0+git12", None),
        ("2.6.0", "2.13.0+cpu", "PyTorch 2.6.0's, the installed torch is 2.13.0+cpu"),
        ("2.13.1", "2.13.0", "2.13.1"),
        (None, "2.13.0", "does not say which PyTorch it is of"),
        ("2.13.0", "not a version", "not a version"),
    ],
)
def test_a_mismatch_is_a_warning_that_says_what_follows(checkout: str | None, torch: str, words: str | None) -> None:
    warning = check_version(Checkout(Path("test"), checkout), torch)
    if words is None:
        assert warning is None
    else:
        assert warning is not None
        assert words in warning
        assert "files may not import" in warning


def test_a_marker_that_cannot_be_read_is_as_none(plain: Path) -> None:
    for text in ("", "[1]", "{", '{"version": 7}'):
        (plain / MARKER).write_text(text)
        assert find_checkout(plain, "2.13.0").version in ("2.13.0", "7.0.0")
    (plain / MARKER).write_text(json.dumps({"version": "2.12.0", "tag": "v2.12.0", "commit": "abc"}))
    assert find_checkout(plain, "2.13.0").name == "v2.12.0"


def test_curated_files_come_in_the_order_of_the_list_and_once(plain: Path) -> None:
    checkout = find_checkout(plain, "2.13.0")
    assert [(file.file, file.group) for file in curated_files(checkout)] == [
        ("test_ops.py", "operators"),
        ("nn/test_pooling.py", "modules"),
        ("test_torch.py", "tensors"),
        ("functorch/test_ops.py", "transforms"),
    ]
    absent = absent_files(checkout)
    assert "test_modules.py" in absent
    assert "nn/test_*.py" not in absent
    assert "test_ops.py" not in absent


def test_the_list_names_what_every_backend_is_asked_about() -> None:
    patterns = [pattern for group in _groups() for pattern in group.patterns]
    assert len(patterns) == len(set(patterns))
    assert all(pattern.endswith(".py") and not pattern.startswith(("/", ".")) for pattern in patterns)
    names = "ops ops_gradients ops_fwd_gradients ops_jit modules torch nn unary_ufuncs binary_ufuncs reductions linalg"
    names += " view_ops indexing shape_ops sort_and_select scatter_gather_ops spectral_ops tensor_creation_ops"
    names += " type_promotion foreach optim sparse nestedtensor transformers decomp meta segment_reductions dlpack"
    assert {f"test_{name}.py" for name in names.split()} <= set(patterns)
    assert {"nn/test_*.py", "functorch/test_ops.py"} <= set(patterns)


def test_a_list_that_cannot_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("not toml [", "schema = 1\n", "[[group]]\nname = 'a'\n"):
        (tmp_path / "curated.toml").write_text(text)
        monkeypatch.setattr("conformance.suites.upstream.curated.LIST", tmp_path / "curated.toml")
        with pytest.raises(InfrastructureError) as caught:
            curated_files(Checkout(tmp_path, None))
        assert caught.value.slug == "missing-data"
    assert LIST.is_file()


def test_what_is_wanted_of_the_repository() -> None:
    assert all(is_wanted(path) for path in ("test/test_ops.py", "test/expect/x.expect", "tools/a.py", *FILES))
    assert not any(is_wanted(path) for path in ("torch/test/a.py", "setup.py", "testing/a.py", "aten/src/ATen/a.cpp"))
    assert lacking({"test/a.py", "tools/a.py", *FILES}) == []
    assert lacking({"test/a.py"}) == ["tools/", *FILES]


def test_batches_hold_every_file_once_and_keep_folders_together() -> None:
    paths = [f"test/{folder}/{n}.py" for folder in ("nn", "jit", "fx") for n in range(4)]
    paths += ["test/test_a.py", "version.txt", "aten/src/ATen/a.yaml"]
    alone = ["aten/src/ATen/a.yaml"]
    assert batches(paths, alone=alone, limit=5) == [
        ["/test/nn/"],
        ["/test/jit/"],
        ["/test/fx/", "/test/test_a.py"],
        ["/version.txt", "/aten/src/ATen/a.yaml"],
    ]
    assert batches(paths, alone=alone, limit=1000) == [
        ["/test/nn/", "/test/jit/", "/test/fx/", "/test/test_a.py", "/version.txt", "/aten/src/ATen/a.yaml"]
    ]
    assert batches([], alone=[], limit=5) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host/x.git", "https://host/x.git"),
        ("fatal: 'https://token@host/x' not found", "fatal: 'https://host/x' not found"),
        ("git@host:x.git", "git@host:x.git"),
        ("file:///home/a@b/x", "file:///home/a@b/x"),
    ],
)
def test_a_password_in_an_address_is_not_shown(text: str, shown: str) -> None:
    assert without_password(text) == shown


HOSTILE = {
    "test_good.py": made.FILES["test/test_ops.py"],
    "test_empty.py": "",
    "test_broken.py": "import nothing_of_that_name\n",
    "test_exits.py": "import sys\nprint('on its way')\nsys.exit(7)\n",
    "test_dies.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "test_skips.py": "import pytest\npytest.skip('needs a rocket', allow_module_level=True)\n",
    "test_writes.py": "print('x' * 100000)\nopen('droppings.txt', 'w').write('x')\ndef test_a(): ...\n",
    "test_quits.py": "import os\nprint('last words')\nos._exit(5)\n",
    "test_leaves.py": "import ctypes\nctypes.CDLL(None)._exit(6)\n",
}


def test_every_file_gets_its_own_verdict_whatever_the_others_do(tmp_path: Path) -> None:
    root = tmp_path / "pytorch" / "test"
    root.mkdir(parents=True)
    for name, source in HOSTILE.items():
        (root / name).write_text(source)
    (root / "conftest.py").write_text("raise SystemExit('upstream conftest was imported')\n")
    before = {path.name for path in root.iterdir()}
    told: list[FileReport] = []
    reports = inspect_files(
        Checkout(root, "2.13.0"), list(HOSTILE), options=OPTIONS, timeout_s=300, processes=2, done=told.append
    )
    assert [report.file for report in reports] == list(HOSTILE)
    assert sorted(report.file for report in told) == sorted(HOSTILE)
    assert {report.file: report.tests for report in reports} == {
        "test_good.py": 2,
        "test_empty.py": 0,
        "test_broken.py": None,
        "test_exits.py": None,
        "test_dies.py": None,
        "test_skips.py": 0,
        "test_writes.py": 1,
        "test_quits.py": None,
        "test_leaves.py": None,
    }
    errors = {report.file: report.error for report in reports}
    assert errors["test_good.py"] == errors["test_empty.py"] == errors["test_writes.py"] == ""
    assert "No module named 'nothing_of_that_name'" in errors["test_broken.py"]
    assert "sys.exit(7)" in errors["test_exits.py"]
    assert "died of SIGSEGV" in errors["test_dies.py"]
    assert "needs a rocket" in errors["test_skips.py"]
    assert "os._exit(5)" in errors["test_quits.py"]
    assert errors["test_leaves.py"].startswith("the process ended with exit code 6 while importing it")
    assert {path.name for path in root.iterdir()} == before  # nothing was written into the checkout


def test_a_file_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path) -> None:
    root = tmp_path / "pytorch" / "test"
    root.mkdir(parents=True)
    source = (
        "import os, time\nfrom pathlib import Path\nif os.fork() == 0:\n    Path({!r}).write_text(str(os.getpid()))\n"
    )
    (root / "test_hangs.py").write_text(source.format(str(tmp_path / "child")) + "time.sleep(600)\n")
    checkout = Checkout(root, "2.13.0")
    limit = 5.0
    while not (tmp_path / "child").exists():  # on a slow machine even the import of torch takes longer
        (report,) = inspect_files(checkout, ["test_hangs.py"], options=OPTIONS, timeout_s=limit)
        assert (report.tests, report.error) == (None, f"did not import within {limit:g} s")
        limit *= 2
    child = int((tmp_path / "child").read_text())
    for _ in range(500):
        if not runs(child):
            return
        time.sleep(0.02)
    pytest.fail("what the file started is still running")


def runs(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_a_device_that_is_not_here_ends_the_listing_at_once(plain: Path) -> None:
    checkout = find_checkout(plain, "2.13.0")
    with pytest.raises(InfrastructureError, match="torch_tpu, which is not installed") as caught:
        inspect_files(
            checkout, ["test_ops.py"], options=("-p", "conformance.plugin", "--conformance-device=tpu"), timeout_s=60
        )
    assert caught.value.slug == "no-device"


def test_modules_beside_a_file_are_found_as_upstream_finds_them(plain: Path) -> None:
    files = ["test_torch.py", "functorch/test_ops.py", "test_ops.py"]
    reports = inspect_files(find_checkout(plain, "2.13.0"), files, options=OPTIONS, timeout_s=60)
    assert [(report.file, report.tests, report.error) for report in reports] == [
        ("test_torch.py", 1, ""),
        ("functorch/test_ops.py", 1, ""),
        ("test_ops.py", 2, ""),
    ]
