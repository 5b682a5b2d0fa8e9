from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.publish.architectures import write_architectures
from tests.publish.browsing import FLAGS, chromium_path, missing
from tests.publish.building import built
from tests.publish.compiling import COMPILE, DYNAMIC, EAGER, write_compiled
from tests.publish.series import write_series
from tests.sample_run import build_sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def sample_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of three runs: emulated, on a real device, emulated and interrupted."""
    return build_sample(tmp_path_factory.mktemp("sample") / "sample.sqlite", runs=3, operators=60)


@pytest.fixture(scope="session")
def sample_site(sample_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the emulated run; tests must not change it."""
    return built(sample_database, tmp_path_factory.mktemp("sites") / "site", selector="1")


@pytest.fixture(scope="session")
def series_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of four runs of one scope, with a skiplist and registered kernels."""
    return write_series(tmp_path_factory.mktemp("series") / "series.sqlite")


@pytest.fixture(scope="session")
def series_site(series_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the last of these runs; tests must not change it."""
    return built(series_database, tmp_path_factory.mktemp("sites") / "series")


@pytest.fixture(scope="session")
def models_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of a series, and a newer run of the suite models on the same device."""
    path = write_series(tmp_path_factory.mktemp("models") / "models.sqlite", runs=2)
    return write_architectures(path)


@pytest.fixture(scope="session")
def models_site(models_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the run of the suite models; tests must not change it."""
    return built(models_database, tmp_path_factory.mktemp("sites") / "models")


@pytest.fixture(scope="session")
def beside_models_site(models_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of a run of operators that a run of the suite models stands beside; tests must not change it."""
    return built(models_database, tmp_path_factory.mktemp("sites") / "beside", selector="2")


@pytest.fixture(scope="session")
def compiled_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of a run with tests in eager mode and under torch.compile."""
    return write_compiled(tmp_path_factory.mktemp("compiled") / "compiled.sqlite", number=1)


@pytest.fixture(scope="session")
def compiled_site(compiled_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of this run; tests must not change it."""
    return built(compiled_database, tmp_path_factory.mktemp("sites") / "compiled")


@pytest.fixture(scope="session")
def beside_compiled_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of a run in eager mode, and a newer one of tests under torch.compile alone."""
    path = tmp_path_factory.mktemp("compiled") / "beside.sqlite"
    write_compiled(path, number=1, templates=(EAGER,))
    return write_compiled(path, number=2, templates=(COMPILE, DYNAMIC))


@pytest.fixture(scope="session")
def beside_compiled_site(beside_compiled_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the run in eager mode; tests must not change it."""
    return built(beside_compiled_database, tmp_path_factory.mktemp("sites") / "beside_compiled")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the package playwright")
    executable = chromium_path()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """Return a page that must end without a message on its console and without a request that leaves it."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(10_000)
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    # A page that is left while it still loads gives its requests up: net::ERR_ABORTED is no fault of the site.
    found.on(
        "requestfailed",
        lambda request: complaints.append(request.url) if request.failure != "net::ERR_ABORTED" else None,
    )
    found.on(
        "request",
        lambda request: (
            complaints.append(f"left the page: {request.url}")
            if not request.url.startswith(("file:", "data:", "http://127.0.0.1:"))
            else None
        ),
    )
    yield found
    context.close()
    assert complaints == []
