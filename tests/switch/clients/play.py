"""Let a real controller drive `brimful-switchd` between hosts. usage: play.py SWITCHD PROGRAMS DIRECTORY SCENARIO

PROGRAMS is where os-ken and Faucet are installed. Runs in a network namespace of its own; fails at the first thing that
is not as it should be.
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from network import HERE, Failed, Network, eventually, free_port, ip, stop


class Controllers:
    """Applications of os-ken, and Faucet."""

    def __init__(self, network, programs):
        self.network, self.programs = network, Path(programs)

    def start(self, application, port, **environment):
        manager = self.programs / "osken-manager"
        command = [manager, "--ofp-listen-host=127.0.0.1", f"--ofp-tcp-listen-port={port}", HERE / f"{application}.py"]
        return self.network.start(application, command, PYTHONPATH=str(HERE), **environment)

    def start_faucet(self, port):
        directory = self.network.directory
        places = {"FAUCET_CONFIG": HERE / "faucet.yaml", "FAUCET_LOG": directory / "faucet-own.log"}
        places |= {"FAUCET_EXCEPTION_LOG": directory / "faucet-exceptions.log", "FAUCET_PROMETHEUS_PORT": free_port()}
        places["PATH"] = f"{self.programs}:/usr/bin:/bin"
        command = [self.programs / "faucet", "--ryu-ofp-listen-host=127.0.0.1", f"--ryu-ofp-tcp-listen-port={port}"]
        return self.network.start("faucet", command, **{name: str(value) for name, value in places.items()})


def ask(port, path, method="GET", body=None):
    """Ask an application over HTTP; None while it does not answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.loads(answer.read())
    except OSError:
        return None


def learning(network, controllers):
    """A learning switch: ping, a port down and up, a controller that restarts, a change of masters."""
    first, second, _, fourth = (network.add_host(number, f"10.0.0.{number}/24") for number in (1, 2, 3, 4))
    one, other = free_port(), free_port()
    process = controllers.start("learning_switch", one, GENERATION="1")
    network.start_switch(one, other)
    first.reaches("10.0.0.2")
    second.reaches("10.0.0.3")
    if "eth_src=" not in network.ofctl("dump-flows"):
        raise Failed("the controller has added no flows")

    ip("link", "set", "s2", "down")
    first.never_reaches("10.0.0.2")
    ip("link", "set", "s2", "up")
    first.reaches("10.0.0.2")

    # What was learned goes on while the controller is away, and while it comes back.
    steady = subprocess.Popen(
        first.command(sys.executable, "-I", HERE / "ping.py", "10.0.0.2", "150", "0.02"),
        stdout=subprocess.PIPE,
        text=True,
    )
    stop(process)
    controllers.start("learning_switch", one, GENERATION="1")
    came = int(steady.communicate(timeout=60)[0].split()[0])
    if came != 150:
        raise Failed(f"{came} of 150 echoes came while the controller restarted")
    second.reaches("10.0.0.1")

    # The second controller states a later generation: it is the master, and the first may change nothing.
    network.ofctl("del-flows")
    controllers.start("learning_switch", other, GENERATION="2")
    fourth.reaches("10.0.0.1")


def firewall(network, controllers):
    """A firewall: nothing passes but what a rule allows, and rules are counted."""
    first, second = (network.add_host(number, f"10.0.0.{number}/24") for number in (1, 2))
    port, http = free_port(), free_port()
    controllers.start("firewall", port, HTTP_PORT=str(http))
    network.start_switch(port)
    eventually(lambda: ask(http, "/"), "the firewall has a switch")
    first.never_reaches("10.0.0.2")
    allowed = {"eth_type": 0x0800, "ip_proto": 1}
    ask(http, "/rules", "POST", {"priority": 10, "match": allowed, "allow": True})
    first.reaches("10.0.0.2")
    second.reaches("10.0.0.1")
    denied = allowed | {"ipv4_src": "10.0.0.1/255.255.255.255", "icmpv4_type": 8}
    ask(http, "/rules", "POST", {"priority": 20, "match": denied, "allow": False})
    eventually(lambda: "priority=20" in network.ofctl("dump-flows"), "the rule is there")
    first.never_reaches("10.0.0.2")
    second.reaches("10.0.0.1")
    dropped = next(line for line in network.ofctl("dump-flows").splitlines() if "priority=20" in line)
    if "n_packets=0," in dropped:
        raise Failed(f"the rule has dropped nothing: {dropped}")
    ask(http, "/rules", "DELETE")
    eventually(lambda: "priority=10" not in network.ofctl("dump-flows"), "the rules are gone")
    second.never_reaches("10.0.0.1")


def router(network, controllers):
    """A router between two networks takes one hop."""
    first = network.add_host(1, "10.0.1.10/24", gateway="10.0.1.1")
    network.add_host(2, "10.0.2.10/24", gateway="10.0.2.1")
    port, http = free_port(), free_port()
    controllers.start("router", port, HTTP_PORT=str(http))
    network.start_switch(port)
    eventually(lambda: ask(http, "/"), "the router has a switch")
    for number in (1, 2):
        ask(http, "/addresses", "POST", {"port": number, "address": f"10.0.{number}.1", "length": 24})
    first.reaches("10.0.2.10")
    _, ttl = first.echoes("10.0.2.10")
    if ttl != 63:
        raise Failed(f"an echo comes with a time to live of {ttl}, not 63")


def faucet(network, controllers):
    """Faucet: two VLANs that do not meet, and an ACL that is counted."""
    first = network.add_host(1, "10.0.0.1/24")
    network.add_host(2, "10.0.0.2/24", "10.0.0.22/24")
    third = network.add_host(3, "10.0.0.3/24")
    network.add_host(4, "10.0.0.4/24")
    port = free_port()
    process = controllers.start_faucet(port)
    network.start_switch(port)
    first.reaches("10.0.0.2")
    third.reaches("10.0.0.4")
    first.never_reaches("10.0.0.3")
    third.never_reaches("10.0.0.2")
    first.never_reaches("10.0.0.22")
    hit = next(line for line in network.ofctl("dump-flows", "cookie=22/-1").splitlines() if "10.0.0.22" in line)
    if "n_packets=0," in hit:
        raise Failed(f"nothing has met the ACL: {hit}")
    ip("link", "set", "s2", "down")
    first.never_reaches("10.0.0.2")
    ip("link", "set", "s2", "up")
    first.reaches("10.0.0.2")
    stop(process)
    first.reaches("10.0.0.2")


SCENARIOS = {one.__name__: one for one in (learning, firewall, router, faucet)}


def main():
    switchd, programs, directory, name = sys.argv[1:]
    with Network(switchd, directory) as network:
        try:
            SCENARIOS[name](network, Controllers(network, programs))
        except (Failed, OSError, subprocess.SubprocessError, StopIteration) as error:
            sys.exit(f"{name}: {error!r}\n{network.said()}")


if __name__ == "__main__":
    main()
