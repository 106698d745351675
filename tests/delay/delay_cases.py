"""Trials of delay runs, made up."""

from brimful.records import DelayPlan, Trial
from test_observed import direction

LOAD = 10_000.0


def plan(**changes):
    return DelayPlan(**{"loads": [LOAD], "rounds": 6, "trial_s": 1.0, "wire": "lab:wire", **changes})


def trial(path, number, to, back=None, *, load=LOAD, seq=0, **changes):
    """A trial with these delays of frames, in nanoseconds, each way."""
    directions = [direction(to)] if back is None else [direction(to), direction(back)]
    sent = sum(one["sent"] for one in directions)
    return Trial(
        seq=seq,
        load=load,
        duration_s=1.0,
        intended=sent,
        sent=sent,
        lost=0,
        path=path,
        round=number,
        directions=directions,
        **changes,
    )
