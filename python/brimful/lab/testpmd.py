"""DPDK's testpmd on packet sockets: a program that polls, without huge pages and without devices of its own."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

from brimful.errors import MeasureError
from brimful.lab import devices
from brimful.lab.devices import Input, Settings
from brimful.lab.programs import Ending, find_program

if TYPE_CHECKING:
    from brimful.lab.namespaces import Namespace
    from brimful.lab.programs import Programs

_TESTPMD = "dpdk-testpmd"
_MOST_RING_FRAMES = 4096
"""As the queue of the other devices: outlasts the pauses of a virtual CPU."""
_LEAST_RING_FRAMES = 256
_FRAME_BYTES = 2048
_RINGS = 4
"""One to receive and one to send, for each of two ports."""
_BUFFERS = 16384
_MEMORY_MIB = 128


def find_testpmd() -> str:
    """Return the path of testpmd."""
    return find_program(_TESTPMD, device="testpmd", package="dpdk-dev")


def build_testpmd(tester: Namespace, programs: Programs, *, mode: str) -> Settings:
    """Let testpmd pass frames between the device's ends; in mode `mac` it gives them the tester's addresses."""
    testpmd, ring_frames = find_testpmd(), _ring_frames()
    ends = devices.lay_cables(tester, programs.namespace)
    cpu = devices.device_cpus()[-1]
    rings = f"framecnt={ring_frames},framesz={_FRAME_BYTES},blocksz={2 * _FRAME_BYTES}"
    # One thread polls, the other waits for the end of the standard input.
    environment = [f"--lcores=0@{cpu},1@{cpu}", "--no-huge", f"-m{_MEMORY_MIB}", "--no-pci"]
    # Nothing is shared, so no file needs a name of its own; what DPDK writes anyway goes into the lab's directory.
    environment += ["--no-shconf", "--no-telemetry", "--log-level=warning"]
    environment += [f"--vdev=net_af_packet{number},iface={end},{rings}" for number, end in enumerate(ends)]
    forwarding = [f"--forward-mode={mode}", f"--total-num-mbufs={_BUFFERS}", "--no-mlockall"]
    forwarding += [f"--eth-peer={number},{mac}" for number, mac in enumerate(reversed(devices.TESTER_MACS))]
    # It writes each line at once, so that one can tell when it is ready.
    command = ["env", f"RUNTIME_DIRECTORY={programs.directory}", "stdbuf", "--output=L", testpmd, *environment]
    programs.start(_TESTPMD, [*command, "--", *forwarding], Ending.INPUT).wait_for("Press enter")
    return Settings(Input.PROGRAM, ring_frames, 0, ends, {"mode": mode})


def _ring_frames() -> int:
    """Return how long the rings may be, which lie in locked memory; of that, only root has as much as it likes."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if os.geteuid() == 0 or limit == resource.RLIM_INFINITY:
        return _MOST_RING_FRAMES
    # Half of it, and blocks of two frames: other things are locked as well.
    frames = min(_MOST_RING_FRAMES, limit // 2 // (_RINGS * _FRAME_BYTES) // 2 * 2)
    if frames < _LEAST_RING_FRAMES:
        message = f"lab:testpmd: {limit >> 10} KiB of locked memory are too few: raise the limit with `ulimit -l 8192`"
        raise MeasureError(message)
    return frames
