"""A run on the loss rate of a system whose loss is known."""

from brimful.loss.loop import LossLoop
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import Policies
from brimful.records import LossPlan, collect
from support import invented

PLAN = LossPlan(loads=[2e6, 1.6e6, 1.2e6, 0.8e6, 0.4e6, 0.2e6], reference=2e6, duration_s=1.0, sweeps=3)


def invented_run(directory, spec="noisy,capacity=1Mpps,seed=5", plan=PLAN):
    """Three sweeps of a system of 1 Mpps."""
    run = invented(
        "loss",
        f"sim:{spec}",
        loss=plan,
        device={"name": "switch"},
        traffic={"frame_size": 64, "direction": "uni"},
    )
    records = []
    LossLoop(plan, SimulatedMeasurer(spec), Policies(), sink=records.append).run()
    return collect(directory, [run, *records])
