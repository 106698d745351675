"""Match fields: in which frames each lies, and what a match on it needs."""

import ipaddress
from dataclasses import dataclass

from cases.frames import changed, place, stack

IPV4, IPV6, ARP, MPLS, PBB = 0x0800, 0x86DD, 0x0806, 0x8847, 0x88E7
TCP, UDP, SCTP, ICMPV4, ICMPV6 = 6, 17, 132, 1, 58
NEIGHBOUR = int("fe80" + "0" * 26 + "42", 16)
SOLICITATION = ("icmpv6", {"type": 135, "target": NEIGHBOUR, "sll": 0x0A0B0C0D0E0F})
ADVERTISEMENT = ("icmpv6", {"type": 136, "target": NEIGHBOUR, "tll": 0x0A0B0C0D0E0F})
ALL_IP = (("ipv4", IPV4), ("ipv6", IPV6))


@dataclass
class Place:
    """A match field in one kind of frame."""

    field: str
    layers: list
    layer: str
    attribute: str
    value: int
    other: int
    needs: tuple = ()
    masks: tuple = ()

    def frame(self, value, layers=None):
        """Give the layers with a value in the field."""
        layers = self.layers if layers is None else layers
        index = place(layers, self.layer)
        return changed(layers, index, **{self.attribute: value})

    def shown(self, value):
        """Give the value as a match has it."""
        return value | 0x1000 if self.field == "vlan_vid" else value


def _ethernet():
    inner = (["ipv4", "tcp"], ["ipv6", "tcp"], ["arp"])
    for above in inner:
        layers = stack("eth", *above)
        yield Place("eth_dst", layers, "eth", "dst", 0x220000000001, 0x220000000041)
        yield Place("eth_src", layers, "eth", "src", 0x120000000011, 0x120000000051)
        tagged = stack("eth", ("vlan", {"vid": 100, "pcp": 3}), *above)
        yield Place("vlan_vid", tagged, "vlan", "vid", 100, 203)
        yield Place("vlan_pcp", tagged, "vlan", "pcp", 3, 5, needs=(("vlan_vid", 0x1000 | 100),))
        label = stack("eth", ("mpls", {"label": 100, "tc": 3}), *above)
        yield Place("mpls_label", label, "mpls", "label", 100, 203, needs=(("eth_type", MPLS),))
        yield Place("mpls_tc", label, "mpls", "tc", 3, 5, needs=(("eth_type", MPLS),))
        yield Place("mpls_bos", label, "mpls", "bos", 1, 0, needs=(("eth_type", MPLS),))
        backbone = stack("eth", ("pbb", {"isid": 100, "pcp": 3}), *above)
        yield Place("pbb_isid", backbone, "pbb", "isid", 100, 203, needs=(("eth_type", PBB),))
    yield Place("eth_type", stack("eth", "ipv4", "tcp"), "eth", "type", IPV4, 0x88B5)
    yield Place("eth_type", stack("eth", "ipv6", "tcp"), "eth", "type", IPV6, 0x88B5)
    yield Place("eth_type", stack("eth", "arp"), "eth", "type", ARP, 0x88B5)
    yield Place("eth_type", stack("eth", "vlan", "ipv4", "tcp"), "vlan", "type", IPV4, 0x88B5)


def _network():
    for name, ether_type in ALL_IP:
        needs = (("eth_type", ether_type),)
        layers = stack("eth", name, "tcp")
        yield Place("ip_dscp", layers, name, "dscp", 8, 16, needs)
        yield Place("ip_ecn", layers, name, "ecn", 1, 2, needs)
        yield Place("ip_proto", layers, name, "proto", TCP, UDP, needs)
    needs = (("eth_type", IPV4),)
    layers = stack("eth", "ipv4", "tcp")
    yield Place("ipv4_src", layers, "ipv4", "src", 0xC0A80A0A, 0x0A141E28, needs)
    yield Place("ipv4_dst", layers, "ipv4", "dst", 0xC0A81414, 0x0A141E28, needs)
    needs = (("eth_type", IPV6),)
    layers = stack("eth", "ipv6", "tcp")
    source, receiver, other = (int(ipaddress.ip_address(text)) for text in ("10::10", "20::20", "55::aaaa:1"))
    yield Place("ipv6_src", layers, "ipv6", "src", source, other, needs)
    yield Place("ipv6_dst", layers, "ipv6", "dst", receiver, other, needs)
    yield Place("ipv6_flabel", layers, "ipv6", "label", 100, 203, needs)


def _arp():
    needs, layers = (("eth_type", ARP),), stack("eth", "arp")
    yield Place("arp_op", layers, "arp", "op", 1, 2, needs)
    yield Place("arp_spa", layers, "arp", "spa", 0xC0A80001, 0x0A000002, needs)
    yield Place("arp_tpa", layers, "arp", "tpa", 0xC0A80002, 0x0A000003, needs)
    yield Place("arp_sha", layers, "arp", "sha", 0x120000000011, 0x320000000051, needs)
    yield Place("arp_tha", layers, "arp", "tha", 0x220000000022, 0x420000000061, needs)


def _transport():
    for name, ether_type in ALL_IP:
        for protocol, number in (("tcp", TCP), ("udp", UDP), ("sctp", SCTP)):
            needs = (("eth_type", ether_type), ("ip_proto", number))
            layers = stack("eth", name, protocol)
            yield Place(f"{protocol}_src", layers, protocol, "src", 11111, 22222, needs)
            yield Place(f"{protocol}_dst", layers, protocol, "dst", 2222, 3333, needs)
    needs = (("eth_type", IPV4), ("ip_proto", ICMPV4))
    layers = stack("eth", "ipv4", "icmpv4")
    yield Place("icmpv4_type", layers, "icmpv4", "type", 8, 13, needs)
    yield Place("icmpv4_code", layers, "icmpv4", "code", 0, 5, needs)
    needs = (("eth_type", IPV6), ("ip_proto", ICMPV6))
    layers = stack("eth", "ipv6", "icmpv6")
    yield Place("icmpv6_type", layers, "icmpv6", "type", 128, 129, needs)
    yield Place("icmpv6_code", layers, "icmpv6", "code", 0, 5, needs)
    for message, number, option in ((SOLICITATION, 135, "sll"), (ADVERTISEMENT, 136, "tll")):
        layers = stack("eth", "ipv6", message)
        typed = (*needs, ("icmpv6_type", number))
        yield Place("ipv6_nd_target", layers, "icmpv6", "target", NEIGHBOUR, NEIGHBOUR + 1, typed)
        yield Place(f"ipv6_nd_{option}", layers, "icmpv6", option, 0x0A0B0C0D0E0F, 0x0A0B0C0D0E10, typed)


PLACES = [*_ethernet(), *_network(), *_arp(), *_transport()]
MASKABLE = {
    "eth_dst", "eth_src", "vlan_vid", "ipv4_src", "ipv4_dst", "arp_spa", "arp_tpa", "arp_sha", "arp_tha", "ipv6_src",
    "ipv6_dst", "ipv6_flabel", "pbb_isid",
}  # fmt: skip
"""Fields of frames that a mask may go with (OF 1.3.5 section 7.2.3.7)."""
