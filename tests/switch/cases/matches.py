"""Cases of matches: every field alone and with masks, under every kind of header, hit and missed."""

from cases import messages as of
from cases.fields import ARP, IPV4, IPV6, MASKABLE, PLACES, TCP, UDP
from cases.frames import build, changed, place, stack

OUTER = {"dst": 0x220000000099, "src": 0x120000000099}
UNDER_ETHERNET = ("ipv4", "ipv6", "arp")


def wrappings(one):
    """Give layers, and what table 0 does to them before table 1 matches: None where table 0 matches itself."""
    yield one.layers, None
    (first, *above), kind = one.layers, one.layer
    inner = above[0][0]
    if kind in ("eth", "vlan", "mpls", "pbb"):
        if kind == "eth" and one.field != "eth_type":
            yield [first, *stack("vlan"), *above], None
        return
    ether_type = {"ipv4": IPV4, "ipv6": IPV6, "arp": ARP}[inner]
    yield [first, *stack("vlan"), *above], None
    yield [first, *stack("service", "vlan"), *above], None
    yield [first, *stack("mpls"), *above], (of.pop_mpls(ether_type),)
    yield [first, *stack("mpls", "mpls"), *above], (of.pop_mpls(0x8847), of.pop_mpls(ether_type))
    yield [first, *stack(("pbb", OUTER)), *above], (of.POP_PBB,)
    yield [first, *stack("vlan", ("pbb", OUTER)), *above], (of.POP_PBB,)


def after(layers, actions):
    """Give the layers that leave when table 0 has popped."""
    if actions is None:
        return layers
    kinds = [kind for kind, _ in layers]
    if "pbb" in kinds:
        index = place(layers, "pbb")
        customer = {name: value for name, value in layers[index][1].items() if name in ("dst", "src")}
        # The type behind the I-TAG is that of what follows; tags in front of it stay.
        return [("eth", customer), *layers[1:index], *layers[index + 1 :]]
    return [layer for layer in layers if layer[0] != "mpls"]


def entries(one, actions, demands, *instructions):
    needs = _needed(one, demands)
    if actions is None:
        return [of.flow(*instructions, matching=needs)]
    first = of.flow(of.apply(*actions), of.goto(1))
    return [first, of.flow(*instructions, matching=needs, table=1)]


def _needed(one, demands):
    return (*one.needs, *demands)


def whole(one):
    """A field that has just its value."""
    for layers, actions in wrappings(one):
        layers = one.frame(one.value, layers)
        demands = [(one.field, one.shown(one.value))]
        yield from three(one, layers, actions, demands, one.other)


def three(one, layers, actions, demands, other):
    """The entry is met and sends on, is met and sends to the controller, is missed."""
    kinds = "/".join(kind for kind, _ in layers)
    name = f"{kinds}-->{demands}"
    out = build(after(layers, actions))
    met = entries(one, actions, demands, of.apply(of.output(2)))
    yield of.Case(f"{name}, output:2", met).sends(build(layers), (2, out))
    told = entries(one, actions, demands, of.apply(of.output(of.CONTROLLER)))
    yield of.Case(f"{name}, output:CONTROLLER", told).sends(build(layers), packet_in=out)
    missed = one.frame(other, layers)
    table = [0 if actions is None else 1]
    yield of.Case(f"{name}, missed by {other:#x}", met).sends(build(missed), table_miss=table)


