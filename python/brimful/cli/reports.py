"""The report on a record, whatever it is of: the table of subjects says who writes it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful.errors import BrimfulError, UsageError
from brimful.files import check_target, write_atomically
from brimful.records.subjects import load, subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brimful.records import End, RunFile
    from brimful.records.subjects import Subject
    from brimful.report.styles import Style


def checked_target(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that cannot be written while options are read."""
    if path is not None:
        check_target(path, parameter.opts[0])
    return path


def check_page(path: Path, out: Path | None) -> None:
    """Refuse a file of ``--html`` that cannot be written, or is a record, before a run is made in ``out``."""
    from brimful.report.web_page import check_packages
    from brimful.run_index import RECORD_NAME

    check_packages()
    check_target(path, "--html", out=out)
    target = path.resolve()
    if out is not None and target.name == RECORD_NAME and target.is_relative_to(out.resolve()):
        message = f"--html {path}: is the record that is written there; choose another name"
        raise UsageError(message)


def show_run(path: Path, options: Mapping[str, Any]) -> int:
    """Print the report on a run that has ended, and write its page where one was asked for.

    Gives an exit code: see `write_page`.
    """
    from brimful.records import read_run

    file = read_run(path)
    if options["as_json"]:
        click.echo(as_json(file))
    else:
        click.echo(as_text(file, columns=prose_columns()))
        click.echo(f"Record: {path}")
    return write_page(options["html"], lambda: page(file), [file.path]) if options["html"] else 0


def tell_why_unfinished(end: End, path: Path, counted: str | None) -> int:
    """Say why a run did not come to its end; gives the exit code, 0 if it did.

    ``counted`` is what an interrupted run goes on after; null: it cannot go on.
    """
    from brimful.cli.signals import INTERRUPTED, tell_how_to_go_on

    if end.reason == "measurement-failed":
        click.echo(f"brimful: error: {end.text}; the record is {path}", err=True)
        return 3
    if end.reason == "interrupted":
        if counted is not None:
            tell_how_to_go_on(counted, path.parent)
        return INTERRUPTED
    return 0


def write_page(path: Path, render: Callable[[], str], records: Sequence[Path]) -> int:
    """Write a page about records when everything else is done.

    Gives an exit code: a failure hides neither the result nor the verdict.
    """
    try:
        spare(records, path)
        write_atomically(path, render().encode())
    except BrimfulError as error:
        click.echo(f"brimful: error: {error}", err=True)
        return error.exit_code
    click.echo(f"wrote {path}", err=True)
    return 0


def spare(records: Sequence[Path], path: Path) -> None:
    """Refuse to write over a record: one that is read, or another run's."""
    from brimful.run_index import RECORD_NAME

    is_a_record = path.name == RECORD_NAME and path.exists()
    if is_a_record or any(path.resolve() == record.resolve() for record in records):
        message = f"{path}: is the record of a run; choose another name for what is written"
        raise UsageError(message)


def write_files(
    file: RunFile, *, html_file: Path | None = None, pdf_file: Path | None = None, png_directory: Path | None = None
) -> None:
    """Write the report in the forms that were asked for."""
    for path in filter(None, (html_file, pdf_file)):
        spare([file.path], path)
    if pdf_file is not None:
        _write_pdf(file, pdf_file)
        click.echo(f"wrote {pdf_file}", err=True)
    if png_directory is not None:
        for path in _write_png(file, png_directory):
            click.echo(f"wrote {path}", err=True)
    if html_file is not None:
        write_atomically(html_file, page(file).encode())
        click.echo(f"wrote {html_file}", err=True)


def write_trials(file: RunFile, path: Path) -> None:
    """Write the trials of a run as a table."""
    from brimful.report import exports

    writers = {".csv": exports.trials_as_csv, ".parquet": exports.trials_as_parquet}
    if path.suffix not in writers:
        message = f"--trials {path}: name a file that ends with .csv or .parquet"
        raise UsageError(message)
    if not file.trials:
        message = f"--trials {path}: {file.path} has no trials; those of a campaign are in the records of its searches"
        raise UsageError(message)
    _write(file, path, writers[path.suffix](file))


def write_prometheus(file: RunFile, path: Path) -> None:
    """Write the results of a run for Prometheus."""
    from brimful.report import exports

    content = exports.results_as_prometheus(file)
    if not content.strip():
        message = f"--prometheus {path}: {file.path} has no results of a search or a comparison"
        raise UsageError(message)
    _write(file, path, content)


def write_csit_uti(file: RunFile, path: Path) -> None:
    """Write the result of a search as FD.io CSIT keeps its own."""
    from brimful.report import csit_uti

    _write(file, path, csit_uti.render(file))


def _write(file: RunFile, path: Path, content: bytes) -> None:
    spare([file.path], path)
    write_atomically(path, content)
    click.echo(f"wrote {path}", err=True)


def prose_columns() -> int:
    """Give where sentences wrap: at the edge of a narrow terminal, else where lines stay easy to read."""
    from brimful.report.lines import WIDTH

    return min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def style() -> Style:
    """Give how parts of a text look on standard output."""
    from brimful.report import styles

    return styles.coloured if sys.stdout.isatty() else styles.plain


def as_text(file: RunFile, *, columns: int = 100) -> str:
    """Give the report for a terminal of this width."""
    text: str = load(_row(file).text)(file, style=style(), columns=columns)
    return text


def as_json(file: RunFile) -> str:
    """Give everything that the report is made of."""
    text: str = load(_row(file).json)(file)
    return text


def page(file: RunFile) -> str:
    """Give the report as one HTML file."""
    text: str = load(_row(file).page)(file)
    return text


def _write_pdf(file: RunFile, path: Path) -> None:
    from brimful.report import paper

    write_atomically(path, paper.render(page(file)))


def _write_png(file: RunFile, directory: Path) -> list[Path]:
    row = _row(file)
    if row.png is None:
        message = f"--png {directory}: reports on {row.plural} have no figures as files; use --html"
        raise UsageError(message)
    written: list[Path] = load(row.png)(file, directory)
    return written


def _row(file: RunFile) -> Subject:
    return subject_of(file.run, where=str(file.path))
