"""How the trial of each step is made: which frames which station sends, and what of the answers is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from brimful.errors import MeasureError
from brimful.measurers.base import Description, InvalidTrialError, TrialOutput
from brimful.measurers.stations import BROADCAST, Exchange, FrameSequence, Received, Sent, Stations
from brimful.records import SwitchingPlan
from brimful.switching.addresses import SEQUENTIAL, addresses, sender, unknown
from brimful.switching.steps import Step

SENDER, LEARNER, WATCHER = 0, 1, 2
"""Ports; all from the third on watch."""
SETTLE_S = 0.1
"""Nothing arrives for so long: what was sent has arrived or is lost."""
_PROBE_SETTLE_S = 0.02
_PATIENCE_S = (SETTLE_S, 0.5, 1.0)
"""The same, before it is said that a port receives nothing: a busy machine may be late."""
_MOST_BEHIND, _LEAST_RATE = 0.02, 0.98
"""Share of the addresses that a failed trial may have sent in one burst, and of the rate that others have reached."""
_LONGEST_S = 0.02
"""Of addresses that are learned slowly, a failed trial may have sent in one burst what is due in this time, and no
frame may have waited longer: what a device may learn at once is less of a long trial than of a short one."""
_ATTEMPTS = 3
"""A rate that the tester misses so often is one that it does not reach."""
_PROBE_EACH_S, _PROBE_EACH = 0.05, 0.01
"""An address that ages is looked up again after this time, or this share of the time that has passed."""


class StationTrials:
    """A measurer whose trial is that of the step that it was given last."""

    def __init__(self, plan: SwitchingPlan, stations: Stations) -> None:
        self._plan, self._stations = plan, stations
        self.step: Step | None = None
        self.number = 0
        """Of the trial in its run: each has addresses of its own."""
        self._foreign = 0

    def describe(self) -> Description:
        """Say what tester and device are."""
        return self._stations.describe()

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Make the trial of the step."""
        if self.step is None:
            message = "stations have no step to make a trial of"
            raise MeasureError(message)
        self._foreign = 0
        output = _TRIALS[self._plan.test](self, self.step)
        return msgspec.structs.replace(output, extra={**output.extra, "foreign": self._foreign})

    def now(self) -> float:
        """Give the time of the stations."""
        return self._stations.now()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the number of the next trial follows from those that there are."""

    def close(self) -> None:
        """Leave the stations to the caller."""

    def learned(self, step: Step) -> TrialOutput:
        """Have addresses learned, and send a frame to each: what is known is not flooded."""
        output = self._learned(step)
        for _ in range(1, _ATTEMPTS):
            if "too_slow" not in output.extra:
                break
            output = self._learned(step)
        return output

    def _learned(self, step: Step) -> TrialOutput:
        plan = self._plan
        pattern = step.name if plan.test == "caching" else plan.patterns[0]
        known = addresses(pattern, step.addresses, self.number)
        blind = self._prepare(pattern)
        if blind:
            return TrialOutput(intended=step.frames, sent=0, lost=0, extra={"blind": blind, "addresses": len(known)})
        rate = step.load if plan.test == "learning" else plan.rate
        learning = self._send(LEARNER, known, [sender(self.number)], rate=rate)
        tested = self._send(SENDER, [sender(self.number)], known, rate=plan.rate, settle_s=plan.settle_s)
        lost = tested.sent - tested.received[LEARNER].frames
        flooded = max(port.frames for port in tested.received[WATCHER:])
        extra = {
            "addresses": len(known),
            "flooded": flooded,
            "learning_flooded": max(port.frames for port in learning.received[WATCHER:]),
            "learning_lost": learning.sent - learning.received[SENDER].frames,
            "matrix": [[port.frames for port in sent.received] for sent in (learning, tested)],
        }
        if plan.test == "caching" and extra["learning_lost"]:
            message = f"{extra['learning_lost']} of {len(known)} learning frames were lost: try a lower --rate"
            raise InvalidTrialError(message, extra)
        if lost and not flooded:
            message = f"{lost} of {len(known)} frames were lost and not flooded, which no full table explains"
            raise InvalidTrialError(message, extra)
        if plan.test == "learning":
            failed = lost > 0 or flooded > 0
            extra.update(_pacing(learning, rate, failed=failed, longest_s=_LONGEST_S))
            extra.update(
                _stalled(learning.received[SENDER]) if failed else {"reached": round(_reached(learning, rate), 3)}
            )
        return TrialOutput(intended=len(known), sent=tested.sent, lost=lost, extra=extra)

    def aged(self, step: Step) -> TrialOutput:
        """Have one address learned, and look it up until it is flooded."""
        (address,) = addresses(self._plan.patterns[0], 1, self.number)
        blind = self._prepare(self._plan.patterns[0])
        if blind:
            return TrialOutput(intended=1, sent=0, lost=0, extra={"blind": blind})
        before_s = self.now()
        self._send(LEARNER, [address], [sender(self.number)])
        learned_s, probes, known_s = self.now(), 0, 0.0
        while known_s < self._plan.limit_s:
            sent_s = self.now()
            probe = self._send(SENDER, [sender(self.number)], [address], settle_s=_PROBE_SETTLE_S)
            probes += 1
            if not probe.received[LEARNER].frames:
                message = "a frame to the address that ages was lost"
                raise InvalidTrialError(message)
            if any(port.frames for port in probe.received[WATCHER:]):
                flooded_s = self.now() - before_s - _PROBE_SETTLE_S
                extra = {"known_until_s": round(known_s, 6), "flooded_from_s": round(flooded_s, 6)}
                return TrialOutput(intended=probes, sent=probes, lost=0, extra=extra)
            known_s = max(0.0, sent_s - learned_s)
            self._stations.wait(max(_PROBE_EACH_S, _PROBE_EACH * known_s))
        return TrialOutput(intended=probes, sent=probes, lost=0, extra={"known_until_s": round(known_s, 6)})

    def errored(self, step: Step) -> TrialOutput:
        """Send frames of a size that none may have to a known address."""
        (address,), settle_s = addresses(SEQUENTIAL, 1, self.number), self._plan.settle_s
        self._send(LEARNER, [address], [BROADCAST])
        sent = self._send(
            SENDER, [sender(self.number)], [address], size=step.frame_size, count=step.frames, settle_s=settle_s
        )
        got = sent.received[LEARNER]
        extra: dict[str, Any] = {"shortest": got.shortest, "longest": got.longest}
        if sent.refused:
            extra["refused"] = sent.refused
        return TrialOutput(intended=sent.sent, sent=sent.sent, lost=sent.sent - got.frames, extra=extra)

    def broadcast(self, step: Step) -> TrialOutput:
        """Send frames to everybody, and count the copies."""
        sent = self._send(
            SENDER,
            [sender(self.number)],
            [BROADCAST],
            rate=step.load,
            count=step.frames,
            settle_s=self._plan.settle_s,
        )
        extra = {
            "received": [port.frames for port in sent.received],
            "copies": [port.copies for port in sent.received],
            "delays_s": [port.delay_min_s for port in sent.received],
        }
        lost = sent.sent - min(port.frames for port in sent.received[LEARNER:])
        extra.update(_pacing(sent, step.load, failed=lost > 0))
        return TrialOutput(intended=step.frames, sent=sent.sent, lost=lost, extra=extra)

    def _prepare(self, pattern: str) -> str:
        """Begin with nothing learned but the sender; say why floods cannot be seen, where they cannot.

        Raises
        ------
        MeasureError
            When the device still knows an address of the trial before.
        """
        if self._stations.forgets:
            self._stations.forget()
        own, ports = [sender(self.number)], self._stations.ports
        if self._missing(own, [BROADCAST], [LEARNER]):
            return f"{ports[LEARNER]} does not receive broadcasts of {ports[SENDER]}: are they of one device and VLAN?"
        watchers = range(WATCHER, len(ports))
        blind = self._missing(own, [unknown(self.number)], watchers)
        if blind:
            return (
                f"{ports[blind[0]]} does not see a frame to an unknown address: it is in another VLAN, or floods are"
                " off, so that what is flooded cannot be told from what is known"
            )
        if self.number and self._missing(own, addresses(pattern, 1, self.number - 1), watchers):
            forgets = self._stations.forgets
            how = f"{forgets} does not make it forget them" if forgets else "rest longer"
            message = f"the device still knows addresses of an earlier trial: {how}; see --ageing and --flush-command"
            raise MeasureError(message)
        return ""

    def _missing(self, source: Sequence[str], destination: Sequence[str], ports: Sequence[int]) -> list[int]:
        """Send a frame, again where it is late, and give the ports that do not receive it."""
        missing: list[int] = list(ports)
        for settle_s in _PATIENCE_S:
            sent = self._send(SENDER, source, destination, settle_s=settle_s)
            missing = [port for port in missing if not sent.received[port].frames]
            if not missing:
                break
        return missing

    def _send(
        self,
        port: int,
        sources: Sequence[str],
        destinations: Sequence[str],
        *,
        rate: float | None = None,
        size: int | None = None,
        count: int | None = None,
        settle_s: float = SETTLE_S,
    ) -> Sent:
        sequence = FrameSequence(
            port=port,
            sources=sources,
            destinations=destinations,
            frame_size=size or self._plan.frame_size,
            count=count or max(len(sources), len(destinations)),
            rate=rate or self._plan.rate,
        )
        exchange = self._stations.send([sequence], settle_s)
        _check(exchange, sequence)
        self._foreign += sum(exchange.foreign)
        return exchange.sequences[0]


def _pacing(made: Sent, rate: float, *, failed: bool, longest_s: float = math.inf) -> dict[str, float]:
    """Refuse a trial that failed because the tester sent a burst; note where it did not reach the rate.

    A burst is a share of all frames, or what is due in ``longest_s``.

    Raises
    ------
    InvalidTrialError
        When it sent one.
    """
    if failed and made.most_behind > max(1.0, min(_MOST_BEHIND * made.sent, longest_s * rate)):
        message = f"the tester sent {made.most_behind + 1} frames in one burst"
        raise InvalidTrialError(message)
    reached = _reached(made, rate)
    return {"too_slow": reached} if not failed and reached < _LEAST_RATE * rate else {}


def _reached(made: Sent, rate: float) -> float:
    """Give the rate at which frames were really sent."""
    return (made.sent - 1) / made.duration_s if made.duration_s > 0 else rate


def _stalled(learning: Received) -> dict[str, float]:
    """Give how much longer one frame that was learned from took than another: somebody stood still meanwhile."""
    if learning.delay_max_s is None or learning.delay_min_s is None:
        return {}
    return {"stalled_s": round(learning.delay_max_s - learning.delay_min_s, 9), "most_stalled_s": _LONGEST_S}


def _check(exchange: Exchange, sequence: FrameSequence) -> None:
    """Refuse what the tester itself lost."""
    (sent,) = exchange.sequences
    if sum(exchange.dropped):
        message = f"the tester itself dropped {sum(exchange.dropped)} frames that had arrived"
        raise InvalidTrialError(message)
    if not sent.refused and sent.sent < sequence.count:
        message = f"the tester sent {sent.sent} of {sequence.count} frames"
        raise InvalidTrialError(message)


_TRIALS: Mapping[str, Callable[[StationTrials, Step], TrialOutput]] = {
    "caching": StationTrials.learned,
    "learning": StationTrials.learned,
    "ageing": StationTrials.aged,
    "errored": StationTrials.errored,
    "broadcast": StationTrials.broadcast,
}
