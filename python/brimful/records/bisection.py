"""Records of bisections: the plan, each build that was made, each visit, and the answer."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class Version(msgspec.Struct, frozen=True, omit_defaults=True):
    """One build of a history."""

    version: str
    """What ``{version}`` stands for: of git the hash of the commit."""
    title: str = ""
    """What people call it; empty: as ``version``."""
    parents: list[int] = []
    """Numbers of the builds that it is made from; those before the first are the first."""


class BisectionPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``bisection`` measures."""

    versions: list[Version]
    """From the good one to the bad one, parents first."""
    confidence: float
    """Probability that an answer needs."""
    tolerance: float
    """A change of less, relative, is none."""
    pairs: int
    """Of trials in each visit."""
    trial_s: float
    """Length of a trial."""
    seed: int
    """What the order of trials is drawn from."""
    most_visits: int = 200
    """The run then ends with a range."""
    keep: int = 16
    """Builds that are kept; one that was visited longest ago is removed for another."""
    side_by_side: bool = False
    """Whether both builds of a visit have test beds of their own, so that their trials alternate. Else each is made
    active in turn on one test bed."""
    prepare: str | None = None
    """Shell command that makes a build, and makes it active where there is one test bed."""
    git: str | None = None
    """The repository that the builds are commits of."""
    max_load: float | None = None
    """The largest load."""
    first_load: float | None = None
    """Where the calibration begins; null: at ``max_load``, or far below any device."""
    queue: float | None = 0.0
    """Units that stand in the queue at the end of a trial under overload, over all interfaces; null: to be measured."""


class Build(Record, frozen=True, omit_defaults=True, tag="build"):
    """A build was made, or could not be."""

    build: int
    """Its number in `BisectionPlan.versions`."""
    start_s: float
    """Since the start of the run."""
    elapsed_s: float
    """How long it took."""
    output: str = ""
    """What its command printed, cut at the front where it is long."""
    failure: str | None = None
    """Why it cannot be visited: its command failed, or it does not forward."""


class Visit(Record, frozen=True, omit_defaults=True, tag="visit"):
    """Fresh instances of two builds were compared in pairs of trials."""

    visit: int
    """Its number, from 0: `Trial.instance` of its trials. A visit that was interrupted has a number, and no record."""
    build: int
    """Number of the build that was visited."""
    beside: int
    """Number of the one that it was compared with."""
    purpose: str
    """``ends``; ``control``: the good build beside itself; ``search``; ``confirm``: a build beside its parent."""
    mean: float
    """Of the natural logarithms of build / beside of its pairs."""
    deviation: float
    """Standard deviation of a pair."""
    pairs: int
    """How many."""
    load: float
    """Offered to the build."""
    beside_load: float
    """Offered to the other."""
    start_s: float
    """Since the start of the run."""
    elapsed_s: float
    """How long it took."""
    queue: float = 0.0
    """Units that were taken off what arrived in each trial."""
    bits: float | None = None
    """Information that it was expected to give, in a search."""


class Bisected(Record, frozen=True, omit_defaults=True, tag="bisected"):
    """The answer."""

    answer: str
    """``one`` build, ``two`` builds, a ``range`` that the changes are in, ``none``, or ``cannot-say``."""
    builds: list[list[int]]
    """Numbers of builds of which one is it, for each change that was found."""
    probability: float
    """That these builds are it."""
    reason: str = ""
    """Why the answer is no better."""
    change: float = 0.0
    """Natural logarithm of the ratio of the last build to the first."""
    change_error: float = 0.0
    """Its standard error."""
    belief: list[float] = []
    """Probability of each build to have changed something."""
    none: float = 1.0
    """Probability that no build did."""
