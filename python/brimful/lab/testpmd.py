"""DPDK's testpmd on packet sockets: a program that polls, without huge pages and without devices of its own."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from brimful.errors import MeasureError
from brimful.lab import devices
from brimful.lab.devices import Input, Place, Settings
from brimful.lab.programs import Ending, find_program

if TYPE_CHECKING:
    from brimful.lab.namespaces import Namespace

_TESTPMD = "dpdk-testpmd"
_MOST_RING_BYTES = 8 << 20
"""4096 frames, as the queue of the other devices: outlasts the pauses of a virtual CPU. Of jumbo frames 512."""
_LEAST_RING_FRAMES = 256
_FRAME_BYTES = 2048
_JUMBO_FRAME_BYTES = 16384
"""Places in rings and buffers, with what the kernel and DPDK put before a frame."""
_RINGS = 4
"""One to receive and one to send, for each of two ports."""
_BUFFER_HEADROOM = 128
"""RTE_PKTMBUF_HEADROOM of DPDK."""
_BUFFER_MEMORY = 32 << 20
_MEMORY_MIB = 128


def find_testpmd() -> str:
    """Return the path of testpmd."""
    return find_program(_TESTPMD, device="testpmd", package="dpdk-dev")


def build_testpmd(place: Place, *, mode: str) -> Settings:
    """Let testpmd pass frames between the device's ends; in mode `mac` it gives them the tester's addresses."""
    testpmd, programs = find_testpmd(), place.programs
    frame_bytes = _FRAME_BYTES if place.mtu <= devices.DEFAULT_MTU else _JUMBO_FRAME_BYTES
    ring_frames = _ring_frames(frame_bytes, programs.namespace)
    ends = devices.lay_cables(place)
    cpu = devices.device_cpus()[-1]
    rings = f"framecnt={ring_frames},framesz={frame_bytes},blocksz={2 * frame_bytes}"
    # One thread polls, the other waits for the end of the standard input.
    environment = [f"--lcores=0@{cpu},1@{cpu}", "--no-huge", f"-m{_MEMORY_MIB}", "--no-pci"]
    # Nothing is shared, so no file needs a name of its own; what DPDK writes anyway goes into the lab's directory.
    environment += ["--no-shconf", "--no-telemetry", "--log-level=warning"]
    environment += [f"--vdev=net_af_packet{number},iface={end},{rings}" for number, end in enumerate(ends)]
    forwarding = [f"--forward-mode={mode}", f"--total-num-mbufs={_BUFFER_MEMORY // frame_bytes}", "--no-mlockall"]
    forwarding.append(f"--mbuf-size={_BUFFER_HEADROOM + frame_bytes}")
    forwarding += [f"--eth-peer={number},{mac}" for number, mac in enumerate(reversed(devices.TESTER_MACS[:2]))]
    # It writes each line at once, which shows when it is ready.
    command = ["env", f"RUNTIME_DIRECTORY={programs.directory}", "stdbuf", "--output=L", testpmd, *environment]
    programs.start(_TESTPMD, [*command, "--", *forwarding], Ending.INPUT).wait_for("Press enter")
    return Settings(Input.PROGRAM, ring_frames, 0, ends, {"mode": mode})


def _ring_frames(frame_bytes: int, device: Namespace) -> int:
    """Return how long the rings may be, which lie in locked memory; only root of the machine has it without limit."""
    most = _MOST_RING_BYTES // frame_bytes
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if not device.in_user_namespace or limit == resource.RLIM_INFINITY:
        return most
    # Half of it, and blocks of two frames: other things are locked as well.
    frames = min(most, limit // 2 // (_RINGS * frame_bytes) // 2 * 2)
    if frames < _LEAST_RING_FRAMES:
        needed_kib = 2 * _LEAST_RING_FRAMES * _RINGS * frame_bytes >> 10
        message = f"lab:testpmd: {limit >> 10} KiB of locked memory are too few: `ulimit -l {needed_kib}` raises them"
        raise MeasureError(message)
    return frames
