from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.publish.building import built
from tests.sample_run import build_sample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def sample_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of three runs: emulated, on a real device, emulated and interrupted."""
    return build_sample(tmp_path_factory.mktemp("sample") / "sample.sqlite", runs=3, operators=60)


@pytest.fixture(scope="session")
def sample_site(sample_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the emulated run; tests must not change it."""
    return built(sample_database, tmp_path_factory.mktemp("sites") / "site", selector="1")
