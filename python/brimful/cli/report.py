"""``brimful report``: a saved run as text, HTML, PDF or JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful.errors import UsageError
from brimful.files import write_atomically

if TYPE_CHECKING:
    from brimful.records import RunFile

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.option("--html", "html_file", type=_FILE, help="Write one HTML file.")
@click.option("--pdf", "pdf_file", type=_FILE, help="Write a PDF; of block devices.")
@click.option("--text", "as_text", is_flag=True, help="Print the report as text (the default without a file).")
@click.option("--json", "as_json", is_flag=True, help="Print everything that the report is made of as JSON.")
def report(run: Path, html_file: Path | None, pdf_file: Path | None, as_text: bool, as_json: bool) -> None:
    """Show a saved RUN: a record file, or the directory of a run.

    The report of a search states what MLRsearch-15 and RFC 2544 ask of one, marks irregular results, and has the
    search-time graph; that of a block device has all graphs, solutions and remarks. It is computed from the record
    alone.
    """
    from brimful.records import read_run

    if as_text and as_json:
        message = "--text and --json both print on standard output; give one of them"
        raise UsageError(message)
    file = read_run(run)
    is_device = file.run.subject == "block-device"
    if pdf_file is not None:
        _write_pdf(file, pdf_file, is_device)
    if html_file is not None:
        page = _device_page(file) if is_device else _search_page(file)
        write_atomically(html_file, page.encode())
        click.echo(f"wrote {html_file}", err=True)
    if as_json:
        click.echo(_device_json(file) if is_device else _search_json(file))
    elif as_text or (html_file is None and pdf_file is None):
        click.echo(_device_text(file) if is_device else _search_text(file), nl=False)


def _write_pdf(file: RunFile, path: Path, is_device: bool) -> None:
    if not is_device:
        message = f"--pdf {path}: a {file.run.subject} has no PDF report; use --html and print it"
        raise UsageError(message)
    from brimful.report.iocost import pdf

    pdf.write(file, path)
    click.echo(f"wrote {path}", err=True)


def _search_page(file: RunFile) -> str:
    from brimful.report import html, model

    return html.render(model.build(file))


def _search_json(file: RunFile) -> str:
    from brimful.report import export, model

    return export.to_json(model.build(file))


def _search_text(file: RunFile) -> str:
    from brimful.report import model, text

    return text.render(model.build(file), style=text.coloured if sys.stdout.isatty() else text.plain)


def _device_page(file: RunFile) -> str:
    from brimful.report.iocost import html

    return html.render(file)


def _device_json(file: RunFile) -> str:
    from brimful.report.iocost import export

    return export.to_json([file])


def _device_text(file: RunFile) -> str:
    from brimful.report import text
    from brimful.report.iocost.text import render

    return render(file, style=text.coloured if sys.stdout.isatty() else text.plain)
