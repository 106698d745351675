"""Random telemetry of any interval and speed tests of any length, and what a loop over seconds says of them.

A world is a site. Times are microseconds within it.
"""

import datetime
import functools
from collections import defaultdict
from random import Random

from brimful.discards import analysis

EPOCH = datetime.datetime(2020, 3, 1)
SECOND = 1_000_000
LONGEST_SAMPLE = 1800 * SECOND
MACHINES = ["mlab1", "mlab2", "mlab3"]
TESTS = 5


def worlds(count):
    """Give samples and tests of that many worlds, as rows of the tables of a store."""
    made = [_world(number) for number in range(count)]
    return [row for samples, _ in made for row in samples], [row for _, tests in made for row in tests]


def _world(number):
    random = Random(number)
    interval = random.choice([1, 2, 5, 10, 12, 15, 30, 60, 300, 600, 900, random.randint(1, 900)])
    grain = random.choice([SECOND, SECOND // 2, 1])
    horizon = max(40 * interval, 600) if interval < 30 else max(8 * interval, 1500)
    site = f"w{number:04}"
    samples = []
    for machine in MACHINES[: random.choice([1, 1, 2, 3])]:
        samples += _polled(random, site, machine, interval, grain, horizon)
    edges = [edge for row in samples for edge in (row["bin_start"], row["bin_end"])] or [EPOCH]
    tests = [_test(random, site, index, grain, horizon, edges) for index in range(TESTS)]
    return samples, tests


def _polled(random, site, machine, interval, grain, horizon):
    """Polls with an offset, a clock that drifts, jitter, gaps, missed polls, and values that are no good."""
    drift = random.choice([0.0, 0.0, random.uniform(-0.01, 0.01)])
    jitter = random.choice([0.0, random.uniform(0, 0.2)])
    busy, gaps = random.choice([0.02, 0.3]), random.choice([0.0, 0.0, 0.05, 0.3])
    at = -random.randrange(interval * SECOND)
    rows = []
    while at < horizon * SECOND:
        length = interval * random.choices([1, 2, 3], [20, 1, 1])[0] * (1 + drift + random.uniform(0, jitter))
        end = at + max(grain, round(length * SECOND) // grain * grain)
        start = at - random.choice([0] * 30 + [grain])  # Some overlap the one before.
        if random.random() >= gaps:
            value = float(random.randint(1, 900)) if random.random() < busy else 0.0
            rows.append(sample(site, machine, start, end, value, usable=random.random() > 0.01))
        at = end
    return rows


def sample(site, machine, start, end, value, *, usable):
    bin_start, bin_end = (EPOCH + datetime.timedelta(microseconds=at) for at in (start, end))
    return {
        "site": site,
        "day": bin_start.date(),
        "machine": machine,
        "metric": analysis.DISCARDS,
        "bin_start": bin_start,
        "bin_end": bin_end,
        "span_s": (end - start) / SECOND,
        "value": value,
        "flags": 0,
        "usable": usable,
    }


def _test(random, site, index, grain, horizon, edges):
    start = EPOCH + datetime.timedelta(microseconds=random.randrange(horizon * SECOND) // grain * grain)
    if random.random() < 0.2:
        start = random.choice(edges)
    end = start + random.choice(
        [
            datetime.timedelta(0),
            datetime.timedelta(microseconds=1),
            datetime.timedelta(seconds=10),
            datetime.timedelta(seconds=random.randint(1, 30)),
            datetime.timedelta(seconds=random.randint(1, 1000)),
            datetime.timedelta(microseconds=random.randrange(1000 * SECOND)),
        ]
    )
    later = [edge for edge in edges if datetime.timedelta(0) < edge - start < datetime.timedelta(seconds=1000)]
    if later and random.random() < 0.2:
        end = random.choice(later)
    return {
        "test_id": f"{site}-{index}",
        "site": site,
        "day": start.date(),
        "direction": "download",
        "machine": random.choice(MACHINES),
        "start": start,
        "end": end,
    }


def oracle(samples, tests):
    """Give class, discards and coverage of each test, by its name."""
    by_second = defaultdict(lambda: defaultdict(list))
    for row in samples:
        start, end = _us(row["bin_start"]), _us(row["bin_end"])
        if row["usable"] and end - start <= LONGEST_SAMPLE:
            one, of_machine = (start, end, row["value"]), by_second[row["site"], row["machine"]]
            for second in range(start // SECOND, (end - 1) // SECOND + 1):
                of_machine[second].append(one)
    return {test["test_id"]: _seen(test, by_second) for test in tests}


def _seen(test, by_second):
    start, end = _us(test["start"]), max(_us(test["end"]), _us(test["start"]) + 1)
    best = (0, None)
    # The machine of the test is asked first; another one must know more.
    for machine in sorted(MACHINES, key=lambda name: (name != test["machine"], name)):
        known, seen, polled = 0, set(), by_second[test["site"], machine]
        for second in range(start // SECOND, (end - 1) // SECOND + 1):
            first, last = max(start, second * SECOND), min(end, (second + 1) * SECOND)
            here = [one for one in polled.get(second, ()) if one[0] < last and one[1] > first]
            seen.update(here)
            known += _union(first, last, here)
        if known > best[0]:
            best = (known, seen)
    known, seen = best
    discards = sum(value for _, _, value in seen or ())
    whole = known == end - start
    return {
        "overlap": "non-zero" if discards else "zero" if whole else "unknown",
        "discards": discards,
        "coverage": known / (end - start),
    }


def _union(first, last, intervals):
    """Give how much of a second some intervals cover together."""
    if any(start <= first and end >= last for start, end, _ in intervals):
        return last - first
    covered, reached = 0, first
    for start, end, _ in sorted(intervals):
        covered += max(0, min(end, last) - max(start, reached))
        reached = max(reached, min(end, last))
    return covered


def _us(time):
    return (time - EPOCH) // datetime.timedelta(microseconds=1)


@functools.cache
def a_thousand():
    """Give samples and tests of a thousand worlds, and what is true of the tests."""
    samples, tests = worlds(1000)
    return samples, tests, oracle(samples, tests)
