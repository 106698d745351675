"""A recorded run as a measurer: asked for the same trials, it gives the same outcomes."""

from __future__ import annotations

import collections
from pathlib import Path

from brimful.errors import MeasureError
from brimful.measurers.base import Description, Settings, TrialOutput
from brimful.records import Trial, read_unchanged
from brimful.units import stated_load


class ReplayMeasurer:
    """Answers from a record, each saved trial once, in the order they were made."""

    def __init__(self, path: Path) -> None:
        self._file = read_unchanged(path)
        self._now_s = 0.0
        self._waiting: dict[tuple[float, float], collections.deque[Trial]] = collections.defaultdict(collections.deque)
        for trial in self._file.counted():
            self._waiting[trial.load, trial.duration_s].append(trial)

    def describe(self) -> Description:
        """Say what the recorded measurer said."""
        run = self._file.run
        return Description(
            name=f"replay of {run.run_id}",
            load_unit=run.load_unit,
            load_scope=run.load_scope,
            conversion_factor=run.conversion_factor,
            contract=run.measurer.contract or "",
            max_load=run.max_load,
            tells_delay=bool(run.measurer.tells_delay),
            virtual_time=True,
            traffic=run.traffic,
            device=run.device,
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Give the next saved outcome of this trial."""
        waiting = self._waiting[load, duration_s]
        if not waiting:
            shown = stated_load(load, self._file.run.load_unit)
            message = f"{self._file.path}: no (further) trial of {duration_s:g} s at {shown} is recorded"
            raise MeasureError(message)
        trial = waiting.popleft()
        self._now_s += trial.elapsed_s
        return TrialOutput(
            intended=trial.intended,
            sent=trial.sent,
            lost=trial.lost,
            effective_duration_s=trial.effective_duration_s,
            stopped_early=trial.stopped_early,
            delay_p99_s=trial.delay_p99_s,
            directions=trial.directions,
            warnings=trial.warnings,
            extra=trial.extra,
        )

    def now(self) -> float:
        """Give the time that the recorded trials took so far."""
        return self._now_s

    def resume_at(self, elapsed_s: float) -> None:
        """Take over the clock of the interrupted run."""
        self._now_s = max(self._now_s, elapsed_s)

    def close(self) -> None:
        """Nothing is held."""


def open_replay(run: str, _settings: Settings) -> ReplayMeasurer:
    """Open the record of a run; nothing is sent."""
    return ReplayMeasurer(Path(run))
