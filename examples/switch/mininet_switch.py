"""brimful's switch in Mininet, in the place of Open vSwitch: `mn --custom mininet_switch.py --switch brimful`.

With controllers, each switch connects to all of them. Without, as with `--controller none`, it learns addresses and
forwards frames as a bridge does. `dpctl` in Mininet's shell runs `brimful-switchd ofctl` at each switch.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from mininet.node import Switch

FIRST_PORT = 6654
"""Where the first switch listens for `dpctl`; the others follow."""
LONGEST_S = 10


class BrimfulSwitch(Switch):
    """A switch that runs as `brimful-switchd`, with its options `threads` and `back_end`."""

    listening = 0

    def __init__(self, name: str, *, threads: int = 1, back_end: str = "packet", **options: object) -> None:
        """Take the port at which it listens."""
        super().__init__(name, **options)
        self.options = [f"--threads={threads}", f"--back-end={back_end}"]
        self.listenPort = FIRST_PORT + BrimfulSwitch.listening
        BrimfulSwitch.listening += 1
        self.daemon: subprocess.Popen[bytes] | None = None
        self.log = Path(tempfile.gettempdir()) / f"{name}.log"

    @classmethod
    def setup(cls) -> None:
        """Make sure that the switch is installed."""
        subprocess.run(["brimful-switchd", "--version"], check=True, capture_output=True)

    def start(self, controllers: list[Any]) -> None:
        """Start it where the switch's ends of the cables are: in the namespace of Mininet itself."""
        ports = [f"--port={number}={port.name}" for number, port in self.intfs.items() if port.name != "lo"]
        peers = [f"--controller=tcp:{one.IP()}:{one.port}" for one in controllers]
        peers.append(f"--controller=ptcp:{self.listenPort}")
        command = ["brimful-switchd", f"--name={self.name}", f"--dpid={self.dpid}", *ports, *peers, *self.options]
        with tempfile.NamedTemporaryFile("w", suffix=".flows") as tables, self.log.open("w") as log:
            if not controllers:
                tables.write("actions=NORMAL\n")
                tables.flush()
            self.daemon = subprocess.Popen([*command, f"--tables={tables.name}"], stdout=log, stderr=subprocess.STDOUT)
            end_s = time.monotonic() + LONGEST_S
            while "ready:" not in self.log.read_text():
                if self.daemon.poll() is not None or time.monotonic() > end_s:
                    message = f"{self.name} does not start: {self.log.read_text()}"
                    raise RuntimeError(message)
                time.sleep(0.01)

    def stop(self, deleteIntfs: bool = True) -> None:
        """Stop it, and remove its interfaces."""
        if self.daemon is not None:
            self.daemon.terminate()
            self.daemon.wait(LONGEST_S)
            self.daemon = None
        super().stop(deleteIntfs)

    def dpctl(self, *words: str) -> str:
        """Ask it something, as Mininet's shell does with `dpctl`."""
        command = ["brimful-switchd", "ofctl", f"tcp:127.0.0.1:{self.listenPort}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def connected(self) -> bool:
        """Tell whether a controller is there."""
        return ": connected" in self.log.read_text()


switches = {"brimful": BrimfulSwitch}
"""What `mn --custom` looks for."""
