"""Hosts in namespaces of their own around a switch, and a controller for it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
LONGEST_S = 20


class Failed(Exception):
    """Something is not as it should be."""


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(condition, text):
    end = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {LONGEST_S} s: {text}")
        time.sleep(0.1)


class Host:
    """A host at a port of the switch."""

    def __init__(self, number, *addresses, gateway=None):
        self.keeper = subprocess.Popen(["unshare", "-n", "sleep", "600"])
        self.namespace = Path(f"/proc/{self.keeper.pid}/ns/net")
        own = Path("/proc/self/ns/net").stat().st_ino
        eventually(lambda: self.namespace.stat().st_ino != own, "a namespace")
        self.name = f"host {number}"
        ip("link", "add", f"s{number}", "type", "veth", "peer", "name", f"h{number}", "netns", self.keeper.pid)
        ip("link", "set", f"s{number}", "up")
        for address in addresses:
            self.run("ip", "address", "add", address, "dev", f"h{number}")
        self.run("ip", "link", "set", f"h{number}", "up")
        if gateway:
            self.run("ip", "route", "add", "default", "via", gateway)

    def command(self, *arguments):
        return ["nsenter", f"--net={self.namespace}", *arguments]

    def run(self, *arguments):
        return subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True).stdout

    def echoes(self, address, count=1, interval_s=0.1):
        """Give how many echoes came, and the last one's time to live."""
        text = self.run(sys.executable, "-I", str(HERE / "ping.py"), address, str(count), str(interval_s))
        came, ttl = map(int, text.split())
        return came, ttl

    def reaches(self, address):
        eventually(lambda: self.echoes(address)[0] > 0, f"{self.name} reaches {address}")

    def never_reaches(self, address):
        came, _ = self.echoes(address, count=3)
        if came:
            raise Failed(f"{self.name} reaches {address}")

    def end(self):
        self.keeper.kill()
        self.keeper.wait()


class Network:
    """Ends everything that it has started."""

    def __init__(self, switchd, directory):
        self.switchd, self.directory = switchd, Path(directory)
        self.endings = contextlib.ExitStack()
        self.hosts = {}
        ip("link", "set", "lo", "up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.endings.close()

    def add_host(self, number, *addresses, gateway=None):
        host = self.hosts[number] = Host(number, *addresses, gateway=gateway)
        self.endings.callback(host.end)
        return host

    def start(self, name, command, **environment):
        log = self.endings.enter_context((self.directory / f"{name}.log").open("a"))
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment, cwd=self.directory)
        self.endings.callback(stop, process)
        return process

    def start_switch(self, *controllers):
        """Start it; `ofctl` asks it where it waits for more controllers."""
        self.waits_at = free_port()
        ports = [f"--port={number}=s{number}" for number in self.hosts]
        places = [f"--controller=tcp:127.0.0.1:{port}" for port in controllers]
        listening = f"--controller=ptcp:{self.waits_at}"
        self.start("switch", [self.switchd, *ports, *places, listening, "--dpid=1"])

    def ofctl(self, *arguments):
        command = [self.switchd, "ofctl", f"tcp:127.0.0.1:{self.waits_at}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
        if done.returncode:
            raise Failed(done.stderr)
        return done.stdout

    def said(self):
        """Give what all programs have said, for people who look for a cause."""
        logs = sorted(self.directory.glob("*.log"))
        return "\n".join(f"{log.name}: {line}" for log in logs for line in log.read_text().splitlines()[-20:])


def stop(process):
    process.terminate()
    try:
        process.wait(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
