"""Rows of M-Lab's tables of switch telemetry as they are: their samples are lists within a row.

``base_tables.switch*`` of 2018 (a metric of a file a row), ``utilization.switch`` of today (a poll of a machine a row,
all metrics in ``raw``), as exports in JSON or Parquet have them, whatever the case of names.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from brimful.discards.archives import WholeLines
from brimful.discards.compression import uncompressed
from brimful.discards.json_texts import first_object
from brimful.discards.telemetry.columns import NOT_TOLD, Columns, Decoded, Refused, sort_out
from brimful.discards.telemetry.source import Source
from brimful.discards.texts import as_utf8
from brimful.discards.times import parse_time

_BATCH_LINES = 20_000
_BIN_S = 10
_ENDS_SINCE = "2020-09-08"
"""From this parse time on, M-Lab's loader gives the end of a bin for its time, whatever the generation."""
_TYPES = ("Octets", "Unicast", "Broadcast", "Errors", "Discards")

Row = Mapping[str, Any]
Sample = tuple[int, float | None, int | None]
"""Time, value and counter."""


def is_nested(names: Sequence[str]) -> bool:
    """Recognise a table whose rows hold lists of samples by the names of its columns.

    >>> is_nested(["metric", "hostname", "sample"]), is_nested(["date", "raw"]), is_nested(["hostname", "value"])
    (True, True, False)
    """
    found = {name.lower().partition(".")[0] for name in names}
    return "sample" in found or "raw" in found or {"a", "parser"} <= found


def recognises(path: Path) -> bool:
    """Say whether a file holds rows in JSON, one a line or all in a list."""
    with path.open("rb") as file:
        first = first_object(uncompressed(file))
    return first is not None and is_nested(list(first))


def recognises_flat(path: Path) -> bool:
    """Say whether a file of JSON holds rows of a generic or a flat table, a sample or poll each."""
    with path.open("rb") as file:
        names = {name.lower() for name in first_object(uncompressed(file)) or {}}
    return "timestamp" in names and bool(names & {"device", "hostname"})


def read_rows(source: Source) -> Iterator[Decoded]:
    """Read rows in JSON.

    Raises
    ------
    DamagedError
        When the file is damaged; what was given before is good.
    """
    path, latest_s = source.path, source.reading.latest_s
    with path.open("rb") as file:
        lines = WholeLines(uncompressed(file))
        content = lines.read()
    text = as_utf8(content)
    listed = text.lstrip().startswith(b"[")
    whole = msgspec.json.decode(text) if listed else text.splitlines()
    for begin in range(0, len(whole), _BATCH_LINES):
        part = whole[begin : begin + _BATCH_LINES]
        decoded = Decoded(lines=len(part))
        problems: dict[int, str] = {}
        rows: list[Row | None] = []
        for number, line in enumerate(part):
            try:
                row = line if listed else msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                row = None
            rows.append(row if isinstance(row, dict) else None)
            if rows[-1] is None:
                problems[number] = "is no row of a table"
        take_rows(rows, latest_s, problems, decoded)
        decoded.refused += [
            Refused(str(path), "", begin + number + 1, reason, str(part[number])[:1000])
            for number, reason in problems.items()
        ]
        yield decoded
    if lines.damage is not None:
        raise lines.damage


def take_rows(rows: Sequence[Row | None], latest_s: float, problems: dict[int, str], decoded: Decoded) -> None:
    """File the samples of rows; what is wrong with one goes to ``problems``, by its place."""
    series: dict[bool, list[tuple[int, str, str, str, list[Sample]]]] = {True: [], False: []}
    decoded.samples = 0
    for number, row in enumerate(rows):
        if row is None:
            continue
        try:
            for metric, host, switch, samples in _series_of(_nested(row)):
                decoded.samples += len(samples)
                counted = [one for one in samples if one[2]]
                for has_counter, chosen in ((True, counted), (False, [one for one in samples if not one[2]])):
                    if chosen:
                        series[has_counter].append((number, metric, host, switch, chosen))
        except (ValueError, TypeError, AttributeError, OverflowError, ArithmeticError) as error:
            problems[number] = f"has another form than M-Lab's rows: {str(error)[:100]}"
    for has_counter, found in series.items():
        if found:
            _take(found, latest_s, problems, decoded, has_counter=has_counter)


