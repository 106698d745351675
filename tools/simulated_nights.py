"""Writes examples/histories.sqlite: a store of simulated nights of a lab, with judgements as they would have been made.

A forwarder is measured each night: throughput at three frame sizes and two goals, and delay. Build 0.9.25 takes 4 %
more time for each frame, which small frames show, and build 0.9.50 delays frames by 8 % more. One value of night 18 is
an outlier, one of night 33 failed, the kernel is renewed in night 40, and from night 70 on another machine measures.
The first regression is accepted.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

from brimful.trend.checking import check
from brimful.trend.judgement import Settings, Word
from brimful.trend.measured import Measured, Point
from brimful.trend.series import HIGHER, LOWER
from brimful.trend.store import Store

STORE = Path(__file__).resolve().parent.parent / "examples" / "histories.sqlite"
NIGHTS = 100
SLOWER, OUTLIER, FAILED, NEW_KERNEL, DELAYED, NEW_MACHINE = 25, 18, 33, 40, 50, 70
ACCEPTED = 35
CAPACITY = {"64": 1.21e6, "512": 1.08e6, "1518": 0.79e6}
"""Frames a second, by frame size."""
GOALS = {"ndr 0 %": 0.97, "pdr 0.5 %": 1.0}
CHECKED = 10
"""Nights between judgements, but for those in which something happens."""


def night(number: int, chance: random.Random) -> Measured:
    """Give what was measured in a night."""
    begun = datetime.datetime(2026, 8, 1, 1, 30, tzinfo=datetime.UTC) + datetime.timedelta(days=number)
    return Measured(
        source=f"night {number}",
        version=f"0.9.{number}",
        at=begun.timestamp(),
        labels={"brimful": "0.1.0", "kernel": "6.1.0-40" if number < NEW_KERNEL else "6.1.0-41"},
        points=list(points(number, chance)),
    )


def points(number: int, chance: random.Random) -> Iterator[Point]:
    """Give the values of a night."""
    is_new = number >= NEW_MACHINE
    machine = "4 x lab-2" if is_new else "2 x lab-1"
    speed = (1.3 if is_new else 1.0) * chance.lognormvariate(0, 0.003)
    for size, capacity in CAPACITY.items():
        for goal, share in GOALS.items():
            key = {"device": "forwarder", "size": size, "goal": goal, "machine": machine}
            value = capacity * share * speed * chance.lognormvariate(0, 0.006)
            if size == "64" and number >= SLOWER:
                value *= 0.96
            if (number, size, goal) == (OUTLIER, "512", "ndr 0 %"):
                value *= 0.8
            if (number, size, goal) == (FAILED, "1518", "pdr 0.5 %"):
                yield Point(key=key, worse=LOWER, unit="frames/s", problem="irregular: min-load-is-upper-bound")
                continue
            yield Point(key=key, worse=LOWER, unit="frames/s", value=float(f"{value:.6g}"), error=0.002)
    delay = 21e-6 / speed * chance.lognormvariate(0, 0.01) * (1.08 if number >= DELAYED else 1.0)
    key = {"device": "forwarder", "size": "64", "goal": "delay at 50 %", "machine": machine}
    yield Point(key=key, worse=HIGHER, unit="s", value=float(f"{delay:.6g}"), error=0.004)


def write(path: Path) -> None:
    """Write the store anew."""
    path.unlink(missing_ok=True)
    chance = random.Random(1)
    special = {OUTLIER, FAILED, ACCEPTED, SLOWER + 2, SLOWER + 3, DELAYED + 2, DELAYED + 3, NEW_MACHINE, NIGHTS - 1}
    with Store.create(path) as store:
        for number in range(NIGHTS):
            measured = night(number, chance)
            now = (measured.at or 0.0) + 3600
            store.add([measured], now=now)
            today = f"{datetime.datetime.fromtimestamp(now, tz=datetime.UTC):%Y-%m-%d}"
            if number == ACCEPTED:
                store.say(acceptances(store, today), now=now)
            if number in special or number % CHECKED == 0:
                check(store, Settings(), now=now, today=today)


def acceptances(store: Store, today: str) -> list[Word]:
    """Accept the first regression."""
    versions = [f"0.9.{number}" for number in range(SLOWER - 1, SLOWER + 2)]
    reason = "checks of lengths, which had been missing"
    return [
        Word(series=id, kind="accept", version=versions[1], versions=versions, reason=reason, who="ada", said=today)
        for id, name in store.names().items()
        if name.startswith("forwarder 64 ")
    ]


if __name__ == "__main__":
    write(STORE)
