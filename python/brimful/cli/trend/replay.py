"""``brimful trend replay``: what would have been reported after each version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from brimful.cli.trend.stores import chosen, series_option, settings_options, store_argument
from brimful.errors import one_line


@click.command()
@store_argument
@series_option
@settings_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def replay(store: Path, patterns: tuple[str, ...], as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Say what would have been reported after each version of each series of STORE, with the settings given here.

    Each change is listed with the version after which it was first reported, and the one after which it no longer was.
    What people accepted is not taken into account.
    """
    import msgspec

    from brimful.trend.judgement import Settings
    from brimful.trend.judging import describe
    from brimful.trend.replaying import replay as replayed
    from brimful.trend.store import Store

    with Store.open(store) as opened:
        only, number = chosen(opened, patterns), opened.count()
        found = [replayed(reading.series, Settings(**options), all_series=number) for reading in opened.read(only)]
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
        return
    reports = sum(len(series.reports) for series in found)
    click.echo(f"{reports:,} reports in {len(found):,} series, {sum(series.judged for series in found):,} judgements")
    for series in found:
        if series.reports:
            click.echo(f"\n{one_line(series.name)}:")
        for report in series.reports:
            gone = f", no longer after {report.gone_after}" if report.gone_after is not None else ""
            click.echo(f"  after {report.after}{gone}: {report.change.kind}: {describe(report.change)}")
