"""`lab:program,xdp=FILE`: XDP programs from an object file forward, or stand in front of what does."""

import json
import re
from pathlib import Path

import pytest
from bpf_object import XDP_DROP, XDP_PASS, same_for_all, to_the_other, write_xdp_object
from brimful.errors import MeasureError, UsageError
from brimful.lab import health, open_lab
from lab_support import cross, wait_until

BRIDGE = "ip link show br0 || { ip link add br0 type bridge mcast_snooping 0 && ip link set br0 addrgenmode none up; }"
JOIN = f"{BRIDGE}; for port in {{a}} {{b}}; do ip link set $port master br0; done"


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def open_with(options, **arguments):
    try:
        return open_lab(f"program,{options}", **arguments)
    except MeasureError as error:
        if "Operation not permitted" in str(error):
            pytest.skip("no permission to attach an XDP program")
        raise


def interfaces(lab):
    shown = json.loads(lab._programs.namespace.run(["ip", "-json", "-details", "link", "show"]))
    return {link["ifname"]: link for link in shown}


def test_a_program_forwards_by_itself(own_interfaces):
    with open_lab("bridge") as lab:
        # A namespace that is made anew counts its interfaces anew.
        numbers = tuple(interfaces(lab)[port]["ifindex"] for port in lab._settings.ports)
    write_xdp_object(Path("my forward.o"), to_the_other(numbers))
    with open_with("xdp=my forward.o") as lab:
        assert all(seen["in_order"] for seen in cross(lab).values())
        described = lab.describe()
        assert (described["xdp"], described["section"], described["input"]) == ("my forward.o", "xdp", lab.input.value)


def test_it_stands_in_front_of_a_command_and_is_attached_anew_with_it(own_interfaces):
    write_xdp_object(Path("pass.o"), same_for_all(XDP_PASS), "mine/pass")
    with open_with(f"xdp=pass.o,section=mine/pass,restart=trial,run={JOIN}") as lab:
        first = [interfaces(lab)[port]["xdp"]["prog"]["id"] for port in lab._settings.ports]
        forwarder = lab._settings.forwarder
        forwarder.renew()
        wait_until(lambda: forwarder._code() == 0, "it is attached again")
        assert all(seen["in_order"] for seen in cross(lab).values())
        second = [interfaces(lab)[port]["xdp"]["prog"]["id"] for port in lab._settings.ports]
        assert set(first).isdisjoint(second)


def test_what_it_drops_does_not_pass(own_interfaces, monkeypatch):
    monkeypatch.setattr(health, "_PATIENCE_S", 0.5)
    write_xdp_object(Path("drop.o"), same_for_all(XDP_DROP))
    with pytest.raises(MeasureError, match=r"no frame came through from ta to tb"):
        open_with(f"xdp=drop.o,run={JOIN}").close()


def test_a_section_that_is_not_there_is_named(own_interfaces):
    write_xdp_object(Path("pass.o"), same_for_all(XDP_PASS))
    with pytest.raises(MeasureError, match=r"^lab:program does not work: .*it said: .*doesn't contain sec other"):
        open_lab("program,xdp=pass.o,section=other")


def test_a_file_that_is_not_there_is_refused_before_anything_is_made(state_directory):
    with pytest.raises(UsageError, match=re.escape("lab:program: xdp=none.o: there is no such file")):
        open_lab("program,xdp=none.o")
    assert not state_directory.exists() or list(state_directory.iterdir()) == []
