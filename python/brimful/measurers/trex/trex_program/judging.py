"""From the counters of a finished trial to a reply: what was sent, what was lost, or why neither is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .errors import SpoiledError

_START_UP_S = 10e-6
"""What a generator may take to begin: frames due within it are not missed."""
_SURPLUS = 0.01
"""No generator that works sends so much more than it was asked to."""
_FOREIGN_FRAMES_A_SECOND = 10
"""This many frames that are not the tester's (LLDP, ARP, spanning tree) may be among those a port received."""


@dataclass(frozen=True)
class Counted:
    """What was counted of one direction."""

    sending_port: int
    receiving_port: int
    sent: int
    received: int
    send_errors: int
    receive_errors: int
    misrouted: int = 0
    """Frames of this direction that another port received; known only when flows are counted."""
    flows: list[dict[str, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Give it as the report shows it."""
        return f"port {self.sending_port} to port {self.receiving_port}"


@dataclass(frozen=True)
class Watched:
    """How long the server was seen to send: it stopped between these two times after the start."""

    still_sending_s: float
    stopped_s: float


def check_stretch(watched: Watched, duration_s: float, bound_s: float) -> None:
    """Fail unless the server stopped sending when it should.

    TRex limits the time of its own schedule: where its queues are full that schedule, and with it the trial, takes
    longer, at a load that was not asked for.

    Raises
    ------
    SpoiledError
        When it sent for longer, or it is not known because the client itself was held up.
    """
    late_s = watched.still_sending_s - duration_s
    if late_s > bound_s:
        message = f"stretched: still sending {late_s * 1e3:.0f} ms after the {duration_s:g} s of the trial"
        raise SpoiledError(message)
    gap_s = watched.stopped_s - max(duration_s, watched.still_sending_s)
    if gap_s > bound_s:
        message = f"the end of sending was not observed: the TRex client was held up for {gap_s * 1e3:.0f} ms"
        raise SpoiledError(message)


def judge(
    directions: list[Counted], load: float, duration_s: float, *, unsent_allowed: int, trust_receive_errors: bool
) -> dict[str, Any]:
    """Make a reply of what was counted.

    Parameters
    ----------
    unsent_allowed
        Frames of a direction that may be missing because every core rounds its share of every stream.
    trust_receive_errors
        Whether a receive error of the tester's port spoils the trial.

    Raises
    ------
    SpoiledError
        When the counters say that the tester, not the device, is what was measured.
    """
    for counted in directions:
        _check_counters(counted)
        _check_sent(counted, load, duration_s, unsent_allowed)
        if trust_receive_errors and counted.receive_errors:
            message = (
                f"port {counted.receiving_port} counted {counted.receive_errors} receive errors: lost by the tester"
            )
            raise SpoiledError(message)
        _check_surplus(counted, duration_s)
    sent = sum(counted.sent for counted in directions)
    return {
        "intended": sent,  # what is unsent was allowed: the streams' rounding
        "sent": sent,
        "lost": sum(_lost(counted) for counted in directions),
        "directions": [_reply(counted) for counted in directions],
        "warnings": [warning for counted in directions for warning in _warnings(counted)],
    }


def _check_counters(counted: Counted) -> None:
    for name in ("sent", "received", "send_errors", "receive_errors", "misrouted"):
        value = getattr(counted, name)
        if not isinstance(value, int):
            message = f"{counted.name}: the server gives no counter of frames {name}, but {value!r}"
            raise SpoiledError(message)
        if value < 0:
            message = (
                f"{counted.name}: the counter of frames {name} went backwards by {-value}: was the server restarted?"
            )
            raise SpoiledError(message)


def _check_sent(counted: Counted, load: float, duration_s: float, unsent_allowed: int) -> None:
    if counted.send_errors:
        message = f"port {counted.sending_port} counted {counted.send_errors} send errors: frames were not sent"
        raise SpoiledError(message)
    intended = math.ceil((duration_s - _START_UP_S) * load)
    if counted.sent < intended - unsent_allowed:
        message = (
            f"{counted.name}: {intended - counted.sent} of {intended} frames were not sent: the tester is too slow"
        )
        raise SpoiledError(message)
    if counted.sent > (1 + _SURPLUS) * load * duration_s + 1 + unsent_allowed:
        message = f"{counted.name}: {counted.sent} frames were sent where {intended} were due"
        raise SpoiledError(message)


def _check_surplus(counted: Counted, duration_s: float) -> None:
    surplus = counted.received - counted.sent
    if surplus > _FOREIGN_FRAMES_A_SECOND * (1 + duration_s):
        message = (
            f"{counted.name}: {surplus} more frames received than sent: duplicates, or traffic of others"
            " (count=flow tells them apart)"
        )
        raise SpoiledError(message)


def _lost(counted: Counted) -> int:
    return max(0, counted.sent - counted.received)


def _reply(counted: Counted) -> dict[str, Any]:
    return {
        "name": counted.name,
        "sent": counted.sent,
        "received": counted.received,
        "lost": _lost(counted),
        "misrouted": counted.misrouted,
        "receive_errors": counted.receive_errors,
        **({"flows": counted.flows} if counted.flows else {}),
    }


def _warnings(counted: Counted) -> list[dict[str, str]]:
    found = []
    if counted.sent and not counted.received:
        found.append(("nothing-arrived", f"{counted.name}: no frame arrived at all; is it connected as it should be?"))
    if counted.received > counted.sent:
        found.append(("foreign-frames", f"{counted.name}: {counted.received - counted.sent} more received than sent"))
    if counted.misrouted:
        found.append(("misrouted", f"{counted.name}: {counted.misrouted} frames arrived at another port"))
    return [{"code": code, "text": text} for code, text in found]
