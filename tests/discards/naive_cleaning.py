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


def cleaned(rows, tail, ceilings, after):
    """Give what a store has of merged rows; ``tail`` is {metric: (end, counter)} of the day before.

    Where that day ended in a dip, (end, counter, end before the dip, counter before the dip). ``after`` are the ends
    of differences on the next day.
    """
    polls = [_Poll(row) for row in rows if row["kind"] != FIXED]
    chains = {}
    for poll in polls:
        chains.setdefault(poll.row["metric"], []).append(poll)
    _find_dips(chains, tail, ceilings)
    uptimes = [(row["end_us"], row["value"]) for row in rows if METRICS[row["metric"]] == "switch.uptime"]
    while True:
        for metric, chain in chains.items():
            _link(chain, tail.get(metric), _usual(chain, after.get(metric, [])))
        _judge(polls, chains, _starts_of_device(uptimes), ceilings)
        steps = _steps_of_clock(_starts_of_device(uptimes))
        for poll in polls:
            poll.stepped = poll.before is not None and any(
                begin < poll.end and poll.start < end for begin, end in steps
            )
        if not _undo_dips(chains):
            break
    told = {
        id(poll.row): list(_told(poll, chain, ceilings[metric], after.get(metric)))
        for metric, chain in chains.items()
        for poll in chain
    }
    for metric, chain in chains.items():
        if METRICS[metric].split(".")[1] in {"octets", "unicast"}:
            _put_together(chain, told, ceilings[metric])
    out = []
    for row in rows:
        metric, end = row["metric"], row["end_us"]
        flags, start, value, counter, reported = row["flags"], row["start_us"], row["value"], None, None
        if row["kind"] != FIXED:
            start, value, more = told[id(row)]
            flags |= more
            if row["kind"] != SINCE:
                counter = row["counter"]
            if row["kind"] == ABSOLUTE:
                reported = counter
            elif row["kind"] == SINCE or not (
                value == row["delivered"] or (value is None and row["delivered"] == counter)
            ):
                reported = row["delivered"]
        span = (end - start) / 1e6
        over = value is not None and value > ceilings[metric] * span
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


class _Poll:
    def __init__(self, row):
        self.row = row
        self.end, self.counter = row["end_us"], row["counter"]
        self.since = row["kind"] == SINCE
        self.dip = False


