"""The command ``conformance``: one module a noun, imported when it is needed, errors in one line."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from conformance import __version__
from conformance.errors import ConformanceError, InfrastructureError

# In the order in which a newcomer needs them.
_COMMANDS = (
    "run",
    "report",
    "site",
    "collect",
    "devices",
    "model",
    "selftest",
    "doctor",
    "merge",
    "gate",
    "compare",
    "burndown",
    "skiplist",
    "export",
    "import",
    "opdb",
    "upstream",
)

# Where the module cannot have the command's name.
_MODULES = {"import": "importing"}


class _Commands(click.Group):
    """Import a command's module when the command is used or described."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"conformance.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="conformance")
def cli() -> None:
    """Replay PyTorch's own tests on a device, record every outcome, publish the coverage.

    Exit codes: 0 all as expected, 1 unexpected outcomes, 2 usage, 3 infrastructure (no device, unwritable database),
    130 interrupted.
    """


def main() -> None:
    """Run the command line; an error that a user can act on is one line on stderr and an exit code."""
    _open_standard_streams()
    try:
        cli.main(standalone_mode=False)
    except ConformanceError as error:
        _say(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("conformance: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone, as in `conformance report | head`: that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say(InfrastructureError("output-unwritable", f"cannot write the output: {error.strerror}"))
        sys.exit(InfrastructureError.exit_code)


def _open_standard_streams() -> None:
    """Give a process that was started without stdin, stdout or stderr the null device in their place.

    Otherwise the next file that is opened takes their number, and whatever is printed goes into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the life of the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _say(error: ConformanceError) -> None:
    text = " ".join(str(error).split())
    click.echo(f"conformance: error: {text} [{error.slug}]", err=True)
