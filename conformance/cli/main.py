"""The command ``conformance``: one module a noun, imported when it is needed, errors in one line."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from conformance import __version__
from conformance.errors import ConformanceError

# In the order in which a newcomer needs them.
_COMMANDS = ("run", "report", "site", "collect", "devices")


class _Commands(click.Group):
    """Import a command's module when the command is used or described."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"conformance.cli.{cmd_name}").command
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


def _say(error: ConformanceError) -> None:
    text = " ".join(str(error).split())
    click.echo(f"conformance: error: {text} [{error.slug}]", err=True)
