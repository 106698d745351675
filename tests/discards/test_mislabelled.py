"""Two directions of local octets under one name: told apart by counters and packets, against a naive twin."""

import hypothesis.strategies as st
import numpy as np
from brimful.discards.schema import Flag
from brimful.discards.telemetry import chains, cleaning, mislabelled
from brimful.discards.telemetry.rows import (
    BIN_US,
    DELTA,
    LOCAL_OCTETS_RX,
    LOCAL_OCTETS_TX,
    LOCAL_UNICAST_RX,
    LOCAL_UNICAST_TX,
    UNKNOWN_DIRECTION,
    empty_rows,
    from_table,
)
from hypothesis import given

NOON_US = 1_641_038_400_000_000
CEILINGS = cleaning.ceilings_per_s(10e9)


def rows_of(found):
    """Make rows of (metric, bin, delivered, counter)."""
    rows = empty_rows(len(found))
    rows["kind"] = DELTA
    for place, (metric, at, delivered, counter) in enumerate(found):
        rows["metric"][place] = metric
        rows["end_us"][place] = NOON_US + at * BIN_US
        rows["delivered"][place] = delivered
        rows["counter"][place] = counter
    return rows


def told(found):
    rows = mislabelled.tell_apart(cleaning.merge(rows_of(found), CEILINGS)[0])
    return {
        (int(row["metric"]), int(row["end_us"] - NOON_US) // BIN_US): (
            int(row["delivered"]),
            int(row["counter"]),
            bool(row["flags"] & Flag.AMBIGUOUS),
        )
        for row in rows
    }


def naive_told(found):
    """Walk from poll to poll; keep for each stretch which of its rows go together."""
    named = {(metric, at): (d, c, False) for metric, at, d, c in found if metric != UNKNOWN_DIRECTION}
    polls = {}
    for metric, at, delivered, counter in found:
        if metric == UNKNOWN_DIRECTION:
            polls.setdefault(at, set()).add((counter, delivered))
    stretches, before = [], None
    for at in sorted(polls):
        pair = sorted(polls[at])
        votes = set()
        for place, (counter, delivered) in enumerate(pair):
            origin = (counter - delivered) % 2**64
            ways = [lane for lane, (known, _) in (before or {}).items() if known == origin]
            if len(ways) == 1:
                votes.add(ways[0] == place)
        if len(votes) == 1:
            lanes = {(place if votes == {True} else 1 - place): row for place, row in enumerate(pair)}
        else:
            lanes = dict(enumerate(pair))
            stretches.append([])
        stretches[-1].append((at, lanes, dict(enumerate(pair))))
        before = lanes
    for stretch in stretches:
        against = [_against(stretch, named, swapped) for swapped in (0, 1)]
        least, most = sorted(against)
        unclear = most < mislabelled.MIN_CONTRADICTIONS or least > mislabelled.MAX_SHARE * most
        swapped = against.index(least)
        for at, lanes, pair in stretch:
            for lane, (counter, delivered) in (pair if unclear else lanes).items():
                direction = lane if unclear else lane ^ swapped
                named[(LOCAL_OCTETS_RX, LOCAL_OCTETS_TX)[direction], at] = (delivered, counter, unclear)
    return named


def _against(stretch, named, swapped):
    count = 0
    for at, lanes, _ in stretch:
        for lane, (_, octets) in lanes.items():
            packets = named.get(((LOCAL_UNICAST_RX, LOCAL_UNICAST_TX)[lane ^ swapped], at))
            if packets is not None:
                least = mislabelled.MIN_FRAME_BYTES * packets[0]
                most = mislabelled.MAX_FRAME_BYTES * packets[0] + mislabelled.OTHER_BYTES
                count += not least <= octets <= most
    return count


