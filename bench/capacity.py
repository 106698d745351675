"""How often the tests of RFC 2889 on addresses say exactly what a device does: limits, rates, ageing, faults.

A bridge that may learn K addresses keeps K - 1 beside that of the sender. Our switch learns a number of addresses a
second, and so many of 50 ms at once: of 1,000 addresses it learns all up to a rate that is known.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from brimful.errors import MeasureError
from brimful.lab import Lab, open_lab
from brimful.measurers.stations import stations_in
from brimful.records import SwitchingPlan, SwitchingResult
from brimful.switching.manager import SwitchingRequest, run_switching

# RTM_NEWLINK with IFLA_BR_FDB_MAX_LEARNED, which `ip` does not know yet.
LIMIT = """
import socket, struct, sys
def attribute(kind, data):
    length = 4 + len(data)
    return struct.pack("HH", length, kind) + data + bytes(-length % 4)
limit = attribute(2, attribute(49, struct.pack("I", int(sys.argv[1]))))
info = attribute(18, attribute(1, b"bridge\\0") + limit)
body = struct.pack("BxHiII", 0, 0, socket.if_nametoindex("br0"), 0, 0) + info
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
    kernel.send(struct.pack("IHHII", 16 + len(body), 16, 5, 1, 0) + body)
    sys.exit(struct.unpack("i", kernel.recv(4096)[16:20])[0])
"""
Commands = Callable[[Lab], Sequence[Sequence[str]]]


class Kind(msgspec.Struct, frozen=True):
    """A device, how it is set, the test, and what it must say."""

    verdict: str
    value: tuple[float | None, float | None]
    """From and to. An address that ages is looked up each 50 ms: its time is known to a tenth of a second."""
    commands: Commands = lambda lab: []
    device: str = "bridge,ports=3,work=0"
    test: str = "caching"
    first: int = 8
    most: int = 256


def limited(entries: int) -> Commands:
    """Let a bridge learn so many addresses."""
    return lambda lab: [[sys.executable, "-I", "-c", LIMIT, str(entries)]]


def words(*commands: str) -> Commands:
    """Give commands of `ip`, `bridge` and `tc`."""
    return lambda lab: [command.split() for command in commands]


def evicting(entries: int) -> Commands:
    """Let Open vSwitch learn so many, and forget the oldest for a new one."""

    def command(lab: Lab) -> list[list[str]]:
        database = lab._programs.running[-1].log.parent / "database.sock"
        setting = f"other_config:mac-table-size={entries}"
        return [["ovs-vsctl", f"--db=unix:{database}", "set", "bridge", "ovs0", setting]]

    return command


LEARNED, AT_ONCE_S, RATE_WITHIN = 1000, 0.05, 0.02


def learning(set_rate: int) -> Kind:
    """Let our switch learn so many a second; the rate that it shows is known to 2 %."""
    shown = set_rate * (LEARNED - 1) / (LEARNED - set_rate * AT_ONCE_S)
    ends = (shown * (1 - RATE_WITHIN), shown * (1 + RATE_WITHIN))
    device = f"switch,ports=3,learning_rate={set_rate}"
    return Kind("found", ends, device=device, test="learning", first=1000, most=50_000)


MIRROR = "tc filter add dev pa ingress prio 9 u32 match u32 0 0 action mirred egress mirror dev pc"
# Not every kernel has VLANs on bridges; another bridge is the same to all ports.
OTHER_VLAN = ("ip link add name br9 type bridge", "ip link set br9 up", "ip link set dev pc master br9")
KINDS = {
    "capacity 4": Kind("found", (4, 4), limited(5)),
    "capacity 5, one more": Kind("found", (5, 5), limited(6)),
    "capacity 99": Kind("found", (99, 99), limited(100)),
    "eviction, capacity 63": Kind("found", (63, 63), evicting(64), "ovs,ports=3"),
    "our switch, capacity 19": Kind("found", (19, 19), device="switch,ports=3,addresses=20"),
    **{f"our switch, {rate} addresses/s": learning(rate) for rate in (100, 300, 700, 1500, 3000, 6000)},
    "ageing after 1 s": Kind("found", (0.9, 1.15), words("ip link set br0 type bridge ageing_time 100"), test="ageing"),
    "ageing after 2 s": Kind("found", (1.9, 2.15), words("ip link set br0 type bridge ageing_time 200"), test="ageing"),
    "no learning": Kind("found", (0, 0), words("bridge link set dev pb learning off")),
    "copies at a third port": Kind("found", (0, 0), words("tc qdisc add dev pa clsact", MIRROR)),
    "monitor without floods": Kind("none", (None, None), words("bridge link set dev pc flood off")),
    "monitor in another VLAN": Kind("none", (None, None), words(*OTHER_VLAN)),
}


def measure(kind: Kind) -> SwitchingResult | None:
    """Make the test in a lab of its own."""
    lab = open_lab(kind.device)
    stations = stations_in(lab, kind.device, flush_command=None, timeout_s=30.0)
    try:
        for command in kind.commands(lab):
            subprocess.run(lab.device_command(list(command)), check=True, capture_output=True)
        plan = SwitchingPlan(
            test=kind.test,
            ports=list(stations.ports),
            rate=2000.0,
            patterns=["sequential"],
            first=kind.first,
            most=kind.most,
            width=0.01 if kind.test == "learning" else 0.0,
            addresses=LEARNED,
            attempts=3,
            rounds=2,
            limit_s=5.0,
            forgets=stations.forgets,
        )
        with tempfile.TemporaryDirectory() as scratch:
            request = SwitchingRequest(measurer=f"lab:{kind.device}", plan=plan, on_invalid="retry:50")
            results = run_switching(request, stations, out=Path(scratch, "run")).outcome.results
    finally:
        stations.close()
    return results[0] if results else None


def is_right(kind: Kind, found: SwitchingResult | None) -> bool:
    """Say whether it is what is true of the device."""
    least, most = kind.value
    if found is None or found.verdict != kind.verdict:
        return False
    if least is None or most is None or found.value is None:
        return found.value == least
    return least <= found.value <= most


def middle(kind: Kind) -> float:
    """Give what a device does, of the range that may be found."""
    least, most = kind.value
    return ((least or 0.0) + (most or 0.0)) / 2


def main() -> None:
    """Print how often each is right, and what else was said."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    for name in options.kinds:
        right, said, shown = 0, Counter[str](), list[float]()
        for _ in range(options.rounds):
            try:
                found = measure(KINDS[name])
            except MeasureError as error:
                print(f"{name}: not here: {error}", flush=True)
                break
            right += is_right(KINDS[name], found)
            shown += [found.value] if found is not None and found.value is not None else []
            said["nothing" if found is None else f"{found.verdict} {found.value}"] += not is_right(KINDS[name], found)
        else:
            wrong = ", ".join(f"{count} times {text}" for text, count in (+said).items())
            figures = f" (found {min(shown):g} to {max(shown):g}, true {middle(KINDS[name]):g})" if shown else ""
            print(f"{name}: {right} of {options.rounds}{figures}" + (f", else {wrong}" if wrong else ""), flush=True)


if __name__ == "__main__":
    main()
