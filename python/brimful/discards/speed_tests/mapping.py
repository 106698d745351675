"""Which columns of a table give what of a test: the built-in tables, and what people write for theirs."""

from __future__ import annotations

import tomllib
import zoneinfo
from pathlib import Path
from typing import Any, Literal

import msgspec

from brimful.errors import UsageError

Kind = Literal["text", "count", "time", "seconds", "bytes", "rate"]

KINDS: dict[str, Kind] = {
    "test_id": "text",
    "protocol": "text",
    "direction": "text",
    "site": "text",
    "machine": "text",
    "server_name": "text",
    "start": "time",
    "end": "time",
    "duration": "seconds",
    "logged": "time",
    "client": "text",
    "client_port": "count",
    "server": "text",
    "server_port": "count",
    "bytes": "bytes",
    "sending": "seconds",
    "rate": "rate",
    "retransmitted": "count",
    "sent": "count",
    "retransmission_unit": "text",
    "congestion_control": "text",
}
"""What a mapping can name, and what it is."""

UNITS: dict[Kind, dict[str, float]] = {
    "time": {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3},
    "seconds": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "bytes": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "rate": {
        "bit/s": 1.0,
        "kbit/s": 1e3,
        "Mbit/s": 1e6,
        "Gbit/s": 1e9,
        "B/s": 8.0,
        "kB/s": 8e3,
        "MB/s": 8e6,
    },
    "text": {},
    "count": {},
}
"""Units that values may be in; microseconds, seconds, bytes and bit/s for one of each."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a value comes from: a column, the sum of several, or the mapping itself."""

    column: str | None = None
    columns: tuple[str, ...] = ()
    value: str | int | float | None = None
    unit: str | None = None
    format: str | None = None
    """Of a time in words, as of strptime."""
    zone: str | None = None
    """Of a time that has none: ``Europe/Berlin``. UTC where it is not given."""
    values: dict[str, str] | None = None
    """What the words of a column stand for."""
    optional: bool = False
    """Null where a table has no such column."""

    @property
    def names(self) -> tuple[str, ...]:
        """Give the columns that it needs."""
        return (self.column,) if self.column is not None else self.columns


Mapping = dict[str, Source]
"""What of a test comes from where; one for each test of a row."""


def read_mappings(path: Path) -> tuple[Mapping, ...]:
    """Read the mappings in a TOML file: what all tests share, then a table ``[[test]]`` for each test of a row.

    Raises
    ------
    UsageError
        When the file cannot be read or asks for something that there is not.
    """
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        message = f"{path}: cannot read: {error.strerror}"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: is not TOML: {error}"
        raise UsageError(message) from error
    tests = content.pop("test", [{}])
    if not isinstance(tests, list) or not tests or not all(isinstance(test, dict) for test in tests):
        message = f"{path}: test: write [[test]] and the columns of one test below it"
        raise UsageError(message)
    return tuple(_mapping({**content, **test}, str(path)) for test in tests)


def _mapping(content: dict[str, Any], place: str) -> Mapping:
    mapping = {}
    for name, given in content.items():
        if name not in KINDS:
            message = f"{place}: {name}: there is no such part of a test; there are: {', '.join(KINDS)}"
            raise UsageError(message)
        try:
            source = msgspec.convert({"column": given} if isinstance(given, str) else given, Source)
        except msgspec.ValidationError as error:
            message = f"{place}: {name}: {error}; write a column, or {{column = ...}}, or {{value = ...}}"
            raise UsageError(message) from error
        mapping[name] = source
        _check(name, source, place)
    for name, instead in (("start", ()), ("protocol", ()), ("direction", ()), ("end", ("duration", "sending"))):
        if not {name, *instead} & set(mapping):
            message = f"{place}: {' or '.join((name, *instead))} is missing; say which column tells it"
            raise UsageError(message)
    return mapping


def _check(name: str, source: Source, place: str) -> None:
    if sum((source.column is not None, bool(source.columns), source.value is not None)) != 1:
        message = f"{place}: {name}: give one of column, columns and value"
        raise UsageError(message)
    if source.columns and KINDS[name] in ("text", "time"):
        message = f"{place}: {name}: cannot be the sum of columns; name one"
        raise UsageError(message)
    units = UNITS[KINDS[name]]
    if source.unit is not None and source.unit not in units:
        known = f"one of {', '.join(units)}" if units else "left out here"
        message = f"{place}: {name}: unit {source.unit!r} must be {known}"
        raise UsageError(message)
    if (source.format is not None or source.zone is not None) and (KINDS[name] != "time" or source.unit is not None):
        message = f"{place}: {name}: format and zone are for times in words"
        raise UsageError(message)
    if source.zone is not None and source.zone not in zoneinfo.available_timezones():
        message = f"{place}: {name}: there is no time zone {source.zone!r}; write it like Europe/Berlin"
        raise UsageError(message)


