"""brimful's switch in Mininet, in the place of Open vSwitch: `mn --custom mininet_switch.py --switch brimful`.

With controllers, each switch connects to all of them. Without, as with `--controller none`, it learns addresses and
forwards frames as a bridge does. `dpctl` in Mininet's shell runs `brimful-switchd ofctl` at each switch.
"""

import signal
import subprocess
import tempfile
import time
from pathlib import Path

from mininet.node import Switch

FIRST_PORT = 6654
"""Where the first switch listens for `dpctl`; the others follow."""
LONGEST_S = 10


class BrimfulSwitch(Switch):
    """A switch that runs as `brimful-switchd`; `threads` and `back_end` are options of it."""

    listening = 0

    def __init__(self, name, *, threads=1, back_end="packet", **options):
        super().__init__(name, **options)
        self.options = [f"--threads={threads}", f"--back-end={back_end}"]
        self.listenPort = FIRST_PORT + BrimfulSwitch.listening
        BrimfulSwitch.listening += 1
        self.daemon = self.log = None

    @classmethod
    def setup(cls):
        """Mininet asks whether the switch is installed."""
        subprocess.run(["brimful-switchd", "--version"], check=True, capture_output=True)

    def start(self, controllers):
        ports = [f"--port={number}={port.name}" for number, port in self.intfs.items() if port.name != "lo"]
        peers = [f"--controller=tcp:{one.IP()}:{one.port}" for one in controllers]
        peers.append(f"--controller=ptcp:{self.listenPort}")
        tables = tempfile.NamedTemporaryFile("w", suffix=".flows", prefix=f"{self.name}-")
        if not controllers:
            tables.write("actions=NORMAL\n")
            tables.flush()
        command = ["brimful-switchd", f"--name={self.name}", f"--dpid={self.dpid}", *ports, *peers, *self.options]
        self.log = Path(tempfile.gettempdir()) / f"{self.name}.log"
        # In the namespace of Mininet itself, where the switch's ends of the cables are.
        with tables, self.log.open("w") as log:
            self.daemon = subprocess.Popen([*command, f"--tables={tables.name}"], stdout=log, stderr=subprocess.STDOUT)
            end_s = time.monotonic() + LONGEST_S
            while "ready:" not in self.log.read_text():
                if self.daemon.poll() is not None or time.monotonic() > end_s:
                    raise RuntimeError(f"{self.name} does not start: {self.log.read_text()}")
                time.sleep(0.01)

    def stop(self, deleteIntfs=True):  # noqa: N803, FBT002 (Mininet's names)
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(LONGEST_S)
            self.daemon = None
        super().stop(deleteIntfs)

    def dpctl(self, *words):
        """What Mininet's shell does with `dpctl`."""
        command = ["brimful-switchd", "ofctl", f"tcp:127.0.0.1:{self.listenPort}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def connected(self):
        """Whether a controller is there: as many as connect are in the log."""
        return ": connected" in self.log.read_text()


switches = {"brimful": BrimfulSwitch}
"""What `mn --custom` looks for."""
