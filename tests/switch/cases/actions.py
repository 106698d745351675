"""Cases of tags and headers pushed and popped, of outputs, of the order of actions, and of groups."""

from cases import messages as of
from cases.fields import ARP, IPV4, IPV6, MPLS, PBB
from cases.frames import build, changed, place, stack

INNER = ((IPV4, ("ipv4", "tcp")), (IPV6, ("ipv6", "tcp")), (ARP, ("arp",)))
PLAIN = stack("eth", "ipv4", "tcp")


def one(description, actions, layers, expected, matching=()):
    """Actions done at once, with what comes out of port 2."""
    entry = of.flow(of.apply(*actions, of.output(2)), matching=matching)
    return of.Case(f"{description}: {layers}", [entry]).sends(build(layers), (2, build(expected)))


def vlan_tags():
    for ether_type, inner in INNER:
        layers, tagged = stack("eth", *inner), stack("eth", ("vlan", {"vid": 9, "pcp": 5}), *inner)
        for tpid, kind in ((0x8100, "vlan"), (0x88A8, "service")):
            new = (kind, {"vid": 0, "pcp": 0})
            matching = [("eth_type", ether_type)]
            yield one("push_vlan", [of.push_vlan(tpid)], layers, [layers[0], new, *layers[1:]], matching)
            copied = (kind, {"vid": 9, "pcp": 5})
            yield one("push_vlan", [of.push_vlan(tpid)], tagged, [tagged[0], copied, *tagged[1:]], matching)
            given = (kind, {"vid": 77, "pcp": 6})
            actions = [of.push_vlan(tpid), of.set_field("vlan_vid", 0x104D), of.set_field("vlan_pcp", 6)]
            yield one("push_vlan and set", actions, layers, [layers[0], given, *layers[1:]], matching)
            inside = [layers[0], (kind, {"vid": 5}), *tagged[1:]]
            yield one("pop_vlan", [of.POP_VLAN], inside, tagged, [("vlan_vid", 0x1005)])
        any_tag = [("vlan_vid", 0x1000, 0x1000)]
        yield one("pop_vlan", [of.POP_VLAN], tagged, layers, any_tag)
        double = [tagged[0], ("service", {"vid": 5}), *tagged[1:]]
        yield one("pop_vlan twice", [of.POP_VLAN, of.POP_VLAN], double, layers, any_tag)
        twice = [of.push_vlan(0x8100), of.set_field("vlan_vid", 0x1003), of.push_vlan(0x88A8)]
        new = [layers[0], ("service", {"vid": 3}), ("vlan", {"vid": 3}), *layers[1:]]
        yield one("push_vlan twice", twice, layers, new, [("eth_type", ether_type)])
        backbone = stack("eth", ("pbb", {"pcp": 3}), *inner)
        new = [backbone[0], ("vlan", {"vid": 0}), *backbone[1:]]
        yield one("push_vlan over pbb", [of.push_vlan()], backbone, new, [("eth_type", PBB)])
        label = stack("eth", "mpls", *inner)
        new = [label[0], ("vlan", {"vid": 0}), *label[1:]]
        yield one("push_vlan over mpls", [of.push_vlan()], label, new, [("eth_type", MPLS)])


def labels():
    for ether_type, inner in INNER:
        time = 64 if ether_type != ARP else 0
        matching = [("eth_type", ether_type)]
        for outer in ((), (("vlan", {"vid": 9, "pcp": 2}),), (("service", {"vid": 9}), ("vlan", {"vid": 8}))):
            layers = stack("eth", *outer, *inner)
            new = stack("eth", *outer, ("mpls", {"label": 0, "tc": 0, "ttl": time}), *inner)
            yield one("push_mpls", [of.push_mpls()], layers, new, matching)
            at = place(new, "mpls") - 1
            yield one("push_mpls 8848", [of.push_mpls(0x8848)], layers, changed(new, at, type=0x8848), matching)
            yield one("pop_mpls", [of.pop_mpls(ether_type)], new, layers, [("eth_type", MPLS)])
        label = stack("eth", ("mpls", {"label": 9, "tc": 5, "ttl": 33}), *inner)
        new = [label[0], ("mpls", {"label": 9, "tc": 5, "ttl": 33, "bos": 0}), *label[1:]]
        yield one("push_mpls", [of.push_mpls()], label, new, [("eth_type", MPLS)])
        yield one("pop_mpls", [of.pop_mpls(MPLS)], new, label, [("eth_type", MPLS)])
        multicast = changed(label, 0, type=0x8848)
        yield one("pop_mpls 8848", [of.pop_mpls(ether_type)], multicast, stack("eth", *inner), [("eth_type", 0x8848)])
        actions = [of.push_mpls(), of.set_field("mpls_label", 5), of.set_field("mpls_tc", 1), of.set_mpls_ttl(9)]
        new = stack("eth", ("mpls", {"label": 5, "tc": 1, "ttl": 9}), *inner)
        yield one("push_mpls and set", actions, stack("eth", *inner), new, matching)
        both = [of.push_mpls(), of.push_vlan()]
        new = stack("eth", ("vlan", {"vid": 0}), ("mpls", {"label": 0, "tc": 0, "ttl": time}), *inner)
        yield one("push_mpls, push_vlan", both, stack("eth", *inner), new, matching)


