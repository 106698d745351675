"""A port that loses 0.1 % alone is named, at any place and among any number of ports."""

from types import SimpleNamespace

import pytest
from brimful.records import Trial
from brimful.report.lone_ports import lone_losers
from brimful.suites import forwarding
from hypothesis import given
from hypothesis import strategies as some

PORTS = [f"p{number}" for number in range(1, 17)]
LOADS = (50_000.0, 40_000.0, 30_000.0, 20_000.0)


def flows_of(test, ports):
    """Give which port sends to which; `halves` and `mesh` are made by the tester."""
    everybody = range(1, ports + 1)
    half = ports // 2
    made = {
        "mesh": [(one, other) for one in everybody for other in everybody if one != other],
        "one-to-many": [(1, other) for other in range(2, ports + 1)],
        "many-to-one": [(other, 1) for other in range(2, ports + 1)],
        "halves": [(one, other) for one in everybody[:half] for other in everybody[half:]],
    }
    if test in made:
        return made[test]
    pairs = forwarding.pattern_of(test, ports).removeprefix("flows:").split(",")
    return [tuple(map(int, pair.split(">"))) for pair in pairs]


def lossy_file(flows, losing, way, *, overload=False):
    """A curve of a device that loses one of a thousand frames to or from one port, and at the greatest load of all."""
    trials = []
    for seq, load in enumerate(LOADS):
        ways = [
            {
                "from": PORTS[one - 1],
                "to": PORTS[other - 1],
                "sent": 1000,
                "lost": 400 if overload and load == LOADS[0] else int((one if way == "from" else other) == losing),
            }
            for one, other in flows
        ]
        lost = sum(one["lost"] for one in ways)
        sent = 1000 * len(ways)
        trials.append(Trial(seq=seq, load=load, duration_s=1.0, intended=sent, sent=sent, lost=lost, directions=ways))
    return SimpleNamespace(trials=trials, run=SimpleNamespace(switching=None, load_unit="frames/s"))


@given(some.data(), some.sampled_from([*forwarding.THROUGHPUTS]), some.integers(2, 8), some.booleans())
def test_it_is_named_in_every_pattern(data, test, pairs, overload):
    flows = flows_of(test, 2 * pairs)
    for way, place in (("from", 0), ("to", 1)):
        ports = sorted({flow[place] for flow in flows})
        if len(ports) < 2:
            continue
        losing = data.draw(some.sampled_from(ports))
        found = lone_losers(lossy_file(flows, losing, way, overload=overload))
        assert found == (
            "from 20.00 kpps, the least load with loss, frames are lost on the way"
            f" {way} {PORTS[losing - 1]} (0.10 %) alone"
        )


@given(some.data(), some.integers(3, 16))
def test_it_is_named_among_the_receivers_of_broadcasts(data, ports):
    losing = data.draw(some.integers(1, ports - 1))
    trials = [
        Trial(
            seq=seq,
            load=load,
            duration_s=1.0,
            intended=1000,
            sent=1000,
            lost=1,
            extra={"received": [0, *(1000 - (port == losing) for port in range(1, ports))]},
        )
        for seq, load in enumerate(LOADS)
    ]
    run = SimpleNamespace(switching=SimpleNamespace(ports=PORTS[:ports]), load_unit="frames/s")
    assert f"to {PORTS[losing]} (0.10 %) alone" in lone_losers(SimpleNamespace(trials=trials, run=run))


@pytest.mark.parametrize(
    "file",
    [
        lossy_file(flows_of("mesh", 4), 99, "to"),
        lossy_file(flows_of("mesh", 4), 99, "to", overload=True),
        lossy_file(flows_of("one-to-many", 2), 2, "to"),
    ],
    ids=["no loss", "one load with loss", "one receiver"],
)
def test_nothing_is_said_where_no_port_stands_out(file):
    assert lone_losers(file) == ""


def test_ports_that_are_many_are_counted():
    flows = flows_of("halves", 16)
    file = lossy_file(flows, 9, "to")
    for trial in file.trials:
        for way in trial.directions:
            way["lost"] = int(way["to"] != "p16")
    assert lone_losers(file).endswith("to p9 (0.10 %), p10 (0.10 %), p11 (0.10 %), p12 (0.10 %) and 3 more alone")
