"""What is read of a card: of a machine made of files, and of interfaces of the kernel."""

import re
import shutil
import subprocess
import sys

import pytest
from brimful.cards import reading
from brimful.cards.card import Interrupt
from brimful.cards.ethtool import Interface
from brimful.cards.processors import read_processors, written_processors
from brimful.cards.reading import read_card
from brimful.errors import UsageError
from brimful.lab import permitted
from hypothesis import given
from hypothesis import strategies as st

BUS = "0000:03:00.1"
DEVICE = f"sys/bus/pci/devices/{BUS}"
MACHINE = {
    f"{DEVICE}/numa_node": "1\n",
    f"{DEVICE}/current_link_speed": "8.0 GT/s PCIe\n",
    f"{DEVICE}/current_link_width": "4\n",
    f"{DEVICE}/msi_irqs/40": "msix\n",
    f"{DEVICE}/msi_irqs/9": "msix\n",
    f"{DEVICE}/msi_irqs/41": "msix\n",
    "proc/irq/40/effective_affinity_list": "10\n",
    "proc/irq/40/smp_affinity_list": "8-11\n",
    "proc/irq/9/effective_affinity_list": "\n",
    "proc/irq/9/smp_affinity_list": "8-9,12\n",
    "sys/devices/system/node/node1/cpulist": "8-15\n",
    "proc/sys/net/ipv6/conf/eth1/disable_ipv6": "0\n",
}


class Answers(Interface):
    """A driver that answers everything."""

    bus = BUS

    def _request(self, what, data=b""):
        raise OSError

    def mtu(self):
        return 9000

    def state(self):
        return True, True

    def driver(self):
        return "ixgbe", self.bus

    def link(self):
        return 10_000_000_000, True

    def channels(self):
        return 0, 4

    def rings(self):
        return 512, 4096


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "Interface", Answers)
    for path, text in MACHINE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_card_is_found_by_its_place_on_the_bus(machine):
    card = read_card("eth1", machine)
    assert (card.numa_node, card.node_processors) == (1, [*range(8, 16)])
    assert card.interrupts == [Interrupt(9, [8, 9, 12]), Interrupt(40, [10])]
    assert card.bus_bps == 31_520_000_000
    assert (card.speed_bps, card.ring, card.largest_ring, card.combined_queues) == (10_000_000_000, 512, 4096, 4)
    assert (card.has_ipv6, card.function_of) == (True, None)
    assert (card.obeys_pause, card.features, card.hardware_clock) == (None, {}, None)


def test_a_virtual_function_is_known_by_the_card_that_it_is_part_of(machine):
    physical = machine / "sys/bus/pci/devices/0000:03:00.0"
    physical.mkdir()
    (machine / DEVICE / "physfn").symlink_to(physical)
    assert read_card("eth1", machine).function_of is None
    (physical / "virtfn2").symlink_to(machine / DEVICE)
    assert read_card("eth1", machine).function_of == "CARD vf 2"
    (physical / "net/enp3s0").mkdir(parents=True)
    assert read_card("eth1", machine).function_of == "enp3s0 vf 2"


@pytest.mark.parametrize("text", ["", "nonsense", "-1", "\xff"])
def test_files_that_say_nothing_are_no_fault(machine, text):
    for path in MACHINE:
        if not path.startswith("proc/sys"):
            (machine / path).write_bytes(text.encode("latin-1"))
    card = read_card("eth1", machine)
    assert (card.numa_node, card.node_processors, card.interrupts, card.bus_bps) == (None, [], [], None)


@pytest.mark.parametrize("bus", ["", "tap"])
def test_software_has_no_speed(machine, monkeypatch, bus):
    monkeypatch.setattr(Answers, "bus", bus)
    card = read_card("eth1", machine)
    assert (card.speed_bps, card.is_full_duplex, card.numa_node) == (None, None, None)


@given(st.sets(st.integers(0, 300)))
def test_lists_of_processors_are_read_as_they_are_written(numbers):
    assert read_processors(written_processors(numbers)) == sorted(numbers)


@pytest.mark.parametrize("name", ["brimful-absent", "a-name-that-is-too-long-for-any", "", "nul\0inside"])
def test_an_interface_that_is_not_there_is_a_mistake_in_the_arguments(name):
    with pytest.raises(UsageError, match=r"there is no interface `.*; `ip link` lists them"):
        read_card(name)


def test_loopback_is_up():
    card = read_card("lo")
    assert (card.mtu, card.driver, card.speed_bps) == (65536, "", None)
    assert card.features["rx-gro"].can_change


SAID = """
from brimful.cards.ethtool import Interface
with Interface("ta") as ta:
    print(ta.features(), ta.channels(), ta.driver(), ta.mtu(), ta.state(), sep="\\n")
"""


def test_the_program_ethtool_says_the_same():
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    program = shutil.which("ethtool") or shutil.which("/usr/sbin/ethtool")
    if program is None:
        pytest.skip("ethtool is not installed")
    script = (
        "set -e; ip link add ta numrxqueues 3 numtxqueues 2 mtu 1400 type veth peer name tb;"
        f" {program} -K ta gro on rx off; '{sys.executable}' -c '{SAID}'; echo; {program} -k ta; {program} -l ta"
    )
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=True)
    ours, theirs = done.stdout.split("\n\n", 1)
    features, channels, driver, mtu, state = map(eval, ours.splitlines())
    stated = re.findall(r"^\t*([\w-]+): (on|off)(?: \[(fixed|.*)\])?$", theirs, re.MULTILINE)
    names = {
        "generic-receive-offload": "rx-gro",
        "large-receive-offload": "rx-lro",
        "rx-vlan-offload": "rx-vlan-hw-parse",
    }
    known = {names.get(name, name): (value == "on", remark != "fixed") for name, value, remark in stated}
    assert len(features) > 40
    assert {"rx-gro", "rx-lro", "rx-vlan-hw-parse"} <= known.keys()
    assert {name: fact for name, fact in features.items() if known.get(name, fact) != fact} == {}
    received = re.findall(r"^RX:\s+(\d+)", theirs, re.MULTILINE)
    assert channels == (int(received[-1]), 0)
    assert (driver, mtu, state) == (("veth", ""), 1400, (False, False))
