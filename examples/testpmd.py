#!/usr/bin/env python3
"""A measurer that sends with DPDK's testpmd from NICs that limit their rate (examples/README.md says what it needs).

brimful search --measurer 'cmd:examples/testpmd.py -a 0000:01:00.0 -a 0000:01:00.1 -- --eth-peer=0,MAC --eth-peer=1,MAC'
"""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

FRAME_SIZE = 64
"""With the frame check sequence, which the NIC adds."""
PORTS = 2
MOST_DEVIATION = 0.02
SETTLE_S = 0.2
PATIENCE_S = 20.0
PROMPT = "testpmd> "


class SpoiledError(Exception):
    """The generator, not the device, is what was measured."""


class CannotMeasureError(Exception):
    """Nothing can be measured before somebody changes something."""


class Testpmd:
    """A running testpmd at a terminal of its own: without one it shows its output too late."""

    def __init__(self, arguments: list[str]) -> None:
        split = arguments.index("--") if "--" in arguments else len(arguments)
        own = [*arguments[split + 1 :], "--interactive", "--forward-mode=flowgen", f"--txpkts={FRAME_SIZE - 4}"]
        self._terminal, terminal = pty.openpty()
        command = ["dpdk-testpmd", *arguments[:split], "--", *own]
        try:
            self._process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal)
        except FileNotFoundError:
            message = "dpdk-testpmd is not installed: install the Debian package dpdk-dev"
            raise CannotMeasureError(message) from None
        finally:
            os.close(terminal)
        self._read()

    def ask(self, command: str) -> str:
        """Type a command and give what it printed."""
        os.write(self._terminal, command.encode() + b"\n")
        return self._read()

    def _read(self) -> str:
        said = ""
        while not said.endswith(PROMPT):
            if not select.select([self._terminal], [], [], PATIENCE_S)[0]:
                break
            try:
                said += os.read(self._terminal, 65536).decode(errors="replace")
            except OSError:  # what the end of a terminal looks like
                break
        else:
            return said
        message = "testpmd ended or hangs: " + " / ".join(said.split("\n")[-4:]).replace("\r", "")
        raise CannotMeasureError(message)

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            os.write(self._terminal, b"stop\nquit\n")
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._terminal)


def limit_rate(testpmd: Testpmd, load: float) -> None:
    """Let the NICs send so many frames a second; no software does it for them."""
    megabits = max(1, round(load * (FRAME_SIZE + 20) * 8 / 1e6))
    for port in range(PORTS):
        said = testpmd.ask(f"set port {port} queue 0 rate {megabits}")
        if "error" in said or "failed" in said:
            message = f"port {port} cannot limit its rate to {megabits} Mb/s, and testpmd alone cannot pace"
            raise CannotMeasureError(message)


def measure(testpmd: Testpmd, load: float, duration_s: float) -> dict[str, object]:
    """Send both ways for a time, then only receive what is still under way."""
    limit_rate(testpmd, load)
    testpmd.ask("clear port stats all")
    for mode, seconds in (("flowgen", duration_s), ("rxonly", SETTLE_S)):
        testpmd.ask(f"set fwd {mode}")
        testpmd.ask("start")
        time.sleep(seconds)
        testpmd.ask("stop")
    return judge(counters(testpmd.ask("show port stats all")), load * duration_s)


def counters(text: str) -> list[dict[str, int]]:
    """Read `show port stats all`."""
    parts = re.split(r"NIC statistics for port \d+", text)[1:]
    return [{name: int(value) for name, value in re.findall(r"([RT]X-\w+):\s+(\d+)", part)} for part in parts]


def judge(ports: list[dict[str, int]], due: float) -> dict[str, object]:
    """Take the counts of both directions, unless what was sent is not what was asked for."""
    directions = []
    for sending, receiving in ((0, 1), (1, 0)):
        sent, received = ports[sending]["TX-packets"], ports[receiving]["RX-packets"]
        if abs(sent - due) > MOST_DEVIATION * due + 1:
            message = f"port {sending} sent {sent} frames where {due:.0f} were due"
            raise SpoiledError(message)
        own = sum(ports[receiving][name] for name in ("RX-missed", "RX-errors", "RX-nombuf"))
        if own or ports[sending]["TX-errors"]:
            unsent = ports[sending]["TX-errors"]
            message = f"port {receiving} lost {own} frames itself, port {sending} failed to send {unsent}"
            raise SpoiledError(message)
        directions.append({"sent": sent, "lost": max(0, sent - received)})
    totals = {name: sum(way[name] for way in directions) for name in ("sent", "lost")}
    return {"intended": totals["sent"], **totals, "directions": directions}


def main() -> None:
    """Answer requests of the measurer protocol until the standard input ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    testpmd = None
    try:
        for line in sys.stdin:
            request = json.loads(line)
            reply: dict[str, object] = {"id": request.get("id")}
            try:
                testpmd = testpmd or Testpmd(sys.argv[1:])
                if request["op"] == "describe":
                    traffic = {"frame_size": FRAME_SIZE, "flows": 1024, "direction": "bi"}
                    reply = {"name": "testpmd", "conversion_factor": 2, "traffic": traffic}
                else:
                    reply.update(measure(testpmd, request["load"], request["duration_s"]))
            except SpoiledError as error:
                reply["invalid"] = str(error)
            except CannotMeasureError as error:
                reply["error"] = str(error)
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
    finally:
        if testpmd is not None:
            testpmd.close()


if __name__ == "__main__":
    main()
