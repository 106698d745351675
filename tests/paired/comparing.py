"""Devices to compare: simulated ones with weather that they share, and what runs them."""

import math

import msgspec
import numpy as np
from brimful.managed import Place
from brimful.measurers.base import Description, TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.paired.beds import OwnBeds
from brimful.paired.loop import PairedLoop
from brimful.paired.manager import PairedRequest, run_comparison
from brimful.policies import Policies
from brimful.records import PairedDevice, PairedPlan, collect
from support import invented


def request(*specs, **options):
    names = ["A", "B", "C", "D"][: len(specs) - options.get("control", False)]
    names += ["A again"] if options.get("control") else []
    return PairedRequest(devices=list(zip(names, specs, strict=True)), **options)


def compare_simulated(directory, *specs, resume=False, **options):
    """Compare simulated devices, and give the run."""
    wanted = request(*[f"sim:{spec}" for spec in specs], **options)
    beds = OwnBeds(lambda device: SimulatedMeasurer(specs[device]), len(specs))
    return run_comparison(wanted, beds, place=Place(out=directory, resume=resume))


class Weather:
    """A drift that all devices share: its logarithm is an AR(1) process of a deviation and a time constant."""

    def __init__(self, seed, deviation, constant_s, step_s=0.05):
        self._draw = np.random.default_rng(seed)
        self._step_s, self._deviation = step_s, deviation
        self._keep = math.exp(-step_s / constant_s)
        self._values = [self._draw.normal() * deviation]

    def mean(self, begin_s, end_s):
        first, last = int(begin_s / self._step_s), int(end_s / self._step_s) + 1
        while len(self._values) < last:
            noise = self._draw.normal() * self._deviation * math.sqrt(1 - self._keep**2)
            self._values.append(self._keep * self._values[-1] + noise)
        return float(np.mean(self._values[first:last]))


class Drifting:
    """A device of a capacity in shared weather, with noise of its own; trials take longer than their duration."""

    def __init__(self, capacity, weather, *, seed, noise=0.01, overhead_s=0.5, queue=0):
        self._capacity, self._weather, self._noise = capacity, weather, noise
        self._draw = np.random.default_rng(seed)
        self._overhead_s, self._queue, self._now_s = overhead_s, queue, 0.0

    def describe(self):
        return Description(name="drifting", max_load=1e9, overload=2 * self._capacity, virtual_time=True)

    def measure(self, load, duration_s, *, stop_above=None):
        noise = self._draw.normal() * self._noise / math.sqrt(duration_s)
        log = 0.0 if self._weather is None else self._weather.mean(self._now_s, self._now_s + duration_s)
        sent = round(load * duration_s)
        received = min(sent, self._queue + round(self._capacity * math.exp(log + noise) * duration_s))
        self._now_s += duration_s + self._overhead_s
        return TrialOutput(sent=sent, lost=sent - received)

    def now(self):
        return self._now_s

    def resume_at(self, elapsed_s):
        self._now_s = max(self._now_s, elapsed_s)

    def close(self): ...


PLAN = PairedPlan(
    devices=[
        PairedDevice(name=name, spec=f"lab:bridge,work={work}") for name, work in (("A", 10), ("B", 12), ("C", 10))
    ],
    tolerance=0.02,
    precision=0.01,
    trial_s=0.5,
    seed=1,
    budget_s=600.0,
    loss_ratio=0.0,
)


def invented_run(directory):
    """Two devices against a first one and its control, in a drift that all share."""
    devices = [*PLAN.devices, PairedDevice(name="A again", spec=PLAN.devices[0].spec)]
    plan = msgspec.structs.replace(PLAN, devices=devices, control=True)
    run = invented(
        "comparison",
        plan.devices[0].spec,
        paired=plan,
        traffic={"frame_size": 64, "direction": "bi"},
    )
    weather = Weather(5, 0.05, 60)
    made = [
        Drifting(ratio * 4.3e4, weather, seed=seed, noise=0.02) for seed, ratio in enumerate((1.0, 0.93, 1.04, 1.0))
    ]
    records = []
    PairedLoop(plan, OwnBeds(lambda number: made[number], 4), Policies(), sink=records.append).run()
    return collect(directory, [run, *records])
