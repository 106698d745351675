"""``brimful discards report``: what a store says, as a record and in all forms of reports."""

from __future__ import annotations

import datetime
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful.cli.discards.engine_options import check_engine, connect, engine_options, site_option, store_option
from brimful.errors import UsageError

if TYPE_CHECKING:
    from brimful.discards.engine import Engine
    from brimful.discards.record import Settings
    from brimful.discards.store import Store
    from brimful.records import RunFile

Days = tuple[datetime.date, datetime.date]

PUBLISHED_WINDOWS: tuple[Days, Days] = (
    (datetime.date(2018, 2, 11), datetime.date(2018, 2, 25)),
    (datetime.date(2018, 3, 11), datetime.date(2018, 3, 25)),
)
"""What the report of 2018 compares."""

_FILE = click.Path(dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(file_okay=False, path_type=Path)


@click.command()
@store_option
@click.option(
    "--mode",
    type=click.Choice(["correct", "report"]),
    default="correct",
    help="Use brimful's definitions, or those of the report of 2018.",
)
@click.option("--before", metavar="DAY..DAY", help="Days before a change, both included.")
@click.option("--after", metavar="DAY..DAY", help="Days after it. Without both: those of the report of 2018.")
@site_option
@click.option(
    "--by",
    "by",
    multiple=True,
    metavar="QUANTITY:PLACE=COLUMN,...",
    help="Also show a quantity split by columns: one for the figure, panel or colour each, such as "
    "download_rate:panel=site,colour=protocol; may be repeated.",
)
@click.option("--out", type=_DIRECTORY, help="Directory of a new run to keep the record in.")
@click.option("--html", "html_file", type=_FILE, help="Write one HTML file.")
@click.option("--pdf", "pdf_file", type=_FILE, help="Write the same as a PDF.")
@click.option("--png", "png_directory", type=_DIRECTORY, help="Write each figure as a PNG file in this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print everything that the report is made of as JSON.")
@engine_options("report")
@click.option("--memory", default="3GB", help="Memory of the engine; DuckDB writes the rest to disk.")
@click.option("--seed", type=int, default=1, help="Seed of the bootstrap for the intervals.")
@click.option("--quiet", is_flag=True, help="No progress.")
def report(
    store_path: Path | str,
    mode: str,
    before: str | None,
    after: str | None,
    sites: tuple[str, ...],
    by: tuple[str, ...],
    out: Path | None,
    html_file: Path | None,
    pdf_file: Path | None,
    png_directory: Path | None,
    as_json: bool,
    engine: str,
    master: str | None,
    dataset: str | None,
    memory: str,
    seed: int,
    quiet: bool,
) -> None:
    """Say what the uplinks in a store dropped, when that began and stopped, and which tests it hit.

    Prints the report; --html, --pdf and --png write it with its figures. With --out it can be shown again later:
    brimful report DIRECTORY.
    """
    from brimful.cli import reports
    from brimful.discards.store import Store

    windows = _windows(before, after)
    _check_memory(memory)
    check_engine(engine, master, dataset)
    store = Store.open(store_path)
    _check(store, sites, out)
    settings = _settings(store, mode, windows, sites, by, seed)
    connected = connect(store, engine, memory, master=master, dataset=dataset)
    run = _analyse(store, settings, connected, shows_progress=sys.stderr.isatty() and not quiet)
    if out is not None:
        _keep(run, out)
    if as_json:
        click.echo(reports.as_json(run))
    else:
        click.echo(reports.as_text(run, columns=_columns()), nl=False)
    reports.write_files(run, html_file=html_file, pdf_file=pdf_file, png_directory=png_directory)


def _windows(before: str | None, after: str | None) -> tuple[Days, Days] | None:
    if before is None and after is None:
        return None
    if before is None or after is None:
        message = "--before and --after go together; give both, like --before 2018-02-11..2018-02-25"
        raise UsageError(message)
    first, second = _window("--before", before), _window("--after", after)
    if first[1] >= second[0]:
        message = f"--after {after}: begins before the end of --before {before}; the two must not overlap"
        raise UsageError(message)
    return first, second


def _window(option: str, text: str) -> Days:
    try:
        first, last = (datetime.date.fromisoformat(part.strip()) for part in text.split(".."))
    except ValueError as error:
        message = f"{option} {text}: is no window; write it like 2018-02-11..2018-02-25"
        raise UsageError(message) from error
    if last < first:
        message = f"{option} {text}: ends before it begins"
        raise UsageError(message)
    return first, last


def _check_memory(text: str) -> None:
    if re.fullmatch(r"[1-9][0-9]*[MG]B", text, re.ASCII) is None:
        message = f"--memory {text}: is no amount of memory; write it like 3GB or 500MB"
        raise UsageError(message)


def _check(store: Store, sites: tuple[str, ...], out: Path | None) -> None:
    """Find out what is wrong before anything long is begun."""
    from brimful.run_index import RECORD_NAME

    there = sorted({*store.sites("samples"), *store.sites("tests")})
    if not there:
        message = f"{store.path}: the store is empty; fill it with brimful discards ingest and brimful discards tests"
        raise UsageError(message)
    for site in sites:
        if site not in there:
            shown = ", ".join(there[:12]) + (f" and {len(there) - 12} more" if len(there) > 12 else "")
            message = f"--site {site}: the store has no such site; it has {shown}"
            raise UsageError(message)
    if out is not None and (out / RECORD_NAME).exists():
        message = f"--out {out}: there is a run already; choose another directory"
        raise UsageError(message)


def _settings(
    store: Store,
    mode: str,
    windows: tuple[Days, Days] | None,
    sites: tuple[str, ...],
    by: tuple[str, ...],
    seed: int,
) -> Settings:
    from brimful.discards.capacities import Capacities
    from brimful.discards.modes import Mode
    from brimful.discards.record import Settings
    from brimful.discards.splits import parse

    days = {partition.day for partition in store.partitions("tests")}
    if windows is None and all(any(first <= day <= last for day in days) for first, last in PUBLISHED_WINDOWS):
        windows = PUBLISHED_WINDOWS
    before, after = windows or (None, None)
    return Settings(
        mode=Mode(mode),
        before=before,
        after=after,
        sites=sites,
        capacities=Capacities.of_store(store),
        seed=seed,
        splits=[parse(text, has_windows=windows is not None) for text in by],
    )


def _analyse(store: Store, settings: Settings, engine: Engine, *, shows_progress: bool) -> RunFile:
    from brimful import runs
    from brimful.discards.record import analyse

    return analyse(
        engine,
        settings,
        store=str(store.path),
        command=["brimful", *sys.argv[1:]],
        started=runs.now().isoformat(timespec="seconds"),
        progress=_say if shows_progress else lambda stage: None,
    )


def _say(stage: str) -> None:
    click.echo(f"brimful: {stage} ...", err=True)


def _keep(run: RunFile, out: Path) -> None:
    from brimful.files import write_atomically
    from brimful.records import encode
    from brimful.run_index import RECORD_NAME

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"--out {out}: cannot make the directory: {error.strerror}"
        raise UsageError(message) from error
    write_atomically(out / RECORD_NAME, b"".join(encode(line) for line in run.lines()))
    click.echo(f"wrote {out / RECORD_NAME}", err=True)


def _columns() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
