"""How fast one core sends 60-byte frames into a veth whose other end drops them in XDP, beside other senders.

Runs as root. Each round runs every sender once, so that what else goes on hits all alike; the figures are medians of
the rounds' ratios, with the lowest and the highest. What was sent is what the receiving interface has counted.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SENDER = ROOT / "target" / "release" / "examples" / "send_rate"
PROCESSOR = "0"
FRAME = "{ 0x02,0,0,0,0,1, 0x02,0,0,0,0,2, c16(0x88b5), fill(0, 46) }\n"
SYS_BPF = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, LINK_CREATE, TYPE_XDP, ATTACH_XDP, NATIVE = 5, 28, 6, 37, 4
DROP = struct.pack("<BBhi", 0xB7, 0, 0, 1) + struct.pack("<BBhi", 0x95, 0, 0, 0)
"""``r0 = XDP_DROP; exit``"""


def bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes)
    library = ctypes.CDLL(None, use_errno=True)
    result = library.syscall(SYS_BPF[platform.machine()], command, buffer, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def drop_all(interface: int) -> None:
    """Attach the program to an interface of this process's namespace; it stays as long as the process."""
    code, license_text = ctypes.create_string_buffer(DROP), ctypes.create_string_buffer(b"Apache-2.0")
    load = struct.pack("<IIQQ", TYPE_XDP, 2, ctypes.addressof(code), ctypes.addressof(license_text))
    program = bpf(PROG_LOAD, load + bytes(48))
    bpf(LINK_CREATE, struct.pack("<IIII", program, interface, ATTACH_XDP, NATIVE))


@contextlib.contextmanager
def pair() -> Iterator[tuple[str, str]]:
    """Make two namespaces joined by a veth pair; what arrives at the second is dropped."""
    names = (f"bf-rate-{os.getpid()}-a", f"bf-rate-{os.getpid()}-b")

    def run(*words: str) -> None:
        subprocess.run(words, check=True)

    try:
        for name in names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", "sa", "netns", names[0], "type", "veth", "peer", "name", "sb", "netns", names[1])
        for name, port in zip(names, ("sa", "sb"), strict=True):
            run("ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv6.conf.{port}.disable_ipv6=1")
            run("ip", "-n", name, "link", "set", port, "up")
        holder = subprocess.Popen(
            ["ip", "netns", "exec", names[1], sys.executable, __file__, "--drop", "sb"], stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        assert holder.stdout.readline(), "the dropping program cannot be attached"
        try:
            yield names
        finally:
            holder.terminate()
            holder.wait()
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def arrived(namespace: str) -> int:
    table = subprocess.run(
        ["ip", "netns", "exec", namespace, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True
    ).stdout
    line = next(line for line in table.splitlines() if line.strip().startswith("sb:"))
    return int(line.split(":")[1].split()[1])


def senders(scratch: Path, seconds: float) -> dict[str, list[str]]:
    """Give the command of each sender that is installed."""
    found = {
        "brimful xdp": [str(SENDER), "sa", "xdp-native", str(seconds)],
        "brimful packet": [str(SENDER), "sa", "packet", str(seconds)],
    }
    if shutil.which("trafgen"):
        config = scratch / "frame.cfg"
        config.write_text(FRAME)
        command = ["trafgen", "-i", str(config), "-o", "sa", "-P", "1", "-q", "-b", PROCESSOR, "--qdisc-path"]
        found["trafgen"] = ["timeout", "-s", "INT", str(seconds), *command]
    if shutil.which("dpdk-testpmd"):
        for driver in ("net_af_packet", "net_af_xdp"):
            device = f"{driver}0,iface=sa" + (",qdisc_bypass=1" if driver == "net_af_packet" else "")
            command = ["dpdk-testpmd", "--no-huge", "-m", "512", "--no-pci", "--file-prefix", f"bf{os.getpid()}"]
            command += ["--vdev", device, "-l", "0,1", "--", "--forward-mode=txonly", "--txpkts=60"]
            command += ["--total-num-mbufs=8192", "--no-flush-rx", "--nb-cores=1", "--auto-start", "--tx-first"]
            found[f"testpmd {driver}"] = command
    return found


def rate(namespaces: tuple[str, str], name: str, command: list[str], seconds: float) -> float:
    """Run one sender and give frames a second over the middle of its time."""
    is_endless = command[0] == "dpdk-testpmd"
    pinned = command if is_endless else ["taskset", "-c", PROCESSOR, *command]
    process = subprocess.Popen(
        ["ip", "netns", "exec", namespaces[0], *pinned],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    first = arrived(namespaces[1])
    while arrived(namespaces[1]) - first < 10_000:
        if time.monotonic() > deadline or (process.poll() is not None and arrived(namespaces[1]) == first):
            process.kill()
            process.wait()
            return float("nan")
        time.sleep(0.01)
    time.sleep(0.1)
    before, start = arrived(namespaces[1]), time.monotonic()
    time.sleep(seconds - 0.5)
    after, end = arrived(namespaces[1]), time.monotonic()
    if is_endless:
        assert process.stdin is not None
        process.stdin.close()
        process.terminate()
    process.wait()
    time.sleep(0.2)
    return (after - before) / (end - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--drop", metavar="INTERFACE", help="only drop what arrives there")
    arguments = parser.parse_args()
    if arguments.drop:
        import socket

        drop_all(socket.if_nametoindex(arguments.drop))
        print("dropping", flush=True)
        while True:
            time.sleep(3600)
    with tempfile.TemporaryDirectory() as scratch, pair() as namespaces:
        commands = senders(Path(scratch), arguments.seconds)
        rates: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                rates[name].append(rate(namespaces, name, command, arguments.seconds))
    own = rates["brimful xdp"]
    print(f"{'sender':24} {'Mframes/s':>10}   brimful xdp / it   (lowest to highest)")
    for name, values in rates.items():
        good = [(a, b) for a, b in zip(own, values, strict=True) if b == b]
        if not good:
            print(f"{name:24} {'failed':>10}")
            continue
        ratios = sorted(a / b for a, b in good)
        middle = statistics.median(value for value in values if value == value) / 1e6
        print(f"{name:24} {middle:10.3f}   {statistics.median(ratios):16.2f}   {ratios[0]:.2f} to {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
