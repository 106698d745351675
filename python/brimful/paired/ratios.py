"""The first question: how much each device forwards under overload, as a ratio to the first one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np

from brimful.errors import MeasureError
from brimful.paired import activations
from brimful.paired.activations import Activated
from brimful.paired.calibration import Calibration, capacity_of
from brimful.records import NOTHING_PASSES, Pair, PairedPlan, Ratio, Trial
from brimful.statistics.pairs import (
    Decision,
    Estimate,
    Rule,
    decide,
    estimate,
    floor_of_repeats,
    pairs_needed,
)

CANNOT_TELL, SAME, DIFFERS = "cannot-tell", "same", "differs"
_RAISE = 1.2
"""What all loads are raised by when a trial came in without loss."""
_MOST_EPOCHS = 20
_CONTROL_ALPHA = 0.01
_LEAST_CONTROL_PAIRS = 10
_QUEUE_ERRORS = 2.0
_NO_RATIO = 700.0
_LEAST_UNIT = 0.1
"""Of the precision: what whole units are worth is counted from here on."""


class Ratios:
    """Takes what rounds give, and knows when each device is decided.

    Parameters
    ----------
    plan
        What is measured.
    calibrations
        Of each device.
    silent
        Devices that pass nothing.
    """

    name = "pairs"

    def __init__(self, plan: PairedPlan, calibrations: Sequence[Calibration], silent: Collection[int] = ()) -> None:
        self._plan = plan
        self._silent = silent
        self._queues = [calibration.queue or 0.0 for calibration in calibrations]
        self._queue_errors = [calibration.queue_error for calibration in calibrations]
        self._loads = [calibration.load for calibration in calibrations]
        self._most = [calibration.max_load for calibration in calibrations]
        compared = in_pairs(plan, silent)
        self._others = [device for device in others_of(plan) if device in compared]
        self._rule = rule_of(plan)
        self._floor = floor_of_repeats(*zip(*plan.earlier_controls, strict=True)) if plan.earlier_controls else 0.0
        self._decided: dict[int, Decision] = {}
        self._pairs: dict[int, list[Pair]] = {device: [] for device in range(1, len(plan.devices))}
        self._logs: dict[int, list[float]] = {device: [] for device in range(len(plan.devices))}
        self._counts: dict[int, list[float]] = {device: [] for device in range(len(plan.devices))}
        """Units of each device that arrived in each trial, and did not stand in its queue."""
        self._turns: list[list[float]] = []
        self._sizes: list[int] = []
        self.epoch = 0
        self.trials = 1
        """Of each turn."""

    @property
    def is_decided(self) -> bool:
        """Whether there is a verdict on every device that has pairs."""
        return len(self._decided) == len(self._others)

    def devices(self, number: int) -> list[int]:
        """Give the devices of a round: those without a verdict, and the control in every second one."""
        control = [len(self._plan.devices) - 1] if self._plan.control and number % 2 else []
        return [0, *(device for device in self._others if device not in self._decided), *control]

    def load(self, device: int) -> float:
        """Give the load that a device is offered."""
        return self._loads[device]

    def capacities(self) -> list[float]:
        """Give the mean capacity of each device, 0 where it had no trial."""
        return [math.exp(math.fsum(logs) / len(logs)) if logs else 0.0 for logs in self._logs.values()]

    def take(self, device: int, trial: Trial) -> float | None:
        """Give the logarithm of the capacity that a trial shows; None: its round is to be begun anew.

        Raises
        ------
        MeasureError
            When loads cannot be raised any more.
        """
        if trial.forwarded == trial.sent:
            self._raise_loads()
            return None
        capacity = capacity_of(trial, self._queues[device])
        self._counts[device].append(max(0.0, trial.forwarded - self._queues[device]))
        return math.log(capacity) if capacity > 0 else None

    def end_round(self, number: int, instance: int, values: Mapping[int, Sequence[float]]) -> list[Pair]:
        """Take a whole round, and give its pairs."""
        means = activations.mean_values(values)
        for device, mean in means.items():
            self._logs[device].append(mean)
        found = []
        for device in sorted(means.keys() - {0}):
            pair = Pair(
                round=number,
                device=self._plan.devices[device].name,
                log_ratio=means[device] - means[0],
                instance=instance,
                epoch=self.epoch,
            )
            found.append(pair)
            self._pairs[device].append(pair)
            decision = None if self._is_control(device) else decide(self.estimate(device), self._rule)
            if decision is not None:
                self._decided[device] = decision
        if is_switched(self._plan):
            self._turns += [list(turn) for turn in values.values()]
            self._sizes.append(self.trials)
        return found

    def choose_trials(self, switch_s: float, trial_s: float) -> None:
        """Choose how many trials the next activations have."""
        differences = [pair.log_ratio for pair in self._pairs[self._others[0]]]
        if len(differences) < 2:
            self.trials = activations.first_trials(switch_s, trial_s)
            return
        within = activations.within_variance(self._turns)
        between = activations.between_variance(differences, self._sizes[-len(differences) :], within)
        known = Activated(switch_s, trial_s, within, between)
        self.trials = activations.best_trials(known, self.estimate(self._others[0]), self._rule)

    def queue_floor(self, device: int) -> float:
        """Give the half width that the errors of measured queues add to the ratio of a device."""
        return _QUEUE_ERRORS * math.hypot(self._queue_errors[0], self._queue_errors[device])

    def unit_floor(self, device: int) -> float:
        """Give the half width that whole units add: noise of more than a unit evens them out, equal counts do not."""
        means = [float(np.mean(self._counts[number] or [1.0])) for number in (0, device)]
        unit = 1 / max(1.0, min(means))
        logs = [pair.log_ratio for pair in self._pairs[device]]
        is_even = len(logs) > 1 and float(np.std(logs, ddof=1)) > unit
        return 0.0 if is_even or unit < _LEAST_UNIT * self._plan.precision else unit

    def estimate(self, device: int) -> Estimate:
        """Say what is known of a device."""
        pairs = self._pairs[device]
        rule = self._rule
        if self._is_control(device):
            rule = msgspec.structs.replace(rule, final_alpha=_CONTROL_ALPHA)
        floors = self.queue_floor(device), self.unit_floor(device), 0.0 if self._is_control(device) else self._floor
        units = [] if is_switched(self._plan) else [pair.instance for pair in pairs]
        return estimate([pair.log_ratio for pair in pairs], rule, units=units, floor=math.hypot(*floors))

    def results(self, *, is_ended: bool, invalid: Sequence[int]) -> list[Ratio]:
        """Give the answer for each device.

        Parameters
        ----------
        is_ended
            Whether the run is over, whatever is known.
        invalid
            For each device, how many of its trials were invalid.
        """
        control = [self._control(invalid)] if self._plan.control else []
        fails = any(ratio.verdict == DIFFERS for ratio in control)
        others = [
            self._ratio(device, invalid, is_ended=is_ended, fails=fails)
            if device in self._others
            else self._without_pairs(device, invalid, fails=fails)
            for device in others_of(self._plan)
        ]
        return others + control

    def _without_pairs(self, device: int, invalid: Sequence[int], *, fails: bool) -> Ratio:
        """Give the answer for a device that passes nothing, or is held against one that does not."""
        is_silent, is_first_silent = device in self._silent, 0 in self._silent
        if fails:
            return self._record(device, self.estimate(device), CANNOT_TELL, "end", 0.0, None, invalid)
        if self._is_control(device):
            verdict = SAME if is_silent == is_first_silent else DIFFERS
        elif is_silent == is_first_silent:
            verdict = CANNOT_TELL
        else:
            verdict = "regression" if is_silent else "no-regression"
        return Ratio(
            device=self._plan.devices[device].name,
            verdict=verdict,
            by=NOTHING_PASSES,
            pairs=0,
            ratio=0.0 if is_silent and not is_first_silent else None,
            instances=0,
            invalid=invalid[device],
        )

    def _ratio(self, device: int, invalid: Sequence[int], *, is_ended: bool, fails: bool) -> Ratio:
        found = self.estimate(device)
        decision = self._decided.get(device) or decide(found, self._rule, is_ended=True)
        assert decision is not None
        is_open = device not in self._decided and not is_ended
        verdict = CANNOT_TELL if fails else "undecided" if is_open else decision.verdict
        needed = pairs_needed(found, self._rule) if decision.by == "end" else None
        return self._record(device, found, verdict, decision.by, decision.half_width, needed, invalid)

    def _control(self, invalid: Sequence[int]) -> Ratio:
        device = len(self._plan.devices) - 1
        if not self._others:
            return self._without_pairs(device, invalid, fails=False)
        found = self.estimate(device)
        verdict = DIFFERS if abs(found.mean) > found.final else SAME
        if found.pairs < _LEAST_CONTROL_PAIRS:
            verdict = "undecided"
        return self._record(device, found, verdict, "end", found.final, None, invalid)

    def _record(
        self,
        device: int,
        found: Estimate,
        verdict: str,
        by: str,
        half_width: float,
        needed: int | None,
        invalid: Sequence[int],
    ) -> Ratio:
        is_known = found.pairs > 0
        is_bounded = is_known and half_width < _NO_RATIO
        return Ratio(
            device=self._plan.devices[device].name,
            verdict=verdict,
            by=by,
            pairs=found.pairs,
            ratio=math.exp(found.mean) if is_known else None,
            low=math.exp(found.mean - half_width) if is_bounded else None,
            high=math.exp(found.mean + half_width) if is_bounded else None,
            deviation=found.deviation,
            tau=found.tau,
            instances=len({pair.instance for pair in self._pairs[device]}),
            standard_error=found.deviation * math.sqrt(found.tau / found.pairs) if is_known else 0.0,
            pairs_needed=needed,
            invalid=invalid[device],
        )

    def _is_control(self, device: int) -> bool:
        return self._plan.control and device == len(self._plan.devices) - 1

    def _raise_loads(self) -> None:
        """Begin anew at higher loads: to drop only pairs without loss would select."""
        loads = [_RAISE * load for load in self._loads]
        if any(load > most for load, most in zip(loads, self._most, strict=True)):
            message = (
                "a trial came in without loss, and more cannot be offered: the devices are too fast for the tester;"
                " use smaller frames or larger IOs, or raise --max-load"
            )
            raise MeasureError(message)
        self.epoch += 1
        if self.epoch > _MOST_EPOCHS:
            message = (
                f"trials came in without loss after loads had been raised {_MOST_EPOCHS} times; is the device steady?"
            )
            raise MeasureError(message)
        self._loads = loads
        self._pairs = {device: [] for device in self._pairs}
        self._logs = {device: [] for device in self._logs}
        self._turns, self._sizes, self._decided = [], [], {}


def others_of(plan: PairedPlan) -> list[int]:
    """Give the numbers of the devices that are held against the first, without the control."""
    return list(range(1, len(plan.devices) - plan.control))


def in_pairs(plan: PairedPlan, silent: Collection[int]) -> list[int]:
    """Give the numbers of the devices that have pairs: none where the first one, or all others, pass nothing."""
    numbers = [device for device in range(len(plan.devices)) if device not in silent]
    ends = [0, len(plan.devices) - 1] if plan.control else [0]
    return numbers if numbers != ends and not set(ends) & set(silent) else []


def is_switched(plan: PairedPlan) -> bool:
    """Say whether the devices are builds that are made active on one test bed."""
    return plan.devices[0].command is not None


def rule_of(plan: PairedPlan) -> Rule:
    """Give the stopping rule of a plan."""
    rule = Rule(tolerance=plan.tolerance, precision=plan.precision)
    if is_switched(plan):
        rule = msgspec.structs.replace(
            rule, least_pairs=activations.LEAST_PAIRS, effect_prior=activations.EFFECT_PRIOR, are_fresh=True
        )
    return rule.shared_by(len(others_of(plan)))
