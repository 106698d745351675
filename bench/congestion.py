"""How often the test of congestion control of RFC 2889 says what the device is: devices of known truth.

Ports A and B send to D, A to C as well; outputs send as many frames as each port is loaded with. With a fifth port a
second B sends to D, in a run of its own. Of losses at C and D the truth has an interval: what queues keep, and what
leaves while a trial lasts longer than it should.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from brimful.measurers.base import Measurer
from brimful.measurers.opening import open_measurer
from brimful.measurers.stations import Stations, open_stations
from brimful.records import read_run
from brimful.recovery.manager import WithDevice
from brimful.report.suite.congestion import Shares, back_pressure, blocking, congestion_table, lost
from brimful.report.suite.results import results_of
from brimful.suites import forwarding
from brimful.suites.manager import run_suite
from brimful.suites.rfc2889 import SwitchSuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest

LOAD = 1000
BITS = 60 * 8 * LOAD
YES, NO, UNKNOWN = True, False, None
TRIAL_S = 1.0
KEPT = 200
"""Frames of an output: 100 wait, and 100 may leave at once."""
OUTPUTS = [f"tc qdisc add dev {port} root tbf rate {BITS}bit burst 6000 limit 6000" for port in ("pc", "pd")]
INPUT = f"tc qdisc replace dev qa root tbf rate {BITS * 3 // 4}bit burst 1800 limit 1800"
NONE = (0.0, 0.0)
THIRD = ((LOAD * TRIAL_S / 2 - KEPT) / (1.5 * LOAD * TRIAL_S), 1 / 3)
"""Of 1,500 frames to D a second 1,000 leave, and those that wait at the end."""


class Kind(msgspec.Struct, frozen=True):
    """A device, and what is true of it."""

    device: str
    blocking: bool | None
    pressure: bool | None
    free: tuple[float, float] = NONE
    """From and to which share is lost at C, where B sends alone."""
    congested: tuple[float, float] = THIRD
    """At D."""
    commands: Sequence[str] = ()
    ports: int = 4


KINDS = {
    "bridge with slow outputs": Kind("bridge,work=0", UNKNOWN, NO, commands=OUTPUTS),
    "slow outputs, five ports": Kind("bridge,work=0", NO, NO, commands=OUTPUTS, ports=5),
    # One of four frames is lost before it is known for which port: how the clocks stand decides which it is.
    "bridge with a slow input": Kind(
        "bridge,work=0", UNKNOWN, NO, free=(0.0, 0.5), congested=(0.0, 0.5), commands=[*OUTPUTS, INPUT]
    ),
    "output queues": Kind("crossbar", UNKNOWN, NO),
    "output queues, five ports": Kind("crossbar", NO, NO, ports=5),
    "input queues, served in turns": Kind("crossbar,queues=input", UNKNOWN, NO),
    "served in turns, five ports": Kind("crossbar,queues=input", YES, NO, ports=5),
    "input queues, eight ports": Kind("crossbar,queues=input", YES, NO, ports=8),
    "input queues, B served 2:1": Kind("crossbar,queues=input,weight=2", YES, NO, free=(0.13, 1 / 3)),
    "input queues, B served 3:1": Kind("crossbar,queues=input,weight=3", YES, NO, free=(0.3, 1 / 2)),
    "senders held": Kind("crossbar,queues=hold", UNKNOWN, YES, congested=NONE),
    "senders held, five ports": Kind("crossbar,queues=hold", NO, YES, congested=NONE, ports=5),
}


def congest(kind: Kind, out: Path) -> tuple[bool, str]:
    """Make the tests of section 5.5 in labs of their own; say whether they are right, and what they said."""

    def opened(search: SearchRequest) -> Measurer:
        measurer = open_measurer(search.measurer, timeout_s=30.0, tester_arguments=search.traffic["arguments"])
        assert isinstance(measurer, WithDevice)
        for command in kind.commands:
            subprocess.run(measurer.device_command(command.split()), check=True)
        return measurer

    def stations(frame_size: int) -> Stations:
        return open_stations(search.measurer, flush_command=None, timeout_s=30.0, frame_size=frame_size)

    search = SearchRequest(
        measurer=f"lab:{kind.device},ports={kind.ports}",
        goals=[],
        strategy="straddle",
        max_load=str(LOAD),
        on_invalid="retry:5" if "hold" in kind.device else "retry:50",
    )
    tests = [forwarding.CONTROL, forwarding.CONGESTION, *([forwarding.BY_TWO] if kind.ports > 4 else [])]
    request = SwitchSuiteRequest(search=search, sizes=["64"], tests=tests, is_quick=True)
    run_suite(suite_of(request, stations, opened), out=out)
    _, found, *_ = results_of(read_run(out))
    (row,) = congestion_table("", [found]).rows
    if found.file is None or found.reason != "done":
        return False, " | ".join([*row, found.text])
    shares = Shares(found.file)
    right = [blocking(found).holds, back_pressure(found).holds] == [kind.blocking, kind.pressure]
    (_, most), sent = kind.congested, found.file.trials[-1]
    lasts_s = sent.effective_duration_s or sent.duration_s
    least = 1 - (LOAD * lasts_s + KEPT) / (1.5 * LOAD * TRIAL_S)
    congested = kind.congested if kind.congested == NONE else (min(kind.congested[0], least), most)
    for share, (least, most) in ((lost(shares.free), kind.free), (lost(shares.congested), congested)):
        right = right and share is not None and least <= share <= most
    return right, " | ".join([*row, found.text])


def main() -> None:
    """Print how often each is told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    for name in options.kinds:
        kind = KINDS[name]
        said: Counter[str] = Counter()
        right = 0
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as scratch:
                is_right, text = congest(kind, Path(scratch, "run"))
            right += is_right
            said[text] += not is_right
        print(f"{name}: {right} of {options.rounds}", flush=True)
        for text in +said:
            print(f"  wrong: {text}", flush=True)


if __name__ == "__main__":
    main()
