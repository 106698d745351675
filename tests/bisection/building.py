"""Builds to bisect: simulated devices whose instances differ, and what runs a bisection on them."""

import hashlib
import math
import random

from brimful.bisection.bench import FunctionBench
from brimful.bisection.histories import between
from brimful.bisection.loop import BisectionLoop
from brimful.bisection.manager import BisectionRequest, run_bisection
from brimful.errors import MeasureError
from brimful.managed import Place
from brimful.measurers.base import Description, InvalidTrialError, TrialOutput
from brimful.policies import Policies
from brimful.records import BisectionPlan, Version, collect
from support import invented

QUICK = {"pairs": 4, "trial_s": 0.1}


class Instance:
    """A device that forwards so much, with noise of its own, in virtual time."""

    def __init__(self, capacity, *, seed, noise=0.01, restart=0.002, ceiling=math.inf):
        self._draw = random.Random(seed)
        self._capacity = capacity * math.exp(self._draw.gauss(0, restart))
        self._noise, self._now_s, self._ceiling = noise, 0.0, ceiling

    def describe(self):
        return Description(name="build", max_load=1e9, overload=2e5, virtual_time=True)

    def measure(self, load, duration_s, *, stop_above=None):
        self._now_s += duration_s + 0.1
        sent = round(load * duration_s)
        if load > self._ceiling:
            raise InvalidTrialError("ta: 50 of 100 frames could not be sent on schedule")
        received = round(self._capacity * math.exp(self._draw.gauss(0, self._noise)) * duration_s)
        return TrialOutput(sent=sent, lost=max(0, sent - received))

    def now(self):
        return self._now_s

    def resume_at(self, elapsed_s):
        self._now_s = max(self._now_s, elapsed_s)

    def close(self): ...


class Builds(FunctionBench):
    """Builds of given capacities; ``broken`` ones forward nothing, and others cannot be made."""

    def __init__(self, capacities, *, broken=(), unmakable=(), seed=1, **noise):
        super().__init__(self._start)
        self._capacities, self._broken, self._unmakable = capacities, broken, unmakable
        self._seed, self._noise, self.started = seed, noise, 0
        self.stop_after = math.inf

    def make(self, build):
        if build in self._unmakable:
            raise MeasureError("make: failed with exit code 2: no rule")
        return super().make(build)

    def _start(self, build):
        self.started += 1
        if self.started > self.stop_after:
            raise KeyboardInterrupt
        capacity = 0.0 if build in self._broken else self._capacities[build]
        return Instance(capacity, seed=f"{self._seed} {self.started}", **self._noise)


def request(builds, **options):
    names = [f"v{number}" for number in range(builds)]
    return BisectionRequest(measurer="builds", versions=between(names, names[0], names[-1], "list"), **QUICK, **options)


def bisect(directory, bench, builds, *, resume=False, **options):
    return run_bisection(request(builds, **options), bench, place=Place(out=directory, resume=resume))


def levels(builds, *changes):
    """Give capacities: each change is a build and the share that is left from it on."""
    found = [100e3] * builds
    for build, share in changes:
        found[build:] = [capacity * share for capacity in found[build:]]
    return found


def invented_run(directory, bench=None, builds=13, **options):
    """Find a slower commit, one of whose neighbours cannot be made."""
    hashes = [hashlib.sha1(str(number).encode()).hexdigest() for number in range(builds)]
    versions = [Version(one, f"{one[:7]} Change {number}") for number, one in enumerate(hashes)]
    plan = BisectionPlan(
        versions=[Version(one.version, one.title, [place - 1] if place else []) for place, one in enumerate(versions)],
        confidence=0.95,
        tolerance=0.01,
        pairs=4,
        trial_s=0.1,
        seed=1,
        side_by_side=True,
        prepare="make -C {dir}",
        git="/src/forwarder",
        first_load=2e5,
        **options,
    )
    run = invented(
        "bisection",
        "cmd:{dir}/measure",
        bisection=plan,
    )
    bench = bench or Builds(levels(builds, (8, 0.95)), unmakable=[6])
    records = []
    BisectionLoop(plan, bench, Instance(1.0, seed=0).describe(), Policies(), sink=records.append).run()
    return collect(directory, [run, *records])