def _usual(chain, after):
    ends = sorted(poll.end for poll in chain if poll.row["kind"] in {ABSOLUTE, SINCE})
    ends += after if ends else []
    gaps = sorted(b - a for a, b in itertools.pairwise(ends))
    return gaps[(len(gaps) - 1) // 2] if gaps else BIN


def _low(counter, level):
    return counter == 0 or counter >= level / 2


def _find_dips(chains, tail, ceilings):
    for metric, chain in chains.items():
        last = tail.get(metric)
        level_us, level = (None, None) if last is None else last[-2:]
        at = 0
        while at < len(chain):
            run = 0
            if level is not None and not chain[at].since:
                while at + run < len(chain) and chain[at + run].counter < level:
                    run += 1
            low = all(_low(poll.counter, level) for poll in chain[at : at + run])
            if 0 < run <= 5:
                after = chain[at + run] if at + run < len(chain) else None
                per_us = ceilings[metric] / 1e6
                if after is not None:
                    last = chain[at + run - 1]
                    low = low or after.counter - last.counter > per_us * (after.end - last.end)
                    low = low and after.counter - level <= per_us * (after.end - level_us)
                if low:
                    for poll in chain[at : at + run]:
                        poll.dip = True
                    at += run
                    if after is None:
                        break
            level_us, level = chain[at].end, chain[at].counter
            at += 1


def _link(chain, last, usual):
    """Find the poll before each that counts."""
    before = just_before = None if last is None else last[:2]
    held = last[2:] if last is not None and len(last) == 4 else None
    if held and (chain[0].dip or chain[0].counter >= held[1]):
        before = held
    for poll in chain:
        row = poll.row
        poll.before = before
        nominal = usual if row["kind"] in {ABSOLUTE, SINCE} else BIN
        poll.nominal = nominal
        poll.implied = None if before is None else before[1]
        poll.across = False
        if row["kind"] == DELTA:
            poll.implied = (poll.counter - row["delivered"]) % TWO64
            if before is not None and before[1] != just_before[1] == poll.implied:
                poll.implied = before[1]
                poll.across = True
        poll.anchored = before is not None and before[1] == poll.implied
        poll.start = poll.end - nominal if before is None else max(before[0], poll.end - nominal)
        if poll.anchored:
            poll.start = before[0]
        if poll.dip:
            poll.start = poll.end - 1
        poll.span = (poll.end - poll.start) / 1e6
        poll.backwards = not poll.since and poll.implied is not None and poll.implied > poll.counter
        poll.fell = not poll.dip and (
            poll.backwards or (not poll.since and before is not None and poll.counter < before[1])
        )
        just_before = (poll.end, poll.counter)
        if not poll.dip:
            before = just_before


def _starts_of_device(uptimes):
    """Give (when it said so, since when it was up)."""
    said, added, last = [], 0, None
    for end, seconds in uptimes:
        if last is not None and seconds < last[1] <= TWO32 / 100:
            added += last[1] + (end - last[0]) / 1e6 >= TWO32 / 100 - 1
        said.append((end, end - round(seconds * 1e6) - added * round(TWO32 * 1e4)))
        last = (end, seconds)
    return said


def _steps_of_clock(said):
    """Give the times between which the device aged by more or less than these say."""
    steps = []
    for (at, since), (later, since_later) in itertools.pairwise(said):
        set_by, passed = since_later - since, later - at
        if since_later <= at and abs(set_by) > max(5_000_000, min(passed, passed - set_by) // 2):
            steps.append((at, later, set_by > 0))
    one_way = len({forwards for *_, forwards in steps}) == 1
    if one_way and len(steps) > max((len(said) - 1) / 2, 3):
        return []
    return [(at, later) for at, later, _ in steps]


def _is_wide(chain):
    flags = [poll.row["flags"] for poll in chain]
    if any(poll.counter >= TWO32 or (poll.before is not None and poll.before[1] >= TWO32) for poll in chain):
        return True
    if any(one & Flag.NARROW for one in flags):
        return False
    return any(one & Flag.WIDE for one in flags) or any(poll.row["kind"] == DELTA and _has_twin(poll) for poll in chain)


def _has_twin(poll):
    return METRICS[poll.row["metric"]].split(".")[1] in {"octets", "unicast", "multicast", "broadcast"}


def _judge(polls, chains, said, ceilings):
    for poll in polls:
        chain = chains[poll.row["metric"]]
        booted = not poll.since and poll.before is not None and any(poll.start < up < poll.end for _, up in said)
        after = next((up for at, up in said if at >= poll.end), None)
        alone = after is not None and after <= poll.start
        poll.rebooted = booted or (
            poll.fell
            and not alone
            and any(
                other.fell and other is not poll and other.start < poll.end and poll.start < other.end
                for other in polls
            )
        )
        steady = [
            float((one.counter - one.implied) % TWO64) / one.span
            for one in chain
            if not (one.dip or one.fell or one.since or one.before is None)
        ]
        poll.like_wrap = poll.wrapped = False
        if poll.fell and poll.backwards and not poll.rebooted and not _is_wide(chain) and poll.implied < TWO32:
            step = poll.counter + TWO32 - poll.implied
            most = ceilings[poll.row["metric"]] * poll.span
            usual = step <= 2**24 or step <= 16 * max(steady, default=0) * poll.span
            poll.like_wrap = step <= most and usual
            poll.wrapped = poll.like_wrap and step <= 2**31


def _undo_dips(chains):
    certain = [
        poll
        for chain in chains.values()
        for poll in chain
        if not poll.dip and (poll.rebooted or (poll.fell and not poll.wrapped))
    ]
    undone = False
    for chain in chains.values():
        for _, group in itertools.groupby(chain, key=lambda poll: poll.dip):
            run = list(group)
            first = run[0]
            if first.dip and any(
                one.before[0] < first.end and first.before[0] < one.end for one in certain if one.before
            ):
                undone = True
                for poll in run:
                    poll.dip = False
    return undone


def _told(poll, chain, ceiling, after):
    """Give start, value and flags of a poll."""
    if poll.dip:
        return poll.start, None, Flag.DIP
    flags = Flag.DIP if poll.across else Flag(0)
    if not poll.anchored:
        flags |= Flag.UNANCHORED
    elif poll.end - poll.start > 1.5 * poll.nominal:
        flags |= Flag.MISSED_POLL
    if poll.since and poll.stepped:
        return poll.start, None, flags | Flag.STEPPED
    if poll.since and poll.before is None and len(chain) == 1 and not after:
        return poll.start, None, flags
    if poll.since:
        value = poll.row["delivered"]
    else:
        narrow = any(one.row["flags"] & Flag.NARROW or one.like_wrap for one in chain) and not _is_wide(chain)

        def may_wrap_more(one):
            linked = one.row["kind"] == DELTA or (one.row["kind"] == ABSOLUTE and one.before is not None)
            return narrow and _has_twin(one) and linked and not one.rebooted and ceiling * one.span >= TWO32

        resets = [one for one in chain if not one.wrapped and (one.fell or one.rebooted) and not may_wrap_more(one)]
        bare = [one for one in chain if one.row["kind"] == ABSOLUTE]
        falls = [one for one in resets if one in bare]
        is_bare = poll.row["kind"] == ABSOLUTE
        if poll in resets:
            return poll.start, None, flags | Flag.RESET
        unknown = Flag(0)
        if may_wrap_more(poll):
            unknown |= Flag.WRAPS
        elif poll.wrapped:
            flags |= Flag.WRAPPED
        if is_bare and len(falls) >= 3 and len(falls) > len(bare) / 4:
            unknown |= Flag.SAWTOOTH
        if poll.stepped and not unknown:
            return poll.start, None, (flags & ~Flag.WRAPPED) | Flag.STEPPED
        if unknown or (is_bare and poll.before is None):
            return poll.start, None, flags | unknown
        value = poll.counter + TWO32 - poll.implied if poll.wrapped else poll.counter - poll.implied
    if value > TWO53:
        return poll.start, None, flags | Flag.CEILING
    return poll.start, value, flags


def _put_together(chain, told, ceiling):
    """Find what is too much for its time, and was counted in that of polls before in which nothing was."""
    for place, poll in enumerate(chain):
        start, value, flags = told[id(poll.row)]
        if poll.row["kind"] != ABSOLUTE or value is None or value <= ceiling * ((poll.end - start) / 1e6):
            continue
        for first in range(place - 1, max(-1, place - 6), -1):
            run = [(one, *told[id(one.row)]) for one in chain[first : place + 1]]
            if any(value is None for _, _, value, _ in run):
                break
            if any(before[0].end != after[1] for before, after in itertools.pairwise(run)):
                break
            total = sum(float(value) for _, _, value, _ in run)
            none = any(value == 0 for _, _, value, _ in run[:-1])
            if none and total <= ceiling * ((poll.end - run[0][1]) / 1e6):
                told[id(poll.row)] = [run[0][1], total, flags | Flag.MISSED_POLL]
                for one, _, _, flags_ in run[:-1]:
                    told[id(one.row)] = [one.end - 1, None, flags_ | Flag.DIP]
                break


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
