"""Options that commands share for how much they say, and in which form."""

from __future__ import annotations

import click

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "md"]),
    default="text",
    show_default=True,
    help="For people, for scripts, or for a GitHub job summary.",
)
TOP = click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Show N rows of each list; 0: all. Totals count everything.",
)