def backbones():
    for ether_type, inner in INNER:
        matching, layers = [("eth_type", ether_type)], stack("eth", *inner)
        new = stack("eth", ("pbb", {"isid": 0}), *inner)
        yield one("push_pbb", [of.push_pbb()], layers, new, matching)
        yield one("pop_pbb", [of.POP_PBB], new, layers, [("eth_type", PBB)])
        tagged = stack("eth", ("vlan", {"vid": 9, "pcp": 5}), *inner)
        new = stack("eth", ("pbb", {"isid": 0, "pcp": 5}), ("vlan", {"vid": 9, "pcp": 5}), *inner)
        yield one("push_pbb over a tag", [of.push_pbb()], tagged, new, matching)
        yield one("pop_pbb to a tag", [of.POP_PBB], new, tagged, [("eth_type", PBB)])
        nested = stack("eth", ("pbb", {"isid": 7}), *inner)
        new = stack("eth", ("pbb", {"isid": 7}), ("pbb", {"isid": 7}), *inner)
        yield one("push_pbb over pbb", [of.push_pbb()], nested, new, [("eth_type", PBB)])
        yield one("pop_pbb of two", [of.POP_PBB], new, nested, [("eth_type", PBB)])
        actions = [
            of.push_pbb(),
            of.set_field("pbb_isid", 12345),
            of.set_field("eth_dst", 7),
            of.set_field("eth_src", 8),
        ]
        outer = ("eth", {"dst": 7, "src": 8})
        yield one("push_pbb and set", actions, layers, [outer, ("pbb", {"isid": 12345}), *layers[1:]], matching)
        yield one("pop_pbb", [of.POP_PBB], [outer, ("pbb", {"isid": 3}), *layers[1:]], layers, [("eth_type", PBB)])
        both = [of.push_pbb(), of.push_vlan(0x88A8), of.set_field("vlan_vid", 0x1063)]
        new = stack("eth", ("service", {"vid": 99}), ("pbb", {"isid": 0}), *inner)
        yield one("push_pbb, push_vlan", both, layers, new, matching)
        back = [of.POP_PBB, of.POP_VLAN]
        yield one("pop_pbb, pop_vlan", back, new, layers, [("eth_type", PBB)])


def outputs():
    for layers in (stack("eth", *inner) for _, inner in INNER):
        frame = build(layers)
        for name, port, out in (
            ("IN_PORT", of.IN_PORT, [1]),
            ("FLOOD", of.FLOOD, [2, 3]),
            ("NORMAL", of.NORMAL, [2, 3]),
            ("ALL", of.ALL, [2, 3]),
            ("its own port", 1, []),
            ("a port that is not there", 77, []),
            ("port 3", 3, [3]),
        ):
            for text, instruction in (
                ("at once", of.apply(of.output(port))),
                ("at the end", of.write(of.output(port))),
            ):
                case = of.Case(f"output to {name} {text}: {layers}", [of.flow(instruction)])
                yield case.sends(frame, *((number, frame) for number in out))
        told = of.Case("output to CONTROLLER at the end", [of.flow(of.write(of.output(of.CONTROLLER)))])
        yield told.sends(frame, packet_in=frame)
        yield of.Case("an entry without instructions drops", [of.flow()]).sends(frame)
        miss = of.flow(of.apply(of.output(of.CONTROLLER)), priority=0)
        yield of.Case("the table-miss entry", [miss]).sends(frame, packet_in=frame)
        several = [of.output(2), of.set_field("eth_dst", 5), of.output(3), of.output(of.IN_PORT)]
        new = build(changed(layers, 0, dst=5))
        case = of.Case("outputs send the frame as it is then", [of.flow(of.apply(*several))])
        yield case.sends(frame, (1, new), (2, frame), (3, new))
        queued = [of.set_queue(0), of.output(2)]
        yield of.Case("set_queue", [of.flow(of.apply(*queued))]).sends(frame, (2, frame))


