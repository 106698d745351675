"""What two senders did to a port that only one of them sends to: RFC 2889 section 5.5."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.records import RunFile
from brimful.report import words
from brimful.report.blocks import Table
from brimful.report.suite.results import Result

CONTROL, CONGESTION, BY_TWO = "control", "congestion", "congestion-by-two"
"""Tests: no port is congested, D is by one port beside A, D is by two."""
_GROUP = 4
_FREE, _CONGESTED = 2, 3
"""Places of the ports of a group: C is offered half of its rate, and D more than it has."""
_NONE = "–"


class Shares:
    """What was lost on the way to ports: in the last trial that counts, or where senders were held, in the best."""

    def __init__(self, file: RunFile) -> None:
        held = min((one for one in file.trials if one.seen), key=lambda one: one.sum_to(None, "lost"), default=None)
        self._trial = next((trial for trial in reversed(file.trials) if trial.invalid is None), held)
        ports = file.run.traffic.get("ports", [])
        self._names = [str(port.get("interface", "")) for port in ports if isinstance(port, dict)]

    @property
    def free(self) -> list[float]:
        """The share of the frames to C that was lost, of each group of four ports."""
        return self._lost(_FREE)

    @property
    def congested(self) -> list[float]:
        """The share of the frames to D that was lost, of each group."""
        return self._lost(_CONGESTED)

    @property
    def is_held(self) -> bool:
        """Whether the senders sent less than they intended."""
        return self._trial is not None and self._trial.sum_to(None, "unsent") > 0

    @property
    def is_silent(self) -> bool:
        """Whether all frames were lost, as where the device drops those of this size."""
        shares = [*self.free, *self.congested]
        return bool(shares) and min(shares) == 1

    def _lost(self, place: int) -> list[float]:
        """Give the share of the frames to a port of each group; nothing of one to which nothing was sent."""
        trial = self._trial
        if trial is None:
            return []
        counts = [(trial.sum_to(name, "sent"), trial.sum_to(name, "lost")) for name in self._names[place::_GROUP]]
        return [lost / sent for sent, lost in counts if sent]


class Verdict(msgspec.Struct, frozen=True):
    """Yes or no, or none of both and why."""

    holds: bool | None
    text: str
    why: str = ""
    """What it takes to know more."""


_SILENT = Verdict(None, "nothing arrived")


def blocking(result: Result) -> Verdict:
    """Say whether frames to C are lost because D is congested: head of line blocking."""
    alone, found, by_two = _shares(result, CONTROL), _shares(result, CONGESTION), _shares(result, BY_TWO)
    if alone is None or found is None or not found.free:
        return Verdict(None, "unknown", "it takes the tests control and congestion")
    if alone.is_silent:
        return _SILENT
    if any([*alone.free, *alone.congested]):
        return Verdict(None, "input limit", "frames of A are lost with no port congested, too")
    if any(found.free) or (by_two is not None and any(by_two.free)):
        return Verdict(True, "yes")
    if not any(found.congested) and not found.is_held:
        return Verdict(None, "D was not congested", "it takes a --max-load that is the rate of a port")
    if by_two is not None:
        return Verdict(False, "no")
    return Verdict(
        None, "not seen, not excluded", "to see a device that serves A and B in turns takes two B: five ports"
    )


def back_pressure(result: Result) -> Verdict:
    """Say whether D loses nothing because its senders are held."""
    found = _shares(result, CONGESTION)
    alone = _shares(result, CONTROL)
    if found is None or not found.congested:
        return Verdict(None, "unknown")
    if alone is not None and alone.is_silent:
        return _SILENT
    if any(found.congested):
        return Verdict(False, "no")
    return Verdict(True, "yes, senders were held") if found.is_held else Verdict(None, "D was not congested")


def lost(shares: Sequence[float]) -> float | None:
    """Give the greatest of the shares of all groups."""
    return max(shares, default=None)


def congestion_table(title: str, results: Sequence[Result]) -> Table:
    """Show what congestion at D did to C, of several groups of ports to that where it did the most."""
    rows = [[result.size, *_cells(result)] for result in results]
    names = ["frame size", "lost at C", "at D", "at C by two B", "without congestion", "head of line blocking"]
    said = dict.fromkeys(f"{verdict.text}: {verdict.why}." for verdict in map(blocking, results) if verdict.why)
    notes = [text[0].upper() + text[1:] for text in said]
    return Table(title=title, names=[*names, "back pressure"], rows=rows, key="congestion", notes=notes)


def _cells(result: Result) -> list[str]:
    found = _shares(result, CONGESTION)
    if found is None:
        return [result.reason.replace("-", " "), *[_NONE] * 5]
    alone, by_two = _shares(result, CONTROL), _shares(result, BY_TWO)
    shown = [
        lost(found.free),
        lost(found.congested),
        None if by_two is None else lost(by_two.free),
        None if alone is None else lost([*alone.free, *alone.congested]),
    ]
    cells = [_NONE if share is None else words.share(share) for share in shown]
    return [*cells, blocking(result).text, back_pressure(result).text]


def _shares(result: Result, test: str) -> Shares | None:
    file = result.beside.get(test)
    return None if file is None else Shares(file)
