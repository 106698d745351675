"""The tests of RFC 2889 sections 5.1 to 5.6: what a switch forwards when many ports send at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from brimful.loss.manager import LossRequest, run_loss
from brimful.measurers.base import Measurer
from brimful.records import End, RunFile, Trial, read_run
from brimful.session import DONE, FAILED
from brimful.throughput.goals import PRESETS, SearchGoal
from brimful.throughput.manager import SearchRequest, run_search

GOAL = "throughput"
MESH, ONE_TO_MANY, MANY_TO_ONE, BACKBONE, HALVES = "mesh", "one-to-many", "many-to-one", "backbone", "halves"
THROUGHPUTS = (MESH, ONE_TO_MANY, MANY_TO_ONE, BACKBONE, HALVES)
"""Tests that search for a throughput, each with a pattern of traffic: sections 5.1, 5.2 twice, 5.3 and 5.4."""
FORWARDING = "forwarding"
"""Section 5.6: the maximum forwarding rate."""
CONTROL, CONGESTION, BY_TWO = "control", "congestion", "congestion-by-two"
"""Section 5.5: ports A and B send to D, and A to C as well. In the control B sends to A instead, so that the device is
loaded as much and no port is congested. By a second B as well, a device blocks that serves its inputs in turns."""
CONGESTIONS = (CONGESTION, BY_TWO)
_GROUP = 4
_CONGESTED = 3
"""Place of the port that others send to, of the four of a group."""
_LEAST_FULL, _KEPT = 0.9, 0.15
"""Share of the load that such a port sends where senders are held; and which the device may keep of each sender until
the end."""
_SHARES = [f"{percent}%" for percent in range(100, 49, -5)]
"""Loads of the test of section 5.6."""


def pattern_of(test: str, ports: int) -> str:
    """Give the pattern of traffic of a test.

    >>> pattern_of("backbone", 4)
    'flows:1>3,1>4,2>3,2>4,3>1,3>2,4>1,4>2'
    >>> pattern_of("forwarding", 4)
    'flows:1>2'
    >>> pattern_of("congestion", 8)
    'flows:1>3,1>4,2>4,5>7,5>8,6>8'
    """
    if test == BACKBONE:
        near, far = range(1, ports // 2 + 1), range(ports // 2 + 1, ports + 1)
        pairs = [(one, other) for here, there in ((near, far), (far, near)) for one in here for other in there]
        return "flows:" + ",".join(f"{one}>{other}" for one, other in pairs)
    if test in _FLOWS:
        flows = _in_groups(_FLOWS[test], ports)
        if test == CONTROL and _GROUP < ports < 2 * _GROUP:
            # As many senders as by two B.
            flows.append((5, 2))
        return "flows:" + ",".join(f"{one}>{other}" for one, other in flows)
    return {FORWARDING: "flows:1>2", BY_TWO: "flows:1>3,1>4,2>4,5>4"}.get(test, test)


_Flows = Sequence[tuple[int, int]]
_FLOWS: Mapping[str, _Flows] = {CONTROL: [(1, 3), (1, 4), (2, 1)], CONGESTION: [(1, 3), (1, 4), (2, 4)]}
"""Of the first four ports."""


def _in_groups(flows: _Flows, ports: int) -> list[tuple[int, int]]:
    """Give the flows of the first four ports, and the same of each further four."""
    return [(one + first, other + first) for first in range(0, ports - _GROUP + 1, _GROUP) for one, other in flows]


def why_not(test: str, ports: int, *, knows_rate: bool) -> str:
    """Say why a test makes no sense of a number of ports, where their rate is known or not; empty: it does.

    >>> why_not("halves", 3, knows_rate=True), why_not("congestion", 4, knows_rate=True)
    ('needs an even number of ports, not 3', '')
    """
    if test in (CONTROL, *CONGESTIONS):
        needed = _GROUP + (test == BY_TWO)
        if ports < needed:
            return f"needs {needed} ports, not {ports}"
        return "" if knows_rate else "needs --max-load, the rate of the ports"
    return f"needs an even number of ports, not {ports}" if ports % 2 and test in (BACKBONE, HALVES) else ""


class Trials(msgspec.Struct, frozen=True, kw_only=True):
    """How the trials of these tests are made."""

    search: SearchRequest
    """With the traffic of a frame size and a pattern."""
    open_measurer: Callable[[SearchRequest], Measurer]
    trial_s: float
    rest_s: float
    note: Callable[[str], None]


def find_throughput(trials: Trials, directory: Path) -> End:
    """Search for the highest load without loss."""
    (preset,) = PRESETS["rfc2544"].goals
    goal: SearchGoal = msgspec.structs.replace(
        preset,
        name=GOAL,
        final_trial_duration_s=trials.trial_s,
        duration_sum_s=trials.trial_s,
        initial_trial_duration_s=min(1.0, trials.trial_s),
    )
    request = msgspec.structs.replace(trials.search, goals=[goal.record(GOAL)])
    measurer = trials.open_measurer(request)
    try:
        outcome = run_search(request, measurer, out=directory, resume=directory.exists(), note=trials.note)
    finally:
        measurer.close()
    return outcome.result.end


def measure_loads(trials: Trials, directory: Path, loads: list[str]) -> End:
    """Measure the loss at each of some loads, from the greatest downwards."""
    request = LossRequest(search=trials.search, loads=loads, duration_s=trials.trial_s, rest_s=trials.rest_s)
    measurer = trials.open_measurer(trials.search)
    try:
        run = run_loss(request, measurer, out=directory, resume=directory.exists(), note=trials.note)
    finally:
        measurer.close()
    return run.outcome.end


def measure(test: str, trials: Trials, directory: Path) -> End:
    """Make one of these tests, or go on with it."""
    if test in THROUGHPUTS:
        return find_throughput(trials, directory)
    end = measure_loads(trials, directory, _SHARES if test == FORWARDING else ["100%"])
    if test in CONGESTIONS and end.reason == FAILED and was_held(read_run(directory)):
        return msgspec.structs.replace(end, reason=DONE, text="")
    return end


def was_held(file: RunFile) -> bool:
    """Say whether the device held its senders in a trial: the congested port was full and lost nothing.

    To the tester such a trial does not count, since a tester that is too slow sends less than it should as well: but
    then the port is not full, or loses.
    """
    ports = file.run.traffic.get("ports", [])
    congested = [str(port["interface"]) for port in ports[_CONGESTED::_GROUP]]
    return any(_shows_held(trial, congested) for trial in file.trials)


def _shows_held(trial: Trial, congested: Sequence[str]) -> bool:
    due = trial.load * trial.duration_s
    sent = {port: trial.sum_to(port, "sent") for port in congested}
    senders = Counter(way.get("to") for way in trial.seen)
    are_full = all(
        _LEAST_FULL * due <= count <= (1 + _KEPT * senders[port]) * due for port, count in sent.items() if count
    )
    lost = sum(trial.sum_to(port, "lost") for port in congested)
    is_held = are_full and not lost and trial.sum_to(None, "unsent") > 0
    return trial.invalid is not None and any(sent.values()) and is_held
