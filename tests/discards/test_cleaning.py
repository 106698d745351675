"""Wraps, resets, missed polls, ceilings and conflicts: against the naive twin, and case by case."""

import hypothesis.strategies as st
import naive_cleaning as naive
import numpy as np
import pytest
from brimful.discards.schema import SAMPLES, Flag
from brimful.discards.telemetry import chains, cleaning
from brimful.discards.telemetry.rows import ABSOLUTE, BIN_US, CODES, DELTA, FIXED, ROW, SINCE, UPTIME, from_table
from hypothesis import given

NOON_US = 1_641_038_400_000_000
OCTETS, DISCARDS = CODES["switch.octets.uplink.tx"], CODES["switch.discards.uplink.tx"]
CEILINGS = cleaning.ceilings_per_s(10e9)
TWO64 = 2**64


def row(metric, end_s, *, value=0.0, delivered=0, counter=0, kind=DELTA, start_s=None, flags=0):
    end_us = NOON_US + round(end_s * 1e6)
    start_us = 0 if kind != FIXED else end_us - BIN_US if start_s is None else NOON_US + round(start_s * 1e6)
    return {
        "metric": metric,
        "end_us": end_us,
        "start_us": start_us,
        "value": value,
        "delivered": delivered,
        "counter": counter,
        "kind": kind,
        "flags": flags,
    }


def as_rows(rows):
    out = np.zeros(len(rows), ROW)
    for place, one in enumerate(rows):
        for name, cell in one.items():
            out[name][place] = cell
    return out


def as_tail(tail):
    made = chains.Tail.empty()
    for metric, (end_us, counter, *held) in tail.items():
        made.end_us[metric], made.counter[metric] = end_us, counter
        if held:
            made.level_us[metric], made.level[metric] = held
    return made


def as_dicts(table):
    plain = table.set_column(2, "bin_start", table["bin_start"].cast("int64"))
    plain = plain.set_column(3, "bin_end", plain["bin_end"].cast("int64"))
    return plain.drop_columns(["machine"]).to_pylist()


def clean(rows, tail=None):
    kept, _ = cleaning.merge(as_rows(rows), CEILINGS)
    return as_dicts(cleaning.clean(kept, as_tail(tail or {}), CEILINGS, "mlab1"))


STEPS = st.sampled_from(
    ["count"] * 3 + ["zero", "miss", "reset", "restart", "wrap", "jump", "garbage", "late", "fixed", "dip", "dip"]
)


