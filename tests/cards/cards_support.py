"""A card that nothing is to be said of, to be changed by each test."""

import msgspec
from brimful.cards.card import Card, Feature, Interrupt
from brimful.measurers.back_ends import BackEnd

ON, OFF, FIXED = (
    Feature(on=True, can_change=True),
    Feature(on=False, can_change=True),
    Feature(on=True, can_change=False),
)
NATIVE = BackEnd(name="xdp-native", works=True, obstacle=None)
PACKET = BackEnd(name="packet", works=True, obstacle=None)
CLEAN = Card(
    interface="eth1",
    driver="igb",
    bus="0000:03:00.0",
    is_up=True,
    has_carrier=True,
    mtu=1500,
    speed_bps=1_000_000_000,
    is_full_duplex=True,
    receiving_queues=0,
    combined_queues=1,
    ring=4096,
    largest_ring=4096,
    obeys_pause=False,
    sends_pause=False,
    interrupt_delay_us=0,
    adapts_interrupts=False,
    features={
        "rx-gro": OFF,
        "rx-gro-hw": OFF,
        "rx-lro": OFF,
        "rx-vlan-hw-parse": ON,
        "tx-tcp-segmentation": ON,
    },
    hardware_clock=0,
    numa_node=1,
    node_processors=[8, 9, 10, 11],
    interrupts=[Interrupt(40, [10]), Interrupt(41, [11])],
    bus_bps=4_000_000_000,
    back_ends=[PACKET, NATIVE],
)


def changed(**facts: object) -> Card:
    """Give the card with other facts."""
    return msgspec.structs.replace(CLEAN, **facts)


def with_features(**features: Feature) -> Card:
    """Give the card with other features, by their names with `_` for `-`."""
    given = {name.replace("_", "-"): feature for name, feature in features.items()}
    return changed(features=CLEAN.features | given)
