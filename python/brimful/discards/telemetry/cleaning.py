"""From what was delivered to the rows of a store: one version of each bin, and no more than a port can carry.

Pure functions of arrays. The rows of a day are merged (`merge`), then cleaned (`clean`) with the last poll of each
counter on the day before (`chains.Tail`). What a counter counted between two polls is for `chains` to say.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brimful.discards.schema import SAMPLES, Flag
from brimful.discards.telemetry.chains import NO_ENDS, Ends, Tail, counted, is_polled
from brimful.discards.telemetry.late import put_together
from brimful.discards.telemetry.rows import (
    ABSOLUTE,
    BIN_US,
    DELTA,
    EXACT,
    FIXED,
    METRICS,
    SINCE,
    UNKNOWN_DIRECTION,
    UPTIME,
    Rows,
    joined,
)

MIN_PACKET_BYTES = 64
CEILING_BPS = 10e9
"""Of a port to a machine, which the capacity of the uplink does not bound."""

Numbers = NDArray[np.generic]


def ceilings_per_s(uplink_bps: float) -> NDArray[np.float64]:
    """Give what each metric can count in a second at the most, by its code: bytes, or the smallest of packets."""
    return np.array(
        [
            math.inf
            if code == UPTIME
            else (uplink_bps if ".uplink." in name else max(uplink_bps, CEILING_BPS))
            / 8
            / (1 if ".octets." in name else MIN_PACKET_BYTES)
            for code, name in enumerate(METRICS)
        ]
    )


def merge(rows: Rows, ceilings: NDArray[np.float64]) -> tuple[Rows, int]:
    """Sort rows by (metric, end) and keep one of each; give how many had versions that differ, too.

    Rows come in the order of ingestion. Of versions that differ the last is kept, but one that can be right is kept
    rather than one that cannot. Of a direction that is not known two counters may have the same end.
    """
    key = rows["metric"].astype(np.int64) << 53 | rows["end_us"]
    order = np.argsort(key, kind="stable")
    # An index in brackets copies records field by field, twenty times slower.
    rows, key = rows.take(order), key[order]
    known = int(np.searchsorted(key, UNKNOWN_DIRECTION << 53))
    kept, conflicts = _one_each(rows[:known], key[:known], ceilings)
    if known == len(rows):
        return kept, conflicts
    pairs, more = _two_each(rows[known:])
    return joined([kept, pairs]), conflicts + more


def _one_each(rows: Rows, key: NDArray[np.int64], ceilings: NDArray[np.float64]) -> tuple[Rows, int]:
    first = np.ones(len(rows), bool)
    first[1:] = key[1:] != key[:-1]
    if first.all():
        return rows, 0
    starts = np.flatnonzero(first)
    place = np.arange(len(rows))
    possible = plausible(rows, ceilings).astype(np.int64)
    best = np.maximum.reduceat(possible * len(rows) + place, starts) % len(rows)
    leader = np.repeat(starts, np.diff(starts, append=len(rows)))
    differs = np.logical_or.reduceat(_content(rows) != _content(rows)[leader], starts)
    kept = rows.take(best)
    kept["flags"] |= np.bitwise_or.reduceat(rows["flags"] & int(Flag.CONFLICT), starts)
    kept["flags"][differs] |= int(Flag.CONFLICT)
    return kept, int(differs.sum())


def _content(rows: Rows) -> NDArray[np.void]:
    """Give what is delivered in a row, in a form that can be compared."""
    content: NDArray[np.void] = np.zeros(len(rows), np.dtype([(name, np.uint64) for name in "abcde"]))
    content["a"] = rows["value"].copy().view(np.uint64)
    content["b"] = rows["start_us"]
    content["c"], content["d"], content["e"] = rows["delivered"], rows["counter"], rows["kind"]
    return content


def plausible(rows: Rows, ceilings: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which rows can be right, whatever is around them: what they count fits into their bin."""
    limit = ceilings[rows["metric"]]
    span_s = np.where(rows["kind"] == FIXED, rows["end_us"] - rows["start_us"], BIN_US) / 1e6
    counted = np.where(rows["kind"] == FIXED, rows["value"], rows["delivered"].astype(np.float64))
    of_one_bin = (rows["kind"] == FIXED) | (rows["kind"] == DELTA)
    fits: NDArray[np.bool_] = ~of_one_bin | (counted <= limit * span_s)
    return fits


def _two_each(rows: Rows) -> tuple[Rows, int]:
    """Keep the two versions of each end that were delivered last, in the order of their counters."""
    age = np.arange(len(rows))
    order = np.lexsort((age, rows["delivered"], rows["counter"], rows["end_us"]))
    rows, age = rows[order], age[order]
    last = np.ones(len(rows), bool)
    last[:-1] = (
        (rows["end_us"][1:] != rows["end_us"][:-1])
        | (rows["counter"][1:] != rows["counter"][:-1])
        | (rows["delivered"][1:] != rows["delivered"][:-1])
    )
    rows, age = rows[last], age[last]
    order = np.lexsort((-age, rows["end_us"]))
    rows = rows[order]
    starts, group = np.unique(rows["end_us"], return_index=True, return_inverse=True)[1:]
    rank = np.arange(len(rows)) - starts[group]
    crowded = np.bincount(group) > 2
    conflict = np.bitwise_or.reduceat(rows["flags"] & int(Flag.CONFLICT), starts)
    conflict[crowded] |= int(Flag.CONFLICT)
    rows["flags"] |= conflict[group].astype(np.int16)
    rows = rows[rank < 2]
    return rows[np.lexsort((rows["delivered"], rows["counter"], rows["end_us"]))], int(crowded.sum())


