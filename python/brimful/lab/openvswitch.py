"""Open vSwitch in user space: its own database and its own daemon, and no module of the kernel."""

from __future__ import annotations

import os
import subprocess

from brimful.errors import MeasureError
from brimful.lab import devices, switch
from brimful.lab.devices import LEAST_PORTS, Input, Place, Settings
from brimful.lab.programs import Ending, find_program

_TOOLS = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_QUIET = ("-vconsole:warn", "-vsyslog:off", "-vfile:off")
_TAP = "/dev/net/tun"
_PATIENCE_S = 10
_KEEP_FLOWS_MS = 3_600_000


def find_tools() -> dict[str, str]:
    """Return the paths of Open vSwitch's programs."""
    return {name: find_program(name, device="ovs", package="openvswitch-switch") for name in _TOOLS}


def check_needs() -> None:
    """Make sure that Open vSwitch is installed and may make a TAP interface: every bridge of it in user space has one.

    Raises
    ------
    MeasureError
        Naming what is missing.
    """
    find_tools()
    try:
        os.close(os.open(_TAP, os.O_RDWR))
    except OSError as error:
        fix = "run as root" if isinstance(error, PermissionError) else "`modprobe tun`"
        message = f"lab:ovs needs {_TAP}, which cannot be opened ({error.strerror}): {fix}"
        raise MeasureError(message) from None


def build_open_vswitch(place: Place, *, back_end: str) -> Settings:
    """Let Open vSwitch pass frames between the device's ends.

    Between two ports there is one flow for each direction, and no learning; among more it learns where addresses are.

    Its ports are of type `system`, packet sockets that its main thread reads, or `afxdp`, rings that a thread polls.
    """
    tools = find_tools()
    device, programs, directory = place.device, place.programs, place.programs.directory
    ends = devices.lay_cables(place)
    places = [f"OVS_{kind}DIR={directory}" for kind in ("RUN", "LOG", "DB", "SYSCONF")]
    database, socket = f"{directory}/switch.db", f"unix:{directory}/database.sock"
    device.run([tools["ovsdb-tool"], "create", database, _SCHEMA])
    server = [tools["ovsdb-server"], *_QUIET, f"--remote=p{socket}", f"--unixctl={directory}/ovsdb.ctl", database]
    programs.start("ovsdb-server", ["env", *places, *server], Ending.SIGNAL)
    configure = [tools["ovs-vsctl"], f"--timeout={_PATIENCE_S}", "--retry", f"--db={socket}"]
    # What the daemon has looked up it keeps between trials, or the first frames of each would wait for it.
    settings = [
        f"other_config:max-idle={_KEEP_FLOWS_MS}",
        f"other_config:pmd-cpu-mask={1 << devices.device_cpus()[-1]:#x}",
    ]
    device.run([*configure, "--no-wait", "init", "--", "set", "Open_vSwitch", ".", *settings])
    daemon = [tools["ovs-vswitchd"], *_QUIET, f"--unixctl={directory}/switch.ctl", socket]
    running = programs.start("ovs-vswitchd", ["env", *places, *daemon], Ending.SIGNAL)
    # In secure mode there is no flow that is not asked for here.
    commands = ["add-br", "ovs0", "--", "set", "bridge", "ovs0", "datapath_type=netdev", "fail_mode=secure"]
    for number, end in enumerate(ends, start=1):
        commands += [
            "--",
            "add-port",
            "ovs0",
            end,
            "--",
            "set",
            "interface",
            end,
            f"type={back_end}",
            f"ofport_request={number}",
        ]
    done = device.attempt([*configure, *commands])
    if done.returncode != 0:
        said = running.failure() or " ".join(done.stderr.split())
        message = f"lab:ovs: Open vSwitch does not take its ports within {_PATIENCE_S} s: {said}"
        raise MeasureError(message)
    flows = switch.FORWARDING if place.ports == LEAST_PORTS else switch.LEARNING
    device.run([tools["ovs-ofctl"], "add-flows", f"unix:{directory}/ovs0.mgmt", "-"], text=flows)
    version = subprocess.run([tools["ovs-vswitchd"], "--version"], capture_output=True, text=True, check=False).stdout
    details: dict[str, str | int] = {"version": version.partition("\n")[0].rpartition(" ")[2], "back_end": back_end}
    forget = (tools["ovs-appctl"], "-t", f"{directory}/switch.ctl", "fdb/flush", "ovs0")
    return Settings(Input.PROGRAM, 0, 0, ends, details, forget)