def masks(bits):
    """Give masks of a field: prefixes of some lengths, single bits, bits here and there."""
    every = (1 << bits) - 1
    alternating = int("10" * ((bits + 1) // 2), 2) & every
    found = {every, every << bits // 2 & every, 1, 1 << bits - 1, alternating}
    return sorted(found)


def masked(one):
    """A field of which a mask's bits count: others may be anything, and none of the mask's may."""
    bits = 12 if one.field == "vlan_vid" else of.FIELDS[one.field][1]
    every = (1 << bits) - 1
    for layers, actions in list(wrappings(one))[:7:3]:
        for mask in masks(bits):
            shown = 0x1000 if one.field == "vlan_vid" else 0
            demands = [(one.field, one.value & mask | shown, mask | shown)]
            met = one.frame(one.value ^ (every & ~mask), layers)
            yield from three(one, met, actions, demands, one.value ^ (mask & -mask))


def tags():
    """What a match says of tags themselves (OF 1.3.5 table 13)."""
    untagged, tagged = stack("eth", "ipv4", "tcp"), stack("eth", ("vlan", {"vid": 7}), "ipv4", "tcp")
    double = stack("eth", ("service", {"vid": 9}), ("vlan", {"vid": 7}), "ipv4", "tcp")
    for text, demand, met in (
        ("none", ("vlan_vid", 0), [untagged]),
        ("any", ("vlan_vid", 0x1000, 0x1000), [tagged, double]),
        ("the outermost", ("vlan_vid", 0x1009), [double]),
        ("the id 7", ("vlan_vid", 0x1007), [tagged]),
    ):
        case = of.Case(f"a tag: {text}", [of.flow(of.apply(of.output(2)), matching=[demand])])
        for layers in (untagged, tagged, double):
            frame = build(layers)
            if layers in met:
                case.sends(frame, (2, frame))
            else:
                case.sends(frame, table_miss=[0])
        yield case


def pipeline_fields():
    """Fields that are not of the frame."""
    for layers in (stack("eth", name, "tcp") for name in ("ipv4", "ipv6")):
        frame = build(layers)
        entry = of.flow(of.apply(of.output(2)), matching=[("in_port", 1)])
        yield of.Case("in_port=1", [entry]).sends(frame, (2, frame))
        entry = of.flow(of.apply(of.output(2)), matching=[("in_port", 3)])
        yield of.Case("in_port=3", [entry]).sends(frame, table_miss=[0])
        entry = of.flow(of.apply(of.output(2)), matching=[("in_port", 1), ("in_phy_port", 1)])
        yield of.Case("in_phy_port=1", [entry]).sends(frame, (2, frame))
        for name in ("metadata", "tunnel_id"):
            for value in (12345, 0xFEDC_BA98_7654_3210):
                yield from _given(name, value, frame)


def _given(name, value, frame):
    def first(given):
        if name == "metadata":
            return of.flow(of.write_metadata(given), of.goto(1))
        return of.flow(of.apply(of.set_field(name, given)), of.goto(1))

    every = 2**64 - 1
    for mask in (None, *masks(64)):
        demand = (name, value) if mask is None else (name, value & mask, mask)
        last = of.flow(of.apply(of.output(2)), matching=[demand], table=1)
        count = every if mask is None else mask
        met, missed = value ^ (every & ~count), value ^ (count & -count)
        yield of.Case(f"{demand} met by {met:#x}", [first(met), last]).sends(frame, (2, frame))
        yield of.Case(f"{demand} missed by {missed:#x}", [first(missed), last]).sends(frame, table_miss=[1])


EXTENSIONS = {
    # What stands in a frame, and the bits of OFPIEH_* (OF 1.3.5 section 7.2.3.7).
    (): 0,
    ("none",): 0x01,
    ("esp",): 0x02,
    ("auth",): 0x04,
    ("destination",): 0x08,
    ("fragment",): 0x10,
    ("route",): 0x20,
    ("hop",): 0x40,
    ("hop", "auth"): 0x44,
    ("hop", "destination", "route", "fragment", "auth"): 0x7C,
    ("hop", "route", "destination"): 0x68,
    ("hop", "hop"): 0xC0,
    ("auth", "hop"): 0x144,
    ("route", "hop", "hop"): 0x1E0,
}


def extension_headers():
    """Extension headers of IPv6, and what lies behind them."""
    for kinds, bits in EXTENSIONS.items():
        last = () if kinds[-1:] in (("none",), ("esp",)) else ("tcp",)
        for outer in ((), ("vlan",)):
            frame = build(stack("eth", *outer, "ipv6", *kinds, *last))
            for mask in (None, 0x1FF, bits & -bits):
                demand = ("ipv6_exthdr", bits) if mask is None else ("ipv6_exthdr", bits & mask, mask)
                entry = of.flow(of.apply(of.output(2)), matching=[("eth_type", IPV6), demand])
                yield of.Case(f"{kinds}-->{demand}", [entry]).sends(frame, (2, frame))
            entry = of.flow(of.apply(of.output(2)), matching=[("eth_type", IPV6), ("ipv6_exthdr", bits ^ 0x40)])
            yield of.Case(f"{kinds}, missed", [entry]).sends(frame, table_miss=[0])
        if last:
            demand = [("eth_type", IPV6), ("ip_proto", TCP), ("tcp_dst", 2222)]
            frame = build(stack("eth", "ipv6", *kinds, "tcp"))
            yield of.Case(f"tcp behind {kinds}", [of.flow(of.apply(of.output(2)), matching=demand)]).sends(
                frame, (2, frame)
            )


def fragments():
    """Later fragments have no ports, but all of IP (OF 1.3.5 section 5.3)."""
    for offset, meets in ((0, True), (0x2000, True), (0x2005, False), (5, False)):
        layers = changed(stack("eth", "ipv4", "udp"), 1, fragment=offset)
        frame, ports = build(layers), [("eth_type", IPV4), ("ip_proto", UDP), ("udp_dst", 2222)]
        case = of.Case(f"ports of the fragment {offset:#x}", [of.flow(of.apply(of.output(2)), matching=ports)])
        yield case.sends(frame, (2, frame)) if meets else case.sends(frame, table_miss=[0])
        addressed = [of.flow(of.apply(of.output(2)), matching=[*ports[:2], ("ipv4_dst", 0xC0A81414)])]
        yield of.Case(f"addresses of the fragment {offset:#x}", addressed).sends(frame, (2, frame))
    options = changed(stack("eth", "ipv4", "udp"), 1, options=b"\x01" * 8)
    entry = of.flow(of.apply(of.output(2)), matching=ports)
    yield of.Case("ports behind options", [entry]).sends(build(options), (2, build(options)))


def cases():
    for one in PLACES:
        yield from whole(one)
        if one.field in MASKABLE:
            yield from masked(one)
    yield from tags()
    yield from pipeline_fields()
    yield from extension_headers()
    yield from fragments()
