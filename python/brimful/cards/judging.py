"""What of an interface would falsify a test, and the command that mends it. Pure: facts in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brimful.cards.card import Card, Finding
from brimful.cards.processors import written_processors

_SMALLEST_FRAME_BITS = (64 + 20) * 8
"""On the wire, with preamble and gap."""
_USUAL_MTU = 1500
_REMEDIES = {
    "carries the address ": "ip address flush dev {name}",
    "is a port of ": "ip link set {name} nomaster",
    "carries the frames of ": "ip link delete {other}",
    "has a default route": "ip route delete default dev {name}",
}
"""By how an interface is used."""
_QUEUES_FIXED = {"vmxnet3"}
"""Drivers that say how many queues they have and take no other number: as many as there are processors."""
_MERGING = {"rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"}
"""Features by which a card makes one frame of several: the kernel's names, and those that ethtool takes."""


def judge(card: Card, processors: Sequence[int], chosen: Sequence[int] = ()) -> list[Finding]:
    """Give what matters for a test, the worst first.

    Parameters
    ----------
    card
        The interface.
    processors
        Those that the tester may run on.
    chosen
        Those that it was given: of each thread that sends, and at last of the one that receives; one for both.
    """
    found = [rule(card) for rule in _RULES]
    found += [_far_from_processors(card, processors), _interrupts_sender(card, chosen)]
    levels = ("prevents", "falsifies", "notice")
    return sorted((finding for finding in found if finding), key=lambda finding: levels.index(finding.level))


def back_end_of(cards: Sequence[Card]) -> tuple[str, str]:
    """Give the way into the kernel that the tester takes by itself on these interfaces, and what there is to say of it.

    It takes `xdp-native` where that works on all of them.
    """
    native = [back_end for card in cards for back_end in card.back_ends if back_end.name == "xdp-native"]
    obstacle = next((back_end.obstacle for back_end in native if not back_end.works), None)
    if obstacle is not None or not native:
        return "packet", obstacle or "nothing is known of xdp-native"
    modes = {"zero copy" if back_end.zero_copy else "copy" for back_end in native}
    without = [
        card.driver or card.interface for card, back_end in zip(cards, native, strict=True) if not back_end.zero_copy
    ]
    if not without:
        return "xdp-native", "AF_XDP, zero copy"
    return "xdp-native", f"AF_XDP, {' and '.join(sorted(modes))}: there is no zero copy with {_words(without)}"


def _in_use(card: Card) -> Finding | None:
    if card.used_for is None:
        return None
    remedy = next((remedy for words, remedy in _REMEDIES.items() if card.used_for.startswith(words)), None)
    command = remedy and remedy.format(name=card.interface, other=card.used_for.partition("`")[2].rstrip("`"))
    text = f"it {card.used_for}: take another one, or end that if it is not needed"
    return Finding("prevents", "in-use", text, command)


def _link(card: Card) -> Finding | None:
    if not card.is_up:
        return Finding("prevents", "down", "it is down", f"ip link set {card.interface} up")
    if not card.has_carrier:
        return Finding("prevents", "no-carrier", "it has no carrier: plug in its cable, or set the other end up")
    return None


def _no_way(card: Card) -> Finding | None:
    """Give what the tester says when it opens the interface, beside what stands in the other rules."""
    taken = next((each.obstacle for each in card.back_ends if each.is_taken), None)
    packet = next((each.obstacle for each in card.back_ends if each.name == "packet"), None)
    obstacle = taken or packet
    return None if obstacle is None or _link(card) is not None else Finding("prevents", "back-end", obstacle)


def _pause(card: Card) -> Finding | None:
    doings = [("stops for", card.obeys_pause), ("sends", card.sends_pause)]
    does = " and ".join(verb for verb, is_so in doings if is_so)
    if not does:
        return None
    text = f"it {does} pause frames: the device or the tester is slowed down, and what would be lost is not"
    return Finding("falsifies", "pause", text, f"ethtool -A {card.interface} autoneg off rx off tx off")


def _duplex(card: Card) -> Finding | None:
    if card.is_full_duplex is not False:
        return None
    text = "it does not send and receive at once (half duplex): collisions lose frames"
    return Finding("falsifies", "half-duplex", text, f"ethtool -s {card.interface} autoneg on")


def _merging(card: Card) -> Finding | None:
    on = [name for name in _MERGING if name in card.features and card.features[name].on]
    names = [_MERGING[name] for name in on if card.features[name].can_change]
    if not on:
        return None
    if not names:
        text = f"it may make one frame of several of a TCP connection, and {_words(on)} cannot be switched off"
        return Finding("notice", "merging", text)
    text = f"it makes one frame of several of a TCP connection ({_words(names)}): the others count as lost"
    off = " ".join(f"{name} off" for name in names)
    return Finding("falsifies", "merging", text, f"ethtool -K {card.interface} {off}")


def _merging_behind(card: Card) -> Finding | None:
    """Of frames that the card has counted, so that the tester misses those that it is not given."""
    merges = card.features.get("rx-gro")
    if merges is None or not (merges.on and merges.can_change):
        return None
    text = "the kernel makes one frame of several of a TCP connection (gro): trials with such frames are invalid"
    return Finding("notice", "gro", text, f"ethtool -K {card.interface} gro off")


