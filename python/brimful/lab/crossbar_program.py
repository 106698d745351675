"""A switch of known truth: every input is a TAP, outputs have a rate, and queues a length.

usage: crossbar_program.py QUEUES RATE FRAMES WEIGHT PORT...

Runs alone, in the namespace of a device, and imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque
from math import inf

_TUNSETIFF, _TAP, _NO_INFORMATION = 0x400454CA, 0x0002, 0x1000
_LARGEST_FRAME = 65536
_WEIGHTED_INPUT = 1
_MOST_READ = 10_000


class Crossbar:
    """Queues and outputs in the time that its caller gives.

    Parameters
    ----------
    ports
        How many there are.
    queues
        Where frames wait: ``output``, so that none waits for the output of another; ``input``, where the first frame
        keeps all behind it waiting; ``hold``, the same, and a full one is not read: the sender is held.
    rate
        Of each output, in frames/s.
    frames
        That a queue has room for.
    weight
        Of the second input: its turns at an output, where others have one.
    """

    def __init__(self, ports: int, queues: str, rate: float, frames: int, weight: int) -> None:
        self._by_output = queues == "output"
        self._holds = queues == "hold"
        self._gap_s, self._frames = 1 / rate, frames
        self._queues: list[deque[tuple[float, int, bytes]]] = [deque() for _ in range(ports)]
        """Since when the frame is the first that waits here, or has arrived; its output; the frame."""
        self._free_s = [-inf] * ports
        self._weights = [weight if port == _WEIGHTED_INPUT else 1 for port in range(ports)]
        self._credits = [[0] * ports for _ in range(ports)]

    def room(self, port: int) -> int:
        """Give how many frames are read from a port."""
        return self._frames - len(self._queues[port]) if self._holds else _MOST_READ

    def arrive(self, now_s: float, port: int, output: int, frame: bytes) -> None:
        """Take a frame, or drop it where the queue is full."""
        queue = self._queues[output if self._by_output else port]
        if len(queue) < self._frames:
            queue.append((now_s, output, frame))

    def due_s(self) -> float:
        """Give when the next frame leaves; infinite where none waits."""
        return min((self._start_s(queue) for queue in self._queues if queue), default=inf)

    def leave(self) -> tuple[float, int, bytes]:
        """Give when the next frame leaves, its output, and the frame."""
        at_s = self.due_s()
        output = min(queue[0][1] for queue in self._queues if queue and self._start_s(queue) == at_s)
        waiting = [
            port for port, queue in enumerate(self._queues) if queue and queue[0][1] == output and queue[0][0] <= at_s
        ]
        credits = self._credits[output]
        for port in waiting:
            credits[port] += self._weights[port]
        taken = max(waiting, key=lambda port: credits[port])
        credits[taken] -= sum(self._weights[port] for port in waiting)
        _, _, frame = self._queues[taken].popleft()
        if self._queues[taken]:
            since_s, following, waits = self._queues[taken][0]
            self._queues[taken][0] = (max(since_s, at_s), following, waits)
        self._free_s[output] = at_s + self._gap_s
        return at_s, output, frame

    def _start_s(self, queue: deque[tuple[float, int, bytes]]) -> float:
        return max(queue[0][0], self._free_s[queue[0][1]])


def open_tap(name: str) -> int:
    """Make a TAP, and give its file."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP | _NO_INFORMATION))
    return tap


def forward(taps: list[int], crossbar: Crossbar) -> None:
    """Pass frames on until the process is ended; a frame to an unknown address goes to all other ports.

    Frames that have come since the last look came evenly: where this process had no processor for a while, what is lost
    does not depend on it.
    """
    homes: dict[bytes, int] = {}
    before_s = time.monotonic()
    while True:
        open_taps = [tap for port, tap in enumerate(taps) if crossbar.room(port)]
        readable = select.select(open_taps, [], [], max(0.0, min(1.0, crossbar.due_s() - time.monotonic())))[0]
        now_s, arrived = time.monotonic(), []
        for port in map(taps.index, readable):
            frames = read(taps[port], crossbar.room(port))
            step_s = (now_s - before_s) / max(1, len(frames))
            arrived += [(before_s + number * step_s, port, frame) for number, frame in enumerate(frames, start=1)]
        for at_s, port, frame in sorted(arrived):
            leave_until(at_s, taps, crossbar)
            homes[frame[6:12]] = port
            home = homes.get(frame[:6])
            for output in [other for other in range(len(taps)) if other != port] if home is None else [home]:
                crossbar.arrive(at_s, port, output, frame)
        leave_until(now_s, taps, crossbar)
        before_s = now_s


def read(tap: int, most: int) -> list[bytes]:
    """Give the frames that a TAP has."""
    frames: list[bytes] = []
    with contextlib.suppress(BlockingIOError):
        while len(frames) < most:
            frames.append(os.read(tap, _LARGEST_FRAME))
    return frames


def leave_until(at_s: float, taps: list[int], crossbar: Crossbar) -> None:
    """Send what is due."""
    while crossbar.due_s() <= at_s:
        _, output, frame = crossbar.leave()
        os.write(taps[output], frame)


def main() -> None:
    """Make the ports, say so, and forward."""
    queues, rate, frames, weight, *names = sys.argv[1:]
    taps = [open_tap(name) for name in names]
    os.write(sys.stdout.fileno(), b"ready\n")
    forward(taps, Crossbar(len(taps), queues, float(rate), int(frames), int(weight)))


if __name__ == "__main__":
    main()
