"""``brimful report``: a saved run as text, HTML, PDF or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from brimful.cli import values
from brimful.cli.reports import checked_target
from brimful.errors import UsageError

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("run", type=values.RUN)
@click.option("--html", "html_file", type=_FILE, callback=checked_target, help="Write one HTML file.")
@click.option("--pdf", "pdf_file", type=_FILE, callback=checked_target, help="Write the same as a PDF.")
@click.option(
    "--png",
    "png_directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each figure as a PNG file in this directory.",
)
@click.option(
    "--trials",
    "trials_file",
    type=_FILE,
    callback=checked_target,
    help="Write the trials as a table: FILE.csv or FILE.parquet.",
)
@click.option(
    "--prometheus",
    "prometheus_file",
    type=_FILE,
    callback=checked_target,
    help="Write the results of searches, campaigns or live comparisons in the Prometheus text format.",
)
@click.option(
    "--csit-uti",
    "uti_file",
    type=_FILE,
    callback=checked_target,
    help="Write the result of a search as a test case of FD.io CSIT (UTI JSON, model 1.4.0).",
)
@click.option("--text", "as_text", is_flag=True, help="Print the report as text (the default without a file).")
@click.option("--json", "as_json", is_flag=True, help="Print everything that the report is made of as JSON.")
def report(
    run: Path,
    html_file: Path | None,
    pdf_file: Path | None,
    png_directory: Path | None,
    trials_file: Path | None,
    prometheus_file: Path | None,
    uti_file: Path | None,
    as_text: bool,
    as_json: bool,
) -> None:
    """Show a saved RUN: a record file, the directory of a run, or `latest`.

    The report of a search states what MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be) and RFC 2544 ask of one.
    It is computed from the record alone.
    """
    from brimful.cli import reports
    from brimful.records import read_run

    if as_text and as_json:
        message = "--text and --json both print on standard output; give one of them"
        raise UsageError(message)
    file = read_run(run)
    if (change := file.change()) is not None:
        click.echo(f"brimful: warning: {file.path}: {change}; see `brimful verify`", err=True)
    reports.write_files(file, html_file=html_file, pdf_file=pdf_file, png_directory=png_directory)
    if trials_file is not None:
        reports.write_trials(file, trials_file)
    if prometheus_file is not None:
        reports.write_prometheus(file, prometheus_file)
    if uti_file is not None:
        reports.write_csit_uti(file, uti_file)
    if as_json:
        click.echo(reports.as_json(file))
    elif as_text or not any((html_file, pdf_file, png_directory, trials_file, prometheus_file, uti_file)):
        click.echo(reports.as_text(file, columns=reports.prose_columns()), nl=False)
