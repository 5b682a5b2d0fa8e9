"""The built-in suites: device-generic tests over the installed torch's op_db and module_db."""

from __future__ import annotations

from pathlib import Path

SUITE_FILES = {
    "opinfo": Path(__file__).with_name("opinfo.py"),
    "modules": Path(__file__).with_name("modules.py"),
    "models": Path(__file__).parent / "models" / "suite.py",
}
DEFAULT_SUITES = ("opinfo", "modules")
