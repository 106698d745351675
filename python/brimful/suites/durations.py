"""How long the tests of RFC 2544 take, in its own durations and in shorter ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.suites.modifiers import TESTS as MODIFIED


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths and numbers of trials. The sections are those of RFC 2544."""

    trial_s: float = 60.0
    """Section 24: of the throughput and of the loss rate."""
    loss_rest_s: float = 5.0
    """Section 23."""
    latency_trial_s: float = 120.0
    latency_rounds: int = 20
    """Section 26.2."""
    longest_burst: str = "30s"
    burst_tests: int = 50
    burst_rest_s: float = 2.0
    """Section 26.4, RFC 9004."""
    overload_s: float = 60.0
    recovery_rounds: int = 5
    """Section 26.5."""
    reset_s: float = 300.0
    reset_rounds: int = 1
    """Section 26.6: of the trial in which the device is reset."""
    modifier_wait_s: float = 2.0
    """Section 23: after a routing update."""


FULL = Durations()
QUICK = Durations(
    trial_s=1.0,
    loss_rest_s=0.1,
    latency_trial_s=1.0,
    latency_rounds=3,
    longest_burst="1s",
    burst_tests=3,
    burst_rest_s=0.1,
    overload_s=3.0,
    recovery_rounds=2,
    reset_s=30.0,
    modifier_wait_s=0.2,
)
_TRIALS_OF_A_SEARCH, _LOADS_OF_A_CURVE, _BURSTS_OF_A_TEST = 14, 6, 16
"""Usual numbers, for the forecast alone."""
_OVERHEAD_S, _SET_UP_S, _WAIT_BETWEEN_ROUNDS_S = 0.6, 8.0, 5.0


def expected_s(durations: Durations, sizes: int, tests: Sequence[str]) -> float:
    """Forecast how long a suite takes, in seconds.

    >>> expected_s(QUICK, 7, ["throughput", "loss"]) < expected_s(FULL, 7, ["throughput", "loss"])
    True
    """
    burst_s = 0.5 + durations.burst_rest_s + _OVERHEAD_S
    each_s = {
        "throughput": _SET_UP_S + _TRIALS_OF_A_SEARCH * (durations.trial_s + _OVERHEAD_S),
        "latency": _SET_UP_S + 2 * durations.latency_rounds * (durations.latency_trial_s + _OVERHEAD_S),
        "loss": _LOADS_OF_A_CURVE * (durations.trial_s + durations.loss_rest_s + _OVERHEAD_S),
        "bursts": durations.burst_tests * _BURSTS_OF_A_TEST * burst_s,
        "recovery": durations.recovery_rounds * (durations.overload_s + _WAIT_BETWEEN_ROUNDS_S + 3.0),
    }
    reset_s = durations.reset_rounds * (durations.reset_s + _WAIT_BETWEEN_ROUNDS_S) if "reset" in tests else 0.0
    each_s.update(dict.fromkeys(MODIFIED, each_s["throughput"]))
    return sizes * sum(each_s.get(test, 0.0) for test in tests) + reset_s
