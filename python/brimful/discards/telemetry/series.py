"""Series of counters under labels, as Prometheus has them and files of agents are turned into: whose each is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import msgspec
import numpy as np
from numpy.typing import NDArray

from brimful.discards.identity import PORT_LABELS, device_in, is_name
from brimful.discards.schema import Flag
from brimful.discards.telemetry.columns import MISSING, UNIT_REASONS, Decoded, Refused, put, wrong_clocks
from brimful.discards.telemetry.renames import follow
from brimful.discards.telemetry.rows import ABSOLUTE, CODES, FIXED, UPTIME, Rows, empty_rows
from brimful.discards.telemetry.seen import Known, Seen, Series, Value, place_of
from brimful.discards.telemetry.source import Source
from brimful.discards.times import IN_PARTS, unix_parts
from brimful.discards.values import NOTHING

_OF = r"(?:(?:snmp|interface|ifTable|ifXTable)_|IF-MIB::)?"
"""What some agents put before the name of a counter."""
COUNTER = re.compile(_OF + r"if(HC)?(In|Out)(Octets|UcastPkts|MulticastPkts|BroadcastPkts|Discards|Errors)(?:_total)?")
PAUSES = re.compile(_OF + r"dot3(HC)?(In|Out)(Pause)Frames(?:_total)?")
_TYPES = {"Octets": "octets", "UcastPkts": "unicast", "MulticastPkts": "multicast", "BroadcastPkts": "broadcast"}
_UPTIMES = ("sysUpTime", "hrSystemUptime")
"""In hundredths of a second."""
_DIGITS = 20
"""This many may not fit into 64 bits."""
_NO_COUNTER = "is no counter of an interface; save ifHCOutOctets and its like themselves, not their rate"


def read_series(every: list[Series], source: Source) -> Iterator[Decoded]:
    """Read series of counters, whatever they were written by, each as a line; add them to those that are seen."""
    seen = source.seen
    decoded = Decoded(lines=len(every), samples=sum(len(one.values) for one in every))

    def refuse(number: int, series: Series, problem: str) -> None:
        text = msgspec.json.encode(series.metric).decode()[:1000]
        decoded.refused.append(Refused(str(source.path), "", number, problem, text))

    known: list[Known] = []
    ages: list[tuple[int, Series]] = []
    for number, series in enumerate(every, 1):
        if max((at for at, _ in series.values), default=0) >= IN_PARTS:
            series.values = _in_seconds(series.values)
        if series.metric.get("__name__") in _UPTIMES:
            ages.append((number, series))
            continue
        found = _identify(number, series)
        if isinstance(found, str):
            refuse(number, series, found)
        else:
            known.append(found)
    decoded.notes += _follow(known, seen)
    for one, difference in _twins(known):
        refuse(one.number, one.series, difference)
        known.remove(one)
    for one in list(known):
        other = seen.twin(one)
        if other is not None:
            refuse(one.number, one.series, _told(one.place, other, one.series.metric))
            known.remove(one)
    known, repeated = _widest(known)
    decoded.repeated += sum(len(one.series.values) for one in repeated)
    for one in sorted(known, key=lambda one: one.first_s):
        part = Decoded()
        rows, problem = _rows(one, source.reading.latest_s, part, is_later=seen.follows(one))
        seen.add(one)
        if problem is not None:
            refuse(one.number, one.series, problem)
        put(part, rows, np.zeros(len(rows), np.int64), [one.place])
        yield part
    places = sorted({one.place for one in known})
    for number, series in ages:
        device = device_in(series.metric)
        part = Decoded()
        of_device = [place for place in places if place[0] == device]
        if not of_device:
            refuse(number, series, "is the age of a device without counters here; save both in one answer")
        for place in of_device:
            rows = _ages(series)
            put(part, rows, np.zeros(len(rows), np.int64), [place])
        yield part
    yield decoded


def _in_seconds(values: list[tuple[float, Value]]) -> list[tuple[float, Value]]:
    """Give Unix times in seconds, whichever unit they are in by their size."""
    parts = unix_parts(np.array([at for at, _ in values], np.float64))
    return [(at / of_second, value) for (at, value), of_second in zip(values, parts.tolist(), strict=True)]


def _identify(number: int, series: Series) -> Known | str:
    """Say of which port and metric a series is, or what is wrong with it."""
    name = series.metric.get("__name__", "")
    match = COUNTER.fullmatch(name) or PAUSES.fullmatch(name)
    if match is None:
        return _NO_COUNTER
    device, port = place_of(series.metric)
    if not (is_name(device) and is_name(port)):
        return f"has no label instance, or none of {', '.join(PORT_LABELS)}"
    if not series.values:
        return "has no samples"
    scope = series.metric.get("scope", "uplink")
    kind = _TYPES.get(match[3], match[3].lower())
    metric = CODES.get(f"switch.{kind}.{scope}.{'rx' if match[2] == 'In' else 'tx'}")
    if metric is None:
        return "scope is neither uplink nor local"
    times = [at for at, _ in series.values]
    return Known(number, series, (device, port), metric, Flag.WIDE if match[1] else Flag.NARROW, min(times), max(times))


def _follow(known: list[Known], seen: Seen) -> list[str]:
    """Put ports that were renamed under the name that they have in the store; give what to report of them."""
    devices = {one.place[0] for one in known}
    before = [span for device in devices for span in seen.names.get(device, {}).values()]
    ports, notes = follow([one.span for one in known], before)
    for one in known:
        device, name = one.place
        one.place = (device, ports.get((device, one.series.metric.get("ifIndex", ""), name), name))
    return notes


def _twins(known: list[Known]) -> list[tuple[Known, str]]:
    """Find series that would be mixed: of one port and metric, over the same time, with other labels.

    A port whose index or description changed has one series after the other: that is no twin.
    """
    groups: dict[tuple[tuple[str, str], int, Flag], list[Known]] = {}
    for one in known:
        groups.setdefault((one.place, one.metric, one.width), []).append(one)
    found: dict[int, tuple[Known, str]] = {}
    for group in groups.values():
        group.sort(key=lambda one: one.first_s)
        for index, first in enumerate(group):
            for second in group[index + 1 :]:
                if second.first_s > first.last_s:
                    break
                for one in (first, second):
                    found.setdefault(one.number, (one, _told(one.place, first.series.metric, second.series.metric)))
    return list(found.values())


def _told(place: tuple[str, str], first: dict[str, str], second: dict[str, str]) -> str:
    """Say how the labels of two series of one port differ."""
    labels = first.keys() | second.keys()
    of_both = []
    for one in (first, second):
        differing = sorted(label for label in labels if first.get(label) != second.get(label))
        of_both.append("{" + ", ".join(f'{label}="{one.get(label, "")}"' for label in differing) + "}")
    return (
        f"is one of two series of {place[0]} {place[1]}, {of_both[0]} and {of_both[1]}: "
        "save one of them, or give each port a name of its own"
    )[:400]


def _widest(known: list[Known]) -> tuple[list[Known], list[Known]]:
    """Leave out counters of 32 bits whose twins of 64 bits are there, too."""
    wide = {(one.place, one.metric) for one in known if one.width is Flag.WIDE}
    doubled = [one for one in known if one.width is Flag.NARROW and (one.place, one.metric) in wide]
    return [one for one in known if one not in doubled], doubled


def _rows(one: Known, latest_s: float, decoded: Decoded, *, is_later: bool) -> tuple[Rows, str | None]:
    """Make rows of a series, and say what is wrong with it; what is no sample is left out and counted."""
    seconds = np.array([at for at, _ in one.series.values])
    counters = [_counter(text) for _, text in one.series.values]
    taken = np.array([counter is not None and counter >= 0 for counter in counters], bool)
    missing = sum(counter is None for counter in counters)
    if missing:
        decoded.left_out[MISSING] += missing
    problem = "a value is no counter: left out" if (~taken).sum() > missing else None
    for reason, wrong in wrong_clocks(seconds, latest_s):
        if wrong.all() or (wrong.any() and reason in UNIT_REASONS):
            return empty_rows(0), reason
        if wrong.any():
            problem = f"{reason}: left out"
            taken &= ~wrong
    places = np.flatnonzero(taken)
    rows = empty_rows(len(places))
    rows["end_us"] = np.round(seconds[places] * 1e6)
    rows["counter"] = np.array([counters[place] for place in places], np.uint64)
    rows["metric"] = one.metric
    rows["kind"] = ABSOLUTE
    rows["flags"] = int(one.width)
    if is_later and len(rows):
        # The counter of a port that got another index is another one.
        rows["flags"][np.argmin(rows["end_us"])] |= int(Flag.REPLACED)
    return rows, problem


def _ages(series: Series) -> Rows:
    """Make rows of how long a device was up."""
    times: NDArray[np.float64] = np.array([at for at, _ in series.values], np.float64)
    ages = np.array([_counter(text) for _, text in series.values], object)
    taken = np.array([age is not None and age >= 0 for age in ages], bool)
    rows = empty_rows(int(taken.sum()))
    rows["end_us"] = np.round(times[taken] * 1e6)
    rows["start_us"] = rows["end_us"] - 1
    rows["value"] = ages[taken].astype(np.float64) / 100
    rows["metric"], rows["kind"] = UPTIME, FIXED
    return rows


def _counter(value: Value) -> int | None:
    """Read a counter, which may be written like ``1.2345e+10``; nothing of what says nothing, -1 of what is none.

    >>> _counter("1.2345e+10"), _counter(7.0), _counter("NaN"), _counter("1.5"), _counter("x")
    (12345000000, 7, None, -1, -1)
    """
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < _DIGITS:
        return int(value)
    text = str(value)
    if text.strip().lower() in NOTHING:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return -1
    if number.is_nan():
        return None
    # Means and rates of counters are none.
    return int(number) if 0 <= number < 2**64 and number == number.to_integral_value() else -1