def _take(
    found: list[tuple[int, str, str, str, list[Sample]]],
    latest_s: float,
    problems: dict[int, str],
    decoded: Decoded,
    *,
    has_counter: bool,
) -> None:
    names = {}
    for place, name in ((1, "metric"), (2, "hostname"), (3, "experiment")):
        codes: dict[str, int] = {}
        of_line = [codes.setdefault(str(line[place]), len(codes)) for line in found]
        names[name] = (list(codes), np.array(of_line, np.int64))
    every = [sample for *_, samples in found for sample in samples]
    values = [np.nan if value is None else value for _, value, _ in every]
    timestamp = np.array([at for at, _, _ in every], np.int64)
    samples: dict[str, Any] = {"timestamp": timestamp, "value": np.array(values, np.float64)}
    if has_counter:
        whole = [max(0, int(value)) if value is not None else 0 for _, value, _ in every]
        samples["value"] = np.array([value % 2**64 for value in whole], np.uint64)
        samples["counter"] = np.array([counter for _, _, counter in every], np.uint64)
    columns = Columns(
        line=np.array([line[0] for line in found], np.int64),
        names=names,
        length=np.array([len(line[4]) for line in found], np.int64),
        samples=samples,
    )
    files = np.array([line[0] for line in found], np.intp)
    sort_out(columns, latest_s, problems, decoded, file_of_line=files if has_counter else None)


def _nested(row: Row) -> Row:
    """Give a row by lower-case names; names with dots are parts of others."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        *outer, last = name.lower().split(".")
        into = out
        for part in outer:
            into = into.setdefault(part, {})
        into[last] = _nested(value) if isinstance(value, dict) else value
    return out


def _series_of(row: Row) -> Iterator[tuple[str, str, str, list[Sample]]]:
    raw = row.get("raw")
    if raw:
        listed = raw.get("metrics") or raw.get("metric") or []
        for line in [raw] if isinstance(listed, str) else listed:
            yield _line(_nested(line), ends=True)
    elif row.get("sample") is not None:
        yield _line(row, ends=_is_later(row.get("parse_time")))
    elif row.get("a"):
        yield from _derived(row["a"])
    else:
        message = "it holds no samples"
        raise ValueError(message)


def _is_later(parse_time_: object) -> bool:
    if isinstance(parse_time_, datetime.datetime):
        return parse_time_.isoformat() >= _ENDS_SINCE
    return isinstance(parse_time_, str) and parse_time_ >= _ENDS_SINCE


def _line(line: Row, *, ends: bool) -> tuple[str, str, str, list[Sample]]:
    samples = []
    for one in line["sample"]:
        sample = _nested(one)
        counter = _whole(sample.get("counter")) or None
        at = _seconds(sample["timestamp"])
        # Without a counter, the time is that of the start of a bin.
        samples.append((at - _BIN_S if ends and not counter else at, _number(sample.get("value")), counter))
    return line["metric"], line["hostname"], line.get("experiment") or NOT_TOLD, samples


def _derived(row: Row) -> Iterator[tuple[str, str, str, list[Sample]]]:
    """Read the columns that M-Lab derives: a difference and a counter of each metric."""
    host = f"{row['machine']}-{row['site']}"
    end = _seconds(row["collectiontime"])
    for kind in _TYPES:
        for scope in ("Uplink", "Local"):
            for direction in ("Rx", "Tx"):
                name = f"switch{kind}{scope}{direction}".lower()
                value = _number(row.get(name))
                if value is None:
                    continue
                counter = _whole(row.get(f"{name}counter")) or None
                metric = f"switch.{kind}.{scope}.{direction}".lower()
                yield metric, host, NOT_TOLD, [(end if counter else end - _BIN_S, value, counter)]


def _seconds(value: object) -> int:
    if isinstance(value, datetime.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return int(zoned.timestamp())
    if isinstance(value, str):
        try:
            return int(float(value))
        except ValueError:
            return parse_time(value) // 1_000_000
    return int(value)  # type: ignore[call-overload, no-any-return]


def _whole(value: object) -> int:
    if value is None:
        return 0
    whole = int(Decimal(str(value)))
    if not 0 <= whole < 2**64:
        message = f"counter {whole} has more than 64 bits"
        raise ValueError(message)
    return whole


def _number(value: object) -> float | None:
    # A whole number stays one: a difference across a restart has more digits than a float.
    if value is None:
        return None
    number = Decimal(str(value))
    if number.is_nan():
        return None
    return int(number) if number == number.to_integral_value() else float(number)
