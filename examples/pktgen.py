#!/usr/bin/env python3
"""A measurer that sends with the Linux kernel's pktgen (examples/README.md says what it needs and counts).

brimful search --measurer 'cmd:examples/pktgen.py eth1 eth2 MAC-of-the-next-hop' --max-load 3Mpps
"""

import json
import re
import signal
import sys
import time
from pathlib import Path

PKTGEN = Path("/proc/net/pktgen")
INTERFACES = Path("/sys/class/net")
FRAME_SIZE = 64
"""With the frame check sequence, which the NIC adds."""
FLOWS = 16
MOST_DEVIATION = 0.01
"""How much the time of sending may differ from the trial's."""
SETTLE_S = 0.2
FOREIGN_FRAMES = 20


class SpoiledError(Exception):
    """The generator, not the device, is what was measured."""


def tell(name: str, *commands: str) -> None:
    """Give pktgen commands, each in a write of its own."""
    for command in commands:
        (PKTGEN / name).write_text(command + "\n")


def counter(interface: str, name: str) -> int:
    """Read a counter of the kernel."""
    return int((INTERFACES / interface / "statistics" / name).read_text())


def check_link(interface: str) -> None:
    """Fail unless the interface has a carrier."""
    if (INTERFACES / interface / "carrier").read_text().strip() != "1":
        message = f"{interface} has no carrier"
        raise SpoiledError(message)


def measure(sender: str, receiver: str, next_hop: str, load: float, duration_s: float) -> dict[str, int]:
    """Send `load * duration_s` frames at a fixed distance and count what came back."""
    frames = max(1, round(load * duration_s))
    for interface in (sender, receiver):
        check_link(interface)
    tell("kpktgend_0", "rem_device_all", f"add_device {sender}")
    addresses = ["src_min 198.18.0.2", "src_max 198.18.0.2", "dst_min 198.19.0.2", "dst_max 198.19.0.2"]
    ports = ["udp_src_min 1024", f"udp_src_max {1024 + FLOWS}", "udp_dst_min 9", "udp_dst_max 9"]
    size = f"pkt_size {FRAME_SIZE - 4}"
    tell(
        sender,
        f"count {frames}",
        f"ratep {round(load)}",
        size,
        "clone_skb 0",
        f"dst_mac {next_hop}",
        *addresses,
        *ports,
    )
    before = counter(receiver, "rx_packets")
    tell("pgctrl", "start")  # returns when all is sent
    time.sleep(SETTLE_S)
    for interface in (sender, receiver):
        check_link(interface)
    received = counter(receiver, "rx_packets") - before
    return judge((PKTGEN / sender).read_text(), frames, received, duration_s)


def judge(report: str, frames: int, received: int, duration_s: float) -> dict[str, int]:
    """Take the counts from what pktgen says of its last run, unless the run was not the one that was asked for."""
    sent = re.search(r"pkts-sofar: (\d+)\s+errors: (\d+)", report)
    took = re.search(r"Result: OK: (\d+)\(", report)
    if sent is None or took is None:
        message = "pktgen did not finish: " + " ".join(report.partition("Result:")[2].split())
        raise SpoiledError(message)
    if int(sent[1]) != frames or int(sent[2]):
        message = f"pktgen sent {sent[1]} of {frames} frames, with {sent[2]} errors"
        raise SpoiledError(message)
    if abs(int(took[1]) * 1e-6 - duration_s) > MOST_DEVIATION * duration_s + 0.001:
        message = f"pktgen sent for {int(took[1]) * 1e-6:.3f} s instead of {duration_s:g} s"
        raise SpoiledError(message)
    if received > frames + FOREIGN_FRAMES:
        message = f"{received} frames were received, {frames} sent: somebody else sends too"
        raise SpoiledError(message)
    return {"sent": frames, "lost": max(0, frames - received)}


def answer(request: dict, ports: list[str]) -> dict:
    """Answer one request of the measurer protocol."""
    if not (PKTGEN / "pgctrl").exists():
        return {"error": "the kernel has no pktgen: run `modprobe pktgen` as root", "id": request.get("id")}
    if request["op"] == "describe":
        traffic = {"frame_size": FRAME_SIZE, "flows": FLOWS, "direction": "uni"}
        return {"name": "kernel pktgen", "contract": "lost: not received by the kernel", "traffic": traffic}
    try:
        return {"id": request["id"], **measure(*ports, request["load"], request["duration_s"])}
    except (SpoiledError, OSError) as error:
        return {"id": request["id"], "invalid": str(error)}


def main() -> None:
    """Answer until the standard input ends."""
    if len(sys.argv) != 4:
        sys.exit("usage: pktgen.py SENDING-INTERFACE RECEIVING-INTERFACE NEXT-HOP-MAC")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(json.loads(line), sys.argv[1:])) + "\n")
            sys.stdout.flush()
    finally:
        if (PKTGEN / "pgctrl").exists():
            tell("pgctrl", "stop")


if __name__ == "__main__":
    main()