@st.composite
def polls(draw):
    """Two counters of octets, one of them sometimes missing or started again, with packets of most polls."""
    counters = [draw(st.sampled_from([0, 1000, 10**12])), draw(st.sampled_from([0, 1000, 2 * 10**12]))]
    found = []
    bytes_per_packet = draw(st.sampled_from([(1400, 70), (1000, 1000), (1900, 41)]))
    for at in range(draw(st.integers(1, 12))):
        packets = [draw(st.sampled_from([0, 100, 5000])), draw(st.sampled_from([3, 90, 4000]))]
        octets = [size * count for size, count in zip(bytes_per_packet, packets, strict=True)]
        happens = draw(st.sampled_from(["", "", "", "", "one", "none", "restart", "no packets"]))
        if happens == "restart":
            counters = [counter + draw(st.sampled_from([0, 17])) for counter in counters]
        counters = [(counter + size) % 2**64 for counter, size in zip(counters, octets, strict=True)]
        if happens == "none":
            continue
        lines = [(UNKNOWN_DIRECTION, at, octets[side], counters[side]) for side in (0, 1)]
        if happens == "one":
            lines = lines[:1] if draw(st.booleans()) else lines[1:]
        found += lines
        if happens != "no packets":
            found += [(LOCAL_UNICAST_RX, at, packets[0], 0), (LOCAL_UNICAST_TX, at, packets[1], 0)]
    return draw(st.permutations(found))


@given(polls())
def test_telling_apart_equals_its_naive_twin(found):
    assert told(found) == naive_told(found)


@given(polls())
def test_what_is_stored_is_told_apart_again(found):
    rows = mislabelled.tell_apart(cleaning.merge(rows_of(found), CEILINGS)[0])
    table = cleaning.clean(rows, chains.NO_TAIL, CEILINGS, "mlab1")
    again = mislabelled.tell_apart(cleaning.merge(from_table(table), CEILINGS)[0])
    assert np.array_equal(again, rows)


def traffic(counts, bytes_per_packet, first_counters=(10**9, 2 * 10**9)):
    found, counters = [], list(first_counters)
    for at, packets in enumerate(counts):
        for side in (0, 1):
            octets = packets[side] * bytes_per_packet[side]
            counters[side] += octets
            found.append((UNKNOWN_DIRECTION, at, octets, counters[side]))
            found.append(((LOCAL_UNICAST_RX, LOCAL_UNICAST_TX)[side], at, packets[side], 0))
    return found


def test_data_and_acknowledgements_are_told_apart_over_quiet_polls():
    busy, quiet = (20_000, 10_000), (2, 2)
    result = told(traffic([quiet, busy, busy, quiet, busy, busy], (1500, 60)))
    for at in range(6):
        received, transmitted = result[LOCAL_OCTETS_RX, at], result[LOCAL_OCTETS_TX, at]
        assert received[0] >= transmitted[0]
        assert not received[2]
        assert not transmitted[2]


def test_what_packets_do_not_tell_has_no_value():
    rows = rows_of(traffic([(100, 100)] * 20, (500, 500)))
    rows = mislabelled.tell_apart(cleaning.merge(rows, CEILINGS)[0])
    table = cleaning.clean(rows, chains.NO_TAIL, CEILINGS, "mlab1").to_pylist()
    octets = [row for row in table if ".octets." in row["metric"]]
    assert len(octets) == 40
    assert {row["value"] for row in octets} == {None}
    assert {row["flags"] for row in octets} == {Flag.MISLABELLED | Flag.AMBIGUOUS}
    assert not any(row["usable"] for row in octets)


def test_the_two_versions_that_came_last_are_kept():
    found = traffic([(20_000, 10_000)] * 5, (1500, 60))
    stale = [(UNKNOWN_DIRECTION, 2, 7, 77)]
    rows, conflicts = cleaning.merge(rows_of(stale + found), CEILINGS)
    assert conflicts == 1
    kept = rows[rows["metric"] == UNKNOWN_DIRECTION]
    assert 77 not in kept["counter"]
    assert len(kept) == 10
    assert set((kept["end_us"][(kept["flags"] & Flag.CONFLICT) != 0] - NOON_US) // BIN_US) == {2}
