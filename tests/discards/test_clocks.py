"""Clocks of pollers that are set: no rate of an interval that had another length than its times say."""

import json
import random

import numpy as np
import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.schema import Flag
from brimful.discards.telemetry import clocks
from brimful.discards.telemetry.interleaved import BETWEEN
from brimful.discards.telemetry.source import Reading
from telemetry import MIDNIGHT, put
from test_prometheus import answer, rows_of, series

BEGIN = MIDNIGHT + 6 * 3600
RATE = 1000
SET_BACK = clocks.SET_BACK


def moments(step_s, *, every=60, before=90, after=120, jitter=0.0, seed=0):
    """Give true seconds and what the clock of the poller says, which is set by so much after some polls."""
    chance = random.Random(seed)
    for n in range(before + after):
        true = every * n + chance.uniform(-jitter, jitter)
        yield true, BEGIN + true + (step_s if n >= before else 0)


def counted(true):
    """Give octets and discards at a true second."""
    return 10**9 + round(RATE * true) + int(true) ** 3 % 991, 500 + int(true) // 400


def wrong(rows, capacity_share=0.35):
    """Give the usable rates of octets that are not the true one."""
    return [
        row["value"] / row["span_s"]
        for row in rows
        if row["usable"]
        and ".octets." in row["metric"]
        and abs(row["value"] / row["span_s"] / RATE - 1) > capacity_share
    ]


def as_table(found, *, form="{:.3f}", are_counters=True, age=None):
    lines = ["timestamp,device,port,direction,octets,discards" + (",uptime" if age is not None else "")]
    last = None
    for true, shown in found:
        now = counted(true)
        told = now if are_counters or last is None else [one - other for one, other in zip(now, last, strict=True)]
        if are_counters or last is not None:
            more = [f"{age + true:.2f}"] if age is not None else []
            at = form(shown) if callable(form) else form.format(shown)
            lines.append(",".join([at, "edge", "1", "tx", *map(str, told), *more]))
        last = now
    return "\n".join([*lines, ""])


def put_table(tmp_path, text, **reading):
    (tmp_path / "a.csv").write_text(text)
    options = {"counters": True} | reading
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(**options), ceilings=Capacities())
    return summary, rows_of(tmp_path / "store")


@pytest.mark.parametrize("step_s", [-3600, -5400.5, -900, -150, -7200])
@pytest.mark.parametrize("are_counters", [True, False], ids=["counters", "differences"])
@pytest.mark.parametrize("order", ["as polled", "newest first"])
def test_a_clock_that_is_set_back(tmp_path, step_s, are_counters, order):
    text = as_table(moments(step_s, before=240, after=240), are_counters=are_counters)
    if order == "newest first":
        head, *lines = text.splitlines()
        text = "\n".join([head, *lines[::-1], ""])
    summary, rows = put_table(tmp_path, text, counters=are_counters)
    assert wrong(rows) == []
    # Twice what the step is long, in both columns.
    assert summary.left_out[SET_BACK] == pytest.approx(4 * abs(step_s) / 60, abs=4)
    assert sum(row["usable"] for row in rows) > 2 * (480 - 2 * abs(step_s) / 60) - 10


def test_a_clock_that_is_set_back_by_an_hour_of_summer(tmp_path):
    """Local times without a zone, on the minute: each is there twice, with other numbers."""
    summary, rows = put_table(tmp_path, as_table(moments(-3600)))
    assert summary.left_out == {SET_BACK: 240}
    assert wrong(rows) == []
    (first,) = [row for row in rows if row["flags"] & Flag.REPLACED and ".octets." in row["metric"]]
    assert (first["value"], first["usable"]) == (None, False)


def test_a_clock_that_is_set_back_in_telegraf(tmp_path):
    tags = {"agent_host": "edge", "ifName": "1", "host": "poller"}
    lines = [
        json.dumps(
            {
                "fields": dict(zip(("ifHCOutOctets", "ifOutDiscards"), counted(true), strict=True)),
                "name": "interface",
                "tags": tags,
                "timestamp": round(shown),
            }
        )
        for true, shown in moments(-3570)
    ]
    (tmp_path / "a.json").write_text("\n".join(lines))
    summary = put(tmp_path / "store", tmp_path / "a.json")
    assert wrong(rows_of(tmp_path / "store")) == []
    assert summary.left_out[SET_BACK] == pytest.approx(4 * 60, abs=4)


