"""The process of a spawned worker: ``python -m conformance.engine.spawned``, started by ``launch.Spawn`` only."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.engine.bridge import silence_reporter
from conformance.engine.launch import SPAWNED
from conformance.engine.worker import Orders, serve


@dataclass(frozen=True, slots=True)
class SpawnedOrders:
    """What the parent told a spawned worker; ``tests`` is a file with the node ids to number, in order."""

    connection: int
    log: int
    parent: int
    folder: str
    arguments: list[str]
    tests: int


class Spawned:
    """A pytest plugin that tells the conformance plugin that this process is a worker."""

    def __init__(self, orders: SpawnedOrders) -> None:
        self.orders = orders

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Let the parent speak alone."""
        silence_reporter(config)

    def serve(self, session: pytest.Session, health: Callable[[], str | None] | None) -> None:
        """Run what the parent hands out; never returns. The order of the tests is the parent's."""
        with os.fdopen(self.orders.tests) as file:
            file.seek(0)  # the position is shared with the parent, which has written to the end
            wanted = json.load(file)
        collected = {item.nodeid: item for item in session.items}
        if not collected.keys() >= set(wanted):
            sys.__stderr__.write("collecting again gave other tests than the first time\n") if sys.__stderr__ else None
            os._exit(71)
        session.items[:] = [collected[node_id] for node_id in wanted]
        orders = Orders(log=self.orders.log, parent=self.orders.parent, environment={}, health=health)
        serve(session, socket.socket(fileno=self.orders.connection), orders, recall=None)


def spawned_of(config: pytest.Config) -> Spawned | None:
    """Return the worker's plugin where this process is a spawned worker."""
    for plugin in config.invocation_params.plugins or ():
        if isinstance(plugin, Spawned):
            return plugin
    return None


def main() -> None:
    """Collect as the parent did, then serve."""
    told: dict[str, Any] = json.loads(os.environ.pop(SPAWNED))
    orders = SpawnedOrders(**told)
    os.chdir(orders.folder)
    for descriptor in (orders.connection, orders.tests):
        os.set_inheritable(descriptor, False)
    code = pytest.main(orders.arguments, plugins=[Spawned(orders)])
    os._exit(int(code) or 72)  # it should have served, and ended there


if __name__ == "__main__":
    # The class must be the one that the plugin imports, not __main__'s.
    from conformance.engine.spawned import main as main_of_the_module

    main_of_the_module()