_SNAPSHOT = "web100_log_entry.snap"
_CONNECTION = "web100_log_entry.connection_spec"
_TEST = "connection_spec"
"""What M-Lab's loader adds, beside what the kernel logged."""

WEB100: Mapping = {
    "protocol": Source(value="web100"),
    "congestion_control": Source(value="reno"),
    "test_id": Source(column="test_id"),
    "logged": Source(column="log_time", optional=True),
    "server_name": Source(column=f"{_TEST}.server_hostname", optional=True),
    "client": Source(column=f"{_CONNECTION}.remote_ip", optional=True),
    "client_port": Source(column=f"{_CONNECTION}.remote_port", optional=True),
    "server": Source(column=f"{_CONNECTION}.local_ip", optional=True),
    "server_port": Source(column=f"{_CONNECTION}.local_port", optional=True),
    "direction": Source(
        column=f"{_TEST}.data_direction",
        values={"1": "download", "0": "upload"},
    ),
    "start": Source(column=f"{_SNAPSHOT}.StartTimeStamp", unit="us"),
    "bytes": Source(column=f"{_SNAPSHOT}.HCThruOctetsAcked"),
    "sending": Source(columns=tuple(f"{_SNAPSHOT}.SndLimTime{part}" for part in ("Rwin", "Cwnd", "Snd")), unit="us"),
    "retransmitted": Source(column=f"{_SNAPSHOT}.SegsRetrans", optional=True),
    "sent": Source(column=f"{_SNAPSHOT}.SegsOut", optional=True),
}
"""NDT of the web100 years: the columns that the report of 2018 reads.

A test lasts as long as it was sending: no table says when it ended.
"""

UNIFIED: Mapping = {
    "protocol": Source(column="a.CongestionControl", values={"reno": "web100", "cubic": "ndt5", "bbr": "ndt7"}),
    "congestion_control": Source(column="a.CongestionControl"),
    "test_id": Source(column="a.UUID"),
    "start": Source(column="a.TestTime"),
    "duration": Source(value=10, unit="s"),
    "direction": Source(value="download"),
    "rate": Source(column="a.MeanThroughputMbps", unit="Mbit/s"),
    "machine": Source(column="server.Machine"),
    "site": Source(column="server.Site"),
    "client": Source(column="client.IP", optional=True),
    "client_port": Source(column="client.Port", optional=True),
    "server": Source(column="server.IP", optional=True),
    "server_port": Source(column="server.Port", optional=True),
}
"""M-Lab's unified view of downloads: it has neither the end of a test, taken as 10 s after its start, nor bytes."""

BUILT_IN = {"the web100 table": WEB100, "the unified view of downloads": UNIFIED}


def find_column(name: str, columns: list[str]) -> str | None:
    """Find a column by its full name or by the last parts of it, with dots or underscores.

    >>> find_column("web100_log_entry.snap.SegsOut", ["x", "web100_log_entry_snap_SegsOut"])
    'web100_log_entry_snap_SegsOut'
    >>> find_column("web100_log_entry.connection_spec.data_direction", ["connection_spec.data_direction"])
    'connection_spec.data_direction'
    """
    parts = name.split(".")
    candidates = [joint.join(parts[first:]) for first in range(len(parts)) for joint in (".", "_")]
    found = next((candidate for candidate in candidates if candidate in columns), None)
    if found is not None:
        return found
    # Some databases write all names in capitals.
    lowered: dict[str, str] = {}
    for column in columns:
        lowered.setdefault(column.lower(), column)
    found = next((lowered[candidate.lower()] for candidate in candidates if candidate.lower() in lowered), None)
    if found is not None:
        return found
    # A table within another has the names of that before its own.
    endings = (f".{name}".lower(), f"_{name.replace('.', '_')}".lower())
    return next((column for low, column in lowered.items() if low.endswith(endings)), None)


def choose_mappings(columns: list[str]) -> tuple[Mapping, ...] | None:
    """Give the built-in mapping that a table has the columns of."""
    for mapping in BUILT_IN.values():
        if not missing_columns(mapping, columns):
            return (mapping,)
    return None


def missing_columns(mapping: Mapping, columns: list[str]) -> list[str]:
    """Give the columns that a mapping needs and a table does not have."""
    needed = [name for source in mapping.values() if not source.optional for name in source.names]
    return [name for name in needed if find_column(name, columns) is None]


def needed_columns(mappings: tuple[Mapping, ...], columns: list[str]) -> set[str]:
    """Give the columns of a table that mappings read."""
    names = (name for mapping in mappings for source in mapping.values() for name in source.names)
    return {column for name in names if (column := find_column(name, columns)) is not None}
