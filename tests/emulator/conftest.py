"""Fixtures that run tests in processes which have the emulated device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVER = Path(__file__).with_name("device_server.py")


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: the signal), whether it had to be killed, and what it printed."""

    returncode: int
    timed_out: bool
    output: str


class DeviceProcess:
    """A process that has loaded the emulated device with one profile, and forks a child for each request."""

    def __init__(self, profile: str) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CONFORMANCE_NEURON_")},
            "CONFORMANCE_NEURON_PROFILE": profile,
            "OMP_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(_SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._answer() == {"ready": True}

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the device process ended; its standard error says why"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ask(self, **request: Any) -> Ended:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return Ended(**self._answer())

    def run(self, code: str, *, timeout_s: float = 60, **environment: str) -> Ended:
        """Run code in a new child."""
        return self._ask(code=code, timeout_s=timeout_s, environment=environment)

    def call(self, path: Path, function: str, arguments: dict[str, Any]) -> Ended:
        """Call a function of a file in a new child."""
        return self._ask(path=str(path), function=function, arguments=arguments, timeout_s=120)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        assert self._process.stdout is not None
        self._process.stdout.close()


class DeviceProcesses:
    """One process for each profile that a test asks for."""

    def __init__(self) -> None:
        self._processes: dict[str, DeviceProcess] = {}

    def __getitem__(self, profile: str) -> DeviceProcess:
        if profile not in self._processes:
            self._processes[profile] = DeviceProcess(profile)
        return self._processes[profile]

    def close(self) -> None:
        for process in self._processes.values():
            process.close()


@pytest.fixture(scope="session")
def device_processes() -> Iterator[DeviceProcesses]:
    processes = DeviceProcesses()
    yield processes
    processes.close()


@pytest.fixture
def neuron(device_processes: DeviceProcesses) -> DeviceProcess:
    return device_processes["default"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "on_device(profile='default'): the body runs in a child that has the emulated device"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("on_device"):
            item.fixturenames.append("device_processes")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    marker = pyfuncitem.get_closest_marker("on_device")
    if marker is None:
        return None
    processes = pyfuncitem.funcargs["device_processes"]
    assert isinstance(processes, DeviceProcesses)
    callspec = getattr(pyfuncitem, "callspec", None)
    arguments = dict(callspec.params) if callspec is not None else {}
    profile = arguments.get("profile", marker.kwargs.get("profile", "default"))
    name = getattr(pyfuncitem, "originalname", pyfuncitem.name)
    ended = processes[profile].call(pyfuncitem.path, name, arguments)
    if ended.returncode != 0:
        pytest.fail(f"ended with {ended.returncode} in the device process:\n{ended.output}", pytrace=False)
    return True
