"""A report on one model as JSON, for scripts; the fields are those of ``Readiness``, described in docs/models.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.readiness.findings import as_json

if TYPE_CHECKING:
    from conformance.readiness.findings import Readiness


def render_model_json(readiness: Readiness) -> str:
    """Return one object with sorted keys, in ASCII, ended by a newline; ``schema`` is 1."""
    return json.dumps(as_json(readiness), indent=1, sort_keys=True) + "\n"
