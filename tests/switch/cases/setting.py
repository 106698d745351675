"""Cases of set-field and of times to live: every field that can be set, by actions at once and by the action set."""

from cases import messages as of
from cases.fields import IPV4, IPV6, MPLS, PLACES, TCP, UDP
from cases.frames import build, changed, place, stack
from cases.matches import after, wrappings

TYPES = {"eth_type", "ip_proto", "icmpv6_type"}
"""Fields that say what another one is."""


def set_fields():
    for one in PLACES:
        for wrapped, actions in wrappings(one):
            layers = one.frame(one.value, wrapped)
            for value in (one.other, one.value):
                demands = [(one.field, one.shown(one.value))]
                set_it = of.set_field(one.field, one.shown(value))
                expected = build(one.frame(value, after(layers, actions)))
                yield from _both_ways(one, layers, actions, demands, set_it, expected)


def _both_ways(one, layers, actions, demands, set_it, expected):
    kinds = "/".join(kind for kind, _ in layers)
    name = f"{kinds}-->{demands}, set_field {set_it.hex()}"
    needs = (*one.needs, *demands)
    for text, instruction in (
        ("at once", of.apply(set_it, of.output(2))),
        ("at the end", of.write(of.output(2), set_it)),
    ):
        table = 0 if actions is None else 1
        entries = [of.flow(instruction, matching=needs, table=table)]
        if actions is not None:
            entries.insert(0, of.flow(of.apply(*actions), of.goto(1)))
        yield of.Case(f"{name} {text}", entries).sends(build(layers), (2, expected))


def matched_after():
    """What was set is what the next table matches."""
    for one in PLACES:
        if one.field in TYPES:
            continue
        needs = one.needs
        given = of.flow(of.apply(of.set_field(one.field, one.shown(one.other))), of.goto(1), matching=needs)
        met = of.flow(of.apply(of.output(2)), matching=(*needs, (one.field, one.shown(one.other))), table=1)
        case = of.Case(f"{one.field} set and then matched in {one.layers}", [given, met])
        yield case.sends(build(one.layers), (2, build(one.frame(one.other))))


def checksums():
    """Sums that are not there stay away, and a sum of 0 is written as all ones (RFC 768)."""
    without = stack("eth", "ipv4", ("udp", {"has_sum": False}))
    for field, kind, attribute, value in (
        ("udp_src", "udp", "src", 9),
        ("ipv4_src", "ipv4", "src", 0x0A000001),
        ("ip_dscp", "ipv4", "dscp", 9),
    ):
        entry = _set(field, value, [("eth_type", IPV4), ("ip_proto", UDP)])
        expected = changed(without, place(without, kind), **{attribute: value})
        yield of.Case(f"no sum of UDP, set {field}", [entry]).sends(build(without), (2, build(expected)))
    for name, ether_type in (("ipv4", IPV4), ("ipv6", IPV6)):
        layers = stack("eth", name, "udp")
        for port in range(65536):
            out = build(changed(layers, 2, dst=port))
            at = len(out) - len(build([])) - 2
            if out[at : at + 2] == b"\xff\xff":
                break
        entry = _set("udp_dst", port, [("eth_type", ether_type), ("ip_proto", UDP)])
        yield of.Case(f"a sum of 0 over {name}", [entry]).sends(build(layers), (2, out))
    layers = stack("eth", "ipv6", "hop", "tcp")
    for field, kind, attribute, value in (("tcp_dst", "tcp", "dst", 9), ("ipv6_src", "ipv6", "src", 77)):
        entry = _set(field, value, [("eth_type", IPV6), ("ip_proto", TCP)])
        expected = build(changed(layers, place(layers, kind), **{attribute: value}))
        yield of.Case(f"{field} behind an extension header", [entry]).sends(build(layers), (2, expected))


def _set(field, value, demands):
    return of.flow(of.apply(of.set_field(field, value), of.output(2)), matching=demands)


