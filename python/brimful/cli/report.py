"""``brimful report``: a saved run as text or as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.option("--html", "html_file", type=click.Path(dir_okay=False, path_type=Path), help="Write one HTML file.")
@click.option("--text", "as_text", is_flag=True, help="Print the report as text (the default without --html).")
@click.option("--json", "as_json", is_flag=True, help="Print everything that the report is made of as JSON.")
def report(run: Path, html_file: Path | None, as_text: bool, as_json: bool) -> None:
    """Show a saved RUN: a record file, or the directory of a run.

    The report states what MLRsearch-15 and RFC 2544 ask of one, marks irregular results, and has the search-time graph.
    It is computed from the record alone.
    """
    from brimful.errors import UsageError
    from brimful.records import read_run
    from brimful.report import model

    if as_text and as_json:
        message = "--text and --json both print on standard output; give one of them"
        raise UsageError(message)
    facts = model.build(read_run(run))
    if html_file is not None:
        from brimful.report import html

        html_file.write_text(html.render(facts), encoding="utf-8")
        click.echo(f"wrote {html_file}", err=True)
    if as_json:
        from brimful.report import export

        click.echo(export.to_json(facts))
    elif as_text or html_file is None:
        from brimful.report import text

        style = text.coloured if sys.stdout.isatty() else text.plain
        click.echo(text.render(facts, style=style), nl=False)
