"""A file that ends the process that imports it; what must be recorded is in the package's BROKEN_FILES."""

from __future__ import annotations

import sys

from conformance.suites.canaries import is_armed

if is_armed():
    sys.exit(3)
