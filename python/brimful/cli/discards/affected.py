"""``brimful discards affected``: the tests that ran while the uplink discarded packets."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful import units
from brimful.cli.discards.engine_options import check_engine, connect, engine_options, site_option, store_option
from brimful.report import words

if TYPE_CHECKING:
    import pyarrow as pa

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@store_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the list: .csv or .parquet.")
@site_option
@click.option("--since", type=_DAY, help="The first day (UTC).")
@click.option("--until", type=_DAY, help="The last day (UTC), included.")
@click.option(
    "--overlap",
    type=click.Choice(["non-zero", "unknown", "all"]),
    default="non-zero",
    help="Tests to list: with discards, with unknown telemetry, or all.",
)
@engine_options("list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def affected(
    store_path: Path | str,
    out: Path | None,
    sites: tuple[str, ...],
    since: datetime.datetime | None,
    until: datetime.datetime | None,
    overlap: str,
    engine: str,
    master: str | None,
    dataset: str | None,
    as_json: bool,
) -> None:
    """List the downloads that ran while the uplink of their site discarded packets.

    Each has the share of its time that telemetry covers, its intervals between polls, those with discards, and the
    discards in all and in the worst one. Downloads too short or too small for the report are included.
    """
    import msgspec

    from brimful.discards.affected import affected_tests, check_name, write
    from brimful.discards.engine import MEMORY_LIMIT
    from brimful.discards.store import Store

    check_engine(engine, master, dataset)
    if out is not None:
        check_name(out)
    days = (since and since.date(), until and until.date())
    connected = connect(Store.open(store_path), engine, MEMORY_LIMIT, master=master, dataset=dataset)
    listed, counts = affected_tests(connected, overlap, sites=sites, days=days)
    if out is not None:
        write(listed, out)
        click.echo(f"wrote {out}: {words.count(listed.num_rows, 'test')}", err=True)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"listed": listed.num_rows, "sites": counts})).decode())
        return
    click.echo(_table(counts))
    if out is None:
        click.echo(_worst(listed), nl=False)


def _table(counts: dict[str, dict[str, int]]) -> str:
    """Give a line a site: tests by class, and the share of those known that had discards."""
    if not counts:
        return "there are no downloads"
    rows = [("site", "zero", "non-zero", "unknown", "with discards")]
    for site, of in counts.items():
        known = of["zero"] + of["non-zero"]
        share = words.share(of["non-zero"] / known) if known else "-"
        rows.append((site, str(of["zero"]), str(of["non-zero"]), str(of["unknown"]), share))
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{row[0]:<{width}}" + "".join(f"{cell:>14}" for cell in row[1:]) for row in rows)


def _worst(listed: pa.Table) -> str:
    """Give the tests with the most discards, in short."""
    most = 10
    order = [("discards", "descending"), ("site", "ascending"), ("start", "ascending"), ("test_id", "ascending")]
    lines = ["", f"{'start (UTC)':<20}{'site':<10}{'machine':<9}{'intervals':>10}{'coverage':>9}{'discards':>10}  test"]
    for row in listed.sort_by(order).slice(0, most).to_pylist():
        lines.append(
            f"{row['start']:%Y-%m-%d %H:%M:%S} {row['site']:<10}{row['machine']:<9}{row['intervals']:>10}"
            f"{units.format_ratio(row['coverage']):>9}{row['discards']:>10.0f}  {row['test_id']}"
        )
    if listed.num_rows > most:
        lines.append(f"... {listed.num_rows - most} more; write them all with --out FILE.parquet")
    return "\n".join(lines) + "\n" if listed.num_rows else ""
