"""Samples in columns, whatever they were read from: what cannot be right is refused, the rest becomes rows."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry.mislabelled import FIXED_ON_S
from brimful.discards.telemetry.rows import (
    BIN_US,
    CODES,
    DELTA,
    FIXED,
    LOCAL_OCTETS_RX,
    LOCAL_OCTETS_TX,
    SECOND_US,
    UNKNOWN_DIRECTION,
    Rows,
    day_of,
    empty_rows,
)

EARLIEST_S = int(datetime.datetime(2009, 1, 1, tzinfo=datetime.UTC).timestamp())
"""M-Lab did not measure before."""
LATEST_S = int(datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC).timestamp())
"""Whatever the clock says, nothing is after: keys of rows have room until 2255."""
_MACHINE = re.compile(r"mlab([1-4])[.-]([a-z]{3}[0-9]{2}t?)(?![a-z0-9])")
_SWITCH = re.compile(r"s0*([0-9]+)[.-]([a-z]{3}[0-9]{2}t?)(?![a-z0-9])")
_SECOND = re.compile(r"-s[0-9]+$")
"""What ends the name of a site that stands for another switch."""
_NAME_LENGTH = 80
MISSING = "are NaN, null or stale"
"""Why samples are left out that say nothing."""
NO_AGE = "say no age of a device, or none of its time"
"""Why samples of how long it was up are left out."""
NOT_TOLD = "(not told)"
"""Stands for the switch in tables that do not have it."""
UNIT_REASONS = [f"timestamps are in {unit}, not in seconds" for unit in ("nanoseconds", "microseconds", "milliseconds")]
"""What is wrong with all times of a source, if it is with one."""


@dataclass(frozen=True)
class Refused:
    """A line that was not taken."""

    source: str
    member: str
    line: int
    reason: str
    text: str


@dataclass
class Decoded:
    """What a number of pieces hold."""

    rows: dict[tuple[str, str, int], Rows] = field(default_factory=dict)
    """By site, machine and day (since 1970)."""
    refused: list[Refused] = field(default_factory=list)
    lines: int = 0
    samples: int = 0
    """That were delivered."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Samples that say nothing, by reason; unlike lines that are refused, nothing is wrong with them."""
    notes: list[str] = field(default_factory=list)
    """What their reader has to know of ports."""
    repeated: int = 0
    """Samples of the first generation that the next file begins with."""
    refused_samples: int = 0
    """Of the lines that are refused, as far as they can be read, and those that a line is refused for."""


@dataclass(frozen=True)
class Columns:
    """Lines as columns; those that could not be read are absent."""

    line: NDArray[np.int64]
    """Place of each among all lines."""
    names: dict[str, tuple[list[str], NDArray[np.int64]]]
    """Of ``metric``, ``hostname`` and ``experiment``: the different ones, and which of them each line has."""
    length: NDArray[np.int64]
    """Samples of each line."""
    samples: dict[str, NDArray[Any]]


def sort_out(
    columns: Columns,
    latest_s: float,
    refused: dict[int, str],
    decoded: Decoded,
    *,
    file_of_line: NDArray[np.intp] | None = None,
) -> None:
    """Refuse what cannot be right; file the rest under site, machine and day.

    Parameters
    ----------
    columns
        Samples with a ``counter`` have the end of their bin for a timestamp, others its start.
    latest_s
        Nothing after this Unix time can be right.
    refused
        Gets the numbers of lines that are refused, with the reason.
    decoded
        Gets the rows.
    file_of_line
        Which of a number of files each line is from, where files may call two metrics the same.
    """
    places, place = _places(columns)
    metric = np.array([CODES.get(name, -1) for name in columns.names["metric"][0]])[columns.names["metric"][1]]
    line_of_sample = np.repeat(np.arange(len(columns.line)), columns.length)
    wrong = [(place == code, known) for code, known in enumerate(places) if isinstance(known, str)]
    decoded.notes += [_second(known[0]) for known in places if not isinstance(known, str) and _SECOND.search(known[0])]
    wrong.append((metric < 0, "has no metric of a switch"))
    for reason, samples in wrong_clocks(columns.samples["timestamp"], latest_s):
        if samples.any():
            wrong.append((np.bincount(line_of_sample[samples], minlength=len(place)) > 0, reason))
    good = _refuse(columns, wrong, refused)
    missing = decoded.left_out[MISSING]
    taken = _counts(columns, line_of_sample, refused, decoded) & good[line_of_sample]
    decoded.refused_samples += int((~taken).sum()) - (decoded.left_out[MISSING] - missing)
    if file_of_line is not None:
        first = np.cumsum(columns.length) - columns.length
        started = np.where(columns.length > 0, np.append(columns.samples["timestamp"], 0)[first], 0)
        metric = _unlabelled(metric, file_of_line * len(places) + place, started)
    chosen = slice(None) if taken.all() else np.flatnonzero(taken)
    line_of_sample = line_of_sample[chosen]
    put(decoded, _rows(columns, metric[line_of_sample], chosen), place[line_of_sample], places)


