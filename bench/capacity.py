"""How often the address caching capacity of RFC 2889 is exactly that of the device: a Linux bridge with a limit.

A bridge that may learn K addresses keeps K - 1 beside that of the sender.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from brimful.lab import open_lab
from brimful.measurers.stations import stations_in
from brimful.records import SwitchingPlan
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


def capacity(entries: int) -> float | None:
    """Find the capacity of a bridge with this limit, in a lab of its own."""
    lab = open_lab("bridge,ports=3,work=0")
    stations = stations_in(lab, "bridge,ports=3", flush_command=None, timeout_s=30.0)
    try:
        subprocess.run(lab.device_command([sys.executable, "-I", "-c", LIMIT, str(entries)]), check=True)
        plan = SwitchingPlan(
            test="caching",
            ports=list(stations.ports),
            rate=2000.0,
            patterns=["sequential"],
            first=8,
            most=256,
            forgets=stations.forgets,
        )
        with tempfile.TemporaryDirectory() as scratch:
            request = SwitchingRequest(measurer="lab:bridge", plan=plan)
            results = run_switching(request, stations, out=Path(scratch, "run")).outcome.results
    finally:
        stations.close()
    return results[0].value if results else None


def main() -> None:
    """Print what was found, how often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[5, 100])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    for entries in options.entries:
        found = Counter(capacity(entries) for _ in range(options.rounds))
        shown = ", ".join(f"{value} {count} times" for value, count in found.most_common())
        print(f"limit {entries}: true {entries - 1}, found {shown}")


if __name__ == "__main__":
    main()