def missing_fields():
    """A write of what a frame does not have changes nothing: a group's bucket knows no match."""
    for layers, field, value in (
        (stack("eth", "arp"), "ipv4_src", 5),
        (stack("eth", "ipv4", "tcp"), "udp_src", 5),
        (stack("eth", "ipv4", "tcp"), "vlan_vid", 0x1005),
        (stack("eth", "ipv6", "tcp"), "mpls_label", 5),
        (changed(stack("eth", "ipv4", "udp"), 1, fragment=5), "udp_dst", 5),
    ):
        group = of.group_mod(1, of.INDIRECT, of.bucket(of.set_field(field, value), of.output(2)))
        frame = build(layers)
        case = of.Case(f"{field} set where there is none: {layers}", [group, of.flow(of.apply(of.group(1)))])
        yield case.sends(frame, (2, frame))


def times_to_live():
    for name, ether_type in (("ipv4", IPV4), ("ipv6", IPV6)):
        for outer in ((), ("vlan",), ("service", "vlan")):
            layers = stack("eth", *outer, name, "tcp")
            at = place(layers, name)
            for action, before, left in (
                (of.set_nw_ttl(32), 64, 32),
                (of.set_nw_ttl(0), 64, 0),
                (of.set_nw_ttl(255), 1, 255),
                (of.DEC_NW_TTL, 64, 63),
                (of.DEC_NW_TTL, 2, 1),
                (of.DEC_NW_TTL, 255, 254),
                (of.DEC_NW_TTL, 1, None),
                (of.DEC_NW_TTL, 0, None),
            ):
                entry = [("eth_type", ether_type)]
                given, expected = changed(layers, at, ttl=before), changed(layers, at, ttl=left)
                yield from _ttl(entry, action, given, None if left is None else expected)
    for inner in (["ipv4", "tcp"], ["ipv6", "tcp"], ["arp"], ["mpls", "ipv4", "tcp"]):
        layers = stack("eth", "mpls", *inner)
        for action, before, left in (
            (of.set_mpls_ttl(32), 64, 32),
            (of.set_mpls_ttl(255), 64, 255),
            (of.DEC_MPLS_TTL, 64, 63),
            (of.DEC_MPLS_TTL, 1, None),
        ):
            given, expected = changed(layers, 1, ttl=before), changed(layers, 1, ttl=left)
            yield from _ttl([("eth_type", MPLS)], action, given, None if left is None else expected)


def _ttl(matching, action, given, expected):
    for text, instruction in (
        ("at once", of.apply(action, of.output(2))),
        ("at the end", of.write(of.output(2), action)),
    ):
        case = of.Case(f"{given}: {action.hex()} {text}", [of.flow(instruction, matching=matching)])
        if expected is None:
            yield case.sends(build(given), invalid_ttl=build(given))
        else:
            yield case.sends(build(given), (2, build(expected)))


def copied_times():
    """Between the two outermost headers that have a time to live (OF 1.3.5 section 5.12)."""
    for inner, attribute in (("ipv4", "ttl"), ("ipv6", "ttl"), ("mpls", "ttl")):
        rest = ("ipv4", "tcp") if inner == "mpls" else ("tcp",)
        layers = stack("eth", ("mpls", {"ttl": 64}), (inner, {attribute: 32}), *rest)
        yield _copied(layers, of.COPY_TTL_OUT, changed(layers, 1, ttl=32))
        yield _copied(layers, of.COPY_TTL_IN, changed(layers, 2, ttl=64))
    for outer, outer_type in (("ipv4", IPV4), ("ipv6", IPV6)):
        for inner in ("ipv4", "ipv6"):
            layers = stack("eth", (outer, {"ttl": 64}), (inner, {"ttl": 32}), "tcp")
            yield _copied(layers, of.COPY_TTL_OUT, changed(layers, 1, ttl=32), outer_type)
            yield _copied(layers, of.COPY_TTL_IN, changed(layers, 2, ttl=64), outer_type)


def _copied(layers, action, expected, ether_type=MPLS):
    entry = of.flow(of.apply(action, of.output(2)), matching=[("eth_type", ether_type)])
    return of.Case(f"{layers}: {action.hex()}", [entry]).sends(build(layers), (2, build(expected)))


def cases():
    yield from set_fields()
    yield from matched_after()
    yield from checksums()
    yield from missing_fields()
    yield from times_to_live()
    yield from copied_times()
