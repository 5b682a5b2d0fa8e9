"""Write small installed packages into a folder, and ask Python about them in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BACKEND = """
import types
import torch

calls = []


def _autoload():
    if "{device}" in vars(torch):
        return
    module = types.ModuleType("torch.{device}")
    module.is_available = lambda: {available}
    module.device_count = lambda: 3
    module.is_initialized = lambda: False
    torch.utils.rename_privateuse1_backend("{device}")
    torch._register_device_module("{device}", module)


_autoload()
"""


def install(
    folder: Path,
    module: str,
    source: str,
    *,
    version: str = "1.2.3",
    distribution: str | None = None,
    entry_points: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write a package with one module and its metadata, as pip would leave them."""
    package = folder.joinpath(*module.split("."))
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(textwrap.dedent(source))
    name = distribution or module.partition(".")[0]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in (entry_points or {}).items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def ask(folder: Path, code: str, **variables: str) -> Any:
    """Run Python with ``folder`` in front of its path; the code ends by leaving its answer in ``answer``."""
    script = f"import json\n{textwrap.dedent(code)}\nprint('\\n' + json.dumps(answer))\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
