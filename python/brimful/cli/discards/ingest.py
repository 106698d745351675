"""``brimful discards ingest``: telemetry into a store."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful import units
from brimful.cli.checked import NamedPath
from brimful.cli.discards.store_place import StorePlace

if TYPE_CHECKING:
    from brimful.discards.telemetry.ingest import IngestSummary, Progress

_DAY_S = 86_400
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
"""Of malloc.h."""
_FLAGS = {
    "reset": "resets of counters, no value",
    "wrapped": "wraps of counters, value computed",
    "missed_poll": "spans of missed polls",
    "unanchored": "first polls, span assumed",
    "ceiling": "more than a port can carry",
    "conflict": "with another value delivered, too",
    "mislabelled": "mislabelled, told apart",
    "ambiguous": "mislabelled, ambiguous",
    "dip": "polls that read too little, bridged",
    "wraps": "counters of 32 bits that may wrap twice, no value",
    "sawtooth": "of counters that fall too often, no value",
    "replaced": "first polls after another index or a clock set back, no value",
    "stepped": "intervals in which the clock was set, no value",
    "first_poll": "first polls of counters, no value",
    "no_interval": "differences of which nothing says how long they took, no value",
}
"""Flag of rows, or why they have no value: what the summary calls it, in the order in which it does."""
_SAVE_WIDE = (
    "Counters of 32 bits begin again more than once between two polls at this capacity: save ifHCOutOctets and "
    "ifHCOutUcastPkts instead of ifOutOctets and ifOutUcastPkts, poll more often, or give a lower --capacity."
)
_NO_COUNTERS = (
    "Columns that fall in more than a quarter of their rows are no counters, or those of two ports under one name: "
    "ingest differences without --counters, and give each port a name of its own."
)
_GIVE_LENGTHS = (
    "A difference that is the only one of its port on two days has no rate: ingest into a new store a table with a "
    "column span_s, the length of each interval in seconds."
)
_SHOWN = 10


@click.command()
@click.argument("sources", nargs=-1, required=True, type=NamedPath(path_type=Path), metavar="SOURCE...")
@click.option(
    "--store",
    required=True,
    type=StorePlace(),
    help="The store: a directory, made if it is missing, or s3://BUCKET/PATH.",
)
@click.option(
    "--capacity", metavar="RATE|FILE", help="Capacity of the uplinks: 10Gbps, or a table site,since,capacity."
)
@click.option(
    "--counters/--differences",
    default=None,
    help="Tables hold counters, or what was counted since the row before.  [default: as the numbers show]",
)
@click.option(
    "--timezone", metavar="ZONE", help="Zone of times that do not tell theirs: Europe/Berlin.  [default: UTC]"
)
@click.option("--max-bad", default="1%", metavar="RATIO", help="Share of lines that may be unreadable.")
@click.option("--workers", type=click.IntRange(1), help="Threads that decode.  [default: one a processor]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def ingest(
    sources: tuple[Path, ...],
    store: Path | str,
    capacity: str | None,
    counters: bool | None,
    timezone: str | None,
    max_bad: str,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Put telemetry into a store: SOURCEs are files, archives, or directories of them.

    DISCO of both generations (switch.json, switch.jsonl), in archives within archives; tables (.csv, .tsv, .parquet,
    .json, .jsonl) of any source and of M-Lab; Prometheus queries saved as .json; what Telegraf, InfluxDB and
    VictoriaMetrics write. All may be compressed. Lines that cannot be read go to the store's quarantine.jsonl.

    Exit code 1: more lines were bad than --max-bad allows; the others were stored.
    """
    from brimful.discards.capacities import Capacities
    from brimful.discards.store import Store
    from brimful.discards.telemetry import ingest as ingesting
    from brimful.discards.telemetry.source import Reading
    from brimful.discards.telemetry.sources import find_sources, passed_over
    from brimful.discards.times import check_zone

    _keep_memory()
    check_zone(timezone)
    allowed = units.parse_small_ratio(max_bad)
    files = find_sources(sources)
    given = Capacities.parse(capacity) if capacity is not None else None
    place = Store.create(store)
    if given is not None:
        if given.entries != Capacities.of_store(place).entries:
            changed = ingesting.judge_again(place, given, workers or os.cpu_count() or 1)
            if changed:
                click.echo(f"brimful: judged {changed} days of machines again by the new capacity", err=True)
        given.keep(place)
    with _open_progress(quiet=quiet) as progress:
        summary = ingesting.ingest(
            place,
            files,
            ceilings=given or Capacities.of_store(place),
            workers=workers or os.cpu_count() or 1,
            max_bad=allowed,
            progress=progress,
            reading=Reading(latest_s=time.time() + _DAY_S, counters=counters, zone=timezone),
        )
    summary.notes[:0] = passed_over(sources, files)
    click.echo(_json(summary) if as_json else _text(summary))
    return 1 if summary.too_many_bad else 0


