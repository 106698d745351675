"""What a switch forwards when many ports send at once: the tables of RFC 2889 sections 5.5 and 5.6."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile, Trial
from brimful.report import words
from brimful.report.blocks import Table
from brimful.report.suite.results import Result
from brimful.units import format_load

_NONE = "–"
_FREE, _CONGESTED = 2, 3
"""Places of the ports of section 5.5, of four: one that is offered half of its rate, and one that is offered 150 %."""


def forwarding_row(file: RunFile) -> list[str]:
    """Give the maximum forwarding rate, and at which load it was reached (section 5.6)."""
    best = max((trial for trial in file.trials if trial.invalid is None), key=_rate, default=None)
    if best is None:
        return []
    unit = file.run.load_unit
    return [format_load(_rate(best), unit), format_load(best.load, unit), "not seen, not excluded"]


def _rate(trial: Trial) -> float:
    return (trial.sent - trial.lost) / (trial.effective_duration_s or trial.duration_s)


class Shares:
    """What was lost on the way to each port: in the last trial that counts, or where senders were held, in the best."""

    def __init__(self, file: RunFile) -> None:
        held = min((one for one in file.trials if one.seen), key=lambda one: one.sum_to(None, "lost"), default=None)
        self._trial = next((trial for trial in reversed(file.trials) if trial.invalid is None), held)
        ports = file.run.traffic.get("ports", [])
        self._names = [str(port.get("interface", "")) for port in ports if isinstance(port, dict)]

    def lost(self, place: int | None = None) -> float | None:
        """Give the share of the frames to a port, or to all, that was lost; none where nothing was sent to it."""
        if self._trial is None or (place is not None and place >= len(self._names)):
            return None
        port = None if place is None else self._names[place]
        sent = self._trial.sum_to(port, "sent")
        return self._trial.sum_to(port, "lost") / sent if sent else None

    @property
    def is_held(self) -> bool:
        """Whether the senders sent less than they intended."""
        return self._trial is not None and self._trial.sum_to(None, "unsent") > 0


def congestion_table(title: str, controls: Sequence[Result], results: Sequence[Result]) -> Table:
    """Show what two senders did to a port that only one of them sends to (section 5.5)."""
    alone = {result.size: Shares(result.file) for result in controls if result.file is not None}
    rows = [[result.size, *_congestion(alone.get(result.size), result)] for result in results]
    names = ["frame size", "lost at C", "lost at D", "lost without B", "head of line blocking", "back pressure"]
    return Table(title=title, names=names, rows=rows, key="congestion")


def _congestion(alone: Shares | None, result: Result) -> list[str]:
    if result.file is None or result.reason != "done":
        return [result.reason.replace("-", " "), *[_NONE] * 4]
    found = Shares(result.file)
    free, congested = found.lost(_FREE), found.lost(_CONGESTED)
    before = None if alone is None else alone.lost()
    shown = [_NONE if share is None else words.share(share) for share in (free, congested, before)]
    return [*shown, _blocking(free, before), _back_pressure(congested, is_held=found.is_held)]


def _blocking(free: float | None, before: float | None) -> str:
    if free is None or before is None:
        return "unknown"
    if before > 0:
        return "input limit, no verdict"
    return "yes" if free > 0 else "not seen"


def _back_pressure(congested: float | None, *, is_held: bool) -> str:
    if congested is None:
        return "unknown"
    if congested > 0:
        return "no"
    return "yes, senders were held" if is_held else "no loss: D was not congested"
