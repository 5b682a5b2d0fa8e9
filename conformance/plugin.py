"""The pytest plugin: does nothing until ``--conformance-device`` or ``--conformance-db`` is given."""

from __future__ import annotations

import os
import pickle
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.engine.options import add_options
from conformance.errors import UsageError

if TYPE_CHECKING:
    from conformance.devices import DeviceAdapter
    from conformance.engine.cut import Cut
    from conformance.engine.listed import Listing
    from conformance.suites.selection import Selection


DEFAULT_TIMEOUT_S = 300.0
_NEED_ONE_PROCESS = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Set the backend's variables before any conftest can import torch."""
    options = early_config.known_args_namespace
    device = _device(options)
    if device is not None:
        from conformance.engine.bridge import clear

        with clear(early_config):
            from conformance.devices import adapter_for

            os.environ.setdefault("OMP_NUM_THREADS", "1")
            if options.conformance_slow:
                os.environ["PYTORCH_TEST_WITH_SLOW"] = "1"  # torch's test machinery reads it when it is imported
            adapter_for(device).prepare()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the device and register what watches and records, each only where it is needed."""
    config.addinivalue_line("markers", "conformance_timeout(seconds): the time limit of one test, in a worker")
    device = _device(config.option)
    if device is None:
        return
    from conformance.engine.bridge import clear

    with clear(config):
        from conformance.devices import adapter_for
        from conformance.suites.selection import parse_selection

        selection = parse_selection(
            ops=config.option.conformance_ops,
            dtypes=config.option.conformance_dtypes,
            templates=config.option.conformance_templates,
            tests=config.option.conformance_test,
        )
        controller = _is_xdist_controller(config)
        _check_workers(config, controller=controller)
        adapter = adapter_for(device)
        if not controller:
            _load(adapter, selection, config.option)
            config.pluginmanager.register(Watcher(config, adapter, selection), "conformance-watcher")
        if config.option.conformance_db and not hasattr(config, "workerinput") and not _is_spawned(config):
            from conformance.engine.recorder import Recorder
            from conformance.engine.recording import Recording, XdistRecording

            recorder = Recorder(Path(config.option.conformance_db))
            hooks = XdistRecording if controller else Recording
            config.pluginmanager.register(hooks(config, adapter, selection, recorder), "conformance-recorder")


def _device(options: Any) -> str | None:
    device: str | None = getattr(options, "conformance_device", None)
    return device or ("cpu" if getattr(options, "conformance_db", None) else None)


def _load(adapter: DeviceAdapter, selection: Selection, option: Any) -> None:
    from conformance.engine.facts import check_torch
    from conformance.probes import Probe, probe_for, watch_with
    from conformance.suites.selection import ACTIVE

    check_torch()
    adapter.load()  # before torch.testing._internal, which takes the device's name when it is imported
    from conformance.suites.call_stack import walk_quickly
    from conformance.suites.device_base import use_device
    from conformance.suites.narrow import narrow_instantiation

    ACTIVE.device = adapter.device
    ACTIVE.selection = selection
    use_device(adapter.device, count=adapter.device_count, lift_restrictions=option.conformance_include_cuda_only)
    walk_quickly()
    narrow_instantiation()
    if selection.compiles:
        from conformance.devices.compiling import compile_backend, why_not_compiled

        ACTIVE.compile_backend = compile_backend(adapter)
        # Imports dynamo, which workers that are forked then find there.
        ACTIVE.why_not_compiled = why_not_compiled(adapter)
    watch_with(Probe() if option.conformance_fallback == "allow" else probe_for(adapter, option.conformance_probe))


def _check_workers(config: pytest.Config, *, controller: bool) -> None:
    from conformance.engine.loop import worker_count

    workers = worker_count(config.option.conformance_workers)
    if workers and controller:
        raise UsageError("two-engines", "--conformance-workers and xdist's -n exclude each other; give one of them")
    limit = config.option.conformance_timeout
    if limit is not None and not 0 <= limit < float("inf"):
        raise UsageError("bad-timeout", f"the time limit is {limit:g} s; give 0 or more")
    hands_on = [name for name in _NEED_ONE_PROCESS if config.getoption(name, False)]
    if workers and hands_on:
        raise UsageError(
            "needs-one-process",
            f"'{hands_on[0]}' works on tests in pytest's own process only; use --conformance-workers 0",
        )
    if config.option.conformance_retries < 0:
        raise UsageError("bad-retries", f"{config.option.conformance_retries} further attempts; give 0 or more")
    if config.option.conformance_retries and not workers and not hasattr(config, "workerinput"):
        raise UsageError(
            "retries-without-workers",
            "--conformance-retries needs processes that can be replaced; add --conformance-workers 1 or more",
        )
    if config.option.conformance_resume and not config.option.conformance_db:
        raise UsageError("resume-without-database", "there is no run to resume without --conformance-db; give both")
    if config.option.conformance_resume and controller:
        raise UsageError("resume-with-xdist", "xdist's -n cannot resume a run; use --conformance-workers in its place")
    if limit and not workers and not hasattr(config, "workerinput"):
        raise UsageError(
            "timeout-without-workers",
            "--conformance-timeout needs a process that can be killed; add --conformance-workers 1 or more",
        )


def _is_xdist_controller(config: pytest.Config) -> bool:
    distributed = getattr(config.option, "dist", "no") != "no" or bool(getattr(config.option, "tx", None))
    return distributed and not hasattr(config, "workerinput")


def _is_spawned(config: pytest.Config) -> bool:
    from conformance.engine.spawned import spawned_of

    return spawned_of(config) is not None


class Watcher:
    """Watch each test in the process that runs it, and run the workers."""

    def __init__(self, config: pytest.Config, adapter: DeviceAdapter, selection: Selection) -> None:
        self._config = config
        self._adapter = adapter
        self._selection = selection
        self._broken: list[pytest.CollectReport] = []
        self.cut: Cut | None = None
        self.listing: Listing | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a file that could not be collected: one shard has it."""
        if report.failed:
            self._broken.append(report)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the tests that were named by id, complain about names that fit nothing, cut a shard out."""
        from conformance.engine.attach import open_windows
        from conformance.engine.bridge import clear
        from conformance.engine.choose import choose, complain_about_names

        with clear(config):
            deselected = choose(items, self._selection, device=self._adapter.device)
            complain_about_names(items, self._selection, adapter=self._adapter)
            deselected += self._hold_against_skiplists(config, items)
            if config.option.conformance_fallback != "allow":
                open_windows(items, self._adapter.device)
            if config.option.conformance_shard:
                deselected += self._cut(config, items)
            if deselected:
                config.hook.pytest_deselected(items=deselected)

    def _hold_against_skiplists(self, config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
        from conformance.engine.facts import check_torch
        from conformance.engine.listed import listing_of, skip_listed

        option = config.option
        self.listing = listing = listing_of(
            items, option.conformance_skiplist, adapter=self._adapter, torch=check_torch()
        )
        if not option.conformance_run_skipped:
            skip_listed(items, listing)
        if not option.conformance_listed_only:
            return []
        if not listing.label:
            raise UsageError(
                "no-skiplist", "only listed tests were asked for, and no skiplist is in force; name one by --skiplist"
            )
        others = [item for item in items if listing.entry_of(item.nodeid) is None]
        items[:] = [item for item in items if listing.entry_of(item.nodeid) is not None]
        return others

    def _cut(self, config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
        from conformance.engine.cut import cut
        from conformance.engine.handover import broken_files
        from conformance.engine.schedule import parse_shard

        database = config.option.conformance_db
        self.cut, dropped = cut(
            items,
            (planned.identity.test_id for planned, _ in broken_files(self._broken, config.rootpath)),
            parse_shard(config.option.conformance_shard),
            device=self._adapter.device,
            database=Path(database) if database else None,
        )
        return dropped

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Make a file that calls sys.exit() or os._exit() when it is imported one error, not the end of the run."""
        from conformance.engine.exits import Exited, no_exit

        try:
            with no_exit():
                return (yield)
        except SystemExit as stop:
            called = "os._exit" if isinstance(stop, Exited) else "sys.exit"
            text = f"SystemExit: the file called {called}({stop.code!r}) when it was imported"
            return pytest.CollectReport(collector.nodeid, "failed", text, [])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Hand the plan to the controller when this is an xdist worker."""
        workerinput = getattr(session.config, "workerinput", {})
        path = workerinput.get("conformance_plan")
        if path and workerinput.get("workerid") == "gw0":
            _write_handover(Path(path), session, self._adapter, self._selection, self)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests in workers of our own, if any were asked for."""
        from conformance.engine.bridge import clear
        from conformance.engine.loop import Limits, health_check_of, launcher_for, run_isolated, worker_count
        from conformance.engine.spawned import spawned_of

        option = session.config.option
        spawned = spawned_of(session.config)
        if spawned is not None:
            spawned.serve(session, health_check_of(self._adapter, option.conformance_health))
        workers = worker_count(option.conformance_workers)
        if not workers or not session.items or option.collectonly:
            return None
        recorder: Any = session.config.pluginmanager.get_plugin("conformance-recorder")
        limit = option.conformance_timeout
        with clear(session.config):
            run_isolated(
                session,
                workers=workers,
                limits=Limits(DEFAULT_TIMEOUT_S if limit is None else limit, option.conformance_retries),
                launcher=launcher_for(
                    session,
                    self._adapter,
                    workers=workers,
                    way=option.conformance_start,
                    health=option.conformance_health,
                ),
                expected=recorder.expected() if recorder is not None else {},
                listener=recorder,
            )
        return True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Show a test that passed after a failure as flaky, and the attempts before."""
        if str(report.outcome) == "rerun":
            return "rerun", "R", "RERUN"
        if report.when == "call" and report.passed and getattr(report, "conformance", {}).get("attempt", 1) > 1:
            return "flaky", "K", "FLAKY"
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Forget what an earlier test left behind."""
        from conformance.engine.attach import begin_test

        begin_test(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what the test said about samples, what it raised and what the probe saw, as xdist can carry it."""
        report = yield
        if call.when == "call":
            from conformance.engine.attach import attach_observations, fail_for_fallback, name_cause

            attach_observations(report)
            if call.excinfo is not None:
                name_cause(report, call.excinfo.value)
            if self._config.option.conformance_fallback == "fail":
                entry = self.listing.entry_of(report.nodeid) if self.listing is not None else None
                fail_for_fallback(report, expected=entry is not None and entry.expect == "fallback")
        return report


def _write_handover(
    path: Path, session: pytest.Session, adapter: DeviceAdapter, selection: Selection, watcher: Watcher
) -> None:
    from conformance.engine.handover import handover_of

    handover = handover_of(session, adapter, selection, watcher.cut, watcher.listing)
    path.write_bytes(pickle.dumps(handover, protocol=5))