def _bypass(card: Card) -> Finding | None:
    segments = card.features.get("tx-tcp-segmentation")
    if card.driver != "veth" or segments is None or not segments.on:
        return None
    text = "TSO is on at this end of a veth pair: the device runs within the tester's own calls, and loses nothing"
    return Finding("falsifies", "bypass", text, f"ethtool -K {card.interface} tso off")


def _virtual_function(card: Card) -> Finding | None:
    if card.function_of is None:
        return None
    text = "it is a virtual function: unless it is trusted, frames from and to other addresses than its own are dropped"
    return Finding("notice", "virtual-function", text, f"ip link set dev {card.function_of} trust on spoofchk off")


def _mtu(card: Card) -> Finding | None:
    if card.mtu >= _USUAL_MTU:
        return None
    text = f"its MTU is {card.mtu}: frames of more than {card.mtu + 18} bytes are refused"
    return Finding("notice", "mtu", text, f"ip link set {card.interface} mtu {_USUAL_MTU}")


def _queues(card: Card) -> Finding | None:
    receiving, combined = card.receiving_queues or 0, card.combined_queues or 0
    if receiving + combined < 2:
        return None
    text = (
        f"it has {receiving + combined} receive queues: xdp-native takes one for each thread that sends, and frames of"
        " different flows overtake each other and count as reordered"
    )
    if card.driver in _QUEUES_FIXED:
        return Finding("notice", "queues", f"{text}; its driver has no way to change that")
    which = "combined" if combined else "rx"
    return Finding("notice", "queues", text, f"ethtool -L {card.interface} {which} 1")


def _ring(card: Card) -> Finding | None:
    if card.ring is None or card.largest_ring is None or card.ring >= card.largest_ring:
        return None
    time = ""
    if card.speed_bps is not None:
        time = f", the smallest frames of {card.ring * _SMALLEST_FRAME_BITS / card.speed_bps * 1e6:.0f} us"
    text = f"a receive queue holds {card.ring} frames{time}: what finds no room makes a trial invalid"
    return Finding("notice", "ring", text, f"ethtool -G {card.interface} rx {card.largest_ring}")


def _interrupt_delay(card: Card) -> Finding | None:
    if not card.interrupt_delay_us and not card.adapts_interrupts:
        return None
    wait = "for a time that adapts itself" if card.adapts_interrupts else f"{card.interrupt_delay_us} us"
    adaptive = "adaptive-rx off " if card.adapts_interrupts else ""
    text = f"a frame that arrives may wait {wait} for an interrupt, which is part of its delay"
    return Finding("notice", "interrupt-delay", text, f"ethtool -C {card.interface} {adaptive}rx-usecs 0")


def _bus(card: Card) -> Finding | None:
    if card.bus_bps is None or card.speed_bps is None or card.bus_bps >= card.speed_bps:
        return None
    text = f"its place on the bus carries {card.bus_bps / 1e9:.3g} Gbit/s, less than its link: put it into a wider slot"
    return Finding("notice", "bus", text)


def _tags(card: Card) -> Finding | None:
    takes_off = card.features.get("rx-vlan-hw-parse")
    if takes_off is None or not takes_off.on or takes_off.can_change:
        return None
    return Finding("notice", "tags", "it always takes VLAN tags off frames: tests with tags take the back end packet")


def _ipv6(card: Card) -> Finding | None:
    if not card.has_ipv6:
        return None
    text = "the kernel sends IPv6 frames of its own on it, which the device forwards beside those of a test"
    return Finding("notice", "ipv6", text, f"sysctl -w net/ipv6/conf/{card.interface}/disable_ipv6=1")


def _far_from_processors(card: Card, processors: Sequence[int]) -> Finding | None:
    far = [number for number in processors if number not in card.node_processors]
    if card.numa_node is None or not card.node_processors or not far:
        return None
    text = f"it is on NUMA node {card.numa_node}, and processors {written_processors(far)} of the tester are not"
    busy = {number for interrupt in card.interrupts for number in interrupt.processors}
    near = sorted(card.node_processors, key=lambda number: number in busy)[:2]
    return Finding("notice", "numa", f"{text}: {_options(near)} has it run there")


def _interrupts_sender(card: Card, chosen: Sequence[int]) -> Finding | None:
    senders = chosen[:-1] or chosen
    at = [interrupt.number for interrupt in card.interrupts if set(senders) & set(interrupt.processors)]
    other = next((number for number in [*chosen[-1:], *card.node_processors] if number not in senders), None)
    if not at or other is None:
        return None
    text = f"its interrupts run on processors {written_processors(senders)}, where the tester sends: they make it late"
    numbers = " ".join(map(str, at))
    command = f"for n in {numbers}; do echo {other} >/proc/irq/$n/smp_affinity_list; done"
    return Finding("notice", "interrupts", text, command)


_RULES: tuple[Callable[[Card], Finding | None], ...] = (
    _in_use,
    _link,
    _no_way,
    _pause,
    _duplex,
    _merging,
    _merging_behind,
    _bypass,
    _virtual_function,
    _mtu,
    _queues,
    _ring,
    _interrupt_delay,
    _bus,
    _tags,
    _ipv6,
)


def _options(processors: Sequence[int]) -> str:
    return "`" + " ".join(f"--tester-option=--cpu={number}" for number in processors) + "`"


def _words(names: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(names))
