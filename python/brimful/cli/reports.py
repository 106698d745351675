"""The report on a record, whatever it is of: each kind has modules of its own."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful.errors import BrimfulError, UsageError
from brimful.files import check_target, write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimful.records import RunFile

DELAY, DEVICE, DISCARDS, CAMPAIGN = "delay", "block-device", "switch-discards", "campaign"


def checked_target(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that cannot be written while options are read."""
    if path is not None:
        check_target(path, parameter.opts[0])
    return path


def check_page(path: Path, out: Path | None) -> None:
    """Refuse a file of ``--html`` that cannot be written, or is a record, before a run is made in ``out``."""
    from brimful.runs import RECORD_NAME

    check_target(path, "--html", out=out)
    target = path.resolve()
    if out is not None and target.name == RECORD_NAME and target.is_relative_to(out.resolve()):
        message = f"--html {path}: is the record that is written there; choose another name"
        raise UsageError(message)


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
    from brimful.runs import RECORD_NAME

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


def prose_columns() -> int:
    """Give where sentences wrap: at the edge of a narrow terminal, else where lines stay easy to read."""
    from brimful.report.lines import WIDTH

    return min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def as_text(file: RunFile, *, columns: int = 100) -> str:
    """Give the report for a terminal of so many columns."""
    from brimful.report import styles
    from brimful.report.throughput import text

    style = styles.coloured if sys.stdout.isatty() else styles.plain
    if file.run.subject == DEVICE:
        from brimful.report.iocost.text import render as render_device

        return render_device(file, style=style)
    if file.run.subject == DISCARDS:
        from brimful.report.discards.text import render as render_discards

        return render_discards(file, style=style, columns=columns)
    if file.run.subject == CAMPAIGN:
        from brimful.report.campaign import model as campaign_model
        from brimful.report.campaign.text import render as render_campaign

        return render_campaign(campaign_model.build(file), style=style)
    if file.run.subject == DELAY:
        from brimful.report.delay.text import render as render_delay

        return render_delay(file, style=style)
    from brimful.report.throughput import model

    return text.render(model.build(file), style=style, columns=columns)


def campaign_summary(file: RunFile) -> str:
    """Give the result of a campaign for a terminal: what a search prints when it ends."""
    from brimful.report import styles
    from brimful.report.campaign import model as campaign_model
    from brimful.report.campaign.text import summary

    return summary(campaign_model.build(file), style=styles.coloured if sys.stdout.isatty() else styles.plain)


def as_json(file: RunFile) -> str:
    """Give everything that the report is made of."""
    if file.run.subject == DEVICE:
        from brimful.report.iocost.export import to_json as device_to_json

        return device_to_json([file])
    if file.run.subject == DISCARDS:
        from brimful.report.discards.export import to_json as discards_to_json

        return discards_to_json(file)
    if file.run.subject == CAMPAIGN:
        from brimful.report.campaign.export import to_json as campaign_to_json

        return campaign_to_json(file)
    if file.run.subject == DELAY:
        from brimful.report.delay.export import to_json as delay_to_json

        return delay_to_json(file)
    from brimful.report.throughput import export, model

    return export.to_json(model.build(file))


def _write_pdf(file: RunFile, path: Path) -> None:
    if file.run.subject == DEVICE:
        from brimful.report.iocost.pdf import render as render_device

        write_atomically(path, render_device(file))
    elif file.run.subject == DISCARDS:
        from brimful.report.discards.pdf import render as render_discards

        write_atomically(path, render_discards(file))
    else:
        message = f"--pdf {path}: a {file.run.subject} has no PDF report; use --html and print it"
        raise UsageError(message)


def _write_png(file: RunFile, directory: Path) -> list[Path]:
    if file.run.subject != DISCARDS:
        message = f"--png {directory}: only a report on discards has figures as files; use --html"
        raise UsageError(message)
    from brimful.report.discards import png

    return png.write(file, directory)


def page(file: RunFile) -> str:
    """Give the report as one HTML file."""
    if file.run.subject == DEVICE:
        from brimful.report.iocost.html import render as render_device

        return render_device(file)
    if file.run.subject == DISCARDS:
        from brimful.report.discards.html import render as render_discards

        return render_discards(file)
    if file.run.subject == CAMPAIGN:
        from brimful.report.campaign import model as campaign_model
        from brimful.report.campaign.html import render as render_campaign

        return render_campaign(campaign_model.build(file))
    if file.run.subject == DELAY:
        from brimful.report.delay.html import render as render_delay

        return render_delay(file)
    from brimful.report.throughput import html, model

    return html.render(model.build(file))
