"""The tests of RFC 2889 sections 5.1 to 5.6: what a switch forwards when many ports send at once."""

from __future__ import annotations

from collections.abc import Callable
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
CONGESTION, FORWARDING = "congestion", "forwarding"
"""Sections 5.5, and 5.6: the maximum forwarding rate."""
CONTROL = "control"
"""The trials of section 5.5 without the port that congests."""
_CONGESTION_PORTS = 4
_CONGESTED = 3
"""Place of the port that two others send to, of four."""
_LEAST_FULL, _MOST_FULL = 0.9, 1.2
"""Share of the load that such a port sends where senders are held; the device may keep some frames until the end."""
_SHARES = [f"{percent}%" for percent in range(100, 49, -5)]
"""Loads of the test of section 5.6."""


def pattern_of(test: str, ports: int) -> str:
    """Give the pattern of traffic of a test.

    >>> pattern_of("backbone", 4)
    'flows:1>3,1>4,2>3,2>4,3>1,3>2,4>1,4>2'
    >>> pattern_of("forwarding", 4)
    'flows:1>2'
    """
    if test == BACKBONE:
        near, far = range(1, ports // 2 + 1), range(ports // 2 + 1, ports + 1)
        pairs = [(one, other) for here, there in ((near, far), (far, near)) for one in here for other in there]
        return "flows:" + ",".join(f"{one}>{other}" for one, other in pairs)
    return {FORWARDING: "flows:1>2", CONGESTION: "flows:1>3,1>4,2>4", CONTROL: "flows:1>3,1>4"}.get(test, test)


def applies(test: str, ports: int, *, knows_rate: bool) -> bool:
    """Give whether a test makes sense of a number of ports, where their rate is known or not."""
    if test in (CONGESTION, CONTROL):
        return ports >= _CONGESTION_PORTS and knows_rate
    return ports % 2 == 0 or test not in (BACKBONE, HALVES)


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
    if test == CONGESTION and end.reason == FAILED and was_held(read_run(directory)):
        return msgspec.structs.replace(end, reason=DONE, text="")
    return end


def was_held(file: RunFile) -> bool:
    """Say whether the device held its senders in a trial: the congested port was full and lost nothing.

    To the tester such a trial does not count, since a tester that is too slow sends less than it should as well: but
    then the port is not full, or loses.
    """
    ports = file.run.traffic.get("ports", [])
    if len(ports) != _CONGESTION_PORTS:
        return False
    port = str(ports[_CONGESTED]["interface"])
    return any(_shows_held(trial, port) for trial in file.trials)


def _shows_held(trial: Trial, port: str) -> bool:
    share = trial.sum_to(port, "sent") / (trial.load * trial.duration_s)
    is_full = _LEAST_FULL <= share <= _MOST_FULL and trial.sum_to(port, "lost") == 0
    return trial.invalid is not None and is_full and trial.sum_to(None, "unsent") > 0
