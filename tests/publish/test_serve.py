from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from conformance.errors import InfrastructureError, UsageError
from conformance.model.outcome import Outcome
from conformance.publish import serve
from conformance.publish.serve import Served
from tests.publish.building import info, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def _serving(database: Path) -> Iterator[Served]:
    with Served(database, selector="best", host="127.0.0.1", port=0) as served:
        thread = Thread(target=served.run, daemon=True)
        thread.start()
        yield served
        served.stop()
        thread.join(timeout=10)


def _get(served: Served, path: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode(), dict(response.getheaders())
    finally:
        connection.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED})


def test_pages_are_served_with_strict_headers(database: Path) -> None:
    with _serving(database) as served:
        status, text, headers = _get(served, "/")
        assert status == 200
        assert "1 of 1 operator ran natively" in text
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert headers["Cache-Control"] == "no-cache"
        assert _get(served, "/operators/add.html")[0] == 200
        assert _get(served, "/operators/")[0] == 404, "no list of a folder"
        assert _get(served, "/../db.sqlite")[0] == 404


def test_a_changed_database_is_built_anew_but_not_at_every_page(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _serving(database) as served:
        write_run(database, {"add": Outcome.FAILED}, run=info(key="f" * 32))
        assert "1 of 1 operator ran natively" in _get(served, "/index.html")[1]
        monkeypatch.setattr(serve, "REST_S", 0.0)
        assert "0 of 1 operator ran natively" in _get(served, "/index.html")[1]


def test_what_goes_wrong_is_told_and_gets_better(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "REST_S", 0.0)
    with _serving(database) as served:
        kept = database.read_bytes()
        database.write_bytes(b"no database")
        status, text, _ = _get(served, "/")
        assert status == 503
        assert "is no SQLite file" in text
        database.write_bytes(kept)
        assert _get(served, "/")[0] == 200


def test_what_cannot_be_served_is_one_clear_line(database: Path) -> None:
    with _serving(database) as served:
        port = urlsplit(served.address).port or 0
        with pytest.raises(InfrastructureError) as caught:
            Served(database, selector="best", host="127.0.0.1", port=port)
        assert caught.value.slug == "port-unusable"
    with pytest.raises(UsageError):
        Served(database.with_name("missing"), selector="best", host="127.0.0.1", port=0)


def test_the_command_says_where_it_serves_and_ends_by_an_interrupt(database: Path) -> None:
    command = [sys.executable, "-m", "conformance", "site", "serve", "--db", str(database), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    assert line.endswith(f"/ shows {database}; Ctrl-C ends it\n")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
