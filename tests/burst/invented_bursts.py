"""A run on back-to-back frames that nobody measured."""

from brimful.records import Burst, BurstPlan, BurstTest, End, Trial, Warning, collect
from support import invented


def trial(seq, test, burst, lost):
    """A burst as a trial."""
    return Trial(seq, 1e6, burst / 1e6, burst, burst, lost, round=test, burst=burst)


def invented_run(directory):
    """Two tests of six bursts."""
    run = invented(
        "burst",
        "tester:eth1,eth2",
        burst=BurstPlan(1e6, 2, 40_000, attempts=2, throughput=0.8e6, throughput_run="x", throughput_goal="throughput"),
        device={"name": "switch"},
        traffic={"frame_size": 64, "direction": "uni"},
        deviations=["a burst ends once a frame of it is lost: the outcome is certain then"],
    )
    bursts = [(0, 20_000, 0), (0, 30_000, 7), (0, 25_000, 0), (1, 20_000, 0), (1, 30_000, 1), (1, 27_000, 0)]
    trials = [trial(seq, *burst) for seq, burst in enumerate(bursts)]
    found = [BurstTest(0, 25_000, 30_000), BurstTest(1, 27_000, 30_000)]
    result = Burst(2, 26_000.0, 25_000, 27_000, 0.026, 1414.2, 0.0052)
    spoiled = Warning("invalid-trials", "1 of 7 bursts were spoiled and not counted")
    return collect(directory, [run, *trials, *found, result, spoiled, End("done", 6, 52.0)])
