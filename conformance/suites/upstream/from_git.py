"""Clone one commit of a repository, without history and with the wanted files only; go on where it broke off."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from conformance.errors import InfrastructureError, UsageError
from conformance.suites.upstream.git import Git, GitFailedError, batches, without_password
from conformance.suites.upstream.revision import Revision
from conformance.suites.upstream.wanted import FILES, is_wanted

# Files that one request asks for. What an interruption costs is one batch.
BATCH = 1000


def clone(address: str, revision: Revision, staging: Path, *, lock: int, say: Callable[[str], None]) -> str:
    """Check the wanted files out into ``staging`` and return the commit; what is there of an earlier try is used.

    ``lock`` is the descriptor whose lock says that somebody works in ``staging``; git holds it as well.
    Raises ``InfrastructureError`` where the address cannot be reached, ``UsageError`` where it lacks the revision.
    """
    git = Git(staging, keeps=lock)
    if not _is_ours(git, address):
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        git.run("init", "--quiet")
        git.run("remote", "add", "origin", address)
    for left in (staging / ".git").rglob("*.lock"):  # of a git that was killed; nobody else works in this folder
        left.unlink()
    commit = _commit(git, revision)
    if commit is None:
        say(f"asking {without_password(address)} for {revision.name}")
        commit = _fetch_commit(git, address, revision)
    paths = git.run("ls-tree", "-r", "--name-only", "-z", commit).split("\0")
    wanted = [path for path in paths if path and is_wanted(path)]
    if not wanted:
        raise UsageError("upstream-missing", f"{without_password(address)} has no PyTorch tests at {revision.name}")
    git.run("update-ref", "--no-deref", "HEAD", commit)
    git.run("config", "core.sparseCheckout", "true")
    git.run("config", "core.sparseCheckoutCone", "false")
    _check_out(git, address, wanted, say=say)
    return commit


def _is_ours(git: Git, address: str) -> bool:
    if not (git.folder / ".git").is_dir():
        return False
    with contextlib.suppress(GitFailedError):
        return git.run("config", "remote.origin.url").strip() == address
    return False


def _commit(git: Git, revision: Revision) -> str | None:
    """Return the commit if an earlier try has brought it and its folders."""
    with contextlib.suppress(GitFailedError):
        commit = git.run("rev-parse", "--verify", "--quiet", f"{revision.ref}^{{commit}}").strip()
        git.run("ls-tree", "-r", "--name-only", commit)
        return commit
    return None


def _fetch_commit(git: Git, address: str, revision: Revision) -> str:
    ref = f"{revision.ref}:{revision.ref}" if revision.tag else revision.commit
    try:
        git.run("fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none", "origin", ref)
    except GitFailedError as error:
        raise _explained(error, address, revision) from error
    commit = _commit(git, revision)
    if commit is None:
        raise InfrastructureError(
            "upstream-unreachable", f"{without_password(address)} sent {revision.name}, but not all of it; try again"
        )
    return commit


def _explained(error: GitFailedError, address: str, revision: Revision) -> UsageError | InfrastructureError:
    said, shown = str(error), without_password(address)
    if "couldn't find remote ref" in said or "not our ref" in said:
        return UsageError(
            "upstream-no-tag", f"{shown} has no {revision.name}; give --torch another release or --from another source"
        )
    return InfrastructureError(
        "upstream-unreachable",
        f"cannot fetch {revision.name} from {shown}: {said}; without a network give --from a clone, a tarball or a "
        f"folder of PyTorch {revision.release}",
    )


def _check_out(git: Git, address: str, wanted: list[str], *, say: Callable[[str], None]) -> None:
    sparse = git.folder / ".git" / "info" / "sparse-checkout"
    sparse.parent.mkdir(exist_ok=True)
    steps = batches(wanted, alone=FILES, limit=BATCH)
    patterns: list[str] = []
    for number, batch in enumerate(steps, start=1):
        say(f"files: part {number} of {len(steps)}")
        patterns += batch
        sparse.write_text("".join(f"{pattern}\n" for pattern in patterns), encoding="utf-8")
        try:
            git.run("read-tree", "--reset", "-u", "HEAD")
        except GitFailedError as error:
            raise InfrastructureError(
                "upstream-unreachable",
                f"{without_password(address)} broke off at part {number} of {len(steps)}: {error}; "
                "the same command goes on from there",
            ) from error
    missing = [path for path in wanted if not (git.folder / path).exists() and not (git.folder / path).is_symlink()]
    if missing:
        raise InfrastructureError(
            "upstream-incomplete",
            f"{len(missing)} files did not arrive, {missing[0]} among them; run the command again",
        )
