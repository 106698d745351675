"""What a live comparison does next: pure, fed with what every trial came to, so that a record can be run again."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from brimful.errors import MeasureError
from brimful.paired.calibration import Calibration, ForwardsNothingError, pool_queues
from brimful.paired.losses import Losses
from brimful.paired.ratios import Ratios, in_pairs, is_switched
from brimful.paired.turns import Round
from brimful.records import (
    NOTHING_PASSES,
    Activation,
    LossPairs,
    Pair,
    PairedPlan,
    Ratio,
    RunFile,
    Trial,
    Warning,
)
from brimful.units import format_delay, format_ratio

CALIBRATION = "calibration"


class Step(msgspec.Struct, frozen=True):
    """One trial to make."""

    device: int
    load: float
    duration_s: float
    stage: str
    """``calibration``, ``pairs`` or ``loss``."""
    round: int
    instance: int
    """How often the devices, or the active build, have been made anew."""


class Planner:
    """Hands out trials, and takes what they came to.

    Parameters
    ----------
    plan
        What is measured.
    """

    def __init__(self, plan: PairedPlan) -> None:
        self._plan = plan
        self._calibrations = [
            Calibration(plan.trial_s, first_load=plan.first_load, max_load=plan.max_load, queue=device.queue)
            for device in plan.devices
        ]
        self._ratios: Ratios | None = None
        self._losses: Losses | None = None
        self._round: Round | None = None
        self._number = 0
        self._step: Step | None = None
        self._instance = 0
        self._instance_began_s = 0.0
        self._stage_began_s = 0.0
        self._active: int | None = None
        self._switches_s: list[float] = []
        self._trials_s: list[float] = []
        self._invalid = [0] * len(plan.devices)
        self._passing_nothing: set[int] = set()
        self.silent: dict[int, str] = {}
        """Devices that forward nothing, in words: `pass_nothing` is due, or the comparison has failed."""
        self.elapsed_s = 0.0
        """When the last trial ended."""
        self.is_out_of_time = False
        """Whether the budget ended a question."""

    def next(self) -> Step | None:
        """Give the next trial; None: there is an answer to each question, or no time left.

        Raises
        ------
        MeasureError
            When the devices cannot be compared.
        """
        if self._step is None:
            self._step = self._calibration_step() or self._round_step()
        return self._step

    def activated(self, activation: Activation) -> None:
        """Take how long it took to make a build active."""
        self._switches_s.append(activation.elapsed_s)
        self.elapsed_s = max(self.elapsed_s, activation.start_s + activation.elapsed_s)

    def pass_nothing(self, device: int) -> None:
        """Have it a result that a device forwards nothing: it passes no frames of this size, and does others."""
        del self.silent[device]
        self._passing_nothing.add(device)
        self._step = None
        self._begin_if_decided()

    def can_lower(self, step: Step) -> bool:
        """Say whether a load that cannot be offered may be a smaller one: that of a device is still looked for."""
        return step.stage == CALIBRATION and self._calibrations[step.device].can_lower

    def lower(self, step: Step, recorded: float | None = None) -> float:
        """Take note that the tester cannot offer the load of a step; gives the most that its device is offered.

        Raises
        ------
        MeasureError
            When the record has another.
        """
        self._step = None
        lower = self._calibrations[step.device].lower()
        if recorded is not None and not math.isclose(lower, recorded):
            name = self._plan.devices[step.device].name
            message = f"the load of {name} was lowered to {recorded!r}, but {lower!r} was due"
            raise MeasureError(message)
        return lower

    def record(self, trial: Trial) -> list[Pair]:
        """Take what the next trial came to, and give the pairs that are whole with it.

        Raises
        ------
        MeasureError
            When the devices cannot be compared.
        """
        step, self._step = self.next(), None
        if step is None:
            message = f"trial {trial.seq}: was made after the last one"
            raise MeasureError(message)
        self.elapsed_s = max(self.elapsed_s, trial.start_s + trial.elapsed_s)
        if step.stage == CALIBRATION:
            if trial.invalid is None:
                self._calibrate(step.device, trial)
            return []
        return self._take(step, trial)

    def _calibrate(self, device: int, trial: Trial) -> None:
        try:
            self._calibrations[device].record(trial)
        except ForwardsNothingError as error:
            self.silent[device] = str(error)
        except MeasureError as error:
            message = f"{self._plan.devices[device].name}: {error}"
            raise MeasureError(message) from error
        self._begin_if_decided()

    def _begin_if_decided(self) -> None:
        """Begin the ratios at once where no trial may come after: what was found is to follow from the record alone."""
        if self._passing_nothing and self._ratios is None and not self._uncalibrated():
            self._ratios = self._begin_ratios()

    def ratios(self, *, is_ended: bool = True) -> list[Ratio]:
        """Give what is known of each device; of a run that is ended, its verdicts."""
        return [] if self._ratios is None else self._ratios.results(is_ended=is_ended, invalid=self._invalid)

    def warnings(self) -> list[Warning]:
        """Say where a queue, or the number of units that a trial counts, is not known well enough for the tolerance."""
        if self._ratios is None:
            return []
        others, limit = [number for number in self._in_pairs() if number], self._plan.tolerance / 2
        queue = max(map(self._ratios.queue_floor, others), default=0.0)
        unit = max(map(self._ratios.unit_floor, others), default=0.0)
        found = []
        if queue > limit:
            text = (
                f"what stands in the queue of the devices is known to {format_ratio(queue, digits=2)} of what they"
                f" forward in a trial, which is in the interval; give --trial {4 * self._plan.trial_s:g}s for less"
            )
            found.append(Warning(code="queue-uncertain", text=text))
        if unit > limit:
            text = (
                f"a trial counts {1 / unit:.0f} units, so that the ratio is known to {format_ratio(unit, digits=2)},"
                f" which is in the interval; give --trial"
                f" {math.ceil(4 * self._plan.trial_s * unit / self._plan.tolerance)}s for less"
            )
            found.append(Warning(code="few-units", text=text))
        return found

    def losses(self) -> list[LossPairs]:
        """Give the answers to the second question."""
        return [] if self._losses is None else self._losses.results()

    @property
    def round_s(self) -> float:
        """How long a round takes."""
        return (self.elapsed_s - self._stage_began_s) / self._number if self._number else 0.0

    def _take(self, step: Step, trial: Trial) -> list[Pair]:
        stage, current = self._stage(), self._round
        assert stage is not None and current is not None  # noqa: PT018 - the step was one of theirs
        self._trials_s.append(trial.elapsed_s)
        value = None
        if trial.invalid is not None:
            self._invalid[step.device] += 1
            if is_switched(self._plan):
                return []  # made again: an activation costs more than a trial
        else:
            value = stage.take(step.device, trial)
        if value is None:
            self._end_round()
            return []
        current.add(value)
        if not current.is_whole:
            return []
        pairs = stage.end_round(self._number, self._instance, current.values)
        self._end_round()
        return pairs

    def _end_round(self) -> None:
        self._round = None
        self._number += 1

    def _calibration_step(self) -> Step | None:
        open_ = self._uncalibrated()
        if self._ratios is not None or not open_ or self.elapsed_s >= self._plan.budget_s:
            return None
        trials = [calibration.trials for calibration in self._calibrations]
        device = open_[0] if is_switched(self._plan) else min(open_, key=lambda number: trials[number])
        self._make_active(device, anew=False)
        load, duration_s = self._calibrations[device].next()
        return Step(device, load, duration_s, CALIBRATION, trials[device], self._instance)

    def _uncalibrated(self) -> list[int]:
        return [
            number
            for number, one in enumerate(self._calibrations)
            if not one.is_done and number not in self._passing_nothing
        ]

    def _round_step(self) -> Step | None:
        if self._ratios is None and self._uncalibrated():
            self.is_out_of_time = True
            return None
        if self._ratios is None:
            self._ratios = self._begin_ratios()
        stage = self._stage()
        if self._round is None:
            if stage is not None and self._is_over(stage):
                self._begin_losses()
                stage = self._stage()
            if stage is None or self._is_over(stage):
                return None
            self._begin_round(stage)
        if self._round is None or stage is None:
            return None
        device = self._round.device
        self._make_active(device, anew=self._round.begins_turn)
        trial_s = max(calibration.trial_s for calibration in self._in_pairs().values())
        return Step(device, stage.load(device), trial_s, stage.name, self._number, self._instance)

    def _begin_round(self, stage: Ratios | Losses) -> None:
        if is_switched(self._plan):
            count = max(1, len(self._switches_s))
            trial_s = max(
                1e-9, math.fsum(self._trials_s) / len(self._trials_s) if self._trials_s else self._plan.trial_s
            )
            stage.choose_trials(math.fsum(self._switches_s) / count, trial_s)
        elif self._plan.renew_s is not None and self.elapsed_s - self._instance_began_s >= self._plan.renew_s:
            self._instance += 1
            self._instance_began_s = self.elapsed_s
        seed = f"{self._plan.seed} {stage.name} {self._number}"
        self._round = Round(stage.devices(self._number), stage.trials, seed=seed)

    def _make_active(self, device: int, *, anew: bool) -> None:
        """Count an activation where builds are switched: each turn has one of its own."""
        if is_switched(self._plan) and (anew or device != self._active):
            self._instance += 1
            self._active = device

    def _stage(self) -> Ratios | Losses | None:
        return self._losses if self._losses is not None else self._ratios

    def _is_over(self, stage: Ratios | Losses) -> bool:
        began_s = 0.0 if stage is self._ratios else self._stage_began_s
        is_late = self.elapsed_s - began_s >= self._plan.budget_s
        self.is_out_of_time = self.is_out_of_time or (is_late and not stage.is_decided)
        return is_late or stage.is_decided

    def _begin_ratios(self) -> Ratios:
        compared = self._in_pairs()
        self._check_calibrations(compared)
        if compared:
            pool_queues(list(compared.values()))
        self._stage_began_s = self._instance_began_s = self.elapsed_s
        return Ratios(self._plan, self._calibrations, self._passing_nothing)

    def _in_pairs(self) -> dict[int, Calibration]:
        """Give the calibration of each device that has a turn in pairs."""
        return {number: self._calibrations[number] for number in in_pairs(self._plan, self._passing_nothing)}

    def _begin_losses(self) -> None:
        if self._losses is not None or self._plan.loss_ratio is None or self._ratios is None:
            return
        capacities = self._ratios.capacities()
        if self._in_pairs() and min(capacities[number] for number in self._in_pairs()) > 0:
            self._losses = Losses(self._plan, capacities, self._passing_nothing)
            self._number, self._stage_began_s = 0, self.elapsed_s

    def _check_calibrations(self, compared: Mapping[int, Calibration]) -> None:
        """Refuse devices that the tester cannot overload, and a wait that is shorter than a queue.

        Raises
        ------
        MeasureError
            Naming the devices.
        """
        fast = [self._plan.devices[number].name for number, calibration in compared.items() if calibration.is_at_limit]
        if fast:
            all_of_it = "take" if len(fast) > 1 else "takes"
            message = (
                f"{' and '.join(fast)} {all_of_it} all that the tester can offer: the"
                " ratio would be that of the tester; use smaller frames or larger IOs, or a faster tester"
            )
            raise MeasureError(message)
        for number, calibration in compared.items():
            wait_s, per_s = self._plan.straggler_wait_s, calibration.units_per_s
            drain_s = (calibration.queue or 0.0) / per_s
            if wait_s is not None and drain_s > wait_s:
                name = self._plan.devices[number].name
                message = (
                    f"the queue of {name} takes {format_delay(drain_s)} to come out, longer than the tester"
                    f" waits ({format_delay(wait_s)}); give"
                    f" --tester-option=--straggler-wait={math.ceil(1500 * drain_s)}ms"
                )
                raise MeasureError(message)


def replay(plan: PairedPlan, file: RunFile) -> tuple[Planner, list[Pair]]:
    """Feed a planner with what was measured, and give it with the pairs.

    Raises
    ------
    MeasureError
        When a trial is not the one that was due, or the devices cannot be compared.
    """
    planner, pairs = Planner(plan), list[Pair]()
    left = {activation.instance: activation for activation in file.of(Activation) if activation.failure is None}
    lowered = list(file.ceilings)
    passing_nothing = {warning.device for warning in file.warnings if warning.code == NOTHING_PASSES}
    for trial in file.trials:
        step = planner.next()
        while lowered and step is not None and planner.can_lower(step) and _difference(plan, step, trial) is not None:
            planner.lower(step, lowered.pop(0))
            step = planner.next()
        if step is not None and step.instance in left:
            planner.activated(left.pop(step.instance))
        fault = _difference(plan, step, trial)
        if fault is not None:
            message = f"trial {trial.seq}: {fault}"
            raise MeasureError(message)
        pairs += planner.record(trial)
        for device in [each for each in planner.silent if plan.devices[each].name in passing_nothing]:
            planner.pass_nothing(device)
    while lowered and (step := planner.next()) is not None and planner.can_lower(step):
        planner.lower(step, lowered.pop(0))
    return planner, pairs


def _difference(plan: PairedPlan, step: Step | None, trial: Trial) -> str | None:
    """Say how a trial differs from the one that was due, if it does."""
    if step is None:
        return "was made although everything was decided"
    due = (plan.devices[step.device].name, step.stage, step.round, step.instance, step.load, step.duration_s)
    made = (trial.path, trial.step, trial.round, trial.instance, trial.load, trial.duration_s)
    for name, wanted, found in zip(("device", "stage", "round", "instance"), due, made, strict=False):
        if wanted != found:
            return f"its {name} is {found!r}, but {wanted!r} was due"
    for name, wanted, found in zip(("load", "length"), due[4:], made[4:], strict=True):
        if not math.isclose(float(wanted), float(found or 0), rel_tol=1e-9):
            return f"its {name} is {found!r}, but {wanted!r} was due"
    return None
