"""Trial logs of other tools, as far as they say what a verdict needs."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from brimful.errors import RecordError
from brimful.files import read_file
from brimful.measurers.base import TrialOutput, with_intended
from brimful.records import Trial, check_trial
from brimful.session import trial_of

_NUMBERS = {
    "load": ("load", "trial_load", "intended_load"),
    "duration_s": ("duration", "duration_s", "trial_duration"),
    "sent": ("sent", "offered", "tx"),
    "lost": ("lost", "loss", "loss_count"),
    "intended": ("intended", "intended_count"),
    "effective_duration_s": ("effective_duration_s", "effective_duration"),
    "delay_p99_s": ("delay_p99_s", "delay_p99"),
}
_REQUIRED = ("load", "duration_s", "sent", "lost")


def read_foreign_log(path: Path) -> list[Trial]:
    """Read a trial log of another tool: CSV with a header, or JSON Lines, distinguished by content.

    Each row has ``load`` (units/s), ``duration`` (s), ``sent`` and ``lost`` (counts); ``intended``,
    ``effective_duration`` (s) and ``delay_p99_s`` may follow. Other columns are ignored.

    Raises
    ------
    RecordError
        Naming the line and the field.
    """
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: cannot read: it is not UTF-8 text"
        raise RecordError(message) from error
    rows = _json_rows(path, text) if text.lstrip().startswith("{") else _csv_rows(path, text)
    trials = [_foreign_trial(row, seq, f"{path}:{line}") for seq, (line, row) in enumerate(rows)]
    if not trials:
        message = f"{path}: there is no trial in it"
        raise RecordError(message)
    return trials


def _json_rows(path: Path, text: str) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            message = f"{path}:{number}: is no JSON object"
            raise RecordError(message)
        rows.append((number, row))
    return rows


def _csv_rows(path: Path, text: str) -> list[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(header, f"{path}:{reader.line_num}")
        rows: list[tuple[int, dict[str, Any]]] = []
        for row in reader:
            while len(row) > len(header) and not row[-1].strip():
                row.pop()
            if len(row) > len(header):
                message = f"{path}:{reader.line_num}: {len(row)} values are under {len(header)} columns"
                raise RecordError(message)
            if row:
                rows.append((reader.line_num, dict(zip(header, row, strict=False))))
    except csv.Error as error:
        message = f"{path}:{reader.line_num}: {error}"
        raise RecordError(message) from error
    return rows


def _check_header(header: list[str], where: str) -> None:
    """Refuse columns that leave open what a trial was."""
    for field, names in _NUMBERS.items():
        found = [name for name in header if name in names]
        if len(found) > 1:
            message = f"{where}: columns {' and '.join(map(repr, found))} both say {field}; leave one"
            raise RecordError(message)


def _foreign_trial(row: dict[str, Any], seq: int, where: str) -> Trial:
    values: dict[str, float] = {}
    for field, names in _NUMBERS.items():
        given = next((row[name] for name in names if row.get(name) not in (None, "")), None)
        if given is not None:
            values[field] = _number(given, field, where)
        elif field in _REQUIRED:
            found = ", ".join(map(str, row)) or "nothing"
            message = f"{where}: {names[0]!r} is missing; a trial has load, duration, sent and lost, this has {found}"
            raise RecordError(message)
    for field in ("sent", "lost", "intended"):
        if field in values and (not values[field].is_integer() or not 0 <= values[field] < 2**53):
            message = f"{where}: {field} is {values[field]:g}; a count is a whole number, 0 or more"
            raise RecordError(message)
    if values.get("effective_duration_s", 1.0) <= 0:
        message = f"{where}: effective_duration_s is {values['effective_duration_s']:g}; it must be above 0"
        raise RecordError(message)
    intended = values.get("intended")
    output = TrialOutput(
        intended=None if intended is None else int(intended),
        sent=int(values["sent"]),
        lost=int(values["lost"]),
        effective_duration_s=values.get("effective_duration_s"),
        delay_p99_s=values.get("delay_p99_s"),
    )
    load, duration_s = values["load"], values["duration_s"]
    trial = trial_of(
        with_intended(output, load, duration_s),
        seq=seq,
        load=load,
        duration_s=duration_s,
        start_s=0.0,
        end_s=0.0,
        invalid=None,
    )
    check_trial(trial, where)
    return trial


def _number(given: object, field: str, where: str) -> float:
    try:
        number = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(given, bool):
        message = f"{where}: {field} is {given!r}; it must be a number"
        raise RecordError(message)
    return number


def is_run(path: Path) -> bool:
    """Whether a file (or directory) is a record of brimful.

    Raises
    ------
    RecordError
        When it cannot be read.
    """
    if path.is_dir():
        return True
    first = read_file(path).partition(b"\n")[0]
    try:
        return bool(json.loads(first).get("kind") == "run")
    except (ValueError, AttributeError, RecursionError):
        return False
