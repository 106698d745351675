"""What a counter did between its polls: the one definition of width, wrap, reset, reboot and bridged dip.

A poll that reads less than the one before has one of these reasons, looked for in this order:

* a dip: the counter reads 0, or at least half of what it was, or so little that the way back is more than the port can
  carry, and within `MOST_DIPS` polls it goes on from where it was. Those polls are left out, and the next one covers
  their time;
* a reboot: the device says so (``sysUpTime``), or, where it does not say, another counter of the port falls, too;
* a wrap at 2^32: of a counter that can have 32 bits, in a step that the port can carry and that is like its others.
  Where polls are too far apart to know that it is only one, nothing of the counter is known;
* a reset: nothing else is left. What was counted is unknown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brimful.discards.schema import Flag
from brimful.discards.telemetry import ages
from brimful.discards.telemetry.rows import (
    ABSOLUTE,
    BIN_US,
    CODES,
    DELTA,
    EXACT,
    METRICS,
    SINCE,
    UPTIME,
    Rows,
    as_numbers,
    filled,
    present,
)

WRAP = 2**32
"""Where counters of 32 bits begin again."""
MAX_WRAP_STEP = 2**31
"""Half of it: a counter that seems to have gone further between two polls was set back."""
SMALL_WRAP_STEP = 2**24
"""A step across the wrap that needs no others like it: a reset lands there in one of 256 cases."""
LIKELY = 16.0
"""How many times the greatest other rate of its day a step across the wrap may have."""
MOST_DIPS = 5
"""This number of polls in a row may read too little before the counter is held to be set back."""
MOST_FALLS = 0.25
"""Share of polls; what falls more often is no counter."""
FEWEST_FALLS = 3
"""Before that is said."""
_MISSED = 1.5
"""A span of more bins than this is one with missed polls."""
_HAS_64_BITS = np.array([name.split(".")[1] in ("broadcast", "multicast", "octets", "unicast") for name in METRICS])
"""Metrics whose counters exist in both widths (``ifHC...``); a collector of differences reads the wide one."""

Bools = NDArray[np.bool_]
Times = NDArray[np.int64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tail:
    """The last poll of each counter of a day, by the code of its metric; ``end_us`` is -1 where there is none.

    ``level_us`` and ``level`` are of the last poll before a dip that the day ends in; -1 where it ends in none.
    """

    end_us: Times
    counter: NDArray[np.uint64]
    level_us: Times
    level: NDArray[np.uint64]
    age: tuple[int, float] | None = None
    """When the device last said how many seconds it was up."""

    @classmethod
    def empty(cls) -> Tail:
        """Give one that knows of no poll."""
        count = len(METRICS)
        return cls(
            np.full(count, -1, np.int64),
            np.zeros(count, np.uint64),
            np.full(count, -1, np.int64),
            np.zeros(count, np.uint64),
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tail)
            and self.age == other.age
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("end_us", "counter", "level_us", "level")
            )
        )

    __hash__ = None  # type: ignore[assignment]


NO_TAIL = Tail.empty()
Ends = Mapping[int, Times]
"""When the differences of the next day end, by the code of their metric."""
NO_ENDS: Ends = {}


def tail_of(table: pa.Table) -> Tail:
    """Give the last poll of each counter of a day as it was cleaned, and where it ends in a dip, the last before that.

    It must follow from what is stored: then it does not matter when and with what a day was cleaned.
    """
    tail = Tail.empty()
    if not len(table):
        return tail
    names = table["metric"].combine_chunks()
    codes = np.array([CODES[name] for name in names.dictionary.to_pylist()], np.int64)
    flags = as_numbers(table["flags"])
    has_counter, has_reported, has_value = (present(table[name]) for name in ("counter", "reported", "value"))
    polled = np.flatnonzero((has_counter | has_reported) & ((flags & int(Flag.AMBIGUOUS)) == 0))
    metric = codes[as_numbers(names.indices)][polled]
    end, counter = as_numbers(table["bin_end"])[polled], filled(table["counter"])[polled]
    dip = ((flags & int(Flag.DIP)) != 0)[polled] & ~has_value[polled]
    if dip.any():
        # Polls of a dip lie within the bin that covers them, and behind it in the table.
        order = np.lexsort((end, metric))
        metric, end, counter, dip = metric[order], end[order], counter[order], dip[order]
    # Of equal indices the last assignment stays.
    tail.end_us[metric], tail.counter[metric] = end, counter
    ends_in_dip = np.zeros(len(METRICS), bool)
    ends_in_dip[metric] = dip
    before = np.flatnonzero(~dip & ends_in_dip[metric])
    tail.level_us[metric[before]], tail.level[metric[before]] = end[before], counter[before]
    # Metrics are sorted, and this is the last.
    if names.dictionary[-1].as_py() != METRICS[UPTIME]:
        return tail
    return dataclasses.replace(tail, age=(int(as_numbers(table["bin_end"])[-1]), table["value"][-1].as_py()))


def is_polled(rows: Rows) -> Bools:
    """Say which rows are part of the chain of a counter."""
    polled: Bools = (rows["kind"] == DELTA) | (rows["kind"] == ABSOLUTE) | (rows["kind"] == SINCE)
    polled &= (rows["flags"] & int(Flag.AMBIGUOUS)) == 0
    return polled


def _is_low(counter: int, level: int) -> bool:
    """Say whether a poll can be one of a dip: it reads nothing, or a little less."""
    return counter == 0 or 2 * counter >= level


def alone_in(rows: Rows, tail: Tail) -> list[int]:
    """Give the metrics of a day with a single difference, and none on the day before: nothing in it says its length."""
    since = rows["kind"] == SINCE
    if not since.any():
        return []
    count = np.bincount(rows["metric"][since], minlength=len(METRICS))[: len(METRICS)]
    return [int(code) for code in np.flatnonzero((count == 1) & (tail.end_us < 0))]


def counted(
    rows: Rows, uptimes: Rows, tail: Tail, ceilings: NDArray[np.float64], after: Ends = NO_ENDS
) -> tuple[Times, NDArray[np.float64], NDArray[np.int16]]:
    """Give start, value and flags of polls from the polls before them.

    Parameters
    ----------
    rows
        Polls (`is_polled`) of one machine and day, sorted by (metric, end).
    uptimes
        How long the device was up, in seconds (``value``), at times (``end_us``), sorted.
    tail
        The last polls of the day before.
    ceilings
        What each metric can count in a second at the most, by its code.
    after
        Of the metrics that are alone (`alone_in`): their usual distance is that from the next day.
    """
    dips, boots = np.zeros(len(rows), bool), ages.boots_of(uptimes, tail.age)
    chain = _Chain(rows, tail, dips, after)
    falls = np.flatnonzero(chain.fell)
    replaced = (rows["flags"] & int(Flag.REPLACED)).any()
    if len(falls) or replaced or len(boots.booted_us) or chain.held.any():
        dips = _dips(rows, tail, ceilings, falls)
        while True:
            chain = _Chain(rows, tail, dips, after)
            rebooted, wrapped, like_wraps = _reasons(chain, boots, ceilings)
            # While others were set back, a counter that reads 0 was so, too, however soon it is where it was.
            certain = chain.known & ~dips & ((chain.fell & ~wrapped) | rebooted)
            undone = _overlapping(chain, dips, certain)
            if not undone.any():
                break
            dips &= ~undone
    else:
        wrapped = rebooted = like_wraps = dips
    several = _may_wrap_more(chain, like_wraps, ceilings)
    stepped = ages.steps_of_clock(boots, chain.start_us, chain.end) & chain.known
    return _values(chain, dips, wrapped, rebooted, several, stepped, after)


class _Chain:
    """Polls, each with the one before it that counts."""

    def __init__(self, rows: Rows, tail: Tail, dips: Bools, after: Ends) -> None:
        self.rows = rows
        # Fields of records lie apart: what is read again and again is put together first.
        metric, kind, end, counter = (
            np.ascontiguousarray(rows[name]) for name in ("metric", "kind", "end_us", "counter")
        )
        self.metric, self.end, self.counter = metric, end, counter
        self.first = np.ones(len(rows), bool)
        self.first[1:] = metric[1:] != metric[:-1]
        before_us = np.where(self.first, tail.end_us[metric], np.roll(end, 1))
        before = np.where(self.first, tail.counter[metric], np.roll(counter, 1))
        delivered_from = before
        self.held = self.first & (tail.level_us[metric] >= 0)
        self.since = kind == SINCE
        self.absolute = kind == ABSOLUTE
        bare = self.absolute | self.since
        # What the collector subtracted; differences are modulo 2**64, as its own are.
        implied = np.where(bare, before, counter - rows["delivered"])
        self.across = np.zeros(len(rows), bool)
        if dips.any() or self.held.any():
            before_us, before = self._bridged(before_us, before, tail, dips)
            # A collector that subtracted a poll of a dip did so from nothing that was counted.
            self.across = ~bare & (before != delivered_from) & (implied == delivered_from)
            implied = np.where(bare | self.across, before, implied)
        self.before_us, self.before, self.implied = before_us, before, implied
        self.known = before_us >= 0
        self.anchored = self.known & (implied == before)
        self.nominal_us = nominal = _nominal_us(metric, end, bare, after)
        start = np.where(
            self.anchored, before_us, np.where(self.known, np.maximum(before_us, end - nominal), end - nominal)
        )
        # Polls of a dip are no bin: what is counted in their time is the next one's.
        self.start_us = np.where(dips, end - 1, start)
        self.span_s = (end - self.start_us) / 1e6
        self.backwards = ~self.since & (implied > counter)
        self.fell = ~dips & (self.backwards | (~self.since & self.known & (counter < before)))

    def _bridged(
        self, before_us: Times, before: NDArray[np.uint64], tail: Tail, dips: Bools
    ) -> tuple[Times, NDArray[np.uint64]]:
        """Give the last poll before each that is not of a dip."""
        metric = self.rows["metric"]
        place = np.arange(len(dips))
        last = np.maximum.accumulate(np.where(dips, -1, place))
        last = np.append(-1, last[:-1]) if len(last) else last
        begin = np.maximum.accumulate(np.where(self.first, place, 0))
        inside = last >= begin
        after_dip = ~self.first & np.append(False, dips[:-1])
        from_row = after_dip & inside
        before_us, before = before_us.copy(), before.copy()
        before_us[from_row] = self.rows["end_us"][last[from_row]]
        before[from_row] = self.rows["counter"][last[from_row]]
        # The dip began with the day, or on the day before.
        outside = after_dip & ~inside
        is_held = tail.level_us[metric] >= 0
        before_us[outside] = np.where(is_held, tail.level_us[metric], tail.end_us[metric])[outside]
        before[outside] = np.where(is_held, tail.level[metric], tail.counter[metric])[outside]
        on = self.held & ~dips & (self.rows["counter"] >= tail.level[metric])
        before_us[on], before[on] = tail.level_us[metric][on], tail.level[metric][on]
        return before_us, before


def _dips(rows: Rows, tail: Tail, ceilings: NDArray[np.float64], falls: Places) -> Bools:
    """Say which polls are of dips; ``falls`` are those that are below the one before."""
    dips = np.zeros(len(rows), bool)
    metric, end, counter = rows["metric"], rows["end_us"], rows["counter"]
    firsts = np.flatnonzero(np.append(True, metric[1:] != metric[:-1])) if len(rows) else np.zeros(0, np.intp)
    starts = set(firsts.tolist())
    held = {int(place) for place in firsts if tail.level_us[metric[place]] >= 0}
    for place in sorted(held | set(falls.tolist())):
        code = int(metric[place])
        if dips[place] or rows["kind"][place] == SINCE:
            continue
        if place in held:
            level_us, level = int(tail.level_us[code]), int(tail.level[code])
        elif place in starts:
            level_us, level = int(tail.end_us[code]), int(tail.counter[code])
        else:
            level_us, level = int(end[place - 1]), int(counter[place - 1])
        behind, is_low = place, True
        while behind < len(rows) and metric[behind] == code and int(counter[behind]) < level:
            if behind - place == MOST_DIPS:
                break
            is_low &= _is_low(int(counter[behind]), level)
            behind += 1
        else:
            goes_on = is_low
            if behind < len(rows) and metric[behind] == code:
                per_us = ceilings[code] / 1e6
                goes_on = int(counter[behind]) - level <= per_us * (int(end[behind]) - level_us)
                climbed = int(counter[behind]) - int(counter[behind - 1]) if behind > place else 0
                goes_on &= is_low or climbed > per_us * int(end[behind] - end[behind - 1])
            dips[place:behind] = goes_on
    return dips


def _reasons(chain: _Chain, boots: ages.Boots, ceilings: NDArray[np.float64]) -> tuple[Bools, Bools, Bools]:
    """Say which polls follow a reboot, which of the others wrapped, and which may have, were they not so far apart."""
    end, start = chain.end, chain.start_us
    booted = np.searchsorted(boots.booted_us, end) > np.searchsorted(boots.booted_us, start, "right")
    booted &= chain.known & ~chain.since
    step = (chain.counter + np.uint64(WRAP) - chain.implied).astype(np.float64)
    fits = chain.fell & _can_wrap(chain, step, ceilings)
    said = ages.is_said(boots, start, end)
    together = chain.fell & _several(chain.metric, start, end, chain.fell) & ~said
    rebooted = booted | together | ((chain.rows["flags"] & int(Flag.REPLACED)) != 0)
    fits &= ~rebooted
    return rebooted, fits & (step <= MAX_WRAP_STEP), fits


def _several(metric: NDArray[np.int16], start: Times, end: Times, fell: Bools) -> Bools:
    """Say which falls lie in the time of the fall of another counter."""
    places = np.flatnonzero(fell)
    joint = np.zeros(len(fell), bool)
    begins, ends = np.sort(start[places]), np.sort(end[places])
    overlapping = np.searchsorted(begins, end[places]) - np.searchsorted(ends, start[places], "right")
    joint[places] = overlapping > 1
    return joint


def _can_wrap(chain: _Chain, step: NDArray[np.float64], ceilings: NDArray[np.float64]) -> Bools:
    """Say for which polls a wrap at 2^32 is a step like the others of their counter."""
    rows = chain.rows
    metric, counter = rows["metric"], rows["counter"]
    wide, _ = widths(rows, chain.before, chain.known)
    fits = chain.backwards & ~wide & (chain.implied < WRAP) & (step <= ceilings[metric] * chain.span_s)
    steady = chain.known & ~chain.backwards & ~chain.fell & ~chain.since & (chain.start_us < rows["end_us"] - 1)
    rates = np.zeros(len(METRICS))
    if steady.any():
        differences = (counter - chain.implied).astype(np.float64)
        np.maximum.at(rates, metric[steady], differences[steady] / chain.span_s[steady])
    fits &= (step <= SMALL_WRAP_STEP) | (step <= LIKELY * rates[metric] * chain.span_s)
    likely: Bools = fits
    return likely


def widths(rows: Rows, before: NDArray[np.uint64], known: Bools) -> tuple[Bools, Bools]:
    """Say of each poll whether its counter is known to have 64 bits, and whether it is known to have 32.

    A counter that ever was above 2^32 has 64, whatever its source says.
    """
    metric, flags = rows["metric"], rows["flags"]
    chains = np.arange(len(METRICS))

    def any_of(mask: Bools) -> Bools:
        found: Bools = np.bincount(metric[mask], minlength=len(chains)) > 0
        return found

    wide = any_of((flags & int(Flag.WIDE)) != 0) | any_of((rows["kind"] == DELTA) & _HAS_64_BITS[metric])
    wide &= ~any_of((flags & int(Flag.NARROW)) != 0)
    wide |= any_of(rows["counter"] >= WRAP) | any_of(known & (before >= WRAP))
    narrow = any_of((flags & int(Flag.NARROW)) != 0) & ~wide
    return wide[metric], narrow[metric]


def _overlapping(chain: _Chain, dips: Bools, certain: Bools) -> Bools:
    """Say which dips begin in the time in which another counter was set back for certain."""
    rows = chain.rows
    undone = np.zeros(len(dips), bool)
    if not dips.any() or not certain.any():
        return undone
    begins, ends = np.sort(chain.before_us[certain]), np.sort(rows["end_us"][certain])
    place = np.arange(len(dips))
    opening = dips & (chain.first | ~np.append(False, dips[:-1]))
    hit = np.searchsorted(begins, rows["end_us"]) > np.searchsorted(ends, chain.before_us, "right")
    leader = np.maximum.accumulate(np.where(opening, place, 0))
    undone[dips] = hit[leader[dips]]
    return undone


def _values(
    chain: _Chain, dips: Bools, wrapped: Bools, rebooted: Bools, several: Bools, stepped: Bools, after: Ends
) -> tuple[Times, NDArray[np.float64], NDArray[np.int16]]:
    end, counter = chain.end, chain.counter
    step = counter + np.uint64(WRAP) - chain.implied
    several = several & ~dips & ~rebooted & ~chain.since & (chain.known | ~chain.absolute)
    reset = ~dips & ~wrapped & ~several & (chain.fell | rebooted)
    sawtooth = _falls_too_often(chain, reset) & ~dips & ~reset
    stepped = stepped & ~dips & ~reset & ~several & ~sawtooth
    unknown = dips | reset | several | sawtooth | stepped | (chain.absolute & ~chain.known) | _alone(chain, after)
    difference = np.where(chain.since, chain.rows["delivered"], np.where(wrapped, step, counter - chain.implied))
    # A difference that is not exact in a float is no count of anything.
    inexact = difference > EXACT
    value = np.where(unknown | inexact, np.nan, difference.astype(np.float64))
    flags = (
        (wrapped & ~several & ~stepped) * Flag.WRAPPED
        + reset * Flag.RESET
        + (~unknown & inexact) * Flag.CEILING
        + (~chain.anchored & ~dips) * Flag.UNANCHORED
        + (chain.anchored & ~dips & (end - chain.start_us > _MISSED * chain.nominal_us)) * Flag.MISSED_POLL
        + (dips | chain.across) * Flag.DIP
        + several * Flag.WRAPS
        + sawtooth * Flag.SAWTOOTH
        + stepped * Flag.STEPPED
    )
    return chain.start_us, value, flags.astype(np.int16)


def _alone(chain: _Chain, after: Ends) -> Bools:
    """Say which differences have no row beside them that says how long they took."""
    if not chain.since.any():
        return np.zeros(len(chain.metric), bool)
    alone = np.bincount(chain.metric, minlength=len(METRICS)) == 1
    alone[list(after)] = False
    unknown: Bools = chain.since & ~chain.known & alone[chain.metric]
    return unknown


def _may_wrap_more(chain: _Chain, like_wraps: Bools, ceilings: NDArray[np.float64]) -> Bools:
    """Say in which intervals a counter of 32 bits can have begun again more than once.

    Of counters that have no wide twin (discards, errors, pauses) this is not asked: what they count is rare.
    """
    metric = chain.metric
    if not like_wraps.any() and not (chain.rows["flags"] & int(Flag.NARROW)).any():
        return np.zeros(len(metric), bool)
    wide, narrow = widths(chain.rows, chain.before, chain.known)
    narrow = narrow | (~wide & (np.bincount(metric[like_wraps], minlength=len(METRICS)) > 0)[metric])
    more: Bools = narrow & _HAS_64_BITS[metric] & (ceilings[metric] * chain.span_s >= WRAP)
    return more


def _falls_too_often(chain: _Chain, reset: Bools) -> Bools:
    """Say of which bare counters the polls fall so often that they count nothing, or are of two counters."""
    metric = chain.metric
    if np.count_nonzero(reset) < FEWEST_FALLS:
        return np.zeros(len(metric), bool)
    falls = np.bincount(metric[reset & chain.absolute], minlength=len(METRICS))
    polls = np.bincount(metric[chain.absolute], minlength=len(METRICS))
    often: Bools = chain.absolute & ((falls >= FEWEST_FALLS) & (falls > MOST_FALLS * polls))[metric]
    return often


def _nominal_us(metric: NDArray[np.int16], end: Times, irregular: Bools, after: Ends) -> Times:
    """Give how long a bin is without missed polls: of sources without bins, the usual distance of their rows."""
    nominal = np.full(len(end), BIN_US)
    for code in np.unique(metric[irregular]):
        chosen = irregular & (metric == code)
        distances = np.sort(np.diff(np.append(end[chosen], after.get(int(code), ()))))
        if len(distances):
            nominal[chosen] = distances[(len(distances) - 1) // 2]
    return nominal
