"""Random counters through pollers as they are: what is taken is what was counted, and little is left out."""

import json
import random

import pytest
from brimful.discards.capacities import Capacities
from pollers import TWO32, history, intervals, polled, seen
from telemetry import MIDNIGHT, put
from test_prometheus import answer, rows_of, series

SECONDS = 3600
METRICS = {
    "ifOutDiscards": "switch.discards.uplink.tx",
    "ifOutUcastPkts": "switch.unicast.uplink.tx",
    "ifOutOctets": "switch.octets.uplink.tx",
    "ifHCOutUcastPkts": "switch.unicast.uplink.tx",
    "ifHCOutOctets": "switch.octets.uplink.tx",
}


def taken(tmp_path, found, capacity="10Gbps"):
    (tmp_path / "a.json").write_text(json.dumps(answer(*found)))
    put(tmp_path / "store", tmp_path / "a.json", ceilings=Capacities.parse(capacity))
    return list(intervals(rows_of(tmp_path / "store")))


def poller(chance):
    return {
        "every": chance.choice([5, 10, 30, 60]),
        "jitter": chance.choice([0, 0, 2]),
        "missing": chance.choice([0, 0, 0.1, 0.4]),
    }


@pytest.mark.parametrize("seed", range(24))
def test_one_counter(tmp_path, seed):
    """Where it was set back, and reads more than before by the next poll, nothing shows that."""
    chance = random.Random(seed)
    name = chance.choice(["ifOutDiscards", "ifHCOutUcastPkts", "ifHCOutOctets"])
    bits = 64 if "HC" in name else 32
    set_back = chance.sample(range(400, SECONDS), chance.choice([0, 0, 1, 3]))
    starts = [0, 5, 1000, 10**6, 2**31, 2**40, 2**53 - 10]
    # Set back shortly before it wraps, a counter of 32 bits looks as if it wrapped.
    starts += [] if set_back else [TWO32 - chance.randrange(1, 10**6)] * 3
    one = history(
        chance,
        SECONDS,
        rate=chance.choice([0.01, 0.3, 5, 300]),
        start=chance.choice(starts) % 2**bits,
        bits=bits,
        set_back=set_back,
        bursts=chance.random() < 0.5,
    )
    moments = polled(chance, SECONDS, **poller(chance))
    values = [[MIDNIGHT + at, str(one.shown[at])] for at in moments for _ in range(chance.choice([1, 1, 1, 2]))]
    if chance.random() < 0.3:
        chance.shuffle(values)
    found = taken(tmp_path, [series(name, values)])
    for _, begin, end, value in found:
        if not one.was_set_back(begin, end) or one.shown[end] < one.shown[begin]:
            assert value == one.counted(begin, end)
    assert len(found) >= len(moments) - 2 - 6 * len(one.set_back)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("capacity", ["100Mbps", "10Gbps"])
def test_counters_of_32_bits_wrap_once_or_more(tmp_path, seed, capacity):
    chance = random.Random(seed)
    name = chance.choice(["ifOutOctets", "ifOutUcastPkts"])
    full = {"100Mbps": 12_500_000, "10Gbps": 1_250_000_000}[capacity] / (1 if name == "ifOutOctets" else 84)
    moments = polled(chance, SECONDS, **poller(chance))
    one = history(
        chance, SECONDS, rate=chance.choice([0.001, 0.1, 0.45]) * full, start=chance.randrange(TWO32), bits=32
    )
    for _, begin, end, value in taken(tmp_path, [seen(name, one, moments)], capacity):
        assert value == one.counted(begin, end)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("with_age", [True, False])
def test_a_device_that_starts_again(tmp_path, seed, with_age):
    chance = random.Random(seed)
    started = chance.sample(range(400, SECONDS), chance.choice([1, 2]))
    plan = {
        "ifOutDiscards": (32, chance.randrange(10**6, TWO32), chance.choice([0.01, 1, 50])),
        "ifHCOutUcastPkts": (64, chance.randrange(10**7, 10**12), chance.choice([1, 300])),
        "ifHCOutOctets": (64, chance.randrange(10**10, 10**15), 10**4),
    }
    found = {
        name: history(chance, SECONDS, rate=rate, start=start, bits=bits, set_back=started)
        for name, (bits, start, rate) in plan.items()
    }
    moments = polled(chance, SECONDS, **poller(chance))
    every = [seen(name, one, moments) for name, one in found.items()]
    if with_age:
        since = [max([at for at in started if at <= second], default=-500_000) for second in moments]
        ages = [[MIDNIGHT + at, str(100 * (at - up))] for at, up in zip(moments, since, strict=True)]
        every.append({"metric": {"__name__": "sysUpTime", "instance": "edge-1:161"}, "values": ages})
    by_metric = {METRICS[name]: one for name, one in found.items()}
    values = taken(tmp_path, every)
    for metric, begin, end, value in values:
        one = by_metric[metric]
        if with_age or not one.was_set_back(begin, end) or one.shown[end] < one.shown[begin]:
            assert value == one.counted(begin, end)
    assert len(values) >= 3 * (len(moments) - 2 - 6 * len(started))


@pytest.mark.parametrize("seed", range(12))
def test_a_device_that_shows_its_counters_late(tmp_path, seed):
    """Its counters change every 10 or 15 s: totals are right however busy the port is, with each poll in some value."""
    chance = random.Random(seed)
    cache, every = chance.choice([(10, 5), (15, 5), (10, 7), (15, 10)])
    one = history(chance, SECONDS, rate=chance.choice([0.1, 0.3, 0.48]) * 1_250_000_000, start=10**12, bits=64)
    moments = polled(chance, SECONDS, every=every)
    found = taken(tmp_path, [seen("ifHCOutOctets", one, moments, cache=cache)])
    first, last = (moments[place] // cache * cache for place in (0, -1))
    assert sum(value for *_, value in found) == one.counted(first, last)
    assert sum(end - begin for _, begin, end, _ in found) == moments[-1] - moments[0]