@st.composite
def deliveries(draw):
    """Polls of two counters as a collector delivers them, with all that happens, in any order and some twice."""
    rows, tail = [], {}
    for metric in (OCTETS, DISCARDS):
        kind = draw(st.sampled_from([DELTA, DELTA, ABSOLUTE, SINCE]))
        counter = draw(st.sampled_from([0, 5, 10**6, 2**32 - 40, 2**53 + 1, TWO64 - 30]))
        seen, at = counter, 0.0
        width = draw(st.sampled_from([0, 0, Flag.WIDE, Flag.NARROW])) if kind == ABSOLUTE else 0
        if draw(st.booleans()):
            tail[metric] = (NOON_US - BIN_US * draw(st.integers(0, 3)), counter + draw(st.sampled_from([0, 0, 7])))
            if tail[metric][1] and draw(st.integers(0, 3)) == 0:
                end_us, level = tail[metric]
                tail[metric] = (end_us, level // 2 + 1 if level > 5 else 0, end_us - BIN_US, level)
        for step in draw(st.lists(STEPS, max_size=12)):
            at += 10.0
            size = draw(st.sampled_from([1, 30, 1500, 10**9, 2 * 10**10]))
            if step == "late":
                at += draw(st.sampled_from([0.5, 3.0, 25.0]))
            if step == "reset":
                counter = draw(st.sampled_from([0, 3, 50]))
            elif step == "wrap":
                counter = (counter + 60) % 2**32
            elif step not in {"zero", "fixed"}:
                counter = (counter + size) % TWO64
            if step == "restart":
                seen = (counter - draw(st.integers(0, 5))) % TWO64
            if step == "miss":
                continue
            true = counter
            if step == "dip":
                counter = draw(st.sampled_from([0, counter - counter // 3, counter // 5]))
            delivered = (counter - seen) % TWO64
            if step == "garbage":
                delivered = draw(st.sampled_from([0, 1, counter, 2**60, TWO64 - 1]))
            if step == "fixed":
                rows.append(row(metric, at, value=draw(st.sampled_from([0.0, 2.5, 1e12])), kind=FIXED))
            elif kind == DELTA:
                rows.append(row(metric, at, delivered=delivered, counter=counter))
            elif kind == ABSOLUTE:
                rows.append(row(metric, at, counter=counter, kind=ABSOLUTE, flags=int(width)))
            else:
                rows.append(row(metric, at, delivered=delivered, kind=SINCE))
            if draw(st.integers(0, 5)) == 0:
                again = dict(rows[-1])
                again["delivered" if again["kind"] == DELTA else "value"] = draw(st.sampled_from([0, 4, 2**40]))
                if again["kind"] in {DELTA, FIXED}:
                    rows.append(again)
            seen, counter = counter, true
        if draw(st.booleans()):
            ages = draw(st.lists(st.sampled_from([3.0, 12.0, 1000.0, 2**32 / 100 - 5]), max_size=4))
            rows += [row(UPTIME, 15.0 * n, value=age, kind=FIXED) for n, age in enumerate(ages)]
    repeated = draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else []
    return draw(st.permutations(rows + repeated)), tail


def ends_after(kept, tail):
    """Give differences of the next day, where one of this day is alone."""
    return {
        code: [NOON_US + round(at * 1e6) for at in (86_400, 86_430, 86_530)] for code in chains.alone_in(kept, tail)
    }


@given(deliveries())
def test_cleaning_equals_its_naive_twin(case):
    rows, tail = case
    kept, conflicts = cleaning.merge(as_rows(rows), CEILINGS)
    naive_kept, naive_conflicts = naive.merged(rows, CEILINGS)
    assert conflicts == naive_conflicts
    for after in ({}, ends_after(kept, as_tail(tail))):
        table = cleaning.clean(kept, as_tail(tail), CEILINGS, "mlab1", after)
        assert table.schema == SAMPLES
        assert as_dicts(table) == naive.cleaned([dict(one) for one in naive_kept], tail, CEILINGS, after)


@given(deliveries())
def test_what_is_stored_gives_back_what_was_delivered(case):
    rows, tail = case
    # Two kinds of rows of one bin cannot both be kept.
    rows = [one for one in rows if one["kind"] != FIXED]
    kept, _ = cleaning.merge(as_rows(rows), CEILINGS)
    table = cleaning.clean(kept, as_tail(tail), CEILINGS, "mlab1")
    again, conflicts = cleaning.merge(from_table(table), CEILINGS)
    assert conflicts == 0
    for name in ROW.names:
        assert again[name].tolist() == kept[name].tolist(), name
    assert cleaning.clean(again, as_tail(tail), CEILINGS, "mlab1").equals(table)


def test_a_difference_that_leads_to_the_poll_before_covers_what_was_missed():
    rows = [
        row(OCTETS, 10, delivered=100, counter=1100),
        row(OCTETS, 20, delivered=50, counter=1150),
        row(OCTETS, 50, delivered=90, counter=1240),
    ]
    first, second, third = clean(rows)
    assert (first["span_s"], first["flags"], first["usable"]) == (10, Flag.UNANCHORED, True)
    assert (second["span_s"], second["flags"]) == (10, 0)
    assert (third["span_s"], third["value"], third["flags"]) == (30, 90, Flag.MISSED_POLL)


def test_a_collector_that_started_again_covers_one_bin():
    rows = [row(OCTETS, 10, delivered=100, counter=1100), row(OCTETS, 90, delivered=7, counter=1900)]
    last = clean(rows)[1]
    assert (last["span_s"], last["value"], last["flags"]) == (10, 7, Flag.UNANCHORED)


def test_a_counter_of_32_bits_begins_again():
    rows = [
        row(DISCARDS, 10, delivered=6, counter=2**32 - 10),
        row(DISCARDS, 20, delivered=(5 - (2**32 - 10)) % TWO64, counter=5),
    ]
    last = clean(rows)[1]
    assert (last["value"], last["flags"], last["usable"]) == (15, Flag.WRAPPED, True)
    assert last["reported"] == TWO64 - 2**32 + 15


def test_a_counter_that_was_set_back_counts_nothing_known():
    rows = [
        row(DISCARDS, 10, delivered=6, counter=5000),
        row(DISCARDS, 20, delivered=(5 - 5000) % TWO64, counter=5),
        row(DISCARDS, 30, delivered=4, counter=9),
    ]
    _, reset, after = clean(rows)
    assert (reset["value"], reset["flags"], reset["usable"]) == (None, Flag.RESET, False)
    assert (after["value"], after["flags"], after["usable"]) == (4, 0, True)


@pytest.mark.parametrize(
    ("metric", "most"), [(OCTETS, 12_500_000_000), (DISCARDS, 12_500_000_000 // 64)], ids=["octets", "packets"]
)
def test_no_more_than_the_port_carries_is_used(metric, most):
    rows = [
        row(metric, 10, delivered=most, counter=2**62),
        row(metric, 20, delivered=most + 1, counter=2**62 + most + 1),
    ]
    full, over = clean(rows)
    assert full["usable"]
    assert not over["usable"]
    assert (over["value"], over["flags"]) == (most + 1, Flag.CEILING)


def test_a_capacity_bounds_the_uplink_alone():
    ceilings = cleaning.ceilings_per_s(1e9)
    assert ceilings[CODES["switch.octets.uplink.tx"]] == 125e6
    assert ceilings[CODES["switch.octets.local.tx"]] == 1250e6
    assert ceilings[CODES["switch.unicast.uplink.tx"]] == 125e6 / 64


def test_integers_above_floats_are_exact():
    counter = 2**53 + 1
    (only,) = clean([row(OCTETS, 10, delivered=3, counter=counter)])
    assert only["counter"] == counter
    rows = [row(OCTETS, 10, delivered=2**53 + 1, counter=TWO64 - 1)]
    (only,) = clean(rows)
    assert (only["value"], only["reported"], only["flags"]) == (None, 2**53 + 1, Flag.CEILING | Flag.UNANCHORED)


def test_of_two_versions_the_last_that_can_be_right_is_kept():
    good, other = row(OCTETS, 10, delivered=5, counter=100), row(OCTETS, 10, delivered=6, counter=101)
    wrong = row(OCTETS, 10, delivered=2**60, counter=99)
    for versions, value in (([good, other], 6), ([other, good], 5), ([good, wrong], 5), ([wrong, good], 5)):
        (kept,) = clean(versions)
        assert (kept["value"], kept["flags"] & Flag.CONFLICT) == (value, Flag.CONFLICT)


def test_bare_counters_need_the_poll_before():
    rows = [row(OCTETS, at, counter=1000 + at, kind=ABSOLUTE) for at in (0, 60, 120, 300)]
    first, second, _, last = clean(rows)
    assert (first["value"], first["usable"], first["flags"]) == (None, False, Flag.UNANCHORED)
    assert (second["value"], second["span_s"], second["flags"]) == (60, 60, 0)
    assert (last["value"], last["span_s"], last["flags"]) == (180, 180, Flag.MISSED_POLL)
    (only,) = clean(rows[1:2], tail={OCTETS: (NOON_US, 1000)})
    assert (only["value"], only["span_s"]) == (60, 60)
