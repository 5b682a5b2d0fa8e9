"""Collect what a run row says about this machine, this torch and this device."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from conformance import __version__
from conformance.devices import DeviceAdapter
from conformance.errors import InfrastructureError
from conformance.model.run import RunInfo

OLDEST_TORCH = (2, 6)
_RELEVANT = ("PYTORCH_", "TORCH_", "OMP_", "MKL_", "CUDA_VISIBLE_DEVICES", "CONFORMANCE_")
# Equal for all jobs of one GitHub Actions run, GitLab pipeline, Buildkite or Jenkins build, Slurm array.
_LAUNCH = (
    "CONFORMANCE_LAUNCH",
    "GITHUB_RUN_ID",
    "CI_PIPELINE_ID",
    "BUILDKITE_BUILD_ID",
    "SLURM_ARRAY_JOB_ID",
    "BUILD_TAG",
)
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "KEY")


def check_torch() -> str:
    """Return the version of the installed torch; raise ``InfrastructureError`` if it is missing or too old."""
    from packaging.version import InvalidVersion, Version

    from conformance.devices.loading import import_torch

    torch = import_torch()

    text = str(torch.__version__)
    try:
        release = Version(text).release
    except InvalidVersion:
        release = OLDEST_TORCH  # a development build with a name of its own: let it try
    if release < OLDEST_TORCH:
        raise InfrastructureError(
            "unsupported-torch",
            f"torch {text} is not supported; torch {'.'.join(map(str, OLDEST_TORCH))} or newer is needed",
        )
    return text


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def command_line() -> str:
    """Return how this process was started, as a user would type it."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])


def launch(environment: Mapping[str, str]) -> str:
    """Return what the shards of one launch have in common: CONFORMANCE_LAUNCH, or what the CI or Slurm says."""
    for variable in _LAUNCH:
        if environment.get(variable):
            return f"{variable}={environment[variable]}"
    return ""


def run_info(
    adapter: DeviceAdapter,
    *,
    suites: Iterable[str],
    selection: str,
    probe: str,
    seed: int,
    retries: int = 0,
    skiplist: str = "",
    run_skipped: bool = False,
) -> RunInfo:
    """Return the run row for a device whose adapter has been loaded."""
    description = adapter.describe()
    prefixes = (*_RELEVANT, *adapter.environment_prefixes)
    environment = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(prefixes) and not any(word in name for word in _SECRET)
    }
    return RunInfo(
        key=uuid.uuid4().hex,
        created_at=utc_now(),
        suites=tuple(sorted(set(suites))),
        device=adapter.device,
        device_name=description.device_name,
        emulated=description.emulated,
        torch_version=check_torch(),
        backend=description.backend,
        backend_version=description.backend_version,
        harness_version=__version__,
        python_version=platform.python_version(),
        host=platform.node(),
        operating_system=f"{platform.system()} {platform.release()} {platform.machine()}",
        command=command_line(),
        selection=selection,
        probe=probe,
        seed=seed,
        environment=environment,
        launch=launch(os.environ),
        retries=retries,
        skiplist=skiplist,
        run_skipped=run_skipped,
        versions=description.versions,
    )
