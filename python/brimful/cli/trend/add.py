"""``brimful trend add``: puts runs, or anyone's numbers, into a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful.cli import values
from brimful.cli.grouped import GroupedCommand
from brimful.cli.trend.stores import now, store_argument
from brimful.errors import BrimfulError, UsageError
from brimful.trend.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimful.trend.measured import Measured
    from brimful.trend.store import Store

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _AddCommand(GroupedCommand):
    groups = {  # noqa: RUF012 - as in the class above
        "Tables": ("csv_file", "series", "version_column", "value_column", "time_column", "worse", "unit"),
        "Files of other tools": ("file_format", "files", "machine"),
    }


@click.command(cls=_AddCommand)
@store_argument
@click.argument("runs", type=values.RUN, nargs=-1, metavar="[RUN]...")
@click.option("--version", metavar="TEXT", help="Version of what was measured, where the run or file does not say it.")
@click.option("--csv", "csv_file", type=_FILE, metavar="FILE", help="A table with the names of its columns on top.")
@click.option("--series", metavar="NAME", help="Name of the series that the table is of.")
@click.option("--version-column", metavar="NAME", help="Column with the version.")
@click.option("--value-column", metavar="NAME", help="Column with the value: above 0; what is not counts as failed.")
@click.option("--time-column", metavar="NAME", help="Column with the time: ISO 8601, or seconds since 1970.")
@click.option("--worse", type=click.Choice(["higher", "lower"]), help="Which values are worse.")
@click.option(
    "--unit", default="", show_default=False, metavar="TEXT", help="Unit of the values; a series keeps its unit."
)
@click.option("--format", "file_format", type=click.Choice(list(FORMATS)), help="Format of the files of --file.")
@click.option("--file", "files", type=_FILE, multiple=True, metavar="FILE", help="A file of --format; may be repeated.")
@click.option("--machine", metavar="NAME", help="Of these files: in CI hosts have another name each time.")
def add(
    store: Path,
    runs: tuple[Path, ...],
    version: str | None,
    csv_file: Path | None,
    file_format: str | None,
    files: tuple[Path, ...],
    machine: str | None,
    **table: str | None,
) -> int:
    """Put RUNs, a table or files of other tools into STORE, which is made if there is none.

    RUNs are searches, campaigns, live comparisons, delay runs and block devices. Several values of a version count as
    one, their median. What is in the store already is not added again. The version of a RUN is its label `version` or
    `firmware`, or what its device reports; of a live comparison the build that is compared; otherwise each run is a
    version of its own.

    Exit code 2: a run or file could not be used; the others were added.
    """
    if not (runs or csv_file or files):
        message = "nothing to add: give RUNs, a table with --csv, or files with --format and --file"
        raise UsageError(message)
    if bool(files) != bool(file_format):
        message = "--format and --file go together"
        raise UsageError(message)
    if machine is not None and not files:
        message = "--machine is for --file; runs have --label machine=NAME when they are made"
        raise UsageError(message)
    of_table = [name for name, given in table.items() if given]
    if of_table and csv_file is None:
        message = f"--{of_table[0].replace('_', '-')} is for --csv; add it"
        raise UsageError(message)
    if version == "":
        message = "--version '': names no version; leave it out"
        raise UsageError(message)
    from brimful.trend.store import Store

    failed = 0
    with Store.create(store) as opened:
        if csv_file is not None:
            _add_table(opened, csv_file, **table)
        for path in (*runs, *files):
            try:
                _add(opened, [_measured(path, file_format if path in files else None, version, machine)], path)
            except BrimfulError as error:
                if len(runs) + len(files) == 1:
                    raise
                click.echo(f"brimful: error: {error}", err=True)
                failed = error.exit_code
    return failed


def _measured(path: Path, file_format: str | None, version: str | None, machine: str | None) -> Measured:
    if file_format is not None:
        from brimful.trend import formats

        return formats.read(path, file_format, version, machine=machine)
    from brimful.records import read_unchanged
    from brimful.trend import runs

    return runs.measured(read_unchanged(path), version)


def _add_table(store: Store, path: Path, **table: str | None) -> None:
    from brimful.trend import tables

    needed = ("series", "version_column", "value_column", "worse")
    missing = [name for name in needed if not table[name]]
    if missing:
        message = f"--csv {path}: give --{missing[0].replace('_', '-')} too"
        raise UsageError(message)
    columns = tables.Columns(
        series=str(table["series"]),
        version=str(table["version_column"]),
        value=str(table["value_column"]),
        time=table["time_column"],
        worse=str(table["worse"]),
        unit=table["unit"] or "",
    )
    read = tables.read(path, columns, now=now().timestamp())
    for note in read.notes:
        click.echo(f"brimful: {note}", err=True)
    _add(store, read.runs, path)


def _add(store: Store, runs: Iterable[Measured], path: Path) -> None:
    added = store.add(runs, now=now().timestamp())
    parts = [f"{added.values} values"]
    if added.missing:
        parts.append(f"{added.missing} of them failed")
    if added.known:
        parts.append(f"{added.known} were there already")
    if added.odd_times:
        parts.append("its clock is before 1990 or ahead: the time is not known")
    if added.new_series:
        parts.append(f"{added.new_series} new series")
    click.echo(f"{path}: added {', '.join(parts)}")