def _keep_memory() -> None:
    """Have the C library keep freed memory for the next array rather than give it back to the kernel each time.

    Fetching it anew, page by page, takes a fifth of the CPU time otherwise. C libraries but GNU's do not know the call.
    """
    with contextlib.suppress(AttributeError, OSError):
        set_option = ctypes.CDLL(None).mallopt
        for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD, _M_TOP_PAD):
            set_option(option, 32 << 20)


@contextlib.contextmanager
def _open_progress(*, quiet: bool) -> Iterator[Progress]:
    if quiet or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("reading"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield _Bar(shown)


class _Silent:
    def start(self, total_bytes: int) -> None:
        """Show nothing."""

    def advance(self, read_bytes: int) -> None:
        """Show nothing."""


class _Bar:
    def __init__(self, shown: object) -> None:
        from rich.progress import Progress as Bars

        assert isinstance(shown, Bars)
        self.shown = shown
        self.task = shown.add_task("reading", total=None)

    def start(self, total_bytes: int) -> None:
        """Learn how much there is."""
        self.shown.update(self.task, total=total_bytes)

    def advance(self, read_bytes: int) -> None:
        """Move the bar."""
        self.shown.advance(self.task, read_bytes)


def _json(summary: IngestSummary) -> str:
    import msgspec

    content = msgspec.to_builtins(summary) | {"bad_lines": summary.bad_lines}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def _text(summary: IngestSummary) -> str:
    numbers = [
        ("sources, new", summary.sources_new),
        ("sources, known", summary.sources_known),
        ("not readable to their end", summary.unreadable),
        ("lines", summary.lines),
        ("lines, bad", summary.bad_lines),
        ("samples", summary.samples),
        ("samples that others repeat", summary.repeated_samples),
        ("samples left out", sum(summary.left_out.values())),
        ("samples of bad lines", summary.refused_samples),
        ("rows, new", summary.rows_new),
        ("rows, already there", summary.rows_known),
        ("rows, conflicting", summary.rows_conflicting),
    ]
    lines = _aligned(numbers)
    if summary.days:
        counts = summary.flags | {name: summary.without_value.get(name, 0) for name in ("first_poll", "no_interval")}
        # These are unanchored, too, but nothing is assumed of them.
        counts["unanchored"] = summary.flags.get("unanchored", 0) - counts["first_poll"] - counts["no_interval"]
        found = [(text, counts[name]) for name, text in _FLAGS.items() if counts.get(name)]
        gaps = [(f"missing bins, {kind}", number) for kind, number in sorted(summary.missing_bins.items())]
        values = [("with a value", summary.values), ("without one", sum(summary.without_value.values()))]
        title = f"rows of the {summary.days} days of machines that these belong to:"
        lines += ["", title, *_aligned(values + found + gaps)]
    if summary.left_out:
        lines += ["", "samples left out:", *_aligned(sorted(summary.left_out.items()))]
    if summary.notes:
        lines += ["", *summary.notes[:_SHOWN]]
        if len(summary.notes) > _SHOWN:
            lines.append(f"and {len(summary.notes) - _SHOWN} more such notes")
    if summary.flags.get("wraps"):
        lines += ["", _SAVE_WIDE]
    if summary.flags.get("sawtooth"):
        lines += ["", _NO_COUNTERS]
    if summary.without_value.get("no_interval"):
        lines += ["", _GIVE_LENGTHS]
    if summary.refused:
        most = sorted(summary.refused.items(), key=lambda item: (-item[1], item[0]))
        lines += ["", "bad lines:", *_aligned(most[:_SHOWN])]
        if len(most) > _SHOWN:
            lines.append(f"  and for {len(most) - _SHOWN} more reasons")
    if summary.unreadable:
        lines += ["", "not readable to their end:", *(f"  {text}" for text in summary.unreadable_places[:_SHOWN])]
        if summary.unreadable > _SHOWN:
            lines.append(f"  and {summary.unreadable - _SHOWN} more")
    if summary.quarantine is not None:
        lines += ["", f"what could not be read: {summary.quarantine}"]
    if summary.too_many_bad:
        lines.append(f"more than {units.format_ratio(summary.max_bad)} of the lines were bad")
    return "\n".join(lines)


def _aligned(rows: list[tuple[str, int]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    digits = max((len(f"{number:,}") for _, number in rows), default=0)
    return [f"  {name:<{width}}  {number:>{digits},}" for name, number in rows]
