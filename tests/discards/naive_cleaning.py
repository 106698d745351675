"""The slow and obvious way to clean the rows of a day: one after the other, with Python's own integers."""

import itertools

from brimful.discards.schema import Flag
from brimful.discards.telemetry.rows import ABSOLUTE, DELTA, FIXED, METRICS, SINCE

BIN = 10_000_000
TWO32, TWO53, TWO64 = 2**32, 2**53, 2**64


def merged(rows, ceilings):
    """Keep one version of each (metric, end); ``rows`` are dicts in the order of ingestion."""
    versions = {}
    for row in rows:
        versions.setdefault((row["metric"], row["end_us"]), []).append(row)
    kept, conflicts = [], 0
    for key in sorted(versions):
        found = versions[key]
        possible = [row for row in found if _plausible(row, ceilings[row["metric"]])]
        best = dict((possible or found)[-1])
        differ = any(_delivered(row) != _delivered(found[0]) for row in found)
        conflicts += differ
        if differ or any(row["flags"] & Flag.CONFLICT for row in found):
            best["flags"] |= Flag.CONFLICT
        kept.append(best)
    return kept, conflicts


def _delivered(row):
    return [row[name] for name in ("kind", "start_us", "value", "delivered", "counter")]


def _plausible(row, ceiling_per_s):
    if row["kind"] == FIXED:
        return row["value"] <= ceiling_per_s * (row["end_us"] - row["start_us"]) / 1e6
    return row["kind"] in {ABSOLUTE, SINCE} or float(row["delivered"]) <= ceiling_per_s * 10


def cleaned(rows, tail, ceilings):
    """Give what a store has of merged rows; ``tail`` is {metric: (end, counter)} of the day before."""
    before = dict(tail)
    nominal = _nominal(rows)
    out = []
    for row in rows:
        metric, end = row["metric"], row["end_us"]
        ceiling = ceilings[metric]
        flags, start, value, counter, reported = row["flags"], row["start_us"], row["value"], None, None
        if row["kind"] != FIXED:
            start, value, found = _counted(row, before.get(metric), nominal[metric, row["kind"]], ceiling)
            flags |= found
            before[metric] = (end, row["counter"])
            if row["kind"] != SINCE:
                counter = row["counter"]
            if row["kind"] == ABSOLUTE:
                reported = counter
            elif row["kind"] == SINCE or not (
                value == row["delivered"] or (value is None and row["delivered"] == counter)
            ):
                reported = row["delivered"]
        span = (end - start) / 1e6
        over = value is not None and value > ceiling * span
        out.append(
            {
                "metric": METRICS[metric],
                "bin_start": start,
                "bin_end": end,
                "span_s": span,
                "value": None if value is None else float(value),
                "counter": counter,
                "reported": reported,
                "flags": int(flags | (Flag.CEILING if over else 0)),
                "usable": value is not None and not over,
            }
        )
    return _unique_starts(out)


def _nominal(rows):
    nominal = {}
    for metric in {row["metric"] for row in rows}:
        ends = sorted(row["end_us"] for row in rows if row["metric"] == metric and row["kind"] in {ABSOLUTE, SINCE})
        gaps = sorted(b - a for a, b in itertools.pairwise(ends))
        usual = gaps[(len(gaps) - 1) // 2] if gaps else BIN
        nominal |= {(metric, DELTA): BIN, (metric, ABSOLUTE): usual, (metric, SINCE): usual}
    return nominal


def _counted(row, before, nominal, ceiling):
    """Give start, value and flags of a poll."""
    end, counter = row["end_us"], row["counter"]
    if row["kind"] == DELTA:
        implied = (counter - row["delivered"]) % TWO64
        anchored = before is not None and before[1] == implied
    else:
        implied = before[1] if before is not None else None
        anchored = before is not None
    start = end - nominal if before is None else max(before[0], end - nominal)
    flags = Flag(0)
    if anchored:
        start = before[0]
        if end - start > 1.5 * nominal:
            flags |= Flag.MISSED_POLL
    else:
        flags |= Flag.UNANCHORED
    if row["kind"] == SINCE:
        value = row["delivered"]
    elif row["kind"] == ABSOLUTE and before is None:
        return start, None, flags
    elif implied > counter:
        step = counter + TWO32 - implied
        if implied < TWO32 and step <= min(ceiling * (end - start) / 1e6, 2**31):
            value = step
            flags |= Flag.WRAPPED
        else:
            return start, None, flags | Flag.RESET
    elif before is not None and counter < before[1]:
        return start, None, flags | Flag.RESET
    else:
        value = counter - implied
    if value > TWO53:
        return start, None, flags | Flag.CEILING
    return start, value, flags


def _unique_starts(rows):
    best = {}
    for row in rows:
        key = (row["metric"], row["bin_start"])
        rank = (row["counter"] is not None or row["reported"] is not None, row["bin_end"])
        if key in best:
            winner = row if rank > best[key][0] else best[key][1]
            winner["flags"] |= Flag.CONFLICT
            best[key] = (max(rank, best[key][0]), winner)
        else:
            best[key] = (rank, row)
    return [best[key][1] for key in sorted(best)]
