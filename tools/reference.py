"""Prints docs/reference/command.md: the help of every command; an option is described once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
from brimful.cli import group

HEAD = """# The command

What `--help` prints, of every command. An option that means the same in an earlier command is only named, and the
commands of a group are the sections that follow it. At the end are the programs that it starts. Written by `make docs`.
"""
PROGRAMS = (
    *("brimful-tester", "brimful-tester stations", "brimful-disk", "brimful-switchd", "brimful-switchd genflow"),
    "brimful-switchd ofctl",
)
OPTION = re.compile(r"^  (-(?:.*\n(?:   .*\n)*))", re.MULTILINE)
USAGE_ALONE = re.compile(r"\AUsage: .* \[OPTIONS\]\n\n")
EMPTY_SECTION = re.compile(r"^\S.*:\n(?=\n|\Z)", re.MULTILINE)
COMMANDS = re.compile(r"^Commands:\n(?:  .*\n)+", re.MULTILINE)
"""An option with the lines that continue it, the usage of a command without arguments, a heading whose options all were
described, and a list of commands."""
HELP = "-h, --help Show this message and exit."


def without_repetitions(text: str, described: set[str]) -> str:
    """Leave out the options that are already described, and name them at the end."""
    repeated = []

    def shown(option: re.Match[str]) -> str:
        words = " ".join(option[1].split())
        if words not in described:
            described.add(words)
            return option[0]
        if words != HELP:
            repeated.append(re.findall(r"(?<![\w-])--?[a-z-]+", option[1].split("  ")[0])[-1])
        return ""

    text = COMMANDS.sub("", EMPTY_SECTION.sub("", OPTION.sub(shown, USAGE_ALONE.sub("", text) + "\n")))
    text = re.sub(r"\n{3,}", "\n\n", text)
    as_before = click.wrap_text(f"As before: {', '.join(repeated)}.", 100) if repeated else ""
    return f"{text.rstrip()}\n\n{as_before}".rstrip()


def sections(command: click.Command, name: str, described: set[str], parent: click.Context | None = None) -> list[str]:
    """Give the help of a command and of those below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, **command.context_settings)
    title = context.command_path
    found = [f"## {title}\n\n```\n{without_repetitions(command.get_help(context), described)}\n```\n"]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            child = command.get_command(context, below)
            if child is not None:
                found += sections(child, below, described, context)
    return found


def program_section(program: str) -> str:
    """Give the help of a program, or of a command of one."""
    name, *command = program.split()
    words = [Path(sys.executable).with_name(name), *command, "--help"]
    narrow = {**os.environ, "COLUMNS": "100"}
    text = subprocess.run(words, capture_output=True, text=True, check=True, env=narrow).stdout
    lines = [line.rstrip() for line in text.splitlines()]
    return f"## {program}\n\n```\n" + "\n".join(lines) + "\n```\n"


def render() -> str:
    """Give the whole page."""
    return "\n".join([HEAD, *sections(group, "brimful", {HELP}), *map(program_section, PROGRAMS)])


if __name__ == "__main__":
    click.echo(render(), nl=False)
