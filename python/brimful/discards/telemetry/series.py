"""Series of counters under labels, as Prometheus has them and files of agents are turned into: whose each is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from brimful.discards.identity import device_in, is_name
from brimful.discards.schema import Flag
from brimful.discards.telemetry import clocks
from brimful.discards.telemetry.again import leave_out_stored, may_be_of_two, rank_of
from brimful.discards.telemetry.cells import are_fractions, are_rounded
from brimful.discards.telemetry.columns import MISSING, NO_AGE, UNIT_REASONS, Decoded, Refused, put, wrong_clocks
from brimful.discards.telemetry.ports import FEWEST_PAIRS, MOST_PAIRS
from brimful.discards.telemetry.renames import follow
from brimful.discards.telemetry.replicas import as_one, differing, told
from brimful.discards.telemetry.rows import ABSOLUTE, CODES, FIXED, UPTIME, Rows, empty_rows
from brimful.discards.telemetry.seen import Known, Seen, Series, Value, counter_of, plain_counters
from brimful.discards.telemetry.source import Settled, Source
from brimful.discards.telemetry.vocabularies import ALL_KINDS, meaning_of, name_in, place_of
from brimful.discards.times import IN_PARTS, unix_parts

_UPTIMES = ("sysUpTime", "hrSystemUptime", "node_boot_time_seconds")
"""Hundredths of a second since the start; the last, since 1970 until it."""
_LEAF = re.compile(r"(?:^|[_/])(?:in|out)[-_](?:octets|(?:unicast[-_])?pkts|discards)$")
_NO_PATH = (
    "does not say by its name or a label path whether it counts for a port, a subinterface or a queue: save path, too"
)
_NO_COUNTER = "is no counter of an interface; save ifHCOutOctets and its like themselves, not their rate"
_OF_DRIVER = "is of ethtool, whose names have another meaning with each driver: save node_network_transmit_drop_total"


def read_series(every: list[Series], source: Source) -> Iterator[Decoded | Settled]:
    """Read series of counters, whatever they were written by, each as a line; add them to those that are seen."""
    seen = source.seen
    decoded = Decoded(lines=len(every), samples=sum(len(one.values) for one in every))

    def refuse(number: int, series: Series, problem: str, samples: int | None = None) -> None:
        text = msgspec.json.encode(series.metric).decode()[:1000]
        decoded.refused.append(Refused(str(source.path), "", number, problem, text))
        decoded.refused_samples += len(series.values) if samples is None else samples

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
    _leave_out_twice(known, decoded)
    known = _once(_best(known, decoded), decoded, refuse)
    again = [(one, seen.over_the_time_of(one)) for one in sorted(known, key=lambda one: one.place)]
    again = [(one, others) for one, others in again if may_be_of_two(one, others)]
    if again:
        yield Settled()
    for one, others in again:
        problem = leave_out_stored(one, others, source, decoded)
        if problem is not None:
            refuse(one.number, one.series, problem)
            known.remove(one)
    decoded.notes += _remarks(known)
    for one in sorted(known, key=lambda one: one.first_s):
        part = Decoded()
        rows, problem = _rows(one, source.reading.latest_s, part, is_later=seen.follows(one))
        seen.add(one)
        if problem is not None:
            refuse(one.number, one.series, problem, len(one.series.values) - len(rows) - part.left_out.total())
        put(part, rows, np.zeros(len(rows), np.int64), [one.place])
        yield part
    places = sorted({one.place for one in known})
    for number, series in _of_one_kind(ages, decoded):
        device = device_in(series.metric)
        part = Decoded()
        of_device = [place for place in places if place[0] == device]
        if not of_device:
            refuse(number, series, "is the age of a device without counters here; save both in one answer")
        rows = _ages(series, source.reading.latest_s)
        if of_device and len(rows) < len(series.values):
            part.left_out[NO_AGE] += len(series.values) - len(rows)
        for place in of_device:
            put(part, rows, np.zeros(len(rows), np.int64), [place])
        yield part
    yield decoded


def _in_seconds(values: list[tuple[float, Value]]) -> list[tuple[float, Value]]:
    """Give Unix times in seconds, whichever unit they are in by their size."""
    parts = unix_parts(np.array([at for at, _ in values], np.float64))
    return [(at / of_second, value) for (at, value), of_second in zip(values, parts.tolist(), strict=True)]


def _leave_out_twice(known: list[Known], decoded: Decoded) -> None:
    """Leave out what was sampled in times that a device has twice, as the clock of its poller was set back."""
    spans: dict[str, list[clocks.Span]] = {}
    for one in known:
        times = one.times
        if (times[1:] < times[:-1]).any():
            counters = [counter_of(value) for _, value in one.series.values]
            numbers = np.array([np.nan if number in {None, -1} else number for number in counters], np.float64)
            spans.setdefault(one.place[0], []).extend(clocks.times_twice(times, numbers))
    for one in known:
        found = spans.get(one.place[0])
        if found:
            twice = clocks.inside_any(one.times, found)
            decoded.left_out[clocks.SET_BACK] += int(twice.sum())
            one.set_at = one.times[clocks.firsts_behind(one.times, found)]
            one.series.values = [value for value, left in zip(one.series.values, twice, strict=True) if not left]


def _identify(number: int, series: Series) -> Known | str:
    """Say of which port and metric a series is, or what is wrong with it."""
    labels = series.metric
    labels["__name__"] = name_in(labels)
    meaning = meaning_of(labels["__name__"])
    if meaning is None:
        if "ethtool_" in labels["__name__"]:
            return _OF_DRIVER
        return _NO_PATH if _LEAF.search(labels["__name__"]) else _NO_COUNTER
    device, port = place_of(labels)
    for what, name, names in (
        ("device", device, meaning.vocabulary.devices),
        ("port", port, meaning.vocabulary.ports),
    ):
        if not is_name(name):
            return f"has no label that names its {what} in short: none of {', '.join(names)}"
    if not series.values:
        return "has no samples"
    times = np.array([at for at, _ in series.values])
    if not (times[1:] > times[:-1]).all() and _is_of_two(series.values):
        return "has two numbers at one time, time after time: these are two ports; save what tells them apart"
    metric = CODES.get(f"switch.{meaning.kind}.{labels.get('scope', 'uplink')}.{meaning.direction}")
    if metric is None:
        return "scope is neither uplink nor local"
    first_s, last_s = float(times.min()), float(times.max())
    return Known(number, series, (device, port), metric, meaning.width, meaning.of_all_kinds, first_s, last_s, times)


def _is_of_two(values: list[tuple[float, Value]]) -> bool:
    if len({at for at, _ in values}) == len(values):
        return False
    at_once: dict[float, set[Value]] = {}
    for at, value in values:
        at_once.setdefault(at, set()).add(value)
    pairs = sum(len(found) > 1 for found in at_once.values())
    return pairs >= FEWEST_PAIRS and pairs > MOST_PAIRS * len(at_once)


def _follow(known: list[Known], seen: Seen) -> list[str]:
    """Put ports that were renamed under the name that they have in the store; give what to report of them."""
    devices = {one.place[0] for one in known}
    before = [span for device in devices for span in seen.names.get(device, {}).values()]
    ports, notes = follow([one.span for one in known], before)
    for one in known:
        device, name = one.place
        one.place = (device, ports.get((device, one.series.metric.get("ifIndex", ""), name), name))
    return notes


def _best(known: list[Known], decoded: Decoded) -> list[Known]:
    """Leave out counters of which the port has a better one: wider, or of unicast packets alone."""
    ranks = {one.number: rank_of(one.series.metric) for one in known}
    best: dict[tuple[tuple[str, str], int], tuple[bool, int]] = {}
    for one in known:
        rank = ranks[one.number]
        best[one.place, one.metric] = min(rank, best.get((one.place, one.metric), rank))
    kept = [one for one in known if ranks[one.number] == best[one.place, one.metric]]
    decoded.repeated += sum(len(one.series.values) for one in known) - sum(len(one.series.values) for one in kept)
    return kept


def _once(known: list[Known], decoded: Decoded, refuse: Callable[[int, Series, str], None]) -> list[Known]:
    """Take one of the series of one counter over the same time, or, where they differ, refuse all.

    A port whose index or description changed has one series after the other: these are not over the same time.
    """
    kept = []
    for group in _over_one_time(known):
        if len(group) == 1:
            kept += group
            continue
        samples = sum(len(one.series.values) for one in group)
        labels = [one.series.metric for one in group]
        taken = as_one(group)
        if taken is None:
            for place, one in enumerate(group):
                refuse(one.number, one.series, told(one.place, labels[0], labels[max(place, 1)]))
            continue
        kept.append(taken)
        decoded.repeated += samples - len(taken.series.values)
        other = next(found for found in labels if found is not taken.series.metric)
        decoded.notes.append(
            f"{taken.place[0]}: counters are there twice, with {' and '.join(differing(taken.series.metric, other))}, "
            "and agree: the first is taken, and the other where it has gaps"
        )
    return kept


def _over_one_time(known: list[Known]) -> Iterator[list[Known]]:
    groups: dict[tuple[tuple[str, str], int], list[Known]] = {}
    for one in known:
        groups.setdefault((one.place, one.metric), []).append(one)
    for group in groups.values():
        group.sort(key=lambda one: one.first_s)
        together: list[Known] = []
        for one in group:
            if together and one.first_s > max(before.last_s for before in together):
                yield together
                together = []
            together.append(one)
        yield together


def _remarks(known: list[Known]) -> Iterator[str]:
    """Say what counters count that are not just what their metric says."""
    for one in known:
        name = one.series.metric["__name__"]
        meaning = meaning_of(name)
        if meaning is not None and meaning.remark is not None:
            yield f"{one.place[0]}: {name} {meaning.remark}"
        if one.of_all_kinds:
            yield f"{one.place[0]}: {ALL_KINDS}"


def _rows(one: Known, latest_s: float, decoded: Decoded, *, is_later: bool) -> tuple[Rows, str | None]:
    """Make rows of a series, and say what is wrong with it; what is no sample is left out and counted."""
    if not one.series.values:
        return empty_rows(0), None
    seconds = np.array([at for at, _ in one.series.values])
    plain = plain_counters(one.series.values)
    counters = [counter_of(text) for _, text in one.series.values] if plain is None else plain
    if plain is None:
        if -1 in counters and are_fractions([text for _, text in one.series.values]):
            return empty_rows(0), "holds fractions: a mean or a rate is no counter; save the counter itself"
        if are_rounded(text for _, text in one.series.values):
            return empty_rows(0), "holds rounded numbers, like 1.23457E+12: save all their digits"
    taken = np.array([counter is not None and counter >= 0 for counter in counters], bool)
    missing = sum(counter is None for counter in counters) if plain is None else 0
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
    rows["flags"][np.isin(rows["end_us"], np.round(one.set_at * 1e6))] |= int(Flag.REPLACED)
    if is_later and len(rows):
        # The counter of a port that got another index is another one.
        rows["flags"][np.argmin(rows["end_us"])] |= int(Flag.REPLACED)
    return rows, problem


def _of_one_kind(ages: list[tuple[int, Series]], decoded: Decoded) -> list[tuple[int, Series]]:
    """Give the ages of one kind of each device: an agent is younger than its host."""
    best: dict[str, int] = {}
    for _, series in ages:
        device, kind = device_in(series.metric), _UPTIMES.index(series.metric["__name__"])
        best[device] = min(kind, best.get(device, kind))
    kept = [one for one in ages if _UPTIMES[best[device_in(one[1].metric)]] == one[1].metric["__name__"]]
    decoded.repeated += sum(len(one.values) for _, one in ages) - sum(len(one.values) for _, one in kept)
    return kept


def _ages(series: Series, latest_s: float) -> Rows:
    """Make rows of how long a device was up, where that can be right."""
    times: NDArray[np.float64] = np.array([at for at, _ in series.values], np.float64)
    said = [counter_of(text) for _, text in series.values]
    taken = np.array([one is not None and one >= 0 for one in said], bool)
    for _, wrong in wrong_clocks(times, latest_s):
        taken &= ~wrong
    ages = np.array([one or 0 for one in said], np.float64) / 100
    if series.metric["__name__"] == "node_boot_time_seconds":
        ages = np.maximum(times - 100 * ages, 0)
    rows = empty_rows(int(taken.sum()))
    rows["end_us"] = np.round(times[taken] * 1e6)
    rows["start_us"] = rows["end_us"] - 1
    rows["value"] = ages[taken]
    rows["metric"], rows["kind"] = UPTIME, FIXED
    return rows
