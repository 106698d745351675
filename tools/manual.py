"""Makes manual pages of the help texts of `brimful`: one for each command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click
from brimful.cli import group


def escaped(text: str) -> str:
    """Give text as roff reads it: no backslash, hyphen or first character of a line means anything."""
    text = text.replace("\\", "\\(rs").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


class Page(click.HelpFormatter):
    """What click writes a help text with, but in roff."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Begin with how the command is called."""
        self.write(f".SH SYNOPSIS\n\\fB{escaped(prog)}\\fR {escaped(args)}\n")
        self.write_heading("Description")

    def write_heading(self, heading: str) -> None:
        """Begin a section."""
        self.write(f".SH {escaped(heading.upper())}\n")

    def write_paragraph(self) -> None:
        """Leave room."""
        self.write(".PP\n")

    def write_text(self, text: str) -> None:
        r"""Fill lines, but for paragraphs that begin with ``\b``."""
        for paragraph in text.split("\n\n"):
            lines = paragraph.strip("\n").splitlines()
            if lines and lines[0].strip() == "\b":
                self.write(".PP\n.nf\n" + escaped("\n".join(lines[1:])) + "\n.fi\n")
            else:
                self.write(".PP\n" + escaped(" ".join(paragraph.split())) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write options or commands, each with its text."""
        for name, text in rows:
            self.write(f".TP\n\\fB{escaped(name)}\\fR\n{escaped(' '.join(text.split()))}\n")


def pages(
    version: str, command: click.Command = group, name: str = "brimful", parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Give the name and the text of the page of a command, then those of the commands below it."""
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    title = context.command_path.replace(" ", "-")
    page = Page()
    command.format_help(context, page)
    head = f'.TH "{escaped(title.upper())}" "1" "" "brimful {version}" "User commands"\n.ad l\n'
    what = escaped(command.get_short_help_str(200).rstrip("."))
    see = "" if parent is None else f".SH SEE ALSO\n\\fB{escaped(title.rpartition('-')[0])}\\fR(1)\n"
    yield title, f"{head}.SH NAME\n{escaped(title)} \\- {what}\n{page.getvalue()}{see}"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            child = command.get_command(context, below)
            if child is not None:
                yield from pages(version, child, below, context)
