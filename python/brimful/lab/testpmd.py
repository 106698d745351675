"""DPDK's testpmd on packet sockets: a program that polls, without huge pages and without devices of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimful.lab import devices, links
from brimful.lab.devices import Input, Settings
from brimful.lab.programs import Ending, find_program

if TYPE_CHECKING:
    from brimful.lab.namespaces import Namespace
    from brimful.lab.programs import Programs

_TESTPMD = "dpdk-testpmd"
_RING_FRAMES = 4096
"""As the queue of the other devices: outlasts the pauses of a virtual CPU."""
_FRAME_BYTES = 2048
_BUFFERS = 16384
_MEMORY_MIB = 256


def find_testpmd() -> str:
    """Return the path of testpmd."""
    return find_program(_TESTPMD, device="testpmd", package="dpdk")


def build_testpmd(tester: Namespace, programs: Programs, *, mode: str) -> Settings:
    """Let testpmd pass frames between the device's ends; in mode `mac` it gives them the tester's addresses."""
    testpmd = find_testpmd()
    ends = devices.lay_cables(tester, programs.namespace)
    links.keep_from_the_host(programs.namespace, ends)
    cpu = max(os.sched_getaffinity(0))
    rings = f"framecnt={_RING_FRAMES},framesz={_FRAME_BYTES},blocksz={2 * _FRAME_BYTES}"
    # One thread polls, the other waits for the end of the standard input.
    environment = [f"--lcores=0@{cpu},1@{cpu}", "--no-huge", f"-m{_MEMORY_MIB}", "--no-pci"]
    # Nothing is shared, so no file needs a name of its own; what DPDK writes anyway goes into the lab's directory.
    environment += ["--no-shconf", "--no-telemetry", "--log-level=warning"]
    environment += [f"--vdev=net_af_packet{number},iface={end},{rings}" for number, end in enumerate(ends)]
    forwarding = [f"--forward-mode={mode}", f"--total-num-mbufs={_BUFFERS}"]
    forwarding += [f"--eth-peer={number},{mac}" for number, mac in enumerate(reversed(devices.TESTER_MACS))]
    directory = f"RUNTIME_DIRECTORY={programs.directory}"
    programs.start(_TESTPMD, ["env", directory, testpmd, *environment, "--", *forwarding], Ending.INPUT)
    return Settings(Input.PROGRAM, _RING_FRAMES, 0, ends, {"mode": mode})