def _refuse(
    columns: Columns, wrong: Iterable[tuple[NDArray[np.bool_], str]], refused: dict[int, str]
) -> NDArray[np.bool_]:
    """Refuse lines, each for the first reason that holds for it; gives which are good."""
    good = np.ones(len(columns.line), bool)
    for lines, reason in wrong:
        for number in columns.line[lines & good]:
            refused[int(number)] = reason
        good &= ~lines
    return good


def _counts(
    columns: Columns, line_of_sample: NDArray[np.intp], refused: dict[int, str], decoded: Decoded
) -> NDArray[np.bool_]:
    """Give which samples are counts; those of counters all are."""
    if "counter" in columns.samples:
        return np.ones(len(line_of_sample), bool)
    # A line spans an hour: one value that is none does not make the others wrong.
    value = columns.samples["value"]
    missing = np.isnan(value)
    if missing.any():
        decoded.left_out[MISSING] += int(missing.sum())
    counts: NDArray[np.bool_] = (value >= 0) & np.isfinite(value)
    for number in columns.line[np.unique(line_of_sample[~counts & ~missing])]:
        refused.setdefault(int(number), "a value is not a count: this sample is left out")
    return counts


def _rows(columns: Columns, metric: NDArray[Any], chosen: slice | NDArray[np.intp]) -> NDArray[Any]:
    rows = empty_rows(len(metric))
    rows["metric"] = metric
    at_us = columns.samples["timestamp"][chosen] * SECOND_US
    if "counter" in columns.samples:
        rows["kind"] = DELTA
        rows["end_us"] = at_us
        rows["delivered"] = columns.samples["value"][chosen]
        rows["counter"] = columns.samples["counter"][chosen]
    else:
        rows["kind"] = FIXED
        rows["start_us"] = at_us
        rows["end_us"] = at_us + BIN_US
        rows["value"] = columns.samples["value"][chosen]
    return rows


def wrong_clocks(timestamp: NDArray[Any], latest_s: float) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    """Give what can be wrong with times in Unix seconds, and which have it."""
    for reason, least in zip(UNIT_REASONS, (10**17, 10**14, 10**11), strict=True):
        yield reason, timestamp >= least
    yield "a timestamp is in the future", timestamp > min(latest_s, LATEST_S)
    yield "a timestamp is before 2009", timestamp < EARLIEST_S


def _places(columns: Columns) -> tuple[list[tuple[str, str] | str], NDArray[np.int64]]:
    """Give the different pairs of site and machine, or what is wrong with them; and which of them each line has."""
    hosts, host = columns.names["hostname"]
    switches, switch = columns.names["experiment"]
    pairs, place = np.unique(host * len(switches) + switch, return_inverse=True)
    return [_place(hosts[pair // len(switches)], switches[pair % len(switches)]) for pair in pairs], place


def _place(host: str, switch: str) -> tuple[str, str] | str:
    """Give site and machine, or what is wrong.

    All machines of a site poll one switch, so what they count of another one is kept as a site of its own.

    >>> _place("mlab2-dfw07.mlab-oti.measurement-lab.org", "s1-dfw07.measurement-lab.org")
    ('dfw07', 'mlab2')
    >>> _place("mlab2-dfw07.mlab-oti.measurement-lab.org", "s2-dfw07.measurement-lab.org")
    ('dfw07-s2', 'mlab2')
    """
    machine = _MACHINE.match(host)
    if machine is None:
        return f"hostname {host[:_NAME_LENGTH]!r} is no machine of a site"
    if switch == NOT_TOLD:
        return machine[2], f"mlab{machine[1]}"
    site = _SWITCH.match(switch)
    if site is None:
        return f"experiment {switch[:_NAME_LENGTH]!r} is no switch of a site"
    if site[2] != machine[2]:
        return f"is of another switch: {switch[:_NAME_LENGTH]} is not that of {host[:_NAME_LENGTH]}"
    return machine[2] if site[1] == "1" else f"{machine[2]}-s{site[1]}", f"mlab{machine[1]}"


def _second(site: str) -> str:
    """Say that a site has more than one switch."""
    name, _, switch = site.partition("-")
    return f"{name}: {switch}-{name} is another switch than s1-{name}: what it counted is in the store as site {site}"


def _unlabelled(metric: NDArray[np.int64], file: NDArray[np.int64], started_s: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take away the direction of local octets where a file calls both the same.

    Before the cut-off a file that has one direction alone may mean either.
    """
    received = np.isin(file, file[metric == LOCAL_OCTETS_RX])
    transmitted = metric == LOCAL_OCTETS_TX
    twice = np.bincount(file, transmitted)[file] > 1
    return np.where(transmitted & ~received & (twice | (started_s < FIXED_ON_S)), UNKNOWN_DIRECTION, metric)


def put(decoded: Decoded, rows: Rows, place: NDArray[np.int64], places: Sequence[tuple[str, str] | str]) -> None:
    """File rows under site, machine and day; ``place`` says which of the places each is of."""
    if not len(rows):
        return
    day = day_of(rows["end_us"])
    days = int(day.max()) + 1
    key = place * days + day
    # Nearly always all of one place and a day or two.
    keys = [int(key[0])] if (key == key[0]).all() else [int(one) for one in np.unique(key)]
    for one in keys:
        known = places[one // days]
        if isinstance(known, tuple):
            decoded.rows[*known, one % days] = rows if len(keys) == 1 else rows[key == one]
