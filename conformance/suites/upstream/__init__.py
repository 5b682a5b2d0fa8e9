"""PyTorch's own test files: the checkout they lie in, and which of them say something about a device."""

from __future__ import annotations

from conformance.suites.upstream.checkout import Checkout, check_version, find_checkout
from conformance.suites.upstream.curated import CuratedFile, absent_files, curated_files

__all__ = ["Checkout", "CuratedFile", "absent_files", "check_version", "curated_files", "find_checkout"]
