"""``brimful discards tests``: results of speed tests into a store."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful import units
from brimful.cli.checked import NamedPath
from brimful.cli.discards.store_place import StorePlace
from brimful.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from brimful.discards.speed_tests.loading import Progress, Summary
    from brimful.discards.speed_tests.rows import Server


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=NamedPath(path_type=Path))
@click.option(
    "--store",
    required=True,
    type=StorePlace(),
    help="The store: a directory, which is created if it is missing, or s3://BUCKET/PATH.",
)
@click.option("--server", metavar="MACHINE-SITE", help="Server of results that name none: mlab1-bcn01.")
@click.option(
    "--pseudonymise",
    "key_file",
    metavar="KEYFILE",
    type=NamedPath(path_type=Path, dir_okay=False),
    help="Replace clients by pseudonyms under the key in this file; made if it is not there.",
)
@click.option(
    "--columns",
    "columns_file",
    metavar="FILE",
    type=NamedPath(path_type=Path, dir_okay=False),
    help="TOML file that says what the columns of other tables mean.",
)
@click.option("--timezone", metavar="ZONE", help="Zone of times in tables that do not tell theirs.  [default: UTC]")
@click.option("--max-bad", default="1%", metavar="RATIO", help="Share of results that may be unreadable.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def tests(
    sources: tuple[Path, ...],
    store: Path | str,
    server: str | None,
    key_file: Path | None,
    columns_file: Path | None,
    timezone: str | None,
    max_bad: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Put the results of speed tests in SOURCEs into a store: files, or directories of them.

    \b
    ndt5, ndt7       result files, archives of them, archives of archives
    web100           tables (CSV, Parquet) with the columns of M-Lab's first
                     years, and raw snapshot logs
    M-Lab's tables   exports of ndt.ndt5, ndt.ndt7 and unified views
    traces           of connections (tcp-info, .jsonl.zst): they complete tests
                     of ndt5 before June 2020
    SideStream       tests of several streams among the connections (.web100)
    iperf3           what iperf3 --json prints
    others           tables whose columns --columns names

    Exit code 1: more than --max-bad of the results could not be read; the others were stored.
    """
    from brimful.discards.speed_tests.loading import load
    from brimful.discards.speed_tests.mapping import read_mappings
    from brimful.discards.speed_tests.pseudonyms import Pseudonyms
    from brimful.discards.speed_tests.reading import Settings
    from brimful.discards.store import Store
    from brimful.discards.times import check_zone

    check_zone(timezone)
    limit = units.parse_small_ratio(max_bad)
    settings = Settings(
        server=_server(server),
        mappings=read_mappings(columns_file) if columns_file else None,
        pseudonyms=Pseudonyms.from_file(key_file) if key_file else None,
        zone=timezone,
    )
    with _progress(list(sources), quiet=quiet) as progress:
        summary = load(Store.create(store), list(sources), settings, progress=progress)
    click.echo(json.dumps(_as_json(summary), indent=2) if as_json else _as_text(summary))
    return int(summary.bad_share > limit)


def _server(text: str | None) -> Server | None:
    from brimful.discards.speed_tests.rows import parse_server

    server = parse_server(text) if text else None
    if text and server is None:
        message = f"--server {text}: is not MACHINE-SITE, such as mlab1-bcn01"
        raise UsageError(message)
    return server


@contextlib.contextmanager
def _progress(sources: list[Path], *, quiet: bool) -> Iterator[Progress]:
    """Show how far the load is, on terminals."""
    if quiet or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from brimful.discards.speed_tests.loading import find_sources

    total = sum(path.stat().st_size for path in find_sources(sources))
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Bars(bars, total)


class _Silent:
    def reading(self, done_bytes: int, tests: int) -> None:
        """Show nothing."""

    def writing(self, done: int, total: int) -> None:
        """Show nothing."""


class _Bars:
    def __init__(self, bars: Bars, total_bytes: int) -> None:
        self._bars = bars
        self._reading = bars.add_task("tests", total=total_bytes)
        self._writing = bars.add_task("files", total=None, visible=False)

    def reading(self, done_bytes: int, tests: int) -> None:
        """Move the first bar."""
        self._bars.update(self._reading, completed=done_bytes, description=f"{tests:,} tests")

    def writing(self, done: int, total: int) -> None:
        """Move the second bar."""
        description = f"{total:,} files"
        self._bars.update(self._writing, completed=done, total=total, description=description, visible=True)