def clean(rows: Rows, tail: Tail, ceilings: NDArray[np.float64], machine: str, after: Ends = NO_ENDS) -> pa.Table:
    """Make the rows of a store from merged ones, whose directions were separated.

    Parameters
    ----------
    rows
        Of one machine and day, sorted by (metric, end).
    tail
        The last polls of the day before.
    ceilings
        See `ceilings_per_s`.
    machine
        Its name.
    after
        See `chains.counted`.
    """
    start = np.where(rows["kind"] == FIXED, rows["start_us"], rows["end_us"] - BIN_US)
    value = np.where(rows["kind"] == FIXED, rows["value"], np.nan)
    flags = rows["flags"].copy()
    is_poll = is_polled(rows)
    if is_poll.any():
        # Nearly always, all are polls: rows need not be copied then.
        polled = slice(None) if is_poll.all() else np.flatnonzero(is_poll)
        polls = rows if isinstance(polled, slice) else rows.take(polled)
        # The ages of the device are the last rows.
        uptimes = rows[np.searchsorted(rows["metric"], UPTIME) :]
        found = counted(polls, uptimes, tail, ceilings, after)
        put_together(polls, *found, ceilings)
        start[polled], value[polled] = found[:2]
        flags[polled] |= found[2]
    keep = _one_per_start(rows, start, flags)
    return _table(rows[keep], start[keep], value[keep], flags[keep], ceilings, machine)


def _one_per_start(rows: Rows, start: NDArray[np.int64], flags: NDArray[np.int16]) -> NDArray[np.intp] | slice:
    """Give the places of rows in the order of (metric, start), one of each.

    Two bins of one start but of different ends occur where two kinds of files overlap; counters are trusted more.
    """
    if ((start[1:] > start[:-1]) | (rows["metric"][1:] != rows["metric"][:-1])).all():
        return slice(None)
    order = np.lexsort((rows["end_us"], rows["kind"] != FIXED, start, rows["metric"]))
    metric, begin = rows["metric"][order], start[order]
    same = (metric[1:] == metric[:-1]) & (begin[1:] == begin[:-1])
    if not same.any():
        return order
    flags[order[1:][same]] |= int(Flag.CONFLICT)
    kept: NDArray[np.intp] = order[np.append(~same, True)]
    return kept


def _table(
    rows: Rows,
    start: NDArray[np.int64],
    value: NDArray[np.float64],
    flags: NDArray[np.int16],
    ceilings: NDArray[np.float64],
    machine: str,
) -> pa.Table:
    span_s = (rows["end_us"] - start) / 1e6
    there = ~np.isnan(value)
    over = there & (value > ceilings[rows["metric"]] * span_s)
    flags = flags | np.where(over, int(Flag.CEILING), 0).astype(np.int16)
    no_counter = (rows["kind"] == FIXED) | (rows["kind"] == SINCE)
    # What was delivered must be found again from what is stored (`from_table`): it is the value, else `reported`, else
    # it equals the counter. A counter without a difference is reported as itself; a value that is reported
    # without a counter says that its bin begins where the row before ends.
    delivered = np.where(rows["kind"] == ABSOLUTE, rows["counter"], rows["delivered"])
    is_value = there & (rows["kind"] == DELTA) & (rows["delivered"] <= EXACT) & (value == rows["delivered"])
    repeated = (rows["kind"] == DELTA) & (rows["delivered"] == rows["counter"]) & ~there
    present, codes = np.unique(rows["metric"], return_inverse=True)
    count = len(rows)
    columns = {
        "machine": _dictionary(np.zeros(count, np.int16), [machine]),
        "metric": _dictionary(codes.astype(np.int16), [METRICS[code] for code in present]),
        "bin_start": _column(pa.timestamp("us"), start),
        "bin_end": _column(pa.timestamp("us"), rows["end_us"]),
        "span_s": _column(pa.float64(), span_s),
        "value": _column(pa.float64(), value, there),
        "counter": _column(pa.uint64(), rows["counter"], ~no_counter),
        "reported": _column(pa.uint64(), delivered, ~((rows["kind"] == FIXED) | is_value | repeated)),
        "flags": _column(pa.int16(), flags),
        "usable": pa.Array.from_buffers(pa.bool_(), count, [None, _bits(there & ~over)]),
    }
    return pa.Table.from_arrays([columns[name] for name in SAMPLES.names], schema=SAMPLES)


def _dictionary(indices: NDArray[np.int16], names: list[str]) -> pa.DictionaryArray:
    texts = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    values = pa.Array.from_buffers(pa.string(), len(names), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])
    return pa.DictionaryArray.from_arrays(_column(pa.int16(), indices), values)


def _column(kind: pa.DataType, values: Numbers, present: NDArray[np.bool_] | None = None) -> pa.Array:
    """Give numbers to Arrow as they lie; its own way imports pandas first, which takes half a second."""
    valid = None if present is None or present.all() else _bits(present)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))
