"""``conformance skiplist``: what is expected not to pass, and the work on it."""

from __future__ import annotations

from importlib import import_module

import click

# In the order in which they are needed; each with the module that it is in.
_COMMANDS = {
    "lint": "skiplist_reading",
    "stats": "skiplist_reading",
    "explain": "skiplist_reading",
    "diff": "skiplist_reading",
    "stale": "skiplist_editing",
    "prune": "skiplist_editing",
    "add": "skiplist_editing",
    "update": "skiplist_editing",
    "import": "skiplist_exchange",
    "export": "skiplist_exchange",
}


class _Commands(click.Group):
    """Import a command's module when the command is used or described."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"conformance.cli.{_COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found


@click.group(name="skiplist", cls=_Commands)
def command() -> None:
    """Work on skiplists: which tests of a device are expected not to pass, and why.

    A PATH is a TOML file or a folder of them; docs/skiplists.md describes the format and the rules.
    """
