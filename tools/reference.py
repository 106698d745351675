"""Prints docs/reference/command.md: the help of every command, as it prints it."""

from __future__ import annotations

import click
from brimful.cli import group

HEAD = "# The command\n\nWhat `--help` prints, of every command. Written by `make docs`.\n"


def sections(command: click.Command, name: str, parent: click.Context | None = None) -> list[str]:
    """Give the help of a command and of those below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, **command.context_settings)
    title = context.command_path
    found = [f"## {title}\n\n```\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            child = command.get_command(context, below)
            if child is not None:
                found += sections(child, below, context)
    return found


def render() -> str:
    """Give the whole page."""
    return "\n".join([HEAD, *sections(group, "brimful")])


if __name__ == "__main__":
    click.echo(render(), nl=False)
