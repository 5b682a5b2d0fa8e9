"""Errors that a user can act on; the command line and the plugin turn them into one clear line."""

from __future__ import annotations


class ConformanceError(Exception):
    """Say what happened, where, and what to do.

    ``slug`` names the kind of error in docs/errors.md; ``exit_code`` is what the command line ends with.
    """

    exit_code = 3

    def __init__(self, slug: str, message: str) -> None:
        super().__init__(message)
        self.slug = slug


class UsageError(ConformanceError):
    """The request cannot be carried out as given: a wrong name, option or input file."""

    exit_code = 2


class InfrastructureError(ConformanceError):
    """The request is fine, but this machine cannot carry it out: no device, no compiler, no disk."""

    exit_code = 3