def action_sets():
    """OF 1.3.5 sections 5.10 and 5.11."""
    frame = build(PLAIN)
    ip = [("eth_type", IPV4)]

    def written(description, instructions, expected, matching=ip):
        entries = [of.flow(*instructions, matching=matching)]
        return of.Case(f"action set: {description}", entries).sends(frame, *expected)

    # Whatever the order of writing: push MPLS, push PBB, push VLAN, decrement, set, output.
    scrambled = [of.output(2), of.set_field("eth_src", 9), of.push_vlan(), of.push_mpls(), of.set_mpls_ttl(7)]
    label = ("mpls", {"label": 0, "tc": 0, "ttl": 7})
    new = [("eth", PLAIN[0][1] | {"src": 9}), ("vlan", {"vid": 0}), label, *PLAIN[1:]]
    yield written("its order", [of.write(*scrambled)], [(2, build(new))])
    lower = changed(PLAIN, 1, ttl=63)
    time_first = [of.output(2), of.set_nw_ttl(9), of.DEC_NW_TTL]
    yield written("decrement before set", [of.write(*time_first)], [(2, build(changed(PLAIN, 1, ttl=9)))])
    yield written("decrement", [of.write(of.output(2), of.DEC_NW_TTL)], [(2, build(lower))])
    twice = [of.write(of.output(2), of.DEC_NW_TTL, of.DEC_NW_TTL)]
    yield written("one of a kind", twice, [(2, build(lower))])
    fields = [of.set_field("eth_dst", 1), of.set_field("eth_src", 2), of.set_field("eth_dst", 3)]
    new = changed(PLAIN, 0, dst=3, src=2)
    yield written("one set-field a field", [of.write(*fields, of.output(2))], [(2, build(new))])
    yield written("the last output", [of.write(of.output(3), of.output(2))], [(2, frame)])
    yield written("no output", [of.write(of.set_field("eth_dst", 1))], [])
    yield written("apply, then the set", [of.apply(of.output(3)), of.write(of.output(2))], [(2, frame), (3, frame)])
    cleared = [of.write(of.output(3)), of.clear()]
    yield written("clear comes before write", cleared, [(3, frame)])
    second = of.flow(of.clear(), of.write(of.output(2)), table=1)
    first = of.flow(of.write(of.set_field("eth_dst", 1), of.output(3)), of.goto(1))
    yield of.Case("clear empties", [first, second]).sends(frame, (2, frame))
    over = of.flow(of.write(of.output(2), of.set_field("eth_src", 4)), table=1)
    both = build(changed(PLAIN, 0, dst=1, src=4))
    yield of.Case("write overlays", [first, over]).sends(frame, (2, both))
    missed = of.flow(of.write(of.output(2)), of.goto(1))
    yield of.Case("a miss drops the set", [missed]).sends(frame, table_miss=[1])
    group = of.group_mod(1, of.INDIRECT, of.bucket(of.set_field("eth_dst", 6), of.output(2)))
    entry = of.flow(of.write(of.output(3), of.group(1)))
    yield of.Case("a group instead of the output", [group, entry]).sends(frame, (2, build(changed(PLAIN, 0, dst=6))))


def tables():
    frame = build(PLAIN)
    higher = of.flow(of.apply(of.output(2)), matching=[("in_port", 1)], priority=9)
    lower = of.flow(of.apply(of.output(3)), matching=[("in_port", 1)], priority=8)
    yield of.Case("the higher priority", [lower, higher]).sends(frame, (2, frame))
    chain = [of.flow(of.goto(number + 1), table=number) for number in range(7)]
    chain.append(of.flow(of.apply(of.output(2)), table=7))
    yield of.Case("through eight tables", chain).sends(frame, (2, frame))
    jump = [of.flow(of.goto(5)), of.flow(of.apply(of.output(2)), table=5), of.flow(of.apply(of.output(3)), table=1)]
    yield of.Case("over tables", jump).sends(frame, (2, frame))
    replaced = [of.flow(of.apply(of.output(3))), of.flow(of.apply(of.output(2)))]
    yield of.Case("added again", replaced[1:]).sends(frame, (2, frame))
    first = of.flow(of.write_metadata(0xF0F0, 0xFF00), of.goto(1))
    second = of.flow(of.write_metadata(0x0FAB, 0x00FF), of.goto(2), table=1)
    last = of.flow(of.apply(of.output(2)), matching=[("metadata", 0xF0AB)], table=2)
    yield of.Case("metadata bit by bit", [first, second, last]).sends(frame, (2, frame))


def cases():
    for kind in (vlan_tags, labels, backbones, outputs, action_sets, tables):
        yield from kind()
