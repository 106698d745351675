"""The load of each device, a fixed factor above what it forwards at it, and what stands in its queue."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brimful.ceilings import LOWER
from brimful.errors import MeasureError
from brimful.measurers.base import Description
from brimful.records import Trial

FACTOR = 1.3
"""Load / capacity: enough that no trial comes in without loss, and the same for all devices, as some forward less the
more they are overloaded."""
ROUNDS, AVERAGED, MOST_ROUNDS = 8, 4, 40
"""Trials until the load is known, those of the last that say so, and when it is given up."""
QUEUE_ROUNDS = 8
"""Trials of each of two lengths that a queue is estimated from."""
LONGER = 2.0
"""Length of the longer trials that show a queue, in lengths of the shorter ones."""
QUEUE_ERRORS, LEAST_QUEUE_SHARE = 5.0, 0.02
"""A queue is subtracted where it is this number of standard errors above nothing, and this share of what is received: a
queue that is not there would change the ratio as well."""
LARGEST_QUEUE_SHARE = 0.7
WANTED_QUEUE_SHARE, MOST_LONGER = 1 / 3, 8.0
"""Trials are made longer, up to this many times, until the queue is this share of what arrives: a busy machine forwards
little meanwhile."""
_POOLED_ERRORS = 3.0
_MOST_LOWERED = 20
"""Down to 0.3 % of a load: a tester that cannot offer that is not merely too slow."""
_FIRST_LOAD, _GROWTH, _LEAST_STEP = 1000.0, 4.0, 0.1


def capacity_of(trial: Trial, queue: float = 0.0) -> float:
    """Give what a device forwarded under overload, as a load: what arrived, without what stood in its queue.

    >>> capacity_of(Trial(seq=0, load=1000.0, duration_s=2.0, intended=2000, sent=2000, lost=500), queue=100)
    700.0
    """
    return trial.load * max(0.0, trial.forwarded - queue) / max(1, trial.intended)


class ForwardsNothingError(MeasureError):
    """Nothing of what a device was offered arrived, down to a load of a unit a trial."""


class Calibration:
    """Finds the load of one device: the fixed point ``load = FACTOR * received(load)``.

    What stands in the queue at the end counts here: the load then overflows the queue within each trial.

    Parameters
    ----------
    trial_s
        Length of a trial.
    first_load, max_load
        Where it begins, and what cannot be exceeded; null: far below any device, and no limit.
    queue
        Units in the queue at the end of a trial; null: it is estimated here, from trials of two lengths.
    rounds
        Trials until the load is known; fewer where the first load is that of a device much alike.
    """

    def __init__(
        self,
        trial_s: float,
        *,
        first_load: float | None = None,
        max_load: float | None = None,
        queue: float | None = 0.0,
        rounds: int = ROUNDS,
    ) -> None:
        self._trial_s = trial_s
        self._rounds = rounds
        self.max_load = math.inf if max_load is None else max_load
        """The greatest load that can be offered."""
        self._load = min(self.max_load, first_load or max_load or _FIRST_LOAD)
        self._tried = 0.0
        self._lowered = 0
        self._has_lost = False
        self._has_forwarded = False
        self._capacities: list[float] = []
        self._lossy: list[bool] = []
        self._shares: list[float] = []
        self.queue = queue
        self.units_per_s = 1.0
        """Units that are forwarded a second, over all interfaces."""
        self.queue_error = 0.0
        """Standard error of the queue, as a share of what is forwarded in a trial."""

    @property
    def units_per_trial(self) -> float:
        """Units that are forwarded in a trial."""
        return self.units_per_s * self._trial_s

    @property
    def trial_s(self) -> float:
        """Length of the trials of the device: most of what arrives in them does not come from its queue."""
        wanted_s = (1 / WANTED_QUEUE_SHARE - 1) * (self.queue or 0.0) / self.units_per_s
        return min(max(self._trial_s, wanted_s), MOST_LONGER * self._trial_s)

    @property
    def trials(self) -> int:
        """How many trials it has had."""
        return len(self._capacities) + len(self._shares)

    @property
    def has_load(self) -> bool:
        """Whether the last trials all lost something, and there were enough."""
        return len(self._lossy) >= self._rounds and all(self._lossy[-AVERAGED:])

    @property
    def is_at_limit(self) -> bool:
        """Whether the device took all of the largest load that can be offered."""
        return bool(self._lossy) and not self._lossy[-1] and self._tried >= self.max_load

    @property
    def is_done(self) -> bool:
        """Whether load and queue are known, or the device takes all that can be offered."""
        return self.is_at_limit or (self.has_load and self.queue is not None)

    def next(self) -> tuple[float, float]:
        """Give the load and the length of the next trial."""
        if self.has_load:
            return self.load, self._trial_s * (LONGER if len(self._shares) % 2 else 1)
        return self._load, self._trial_s

    @property
    def load(self) -> float:
        """The load of the device."""
        recent = self._capacities[-AVERAGED:]
        return min(self.max_load, FACTOR * math.exp(math.fsum(map(math.log, recent)) / len(recent)))

    @property
    def can_lower(self) -> bool:
        """Whether a load that the tester cannot offer may be a smaller one: the load is still looked for."""
        return not self.has_load and self._lowered < _MOST_LOWERED

    def lower(self) -> float:
        """Take note that the tester cannot offer the load; gives the smaller one that is the most from here on."""
        self._lowered += 1
        self._load *= LOWER
        self.max_load = self._load
        return self._load

    def record(self, trial: Trial) -> None:
        """Take what a trial came to.

        Raises
        ------
        ForwardsNothingError
            When nothing arrives.
        MeasureError
            When no load is found, or the queue holds most of what arrives.
        """
        if self.has_load:
            self._shares.append(trial.forwarded / max(1, trial.intended))
            if len(self._shares) == 2 * QUEUE_ROUNDS:
                self._end_queue(trial)
            return
        capacity = capacity_of(trial)
        self._tried = trial.load
        self.units_per_s = max(1.0, trial.forwarded - (self.queue or 0.0)) / trial.duration_s
        self._lossy.append(trial.forwarded < trial.sent)
        self._has_lost = self._has_lost or self._lossy[-1]
        self._capacities.append(max(capacity, trial.load * 1e-9))
        self._has_forwarded = self._has_forwarded or capacity > 0
        if self.is_at_limit or self.has_load:
            return
        if len(self._capacities) >= MOST_ROUNDS:
            message = f"no load was found at which it loses units in each trial; the last is trial {trial.seq}"
            raise MeasureError(message)
        if not self._has_forwarded and self._load * _LEAST_STEP * self._trial_s < 1:
            message = (
                f"it forwards nothing: nothing arrived in {len(self._capacities)} trials, the last of which is trial"
                f" {trial.seq}"
            )
            raise ForwardsNothingError(message)
        factor = FACTOR if self._has_lost else _GROWTH
        self._load = min(self.max_load, max(factor * capacity, _LEAST_STEP * self._load))

    def _end_queue(self, trial: Trial) -> None:
        """Estimate the queue: it is a larger share of what arrives in the shorter of two trials."""
        short, long = self._shares[::2], self._shares[1::2]
        # Shares are c + q and c + q / LONGER, q being the queue as a share of the shorter trial.
        queues = [(one - other) / (1 - 1 / LONGER) for one, other in zip(short, long, strict=True)]
        mean = math.fsum(queues) / len(queues)
        error = math.sqrt(sum((each - mean) ** 2 for each in queues) / (len(queues) - 1) / len(queues))
        received = math.fsum(short) / len(short)
        is_there = mean > QUEUE_ERRORS * error and mean > LEAST_QUEUE_SHARE * received
        intended = trial.intended / LONGER
        self.queue = mean * intended if is_there else 0.0
        if is_there and received > mean:
            self.queue_error = error / (received - mean)
            self.units_per_s = (received - mean) * intended / self._trial_s
        if is_there and mean > LARGEST_QUEUE_SHARE * received:
            message = f"{mean / received:.0%} of what arrives is from its queue; give a longer --trial"
            raise MeasureError(message)


def pool_queues(calibrations: Sequence[Calibration]) -> None:
    """Let devices whose queues do not differ clearly have the same one: an error of it then cancels out of ratios."""
    measured = [calibration for calibration in calibrations if calibration.queue_error > 0]
    if len(measured) < len(calibrations):
        return
    queues = [calibration.queue or 0.0 for calibration in measured]
    mean = math.fsum(queues) / len(queues)
    errors = [calibration.queue_error * calibration.units_per_trial for calibration in measured]
    if all(abs(queue - mean) <= _POOLED_ERRORS * error for queue, error in zip(queues, errors, strict=True)):
        for calibration in measured:
            calibration.queue = mean


def queue_of(description: Description) -> float | None:
    """Give the units in the queue of an overloaded device; null: it is to be measured. Simulated ones have none.

    What waits at a disk when a trial ends is not counted: each trial ends one deadline after its last IO began.
    """
    if description.virtual_time or description.load_unit == "IO/s":
        return 0.0
    frames = description.device.get("input_queue_frames")
    return frames * description.conversion_factor if isinstance(frames, int) else None
