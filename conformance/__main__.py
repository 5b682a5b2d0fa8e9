"""Run the command line with ``python -m conformance``."""

from __future__ import annotations

from conformance.cli.main import main

if __name__ == "__main__":
    main()
