"""``brimful runs``: the runs of a directory, newest first, each with its result in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from brimful.cli.reports import checked_target, prose_columns, style
from brimful.errors import BrimfulError
from brimful.files import write_atomically
from brimful.records import RunFile, read_run
from brimful.records.subjects import subject_of
from brimful.run_index import Entry, Index, result_of
from brimful.runs import HOME, is_being_written, run_directories

if TYPE_CHECKING:
    from brimful.report.run_list import Value

_MEASURED = frozenset(
    {
        "search",
        "campaign",
        "burst",
        "burst-campaign",
        "loss-campaign",
        "recovery-campaign",
        "delay",
        "recovery",
        "loss",
        "suite",
    }
)
"""Subjects of runs that measure, and so end; analyses have no end."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the list."""

    path: str
    started: str = ""
    subject: str = ""
    what: str = ""
    """What was measured: the measurer, or the source that was analysed."""
    result: str = ""
    problem: str | None = None
    """Why nothing is known of it."""


@click.command("runs")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=checked_target,
    help="Write the list as one HTML file with links to each report.html beside a record.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def runs(directory: Path | None, html_file: Path | None, as_json: bool) -> None:
    """List the runs in DIRECTORY, newest first, each with its result in one line.

    Without DIRECTORY: those in runs/. A run that cannot be read is listed with the reason. Wherever a command takes a
    RUN, `latest` names the newest one in runs/.
    """
    listed = _all(directory or HOME)
    if html_file is not None:
        from brimful.report.run_list import page

        shown = [{**msgspec.structs.asdict(run), "values": _values(run)} for run in listed]
        write_atomically(html_file, page(shown, html_file.parent).encode())
        click.echo(f"wrote {html_file}", err=True)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(listed), indent=2))
    elif html_file is None:
        click.echo(_text(listed, directory or HOME))


def _all(directory: Path) -> list[Listed]:
    runs = run_directories(directory)
    index = Index(directory)
    if directory == HOME:
        index.rebuild(run.name for run in runs)
    return [_listed(run, index.entry(run.name)) for run in runs]


def _listed(path: Path, known: Entry | None) -> Listed:
    if known is not None:
        return Listed(
            path=str(path), started=known.started, subject=known.subject, what=known.what, result=known.result
        )
    try:
        file = read_run(path)
        return Listed(
            path=str(path),
            started=file.run.started,
            subject=subject_of(file.run, where=str(file.path)).name,
            what=file.run.measured,
            result=_state(file) or result_of(file),
        )
    except BrimfulError as error:
        return Listed(path=str(path), problem=str(error))


def _values(run: Listed) -> list[Value]:
    """Give the values of a run that can be followed over time; none of one that has not ended well."""
    from brimful.report.run_list import Value
    from brimful.trend.runs import measured

    try:
        points = measured(read_run(Path(run.path))).points
    except BrimfulError:
        return []
    found = []
    for point in points:
        size = point.key.get("size")
        name = point.key["goal"] + (f", frames of {size} bytes" if size else "")
        apart = ", ".join(point.key[part] for part in ("machine", "settings") if part in point.key)
        if point.value is not None:
            found.append(Value(name=name, apart=apart, unit=point.unit, value=point.value))
    return found


def _state(file: RunFile) -> str:
    """Say of a run that has no end after its last trial whether it still runs, and how far it is; else nothing."""
    if file.is_ended() or not (file.trials or file.members or file.run.subject in _MEASURED):
        return ""
    far = f"{len(file.members)} members" if file.members else f"{len(file.trials)} trials"
    if is_being_written(file.path):
        return f"still runs: {far} so far"
    return f"has no end: it was killed after {far}"


def _text(listed: list[Listed], directory: Path) -> str:
    if not listed:
        return f"no runs in {directory}"
    from brimful.report.lines import WIDTH, table

    looks, columns = style(), prose_columns()
    head = ["started", "subject", "measurer", "run", "result"]
    rows = [
        [run.started[:19].replace("T", " "), run.subject, run.what, run.path, run.problem or run.result]
        for run in listed
    ]
    first, *rest = table([head, *rows]).splitlines()
    if columns < WIDTH and max(map(len, [first, *rest])) > columns:
        return "\n".join(_stacked(row, columns) for row in rows)
    return "\n".join([looks(first, "faint"), *rest])


def _stacked(row: list[str], columns: int) -> str:
    """Write a run on lines of its own, for a narrow terminal."""
    from brimful.report.lines import wrap

    started, subject, measured, path, result = row
    head = "  ".join(filter(None, [started, path, subject]))
    return "\n".join([head, *(wrap(text, 4, hang=2, columns=columns) for text in (measured, result) if text)])
