"""Serve the site from a folder of its own for a look while working; build it again when the database has changed."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError, InfrastructureError
from conformance.publish.site_build import build_site

if TYPE_CHECKING:
    from types import TracebackType

# A run that is under way changes its database twice a second: no need to follow it more closely than this.
REST_S = 5.0

_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; frame-ancestors 'none'"


class Served:
    """A site that is served; a context manager that closes the port and removes the folder.

    Raises what build_site raises, and InfrastructureError (``port-unusable``) when the address cannot be listened on.
    """

    def __init__(self, database: Path, *, selector: str, host: str, port: int) -> None:
        self._database = database
        self._selector = selector
        self._lock = Lock()
        self._built_at = 0.0
        self._stamp: tuple[tuple[int, int], ...] = ()
        self.problem = ""
        self._temporary = tempfile.TemporaryDirectory(prefix="conformance-site-")
        self._folder = Path(self._temporary.name) / "site"
        try:
            self._build()
        except BaseException:
            self._temporary.cleanup()
            raise
        try:
            self._server = ThreadingHTTPServer((host, port), partial(_Handler, self, directory=str(self._folder)))
        except OSError as error:
            self._temporary.cleanup()
            raise InfrastructureError(
                "port-unusable",
                f"cannot listen on {host}:{port}: {error.strerror or error}; give another --port or --host",
            ) from error

    @property
    def address(self) -> str:
        """Return where the site is."""
        host, port = self._server.server_address[:2]
        name = host if isinstance(host, str) else host.decode()
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/"

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.server_close()
        self._temporary.cleanup()

    def run(self) -> None:
        """Serve until interrupted or stopped."""
        self._server.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """End ``run`` from another thread."""
        self._server.shutdown()

    def refresh(self) -> None:
        """Build the site again if the database has changed; what goes wrong is kept for the reader of the pages."""
        with self._lock:
            if self._stamp == self._look() or time.monotonic() - self._built_at < REST_S:
                return
            try:
                self._build()
                self.problem = ""
            except ConformanceError as error:
                self.problem = str(error)

    def _build(self) -> None:
        # Looked at first: what is written meanwhile is built the next time.
        stamp = self._look()
        build_site(self._database, self._folder, selector=self._selector)
        self._stamp = stamp
        self._built_at = time.monotonic()

    def _look(self) -> tuple[tuple[int, int], ...]:
        """Return what changes when the database or its log does."""
        found = []
        for path in (self._database, self._database.with_name(f"{self._database.name}-wal")):
            try:
                status = path.stat()
            except OSError:
                continue
            found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)


class _Handler(SimpleHTTPRequestHandler):
    """Serve files, fresh ones where a page is asked for; never a list of a folder."""

    def __init__(self, served: Served, *arguments: object, directory: str) -> None:
        self._served = served
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]  # as socketserver calls it

    def do_GET(self) -> None:
        """Answer a request for a file."""
        if self.path.partition("?")[0].endswith(("/", ".html")):
            self._served.refresh()
            if self._served.problem:
                self.send_error(503, "The site could not be built", self._served.problem)
                return
        super().do_GET()

    def list_directory(self, path: object) -> None:  # noqa: ARG002  (the base class's)
        """Refuse to list a folder."""
        self.send_error(404)

    def end_headers(self) -> None:
        """Add what keeps pages fresh and strict."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the base class's)
        """Keep requests out of the terminal."""
