"""What is said of a card, and the command that mends it."""

import pytest
from brimful.cards.card import Interrupt
from brimful.cards.judging import back_end_of, judge
from brimful.measurers.back_ends import BackEnd
from cards_support import CLEAN, FIXED, NATIVE, OFF, ON, PACKET, changed, with_features

FAULTS = {
    "down": (changed(is_up=False, has_carrier=False), "prevents", "ip link set eth1 up"),
    "no-carrier": (changed(has_carrier=False), "prevents", None),
    "in-use by an address": (
        changed(used_for="carries the address 192.0.2.1"),
        "prevents",
        "ip address flush dev eth1",
    ),
    "in-use by a bridge": (changed(used_for="is a port of `br0`"), "prevents", "ip link set eth1 nomaster"),
    "in-use by a VLAN": (changed(used_for="carries the frames of `eth1.7`"), "prevents", "ip link delete eth1.7"),
    "in-use by a route": (changed(used_for="has a default route"), "prevents", "ip route delete default dev eth1"),
    "in-use in another way": (changed(used_for="is needed"), "prevents", None),
    "back-end": (changed(back_ends=[BackEnd("packet", works=False, obstacle="no permission")]), "prevents", None),
    "back-end taken": (
        changed(back_ends=[PACKET, BackEnd("xdp-native", works=False, obstacle="another program", is_taken=True)]),
        "prevents",
        None,
    ),
    "pause": (changed(obeys_pause=True), "falsifies", "ethtool -A eth1 autoneg off rx off tx off"),
    "pause that is sent": (changed(sends_pause=True), "falsifies", "ethtool -A eth1 autoneg off rx off tx off"),
    "half-duplex": (changed(is_full_duplex=False), "falsifies", "ethtool -s eth1 autoneg on"),
    "merging by lro": (with_features(rx_lro=ON), "falsifies", "ethtool -K eth1 lro off"),
    "merging by both": (
        with_features(rx_lro=ON, rx_gro_hw=ON),
        "falsifies",
        "ethtool -K eth1 lro off rx-gro-hw off",
    ),
    "merging for ever": (with_features(rx_gro_hw=FIXED), "notice", None),
    "gro": (with_features(rx_gro=ON), "notice", "ethtool -K eth1 gro off"),
    "bypass": (changed(driver="veth"), "falsifies", "ethtool -K eth1 tso off"),
    "virtual-function": (
        changed(function_of="eth0 vf 3"),
        "notice",
        "ip link set dev eth0 vf 3 trust on spoofchk off",
    ),
    "mtu": (changed(mtu=1400), "notice", "ip link set eth1 mtu 1500"),
    "queues": (changed(combined_queues=4), "notice", "ethtool -L eth1 combined 1"),
    "queues that receive alone": (
        changed(combined_queues=0, receiving_queues=2),
        "notice",
        "ethtool -L eth1 rx 1",
    ),
    "queues for ever": (changed(driver="vmxnet3", combined_queues=2), "notice", None),
    "ring": (changed(ring=256), "notice", "ethtool -G eth1 rx 4096"),
    "interrupt-delay": (changed(interrupt_delay_us=50), "notice", "ethtool -C eth1 rx-usecs 0"),
    "interrupt-delay that adapts": (
        changed(interrupt_delay_us=50, adapts_interrupts=True),
        "notice",
        "ethtool -C eth1 adaptive-rx off rx-usecs 0",
    ),
    "bus": (changed(bus_bps=500_000_000), "notice", None),
    "tags": (with_features(rx_vlan_hw_parse=FIXED), "notice", None),
    "ipv6": (changed(has_ipv6=True), "notice", "sysctl -w net/ipv6/conf/eth1/disable_ipv6=1"),
}


def test_of_a_clean_card_there_is_nothing_to_say():
    assert judge(CLEAN, [8, 9], [8, 9]) == []


@pytest.mark.parametrize(("what", "row"), FAULTS.items(), ids=list(FAULTS))
def test_each_fault_is_found_by_itself_with_the_command_that_mends_it(what, row):
    card, level, command = row
    (finding,) = judge(card, [8, 9], [8, 9])
    assert (finding.level, finding.code, finding.command) == (level, what.split()[0], command)


def test_what_a_driver_does_not_report_is_no_fault():
    facts = ["speed_bps", "is_full_duplex", "receiving_queues", "combined_queues", "ring", "largest_ring"]
    facts += ["obeys_pause", "sends_pause", "interrupt_delay_us", "adapts_interrupts", "numa_node", "bus_bps"]
    assert judge(changed(**dict.fromkeys(facts), features={}, interrupts=[]), [0], [0]) == []


def test_the_worst_comes_first():
    card = changed(mtu=1400, obeys_pause=True, used_for="has a default route")
    assert [finding.code for finding in judge(card, [8])] == ["in-use", "pause", "mtu"]


def test_processors_of_another_node_are_named_with_those_that_are_free_of_interrupts():
    (finding,) = judge(CLEAN, [0, 1, 2, 8])
    assert finding.code == "numa"
    assert "processors 0-2 of the tester are not" in finding.text
    assert "`--tester-option=--cpu=8 --tester-option=--cpu=9`" in finding.text


def test_interrupts_go_where_the_tester_does_not_send():
    card = changed(interrupts=[Interrupt(40, [8]), Interrupt(41, [8]), Interrupt(42, [9])])
    (finding,) = judge(card, [8, 9], [8, 9])
    assert finding.command == "for n in 40 41; do echo 9 >/proc/irq/$n/smp_affinity_list; done"
    (finding,) = judge(card, [8], [8])
    assert "echo 9 >" in (finding.command or "")
    assert judge(card, [8, 9]) == []
    (finding,) = judge(card, [8, 9, 10], [8, 9, 10])
    assert finding.command == "for n in 40 41 42; do echo 10 >/proc/irq/$n/smp_affinity_list; done"


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        ([[NATIVE], [NATIVE]], ("xdp-native", "AF_XDP, copy: there is no zero copy with igb")),
        ([[BackEnd("xdp-native", works=True, obstacle=None, zero_copy=True)]], ("xdp-native", "AF_XDP, zero copy")),
        (
            [[BackEnd("xdp-native", works=True, obstacle=None, zero_copy=True)], [NATIVE]],
            ("xdp-native", "AF_XDP, copy and zero copy: there is no zero copy with igb"),
        ),
        ([[NATIVE], [PACKET, BackEnd("xdp-native", works=False, obstacle="why")]], ("packet", "why")),
        ([[PACKET]], ("packet", "nothing is known of xdp-native")),
    ],
)
def test_the_way_that_all_can_go_is_taken(cards, expected):
    assert back_end_of([changed(back_ends=back_ends) for back_ends in cards]) == expected


def test_features_that_are_off_are_no_fault():
    assert judge(with_features(rx_lro=OFF, rx_gro=OFF, rx_gro_hw=OFF), [8]) == []
