"""How often the test of congestion control of RFC 2889 says what the device is: six devices of known truth.

Ports A and B send to D, A to C as well; outputs send as many frames as each port is loaded with.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
from brimful.measurers.base import Measurer
from brimful.measurers.opening import open_measurer
from brimful.measurers.stations import open_stations
from brimful.records import read_run
from brimful.report.suite.forwarding import congestion_table
from brimful.report.suite.results import results_of
from brimful.suites import forwarding
from brimful.suites.manager import run_suite
from brimful.suites.rfc2889 import SwitchSuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest

LOAD = 1000
BITS = 60 * 8 * LOAD
FREE, YES, LIMIT = "not seen", "yes", "input limit, no verdict"
OUTPUTS = [f"tc qdisc add dev {port} root tbf rate {BITS}bit burst 6000 limit 6000" for port in ("pc", "pd")]
INPUT = f"tc qdisc replace dev qa root tbf rate {BITS * 3 // 4}bit burst 1800 limit 1800"


class Kind(msgspec.Struct, frozen=True):
    """A device, and what is true of it."""

    device: str
    blocking: str
    pressure: str
    lost_at_free: tuple[float, float]
    """From and to which share is lost at C; a queue of 100 frames keeps some, of 500 a second. A slow input loses one
    of four frames, and it depends on how two clocks stand which ports they are for."""
    commands: Sequence[str] = ()


KINDS = {
    "bridge with slow outputs": Kind("bridge,ports=4,work=0", FREE, "no", (0.0, 0.0), OUTPUTS),
    "bridge with a slow input": Kind("bridge,ports=4,work=0", LIMIT, "no", (0.0, 0.5), [*OUTPUTS, INPUT]),
    "output queues": Kind("crossbar,ports=4", FREE, "no", (0.0, 0.0)),
    "input queues, B served 2:1": Kind("crossbar,ports=4,queues=input,weight=2", YES, "no", (0.2, 0.36)),
    "input queues, B served 3:1": Kind("crossbar,ports=4,queues=input,weight=3", YES, "no", (0.36, 0.52)),
    "senders held": Kind("crossbar,ports=4,queues=hold", FREE, "yes, senders were held", (0.0, 0.0)),
}


def congest(kind: Kind, out: Path) -> tuple[bool, str]:
    """Make both tests of section 5.5 in labs of their own; say whether they are right, and what they said."""

    def opened(search: SearchRequest) -> Measurer:
        measurer = open_measurer(search.measurer, timeout_s=30.0, tester_arguments=search.traffic["arguments"])
        for command in kind.commands:
            subprocess.run(measurer.device_command(command.split()), check=True)
        return measurer

    search = SearchRequest(
        measurer=f"lab:{kind.device}",
        goals=[],
        strategy="straddle",
        max_load=str(LOAD),
        on_invalid="retry:5" if "hold" in kind.device else "retry:50",
    )
    tests = [forwarding.CONTROL, forwarding.CONGESTION]
    request = SwitchSuiteRequest(search=search, sizes=["64"], tests=tests, is_quick=True)
    run_suite(
        suite_of(request, partial(open_stations, search.measurer, flush_command=None, timeout_s=30.0), opened), out=out
    )
    control, found = results_of(read_run(out))
    (row,) = congestion_table("", [control], [found]).rows
    _, free, _, _, blocking, pressure = row
    least, most = kind.lost_at_free
    share = float(free.split()[0]) / 100 if free[0].isdigit() else -1.0
    right = (blocking, pressure) == (kind.blocking, kind.pressure) and least - 1e-3 <= share <= most + 1e-3
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