@pytest.mark.parametrize("step_s", [3600, 86_400, 300, -3600, -300, 100])
def test_the_age_of_the_device_shows_steps_of_the_clock(tmp_path, step_s):
    """Prometheus drops what is older than its last sample: then an interval is too short for what was counted."""
    found, last = [], 0
    for true, shown in moments(step_s):
        if shown > last:
            found.append((true, shown))
            last = shown
    octets = series("ifHCOutOctets", [[at, str(counted(true)[0])] for true, at in found])
    age = {"__name__": "sysUpTime", "instance": "edge-1:161"}
    ages = {"metric": age, "values": [[at, str(round(100 * (true + 10**6)))] for true, at in found]}
    (tmp_path / "a.json").write_text(json.dumps(answer(octets, ages)))
    put(tmp_path / "store", tmp_path / "a.json")
    rows = rows_of(tmp_path / "store")
    assert wrong(rows) == []
    (stepped,) = [row for row in rows if row["flags"] & Flag.STEPPED]
    assert (stepped["value"], stepped["usable"]) == (None, False)
    assert sum(row["usable"] for row in rows if ".octets." in row["metric"]) == len(found) - 2


@pytest.mark.parametrize("seed", range(4))
def test_late_polls_are_no_steps(tmp_path, seed):
    text = as_table(moments(0, every=10, jitter=2.0, seed=seed), age=10**5)
    _, rows = put_table(tmp_path, text)
    assert not any(row["flags"] & Flag.STEPPED for row in rows)


def test_ages_in_another_unit_are_no_steps(tmp_path):
    head, *lines = as_table(moments(0), age=10**5).splitlines()
    hundredths = [f"{line.rpartition(',')[0]},{round(100 * float(line.rpartition(',')[2]))}" for line in lines]
    _, rows = put_table(tmp_path, "\n".join([head, *hundredths, ""]))
    assert sum(row["usable"] for row in rows if ".octets." in row["metric"]) == len(lines) - 1


def test_an_age_in_a_table_shows_a_step_forwards(tmp_path):
    _, rows = put_table(tmp_path, as_table(moments(3600), age=10**5))
    assert wrong(rows) == []
    assert sum(bool(row["flags"] & Flag.STEPPED) for row in rows) == 2


def joined(*parts):
    head = parts[0].splitlines()[0]
    return "\n".join([head, *(line for part in parts for line in part.splitlines()[1:]), ""])


@pytest.mark.parametrize("are_counters", [True, False])
def test_files_one_behind_the_other_are_no_steps(tmp_path, are_counters):
    """A later range before an earlier one, ranges that overlap, and a range twice."""
    lines = as_table(moments(0), are_counters=are_counters).splitlines()
    head, *rows = lines
    parts = [rows[100:], rows[:60], rows[40:110], rows[100:]]
    text = "\n".join([head, *(line for part in parts for line in part), ""])
    summary, found = put_table(tmp_path, text, counters=are_counters)
    assert (summary.left_out, summary.bad_lines) == ({}, 0)
    assert wrong(found) == []
    assert sum(row["usable"] for row in found) >= 2 * (len(rows) - 1)


def test_rows_in_any_order_are_no_steps(tmp_path):
    head, *rows = as_table(moments(0)).splitlines()
    random.Random(1).shuffle(rows)
    summary, found = put_table(tmp_path, "\n".join([head, *rows, ""]))
    assert (summary.left_out, wrong(found)) == ({}, [])


def test_a_quiet_port_has_nothing_twice(tmp_path):
    lines = [f"{shown},edge,1,tx,5,0" for _, shown in moments(-3600)]
    text = "\n".join(["timestamp,device,port,direction,octets,discards", *lines, ""])
    summary, _ = put_table(tmp_path, text)
    assert summary.left_out == {}


def test_a_leap_second_is_a_second(tmp_path):
    text = "timestamp,device,port,direction,octets\n" + "".join(
        f"{at},edge,1,tx,{n * 600}\n"
        for n, at in enumerate(["2016-12-31T23:59:00Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:30Z"])
    )
    summary, rows = put_table(tmp_path, text)
    assert summary.bad_lines == 0
    assert [row["value"] for row in rows] == [None, 600, 600]
    assert [row["span_s"] for row in rows][1:] == [60, 30]
    bad, _ = put_table(tmp_path, text.replace("23:59:60", "23:58:60"))
    assert bad.bad_lines == 1


