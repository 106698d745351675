"""Runs in the guest: checks each pair of cards, does what the check says, checks again, and sends frames."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from brimful.cards.checking import Check, check
from brimful.cards.ethtool import Interface

CARRIER_WAIT_S = 10
SETTLE_S = 5
"""After commands that restart links: some drivers look at their link every two seconds only."""
FRAMES_PER_S = 200


def say(what: str, value: object) -> None:
    print(f"card_check: {what}: {json.dumps(value)}", flush=True)


def pairs() -> dict[str, list[str]]:
    """Give the interfaces by their drivers: each kind of card is there twice, joined back to back."""
    found = collections.defaultdict(list)
    for path in sorted(Path("/sys/class/net").glob("eth*")):
        with Interface(path.name) as interface:
            found[interface.driver()[0]].append(path.name)
    return found


def await_carriers(names: list[str]) -> None:
    deadline = time.monotonic() + CARRIER_WAIT_S
    for name in names:
        with Interface(name) as interface:
            while not all(interface.state()) and time.monotonic() < deadline:
                time.sleep(0.05)


def shown(found: Check) -> dict[str, Any]:
    return {"clean": found.is_clean(), **msgspec.to_builtins(found)}


def mend(found: Check) -> dict[str, str]:
    """Do what a check says; give what the commands that fail say."""
    failed = {}
    commands = [finding.command for each in found.interfaces for finding in each.findings if finding.command]
    for command in commands:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        if done.returncode:
            failed[command] = " ".join(done.stderr.split())
    return failed


def trial(names: list[str]) -> dict[str, Any]:
    """Send frames both ways. Where emulated processors stall, not all leave on schedule, and the trial is invalid."""
    ports = [word for name in names for word in ("--port", name)]
    with subprocess.Popen(
        ["brimful-tester", *ports, "--max-stall=100ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tester:
        assert tester.stdin is not None
        assert tester.stdout is not None

        def ask(request: dict[str, object]) -> dict[str, Any]:
            print(json.dumps(request), file=tester.stdin, flush=True)
            return json.loads(tester.stdout.readline() or '{"invalid": "the tester ended"}')

        traffic = ask({"op": "describe"}).get("traffic", {})
        reply = ask({"op": "measure", "id": "1", "load": FRAMES_PER_S, "duration_s": 0.3})
        tester.stdin.close()
    directions = reply.get("directions", [])
    counts = {key: sum(direction[key] for direction in directions) for key in ("sent", "lost")}
    return {"back_end": traffic.get("back_end"), "invalid": reply.get("invalid"), **counts}


def main() -> None:
    cards = pairs()
    for name in cards["virtio_net"]:
        # By itself it has one for each processor.
        subprocess.run(["ethtool", "-L", name, "combined", "2"], check=True)
    await_carriers([name for names in cards.values() for name in names])
    for driver, names in cards.items():
        before = check(names)
        say(f"{driver} before", shown(before))
        say(f"{driver} failed", mend(before))
    time.sleep(SETTLE_S)
    await_carriers([name for names in cards.values() for name in names])
    for driver, names in cards.items():
        say(f"{driver} after", shown(check(names)))
        await_carriers(names)
        say(f"{driver} trial", trial(names))
    command = [sys.executable, "-S", "-B", "-m", "brimful", "tester", "check", *cards["vmxnet3"]]
    done = subprocess.run(command, check=False)
    say("exit code", done.returncode)


if __name__ == "__main__":
    main()
