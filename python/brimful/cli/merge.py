"""``brimful merge``: the parts of a campaign, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brimful.cli import values
from brimful.cli.reports import check_page, checked_target, show_run


@click.command()
@click.argument("parts", type=values.RUN, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the record.  [default: runs/TIME-ID]",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=checked_target,
    help="Also write a report.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything that the report is made of as JSON.")
def merge(parts: tuple[Path, ...], out: Path | None, **options: Any) -> int:  # noqa: ANN401 - what click gives
    """Make one record of the parts of a campaign, RUN..., that `brimful search --shard` made, and print its report.

    The record is as if one test bed had measured all; the records of its runs are copied to it. Exit code 1: a result
    is irregular; 2: a part is missing, not finished or there twice.
    """
    from brimful.campaign.merging import merge as put_together
    from brimful.records import read_run
    from brimful.run_index import RECORD_NAME

    if options["html"]:
        check_page(options["html"], out)
    directory = put_together(parts, out)
    unwritten = show_run(directory / RECORD_NAME, options)
    members = read_run(directory).members
    if any(member.failed for member in members):
        return 3
    return unwritten if all(member.answered for member in members) else 1
