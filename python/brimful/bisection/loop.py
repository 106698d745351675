"""The loop of a bisection: builds and visits as they are decided, every trial on disk before the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec

from brimful.bisection.bench import Bench, Turns
from brimful.bisection.decisions import Answer, Next, in_range
from brimful.bisection.log import Log, history_of, recorded
from brimful.bisection.visiting import (
    BESIDE,
    BUILD,
    Asked,
    Calibrated,
    NotForwardingError,
    block_of,
    calibrated,
    paired,
    summarise,
)
from brimful.errors import MeasureError
from brimful.machine.watch import Watch
from brimful.measurers.base import Description, Measurer
from brimful.paired.beds import CommandFailedError
from brimful.policies import Policies
from brimful.records import Bisected, BisectionPlan, Build, End, Record, RunFile, Trial, Visit, Warning
from brimful.session import (
    DONE,
    FAILED,
    Session,
    SpoiledTooOftenError,
    nothing_passes,
    repeat_as_allowed,
    spoiled_warnings,
)

_WHY = {"time-budget": "when the time was up", "interrupted": "when it was interrupted", FAILED: "when it failed"}


class BisectionProgress(msgspec.Struct, frozen=True):
    """Where a run stands, to be shown."""

    doing: str
    """``build`` or ``visit``."""
    build: int
    beside: int
    purpose: str
    visits: int
    likeliest: int
    """The build that is believed to have changed something, and how likely."""
    probability: float
    elapsed_s: float


_MOST_DISTURBED = 3
_WITHOUT_RATIO = (
    "a build that passes nothing is not slower by a share: look for it with `git bisect run` and a `brimful search`"
    " that has --assert 'ndr >= 1pps'"
)


class BisectionOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    answer: Bisected | None
    """Null: there is none, as it failed before anything was known."""
    visits: list[Visit]
    builds: list[Build]
    warnings: list[Warning]
    end: End


class BisectionLoop:
    """One run from the first build, or from what is in its record, to the answer.

    Parameters
    ----------
    plan
        What to measure.
    bench
        Makes builds and starts them.
    description
        What their measurers say of themselves.
    policies
        What to do about trials that failed.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Is called with what is about to be done.
    watch
        Looks at the machine before each trial, where that means something.
    budget_s
        The run ends after this many seconds, with what it knows.
    """

    def __init__(
        self,
        plan: BisectionPlan,
        bench: Bench,
        description: Description,
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[BisectionProgress], None] = lambda progress: None,
        watch: Watch | None = None,
        budget_s: float | None = None,
    ) -> None:
        self._plan = plan
        self._bench = bench
        self._sink = sink
        self._progress = progress
        self._history = history_of(plan)
        self._turns = Turns(description)
        self._session = Session([self._turns], policies, sink=sink, watch=watch, budget_s=budget_s)
        self._log = Log([], [])
        self._answer: Bisected | None = None
        self._load: float | None = None
        """That of the last visit: where the next begins."""
        self._queue = plan.queue
        self._visit = 0
        self._disturbed = 0
        """Visits in a row that the machine was too busy for."""
        self._switch_s = 0.0
        """What it took to make a build active, the last time."""

    def resume(self, file: RunFile) -> None:
        """Take over what is in a record: visits that were interrupted are made again."""
        self._log = Log.of(file)
        self._session.take_over(file.trials)
        for visit in self._log.visits:
            self._load, self._queue = visit.load, visit.queue
        self._visit = max(((trial.instance or 0) + 1 for trial in file.trials), default=0)

    def run(self) -> BisectionOutcome:
        """Go on until it is known which build it was, or time is up, or it is interrupted or fails."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        while self._answer is None:
            step, belief = self._log.decide(self._plan, self._history)
            if isinstance(step, Answer):
                self._answer = recorded(step, belief)
                return
            self._session.check_time(2 * self._plan.pairs * self._plan.trial_s)
            likeliest = int(belief.changed.argmax())
            state = BisectionProgress(
                "visit",
                step.build,
                step.beside,
                step.purpose,
                len(self._log.visits),
                likeliest,
                float(belief.changed[likeliest]),
                self._session.elapsed_s,
            )
            missing = [build for build in (step.beside, step.build) if not self._bench.is_made(build)]
            if missing:
                # What comes next is decided anew: it is to follow from the record alone.
                self._make(missing[0], state)
            else:
                self._progress(state)
                self._carry_out(step)

    def _make(self, build: int, state: BisectionProgress) -> None:
        self._progress(msgspec.structs.replace(state, doing="build", build=build))
        start_s = self._session.elapsed_s
        output, failure = "", None
        try:
            output = self._bench.make(build)
        except MeasureError as error:
            failure = str(error)
            output = error.output if isinstance(error, CommandFailedError) else ""
        self._note_build(build, start_s, output, failure)
        self._bench.keep([build, *self._log.kept(self._plan.keep)])

    def _note_build(self, build: int, start_s: float, output: str, failure: str | None) -> None:
        made = Build(
            build=build,
            start_s=round(start_s, 9),
            elapsed_s=round(self._session.elapsed_s - start_s, 9),
            output=output,
            failure=failure,
        )
        self._sink(made)
        self._log.builds.append(made)
        if failure is not None and build in (0, self._history.bad):
            which = "good" if build == 0 else "bad"
            message = f"the {which} build {self._plan.versions[build].version}: {failure}"
            raise MeasureError(message)

    def _carry_out(self, step: Next) -> None:
        """Make a visit; a build that does not forward is noted as broken."""
        number, self._visit = self._visit, self._visit + 1
        start_s = self._session.elapsed_s
        with contextlib.ExitStack() as stack:
            on = _Instances(self._bench, self._turns, {BUILD: step.build, BESIDE: step.beside}, stack)

            def make(asked: Asked) -> Trial:
                began_s = self._session.elapsed_s
                if on.put_on(asked.path):
                    self._switch_s = self._session.elapsed_s - began_s
                return self._trial(asked, number)

            try:
                calibrations = {path: self._calibrated(path, build, make) for path, build in on.builds.items()}
                trial_s = max(one.trial_s for one in calibrations.values())
                loads = {path: one.load for path, one in calibrations.items()}
                loads = paired(self._plan, number, loads, trial_s, self._block(), make)
            except _BuildError as error:
                self._note_build(error.build, self._session.elapsed_s, "", str(error))
                return
            except SpoiledTooOftenError as error:
                if not error.is_too_slow or self._disturbed >= _MOST_DISTURBED:
                    self._note_build(on.builds[error.trial.path or BUILD], self._session.elapsed_s, "", str(error))
                    return
                self._make_again()
                return
            except MeasureError:
                # Earlier visits went well with the same settings: something else uses the processors now.
                if not self._log.visits or self._disturbed >= _MOST_DISTURBED:
                    raise
                self._make_again()
                return
        self._disturbed = 0
        self._load = loads[BUILD]
        own = [trial for trial in self._session.trials if trial.instance == number]
        found = summarise(own, self._queue or 0.0)
        if found is None:
            message = f"visit {number}: no pair of trials says anything; is the queue larger than what arrives?"
            raise MeasureError(message)
        visit = Visit(
            visit=number,
            build=step.build,
            beside=step.beside,
            purpose=step.purpose,
            mean=found.mean,
            deviation=found.deviation,
            pairs=found.pairs,
            load=loads[BUILD],
            beside_load=loads[BESIDE],
            queue=self._queue or 0.0,
            start_s=round(start_s, 9),
            elapsed_s=round(self._session.elapsed_s - start_s, 9),
            bits=step.bits,
        )
        self._sink(visit)
        self._log.visits.append(visit)

    def _make_again(self) -> None:
        """Begin a visit anew, from low loads: it says something of the machine and nothing of a build."""
        self._disturbed += 1
        self._load = None

    def _block(self) -> int:
        """Give how many trials a build has in its turn."""
        if self._bench.side_by_side or not self._session.trials:
            return 1
        return block_of(self._switch_s, self._session.trials[-1].elapsed_s)

    def _calibrated(self, path: str, build: int, make: Callable[[Asked], Trial]) -> Calibrated:
        """Find the load of an instance: loads found when the machine was busier would be other factors of capacity."""
        try:
            found = calibrated(self._plan, path, self._queue, self._load, make)
        except NotForwardingError as error:
            remark = nothing_passes(self._turns, str(error))
            text = str(error) if remark is None else f"{remark.text}; {_WITHOUT_RATIO}"
            raise _BuildError(build, text) from error
        self._queue = found.queue
        return found

    def _trial(self, asked: Asked, number: int) -> Trial:
        return repeat_as_allowed(
            lambda: self._session.attempt(
                self._turns,
                asked.load,
                asked.duration_s,
                path=asked.path,
                step=asked.step,
                round=asked.round,
                instance=number,
            )
        )

    def _finish(self, reason: str, text: str) -> BisectionOutcome:
        if self._answer is None and self._log.visits and reason != DONE:
            _, belief = self._log.decide(self._plan, self._history)
            self._answer = recorded(in_range(belief, self._plan.confidence, _WHY.get(reason, "")), belief)
        warnings = spoiled_warnings(self._session.trials, "trial")
        found: list[Record] = [*([] if self._answer is None else [self._answer]), *warnings]
        end = self._session.end(reason, text, found)
        return BisectionOutcome(self._answer, self._log.visits, self._log.builds, warnings, end)


class _BuildError(Exception):
    """A build cannot be visited."""

    def __init__(self, build: int, message: str) -> None:
        super().__init__(message)
        self.build = build


class _Instances:
    """The two instances of a visit, each started when its first trial is due."""

    def __init__(self, bench: Bench, turns: Turns, builds: dict[str, int], stack: contextlib.ExitStack) -> None:
        self._bench = bench
        self._turns = turns
        self._stack = stack
        self._started: dict[str, Measurer] = {}
        self._path: str | None = None
        self.builds = builds

    def put_on(self, path: str) -> bool:
        """Have the instance of this side perform the next trials; gives whether it was not on yet."""
        if path == self._path:
            return False
        if path not in self._started or not self._bench.side_by_side:
            try:
                self._started[path] = self._bench.start(self.builds[path])
            except MeasureError as error:
                raise _BuildError(self.builds[path], str(error)) from error
            self._stack.callback(self._started[path].close)
        self._turns.put_on(self._started[path])
        self._path = path
        return True