def _as_json(summary: Summary) -> dict[str, Any]:
    merged = summary.merged
    return {
        "sources": summary.sources,
        "known_sources": summary.known_sources,
        "known_bad": summary.known_bad,
        "results": summary.results,
        "empty": summary.empty,
        "without_transfer": summary.without_transfer,
        "traces": {
            "read": summary.traces,
            "matched": summary.matches.matched,
            "waiting": summary.matches.waiting,
        },
        "sidestream_connections": summary.observed,
        "tests": summary.tests,
        "kinds": [
            {"protocol": protocol, "direction": direction, "tests": count}
            for (protocol, direction), count in sorted(summary.kinds.items())
        ],
        "added": merged.added,
        "completed": summary.completed,
        "repeated": merged.repeated,
        "conflicts": merged.conflicts,
        "partitions": merged.partitions,
        "sites": sorted(summary.sites),
        "first": summary.first.isoformat() if summary.first else None,
        "last": summary.last.isoformat() if summary.last else None,
        "bad": [
            {"source": source, "reason": reason, "results": count} for (source, reason), count in summary.bad.items()
        ],
        "bad_share": summary.bad_share,
    }


def _as_text(summary: Summary) -> str:
    merged = summary.merged
    lines = [("sources", summary.sources, _in_already(summary))]
    lines.append(("results", summary.results, ""))
    lines += [
        (f"  {name}", count, remark)
        for name, count, remark in (
            ("empty", summary.empty, ""),
            ("without a transfer", summary.without_transfer, ""),
            ("traces", summary.traces, _matches(summary)),
            ("SideStream", summary.observed, "connections, not tests of several streams: left out"),
            ("that cannot be read", summary.bad.total(), ""),
        )
        if count
    ]
    lines.append(("tests", summary.tests, _extent(summary)))
    lines += [
        (f"  {protocol} {direction}", count, "") for (protocol, direction), count in sorted(summary.kinds.items())
    ]
    lines.append(("added", merged.added, _files(merged.partitions)))
    if summary.completed:
        lines.append(("completed", summary.completed, "by the traces of their connections"))
    if merged.repeated:
        lines.append(("there already", merged.repeated, ""))
    if merged.conflicts:
        lines.append(("conflicts", merged.conflicts, "same id, other content: the latest is kept"))
    width = max(len(name) for name, _, _ in lines)
    digits = max(len(f"{count:,}") for _, count, _ in lines)
    text = [f"{name:<{width}}  {count:>{digits},}  {remark}".rstrip() for name, count, remark in lines]
    if summary.bad:
        text += ["", f"Cannot be read, {units.format_ratio(summary.bad_share)} of the results (see quarantine.jsonl):"]
        text += _reasons(summary)
    elif summary.known_bad:
        share = units.format_ratio(summary.bad_share)
        text += ["", f"Could not be read when they were loaded, {share} of the results (see quarantine.jsonl)."]
    return "\n".join(text)


def _reasons(summary: Summary) -> list[str]:
    """Write what cannot be read, a line a reason: there may be as many bad sources as files."""
    reasons: dict[str, dict[str, int]] = {}
    for (source, reason), count in summary.bad.items():
        reasons.setdefault(reason, {})[source] = count
    digits = max(len(f"{sum(sources.values()):,}") for sources in reasons.values())
    lines = []
    for reason, sources in sorted(reasons.items()):
        first = next(iter(sources))
        where = first if len(sources) == 1 else f"{first} and {len(sources) - 1:,} more sources"
        lines.append(f"  {sum(sources.values()):>{digits},}  {reason}: {where}")
    return lines


def _files(count: int) -> str:
    return f"in {count:,} file{'s' if count > 1 else ''}" if count else ""


def _in_already(summary: Summary) -> str:
    return f"{summary.known_sources:,} of them in already" if summary.known_sources else ""


def _matches(summary: Summary) -> str:
    matches = summary.matches
    connections = matches.matched + matches.waiting
    return f"of {connections:,} connections: {matches.matched:,} of tests, {matches.waiting:,} waiting for one"


def _extent(summary: Summary) -> str:
    if summary.first is None or summary.last is None:
        return ""
    days = sorted({summary.first.date().isoformat(), summary.last.date().isoformat()})
    sites = sorted(summary.sites)
    where = ", ".join(sites) if len(sites) <= 3 else f"{len(sites)} sites"
    return f"of {where}, {' to '.join(days)}"
