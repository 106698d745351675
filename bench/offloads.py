"""TCP of two hosts with the kernel's settings through the switch, in shares of what the kernel's bridge passes.

Open vSwitch does the same with its user space datapath and `userspace-tso-enable`, where it is installed.
Ways to join the hosts are measured in turn, so that what else happens on the machine happens to all of them.
"""

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / "switch")]

from hosts import PLAIN, open_bed, switch  # noqa: E402

BACK_ENDS = ("packet", "packet-blocks", "xdp-generic", "xdp-native")
BARS = {"packet": 0.55, "packet-blocks": 0.45, "xdp-generic": 0.3, "xdp-native": 0.2}
PATIENCE_S = 10
OPEN_VSWITCH = "Open vSwitch"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


@contextlib.contextmanager
def open_vswitch(bed, directory):
    """Open vSwitch with its user space datapath, which is to take what hosts leave to network cards."""
    places = [f"OVS_{name}={directory}" for name in ("RUNDIR", "LOGDIR", "DBDIR", "SYSCONFDIR")]
    database, server = f"{directory}/conf.db", f"unix:{directory}/db.sock"

    def run(*words, text=""):
        bed.middle.run(["env", *places, *words], text=text)

    def start(*words):
        process = subprocess.Popen(bed.middle.command(["env", *places, *words]), stderr=subprocess.DEVNULL)
        stack.enter_context(process)
        stack.callback(process.terminate)

    with contextlib.ExitStack() as stack:
        run("ovsdb-tool", "create", database, SCHEMA)
        start("ovsdb-server", database, f"--remote=p{server}", "--log-file=/dev/null")
        configure = ("ovs-vsctl", f"--db={server}", "--retry", f"--timeout={PATIENCE_S}")
        takes_all = ("set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true")
        run(*configure, "--no-wait", "init", "--", *takes_all)
        start("ovs-vswitchd", server, "--log-file=/dev/null")
        run(*configure, "add-br", "br0", "--", *["set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure"])
        for number in (1, 2):
            run(*configure, "add-port", "br0", f"s{number}", "--", "set", "interface", f"s{number}", f"ofport={number}")
        run("ovs-ofctl", "add-flows", f"unix:{directory}/br0.mgmt", "-", text=PLAIN)
        yield


@contextlib.contextmanager
def joined(way, version):
    """Two hosts joined in a way; yields them and the switch, if it is ours."""
    with contextlib.ExitStack() as stack:
        bed = stack.enter_context(open_bed())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if way == "bridge":
            bed.bridge()
            yield bed, None
        elif way == OPEN_VSWITCH:
            stack.enter_context(open_vswitch(bed, directory))
            yield bed, None
        else:
            yield bed, stack.enter_context(switch(bed, directory, PLAIN, way))


def tcp_rate(bed, version, seconds):
    """Bits a second of one connection."""
    near, far = bed.hosts
    address = {4: "10.9.0.2", 6: "fd00::2"}[version]
    listening = far.command(["iperf3", "--server", "--one-off"])
    with subprocess.Popen(listening, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + PATIENCE_S
        while ":1451 " not in far.run(["sh", "-c", "cat /proc/net/tcp6 /proc/net/tcp"]):
            if time.monotonic() > deadline:
                raise TimeoutError("iperf3 does not listen")
            time.sleep(0.01)
        try:
            said = near.run(["iperf3", "--client", address, "--time", str(seconds), "--omit", "0.2", "--json"])
        finally:
            server.terminate()
    summary = json.loads(said)["end"]
    return summary["sum_received"]["bits_per_second"], summary["sum_sent"].get("retransmits", 0)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--version", type=int, choices=(4, 6), default=4)
    parser.add_argument("ways", nargs="*", default=BACK_ENDS, help=f"of {', '.join(BACK_ENDS)}")
    options = parser.parse_args()
    others = [OPEN_VSWITCH] if shutil.which("ovs-vswitchd") else []
    rates = {way: [] for way in ("bridge", *others, *options.ways)}
    dropped = {}
    again = {way: 0 for way in rates}
    for _ in range(options.rounds):
        for way, measured in rates.items():
            with joined(way, options.version) as (bed, own):
                rate, retransmitted = tcp_rate(bed, options.version, options.seconds)
                measured.append(rate)
                again[way] += retransmitted
                if own is not None:
                    for number in (1, 2):
                        port = own.port(number)
                        for reason, count in (port["received_dropped_because"] | port["sent_dropped_because"]).items():
                            dropped[way, reason] = dropped.get((way, reason), 0) + count
    print(f"{'way':14} {'Gbit/s':>7} {'of the bridge':>14} {'(range)':>13} {'bar':>5} {'again':>6}  dropped")
    missed = []
    for way, measured in rates.items():
        shares = [own / bridge for own, bridge in zip(measured, rates["bridge"], strict=True)]
        share = statistics.median(shares)
        bar = BARS.get(way)
        if bar is not None and share < bar:
            missed.append(way)
        reasons = ", ".join(f"{count} {reason}" for (of, reason), count in dropped.items() if of == way)
        print(
            f"{way:14} {statistics.median(measured) / 1e9:7.2f} {share:14.2f} {min(shares):6.2f}-{max(shares):.2f} "
            f"{'' if bar is None else bar:>7} {again[way]:6}  {reasons or ('none' if way in BACK_ENDS else '')}"
        )
    if missed:
        sys.exit(f"below the bar: {', '.join(missed)}")


if __name__ == "__main__":
    main()
