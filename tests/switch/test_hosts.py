"""Hosts with the settings of the kernel talk through the switch: it has to be the network card that they rely on."""

import itertools
import subprocess
import time

import pytest
from brimful.lab.switch import find_switch
from brimful.switch import ask
from hosts import PLAIN, PYTHON, SET_GRO, SET_GSO, SET_TSO, TAGGED, rewriting, switch, wait_until

BACK_ENDS = ["packet", "packet-blocks", "xdp-native", "xdp-generic"]
ADDRESSES = {4: ("10.9.0.", "10.9.0.1"), 6: ("fd00::", "fd00::1")}
MANY = 12
FULL_DATAGRAMS = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    for _ in range(3):
        own.sendto(bytes(1472), ("10.9.0.2", 9))
"""


def started(bed, directory, table, back_end, **arguments):
    """Start the switch, or skip where this kernel does not have the back end."""
    manager = switch(bed, directory, table, back_end, **arguments)
    try:
        own = manager.__enter__()
    except AssertionError as error:
        if "no permission to attach an XDP program" in str(error):
            pytest.skip(str(error))
        raise
    return manager, own


def pass_all(bed, own, last, *, ports, is_segmented):
    """Every protocol passes, and nothing is dropped but what cannot be segmented."""
    kinds = ("tcp", "http", "udp", "sctp") if (ports, last) == (2, 2) else ("tcp", "udp", "sctp")
    for what, version in itertools.product(kinds, (4, 6)):
        prefix, near = ADDRESSES[version]
        expected = {what: True}
        if what == "udp":
            expected["segments"] = is_segmented
        assert bed.talk(what, str(version), f"{prefix}{last}", near) == expected, (what, version)
    for number in range(1, ports + 1):
        port = own.port(number)
        unfit = {} if is_segmented or number > 1 else {"not to be segmented": 2}
        assert port["received_dropped_because"] == unfit, port
        # The queue of a host may be full on a busy machine.
        port["sent_dropped_because"].pop("no room at the other end", None)
        assert port["sent_dropped_because"] == {}, port


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize(("table", "ports"), [(PLAIN, 2), (TAGGED, 4)], ids=["plain", "tagged"])
@pytest.mark.parametrize("last", [2, 92], ids=["as-it-is", "rewritten"])
def test_hosts_with_default_offloads_reach_each_other(bed, tmp_path, back_end, table, ports, last):
    rules = rewriting(table) if last == 92 else table
    manager, own = started(bed, tmp_path, rules, back_end, ports=ports)
    try:
        # How long the datagrams in a merged frame are is nothing that a generic XDP program is told.
        pass_all(bed, own, last, ports=ports, is_segmented=back_end != "xdp-generic")
    finally:
        manager.__exit__(None, None, None)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_hosts_reach_each_other_through_a_tunnel(bed, tmp_path, back_end):
    bed.tunnel()
    manager, own = started(bed, tmp_path, PLAIN, back_end)
    try:
        is_segmented = back_end != "xdp-generic"
        assert bed.talk("tcp", "4", "10.8.0.2", "10.8.0.1") == {"tcp": True}
        assert bed.talk("tcp", "6", "fd08::2", "fd08::1") == {"tcp": True}
        assert bed.talk("udp", "4", "10.8.0.2", "10.8.0.1") == {"udp": True, "segments": is_segmented}
        unfit = {} if is_segmented else {"not to be segmented": 1}
        assert own.port(1)["received_dropped_because"] == unfit
        assert own.port(2)["received_dropped_because"] == {}
    finally:
        manager.__exit__(None, None, None)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_iperf3_passes(bed, tmp_path, back_end):
    manager, own = started(bed, tmp_path, PLAIN, back_end)
    near, far = bed.hosts
    try:
        for options in (["-4"], ["-6"], ["-4", "--udp", "--bitrate", "5M"]):
            address = "fd00::2" if "-6" in options else "10.9.0.2"
            with subprocess.Popen(
                far.command(["iperf3", "--server", "--one-off"]), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as server:
                try:
                    wait_until(lambda: ":1451 " in far.run(["cat", "/proc/net/tcp6"]), "iperf3 listens")
                    near.run(["iperf3", "--client", address, "--bytes", "1M", *options])
                finally:
                    server.terminate()
        assert own.port(1)["received_dropped_because"] == {}
    finally:
        manager.__exit__(None, None, None)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_segments_that_our_own_end_has_merged_pass(bed, tmp_path, back_end):
    """As on real cards, whose receiving side merges by default, whatever the sender does."""
    for host in bed.hosts:
        bed.set_offload(host, "eth0", SET_TSO, 0)
        bed.set_offload(host, "eth0", SET_GSO, 0)
    for near in ("s1", "s2"):
        bed.set_offload(bed.middle, near, SET_GRO, 1)
    with switch(bed, tmp_path, PLAIN, back_end) as own:
        for version in (4, 6):
            prefix, near = ADDRESSES[version]
            assert bed.talk("tcp", str(version), f"{prefix}2", near) == {"tcp": True}
        assert own.port(1)["received_dropped_because"] == {}


def test_back_ends_meet(bed, tmp_path):
    """A merged frame goes whole where the other side takes it, and in segments into queues and taps."""
    config = tmp_path / "switch.toml"
    ports = [
        'number = 1\ninterface = "s1"\nback_end = "xdp-generic"\n',
        'number = 2\ninterface = "s2"\nspeed_bps = 1000000000\n[[switch.port.queue]]\nid = 1\nmax_rate = 900\n',
    ]
    rules = tmp_path / "rules.flows"
    rules.write_text(PLAIN)
    control = tmp_path / "switch.sock"
    config.write_text(
        f'control = "{control}"\n[[switch]]\nname = "switch"\ntables = ["{rules}"]\n'
        + "".join(f"[[switch.port]]\n{port}" for port in ports)
    )
    command = bed.middle.command([find_switch(), f"--config={config}"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready: switch\n", process.stderr.read()
            for version in (4, 6):
                prefix, near = ADDRESSES[version]
                assert bed.talk("tcp", str(version), f"{prefix}2", near) == {"tcp": True}
        finally:
            process.terminate()


def test_labels_are_put_on_segments(bed, tmp_path):
    """No kernel segments behind MPLS for us: what is labelled leaves as its segments."""
    rules = "\n".join(
        [
            *("in_port=1,dl_type=0x0806,actions=output:2", "in_port=2,dl_type=0x0806,actions=output:1"),
            *(f"in_port={near},dl_type=0x0800,actions=push_mpls:0x8847,output:{far}" for near, far in ((1, 3), (2, 4))),
            *(f"in_port={near},dl_type=0x8847,actions=pop_mpls:0x0800,output:{far}" for near, far in ((3, 1), (4, 2))),
        ]
    )
    for name in ("s1", "s2", "s3", "s4"):
        bed.ip(bed.middle, "link", "set", name, "mtu", "1600")
    with switch(bed, tmp_path, rules, ports=4, options=["--max-frame-len=1600"]) as own:
        assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
        assert own.port(3)["sent_dropped_because"] == {}


def test_what_the_interface_refuses_is_counted_with_its_reason(bed, tmp_path):
    """A label makes a full frame too long for an interface with MTU 1500."""
    rules = "in_port=1,dl_type=0x0800,actions=push_mpls:0x8847,output:2\nin_port=2,actions=output:1\n"
    for back_end in ("packet", "xdp-generic"):
        with switch(bed, tmp_path, rules, back_end) as own:
            bed.hosts[0].run([*PYTHON, "-c", FULL_DATAGRAMS])
            wait_until(lambda own=own: own.port(2)["sent_dropped_because"] == {"too long": 3}, "three are counted")
            bed.ip(bed.middle, "link", "set", "s2", "down")
            wait_until(lambda own=own: not own.port(2)["has_link"], "the port is down")
            bed.ip(bed.middle, "link", "set", "s2", "up")


@pytest.mark.real_time
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_interface_that_was_down_burns_no_processor(bed, tmp_path, back_end):
    with switch(bed, tmp_path, PLAIN, back_end) as own:
        bed.ip(bed.middle, "link", "set", "s1", "down")
        wait_until(lambda: not own.port(1)["has_link"], "the port is down")
        for state in ("down", "up"):
            bed.ip(bed.middle, "link", "set", "s1", state)
            before, begun = own.processor_s(), time.monotonic()
            time.sleep(0.5)
            # An idle switch takes a few thousandths; one that spins takes all.
            assert own.processor_s() - before < (time.monotonic() - begun) / 2, state
        wait_until(lambda: own.port(1)["has_link"], "the port is up")
        assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_interface_made_again_is_followed(bed, tmp_path, back_end):
    with switch(bed, tmp_path, PLAIN, back_end) as own:
        for _ in range(2):
            bed.ip(bed.middle, "link", "delete", "s1")
            wait_until(lambda: not own.port(1)["has_link"], "the port is down")
            bed.join(1)
            wait_until(lambda: own.port(1)["has_link"], "the port is up")
            assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
            assert bed.talk("udp", "6", "fd00::2", "fd00::1")["udp"] is True


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_interface_that_was_in_another_namespace_is_followed(bed, tmp_path, back_end):
    """It keeps its index, but the kernel has taken it from every socket."""
    elsewhere, middle = bed.elsewhere(), bed.middle
    with switch(bed, tmp_path, PLAIN, back_end) as own:
        for waits in (True, False):
            bed.ip(middle, "link", "set", "s1", "netns", str(elsewhere.keeper.pid))
            if waits:
                wait_until(lambda: not own.port(1)["has_link"], "the port is down")
            bed.ip(elsewhere, "link", "set", "s1", "netns", str(middle.keeper.pid))
            bed.ip(middle, "link", "set", "s1", "up")
            wait_until(lambda: own.port(1)["has_link"], "the port is up")
            wait_until(lambda: bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}, "frames pass")
    assert "has come back" not in (tmp_path / "log").read_text()


def test_one_that_is_replaced_at_once_is_followed(bed, tmp_path):
    """A script that deletes and makes it leaves no time in which there is none."""
    with switch(bed, tmp_path, PLAIN) as own:
        for _ in range(MANY):
            bed.ip(bed.middle, "link", "delete", "s1")
            bed.join(1)
        wait_until(lambda: own.port(1)["has_link"], "the port is up")
        wait_until(lambda: bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}, "frames pass")
        assert ask(own.control, "status")["switches"][0]["ports"][1]["has_link"]