def test_a_clock_set_back_between_two_files_is_refused(tmp_path):
    found = list(moments(-3600))
    for name, part in (("1", found[:90]), ("2", found[90:])):
        values = [[at + 20 * (name == "2"), str(counted(true)[0])] for true, at in part]
        (tmp_path / f"{name}.json").write_text(json.dumps(answer(series("ifHCOutOctets", values))))
    summary = put(tmp_path / "store", tmp_path / "1.json", tmp_path / "2.json")
    (reason,) = summary.refused
    assert "clock was set back" in reason
    assert wrong(rows_of(tmp_path / "store")) == []


def test_times_twice_by_hand():
    times = [0, 60, 120, 180, 90, 150, 210, 270]
    rising, falling = [float(n) for n in range(8)], [0.0, 1, 2, 3, 1, 2, 3, 4]
    assert clocks.times_twice(np.array(times, float), np.array(rising)) == [(90, 180)]
    assert clocks.times_twice(np.array(times, float), np.array(falling)) == []
    assert clocks.times_twice(np.array(times[::-1], float), np.array(rising[::-1])) == [(90, 180)]


def stepped(chance, *, least):
    """Give polls with a clock that is set back once or twice, by so many intervals or more; and after which polls."""
    every, count = chance.choice([10, 30, 60, 300]), chance.randrange(60, 400)
    places = [chance.randrange(10, count - 5) for _ in range(chance.choice([1, 2]))]
    steps = {place: -chance.uniform(least, 60) * every for place in places}
    found, offset = [], 40_000.0
    for place in range(count):
        offset += steps.get(place, 0)
        true = every * place + chance.uniform(-0.02, 0.02) * every
        if chance.random() > 0.03:
            found.append((true, BEGIN + true + offset))
    return found, steps, count


@pytest.mark.parametrize("seed", range(12))
def test_clocks_that_are_set_back_at_random(tmp_path, seed):
    """Once or twice, by more than two intervals: no rate is too high, and not all is left out."""
    chance = random.Random(seed)
    found, steps, count = stepped(chance, least=2.2)
    are_counters = chance.random() < 0.6
    _, rows = put_table(tmp_path, as_table(found, are_counters=are_counters), counters=are_counters)
    # How long the first difference took is not known.
    rates = [rate for rate in wrong([row for row in rows if not row["flags"] & Flag.UNANCHORED]) if rate > RATE]
    assert rates == []
    assert sum(row["usable"] for row in rows) >= 2 * (count - 130 * len(steps)) * 0.9 - 10


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("later_first", [False, True])
def test_differences_in_two_files_between_which_the_clock_was_set_back(tmp_path, seed, later_first):
    """What lies between the others is left out, and counted."""
    found = list(moments(-random.Random(seed).uniform(1.1, 70) * 60, jitter=1, seed=seed))
    head, *lines = as_table(found, are_counters=False).splitlines()
    parts = [lines[:89], lines[89:]]
    for number, part in enumerate(reversed(parts) if later_first else parts):
        (tmp_path / f"{number}.csv").write_text("\n".join([head, *part, ""]))
    summary = put(tmp_path / "store", tmp_path / "0.csv", tmp_path / "1.csv", reading=Reading(counters=False))
    rows = rows_of(tmp_path / "store")
    assert wrong(rows) == []
    assert 0 < summary.left_out[BETWEEN] <= 2 * 72
    assert summary.samples == summary.rows_new + summary.left_out[BETWEEN]
    assert summary.without_value == {"replaced": 2}


def test_a_late_row_is_no_step(tmp_path):
    head, *lines = as_table(moments(0), are_counters=False).splitlines()
    lines[50], lines[51] = lines[51], lines[50]
    summary, rows = put_table(tmp_path, "\n".join([head, *lines, ""]), counters=False)
    assert (summary.left_out, wrong(rows)) == ({}, [])


@pytest.mark.parametrize("step", [-1.28, -1.9, -2.55])
@pytest.mark.parametrize("before", [4, 90])
def test_a_clock_that_is_set_back_by_little(tmp_path, step, before):
    """A row or two lie between the others."""
    text = as_table(moments(60 * step, before=before), are_counters=False)
    summary, rows = put_table(tmp_path, text, counters=False)
    assert 0 < summary.left_out[SET_BACK] <= 12
    assert wrong([row for row in rows if not row["flags"] & Flag.UNANCHORED]) == []
