"""Where analyses go: the terminal, and files beside it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from brimful.cli.checked import NamedPath
from brimful.cli.option_lists import in_order
from brimful.errors import UsageError

if TYPE_CHECKING:
    from brimful.records import RunFile

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = NamedPath(dir_okay=False, path_type=Path)


class Outputs(msgspec.Struct, frozen=True):
    """The files that were asked for."""

    html: Path | None = None
    pdf: Path | None = None
    record: Path | None = None
    series: Path | None = None

    def check(self, inputs: list[Path], *more: Path | None) -> None:
        """Refuse to write over an input, these files or more."""
        for path in filter(None, (self.html, self.pdf, self.record, self.series, *more)):
            if any(path.resolve() == given.resolve() for given in inputs):
                message = f"{path}: is a result that is read here; choose another name for what is written"
                raise UsageError(message)

    def write(self, runs: list[RunFile]) -> None:
        """Write every file that was asked for; each holds one result."""
        wanted = [path for path in (self.html, self.pdf, self.record, self.series) if path is not None]
        if not wanted:
            return
        if len(runs) != 1:
            message = f"{wanted[0]}: one file holds one result, but there are {len(runs)}; give them one at a time"
            raise UsageError(message)
        (run,) = runs
        from brimful.report import rendering

        if self.html is not None:
            write(self.html, rendering.page(run).encode())
        if self.pdf is not None:
            from brimful.report import paper

            write(self.pdf, paper.render(rendering.page(run)))
        if self.record is not None:
            from brimful.records import encode

            write(self.record, b"".join(encode(line) for line in run.lines()))
        if self.series is not None:
            write(self.series, _series_table(run, self.series))


def output_options(function: _Command) -> _Command:
    """Add the options that name files to write; they are the fields of `Outputs`."""
    options = (
        click.option("--html", type=_FILE, help="Write one HTML file."),
        click.option("--pdf", type=_FILE, help="Write the same as a PDF."),
        click.option("--record", type=_FILE, help="Write the records (JSON Lines), for report and compare."),
        click.option("--series", type=_FILE, help="Write the series as a table: .csv or .parquet."),
    )
    return in_order(*options)(function)


def terminal_columns() -> int | None:
    """Give the width of the terminal; nothing where the output is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show(
    runs: list[RunFile], *, as_json: bool = False, summary: bool = False, table: bool = False, graphs: bool = False
) -> None:
    """Print analyses: whole, in short, or in a table with a line each."""
    if as_json:
        from brimful.report.iocost import export

        click.echo(export.to_json(runs))
        return
    from brimful.report.iocost import text
    from brimful.report.styles import plain

    style = plain
    if sys.stdout.isatty():
        from brimful.report.styles import coloured

        style = coloured
    if table:
        from brimful.report.iocost.table import render_table

        shown = render_table(runs, style=style, columns=terminal_columns() or 100)
    elif summary:
        shown = text.render_summary(runs[0], style=style)
    else:
        columns = terminal_columns()
        shown = "\n".join(text.render(run, style=style, columns=columns, graphs=graphs) for run in runs)
    click.echo(shown, nl=False)


def write(path: Path, content: bytes) -> None:
    """Write a file and say so."""
    from brimful.files import write_atomically

    write_atomically(path, content)
    click.echo(f"wrote {path}", err=True)


def _series_table(run: RunFile, path: Path) -> bytes:
    from brimful.report.iocost import export

    if path.suffix == ".parquet":
        return export.series_parquet(run)
    if path.suffix != ".csv":
        message = f"--series {path}: the name must end in .csv or .parquet"
        raise UsageError(message)
    return export.series_csv(run)
