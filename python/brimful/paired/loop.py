"""The loop of a live comparison: trials as the planner hands them out, each on disk before the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from brimful.alarm import undisturbed
from brimful.ceilings import ceiling_warning
from brimful.errors import MeasureError, RecordError, shown
from brimful.machine.watch import Watch
from brimful.measurers.base import (
    InvalidTrialError,
    Measurer,
    TrialFailedError,
    TrialOutput,
    check_surplus,
    checked_output,
    with_intended,
)
from brimful.paired.beds import Beds
from brimful.paired.planner import CALIBRATION, Planner, Step, replay
from brimful.paired.ratios import is_switched
from brimful.policies import Policies
from brimful.records import (
    Activation,
    End,
    LossPairs,
    Pair,
    PairedPlan,
    Ratio,
    Record,
    RunFile,
    Trial,
    Warning,
)
from brimful.session import DONE, TIME_BUDGET, Keep, Session, SpoiledTooOftenError, nothing_passes, spoiled_warnings

_LOPSIDED = 10
"""Invalid trials of one device beyond those of another that are worth a warning."""


class PairedProgress(msgspec.Struct, frozen=True):
    """Where a run stands."""

    step: Step
    ratios: list[Ratio]
    elapsed_s: float
    remaining_s: float | None
    """As far as can be said; null: not yet, or not within the budget."""


class PairedOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    ratios: list[Ratio]
    losses: list[LossPairs]
    warnings: list[Warning]
    end: End


class PairedLoop:
    """One run from the first trial, or from the saved ones, to the results.

    Parameters
    ----------
    plan
        What to measure.
    beds
        Where the devices are.
    policies
        What to do about trials that failed.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Is called before each trial with where the run stands.
    watch
        Looks at the machine before each trial, where that means something.
    """

    def __init__(
        self,
        plan: PairedPlan,
        beds: Beds,
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[PairedProgress], None] = lambda progress: None,
        watch: Watch | None = None,
    ) -> None:
        self._plan = plan
        self._beds = beds
        self._sink = sink
        self._progress = progress
        self._planner = Planner(plan)
        self._description = beds.measurer(0).describe()
        self._session = Session(beds.measurers(), policies, sink=sink, learn=self._learn, watch=watch)
        self._instance: int | None = None if is_switched(plan) else 0
        self._activated: set[int] = set()
        self._failures = 0

    def resume(self, file: RunFile) -> None:
        """Take over the trials of a run that was interrupted.

        Raises
        ------
        RecordError
            When they are not those of such a run.
        """
        try:
            self._planner, pairs = replay(self._plan, file)
            step = self._planner.next()
        except MeasureError as error:
            message = f"{file.path}: {error}; a comparison cannot go on from it, begin another"
            raise RecordError(message) from error
        saved = sum(isinstance(record, Pair) for record in file.others)
        for pair in pairs[saved:]:
            self._sink(pair)  # a killed run may have saved its last trial and not what it completed
        self._session.take_over(file.trials)
        self._activated = {activation.instance for activation in file.of(Activation)}
        if step is not None and not is_switched(self._plan):
            self._instance = step.instance  # what was opened for this run is new

    def run(self) -> PairedOutcome:
        """Measure until everything is decided, or time is up, or it is interrupted or fails."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        self._explain_silence()
        while (step := self._planner.next()) is not None:
            self._prepare(step)
            self._show(step)
            self._attempt(step)
            self._explain_silence()

    def _explain_silence(self) -> None:
        """End a comparison with a device that forwards nothing, unless it does frames of another size."""
        for device, said in list(self._planner.silent.items()):
            name = self._plan.devices[device].name
            if self._instance is None:
                self._beds.make_anew(device)
            remark = nothing_passes(self._beds.measurer(device), said)
            if remark is None:
                message = f"{name}: {said}"
                raise MeasureError(message)
            with undisturbed():
                self._sink(msgspec.structs.replace(remark, text=f"{name}: {remark.text}", device=name))
                self._planner.pass_nothing(device)

    def _prepare(self, step: Step) -> None:
        """Make the devices anew, or a build active, where that is due."""
        if step.instance == self._instance:
            return
        start_s = self._session.elapsed_s
        output, failure = "", None
        try:
            output = self._beds.make_anew(step.device)
        except MeasureError as error:
            failure = str(error)
        if is_switched(self._plan) and step.instance not in self._activated:
            activation = Activation(
                device=self._plan.devices[step.device].name,
                instance=step.instance,
                start_s=round(start_s, 9),
                elapsed_s=round(self._session.elapsed_s - start_s, 9),
                output=output,
                failure=failure,
            )
            self._sink(activation)
            self._activated.add(step.instance)
            self._planner.activated(activation)
        if failure is not None:
            raise MeasureError(failure)
        self._instance = step.instance

    def _attempt(self, step: Step) -> None:
        name = self._plan.devices[step.device].name
        made = self._session.attempt(
            self._beds.measurer(step.device),
            step.load,
            step.duration_s,
            detail=name,
            perform=self._perform,
            path=name,
            round=step.round,
            step=step.stage,
            instance=step.instance,
        )
        self._failures = 0 if made.policy is None else self._failures + 1
        if made.policy is not None and self._failures > made.policy.retries:
            message = f"{made.problem} ({self._failures} times in a row)" if self._failures > 1 else made.problem
            self._go_lower(step, SpoiledTooOftenError(message, made.trial))

    def _go_lower(self, step: Step, error: SpoiledTooOftenError) -> None:
        """Look for the load of a device below one that the tester cannot offer.

        Raises
        ------
        MeasureError
            When it was not too slow, or the device has its load: at a smaller one it would not be overloaded.
        """
        if not error.is_too_slow:
            raise error
        if not self._planner.can_lower(step):
            message = f"{error}; at a load that it can offer the ratio would be that of the tester"
            raise MeasureError(message) from error
        self._failures = 0
        what = f"the load of {self._plan.devices[step.device].name} is at most"
        with undisturbed():
            lower = self._planner.lower(step)
            self._sink(ceiling_warning(step.load, lower, self._description.load_unit, what))

    def _perform(self, measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
        """Have a trial performed, and refuse an answer that cannot be, or in which nothing was sent."""
        factor, unit = self._description.conversion_factor, self._description.load_unit
        keep(TrialOutput(sent=0, lost=0, intended=max(1, round(load * duration_s * factor))))
        answer = measurer.measure(load, duration_s)
        if not isinstance(answer, TrialOutput):
            message = f"the measurer returned {shown(answer)}, which is no TrialOutput"
            raise TrialFailedError(message)
        output = checked_output(msgspec.structs.asdict(answer), where=self._description.name)
        keep(with_intended(output, load, duration_s, conversion_factor=factor, load_unit=unit))
        if output.sent == 0:
            message = "nothing was sent; see whether the generator works"
            raise InvalidTrialError(message, output.extra)
        check_surplus(output, load, duration_s, self._description)

    def _learn(self, trial: Trial) -> None:
        for pair in self._planner.record(trial):
            self._sink(pair)

    def _show(self, step: Step) -> None:
        ratios = [] if step.stage == CALIBRATION else self._planner.ratios(is_ended=False)
        self._progress(PairedProgress(step, ratios, self._session.elapsed_s, self._remaining_s(ratios)))

    def _remaining_s(self, ratios: Sequence[Ratio]) -> float | None:
        """Say how long the first question will take, from the device that needs most."""
        needed = [ratio.pairs_needed - ratio.pairs for ratio in ratios if ratio.pairs_needed is not None]
        if not needed or self._planner.round_s <= 0:
            return None
        left_s = max(needed) * self._planner.round_s
        return min(left_s, self._plan.budget_s - self._session.elapsed_s)

    def _finish(self, reason: str, text: str) -> PairedOutcome:
        if reason == DONE and self._planner.is_out_of_time:
            reason = TIME_BUDGET
        ratios, losses = self._planner.ratios(), self._planner.losses()
        warnings = [
            *self._planner.warnings(),
            *spoiled_warnings(self._session.trials, "trial"),
            *_lopsided(ratios, self._session.trials),
        ]
        end = self._session.end(reason, text, [*ratios, *losses, *warnings])
        return PairedOutcome(ratios, losses, warnings, end)


def _lopsided(ratios: Sequence[Ratio], trials: Sequence[Trial]) -> list[Warning]:
    """Say where one device spoils more trials than another: what spoils them may be what is to be compared."""
    if not ratios:
        return []
    counts: dict[str, int] = {trial.path or "": 0 for trial in trials}
    for trial in trials:
        counts[trial.path or ""] += trial.invalid is not None
    most, least = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
    if counts[most] < 2 * counts[least] + _LOPSIDED:
        return []
    text = f"{counts[most]} trials of {most} were invalid, and {counts[least]} of {least}: what is left may be selected"
    return [Warning(code="lopsided-invalid", text=text)]
