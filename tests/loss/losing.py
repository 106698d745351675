"""A run on the loss rate of a system whose loss is known."""

from brimful.loss.loop import LossLoop
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import Policies
from brimful.records import SCHEMA, LossPlan, MeasurerFacts, Run, collect

PLAN = LossPlan(loads=[2e6, 1.6e6, 1.2e6, 0.8e6, 0.4e6, 0.2e6], reference=2e6, duration_s=1.0, sweeps=3)


def invented_run(directory, spec="noisy,capacity=1Mpps,seed=5", plan=PLAN):
    """Three sweeps of a system of 1 Mpps."""
    run = Run(
        schema=SCHEMA,
        run_id="20210526T0756",
        started="2021-05-26T07:56:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful"],
        host={"cpu_model": "i7-4770", "kernel": "5.12"},
        subject="loss",
        measurer=MeasurerFacts(f"sim:{spec}"),
        loss=plan,
        device={"name": "switch"},
        traffic={"frame_size": 64, "direction": "uni"},
    )
    records = []
    LossLoop(plan, SimulatedMeasurer(spec), Policies(), sink=records.append).run()
    return collect(directory, [run, *records])
