"""Find the data that comes with the harness, in a wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from conformance.errors import InfrastructureError

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise InfrastructureError(
        "missing-data",
        f"the folder '{name}' that comes with torch-conformance is missing beside {_PACKAGE}; install it again",
    )


def site_templates() -> Path:
    """Return the folder of the website's Jinja2 templates."""
    return _folder("site") / "templates"


def site_static() -> Path:
    """Return the folder of the website's style sheet and script."""
    return _folder("site") / "static"


def skiplists() -> Path:
    """Return the folder that holds one folder of skiplists for each device."""
    return _folder("skiplists")


def op_db() -> Path:
    """Return the folder that holds one operator inventory for each torch version."""
    return _folder("op_db")
