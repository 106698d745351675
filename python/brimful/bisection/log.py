"""What a record of a bisection says: the builds, the visits, and with them what was to be done next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from brimful.bisection.decisions import Answer, Costs, Next, Settings, decide
from brimful.errors import RecordError
from brimful.records import Bisected, BisectionPlan, Build, RunFile, Visit
from brimful.records.stated import bisection_plan
from brimful.statistics.belief import Belief, History
from brimful.statistics.belief import Visit as Seen

_BUILD_S, _VISIT_S = 60.0, 60.0
"""What things are taken to cost before any was made: the first visits do not depend on it."""


class Log(msgspec.Struct):
    """Builds and visits so far, in their order."""

    builds: list[Build] = []
    visits: list[Visit] = []

    @classmethod
    def of(cls, file: RunFile) -> Log:
        """Read what is in a record."""
        return cls(
            file.of(Build),
            file.of(Visit),
        )

    @property
    def broken(self) -> set[int]:
        """Builds that cannot be visited."""
        return {build.build for build in self.builds if build.failure is not None}

    def kept(self, keep: int) -> list[int]:
        """Give the builds that need not be made any more: those visited last, and the first always."""
        made = [build.build for build in self.builds if build.failure is None]
        used = {build: place for place, build in enumerate(made)}
        for place, visit in enumerate(self.visits, start=len(made)):
            used[visit.build] = used[visit.beside] = place
        recent = sorted((build for build in used if build not in self.broken), key=lambda build: -used[build])
        return [0, *[build for build in recent if build][: keep - 1]]

    @property
    def costs(self) -> Costs:
        """What things took so far."""
        builds = [build.elapsed_s for build in self.builds]
        visits = [visit.elapsed_s for visit in self.visits]
        return Costs(
            build_s=math.fsum(builds) / len(builds) if builds else _BUILD_S,
            visit_s=max(1e-3, math.fsum(visits) / len(visits)) if visits else _VISIT_S,
        )

    def decide(self, plan: BisectionPlan, history: History) -> tuple[Next | Answer, Belief]:
        """Decide what comes next."""
        return decide(
            history,
            [seen(visit) for visit in self.visits],
            settings=settings_of(plan),
            costs=self.costs,
            made=self.kept(plan.keep),
            broken=self.broken,
        )


def seen(visit: Visit) -> Seen:
    """Give of a visit what is believed by."""
    return Seen(visit.build, visit.beside, visit.mean, visit.pairs, visit.deviation)


def settings_of(plan: BisectionPlan) -> Settings:
    """Give what was asked for."""
    return Settings(confidence=plan.confidence, tolerance=plan.tolerance, most_visits=plan.most_visits)


def history_of(plan: BisectionPlan) -> History:
    """Give the history of a plan."""
    return History([version.parents for version in plan.versions[1:]])


def plan_of(file: RunFile) -> BisectionPlan:
    """Give what a run was to measure.

    Raises
    ------
    RecordError
        When its record does not say, or its builds are no history.
    """
    plan = bisection_plan(file)
    for number, version in enumerate(plan.versions):
        if not all(0 <= parent < number for parent in version.parents):
            message = f"{file.path}:1: build {number} has a parent that does not come before it"
            raise RecordError(message)
    return plan


def recorded(answer: Answer, belief: Belief) -> Bisected:
    """Give the record of an answer."""
    return Bisected(
        answer=answer.kind,
        builds=[list(group) for group in answer.builds],
        probability=_rounded(answer.probability),
        reason=answer.reason,
        change=_rounded(belief.change),
        change_error=_rounded(belief.change_error),
        belief=[_rounded(value) for value in belief.changed],
        none=_rounded(belief.none),
    )


def of_visits(visits: Sequence[Visit], build: int) -> list[Visit]:
    """Give the visits of a build beside the good one."""
    return [visit for visit in visits if visit.build == build and visit.beside == 0]


def _rounded(value: float) -> float:
    """Keep what means something, so that sums in another order give the same record."""
    return round(float(value), 9)
