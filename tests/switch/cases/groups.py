"""Cases of groups and meters."""

from cases import messages as of
from cases.frames import build, changed, stack

FRAMES = [stack("eth", *inner) for inner in (["ipv4", "tcp"], ["ipv6", "tcp"], ["arp"])]
LOAD_PER_S = 200


def group_case(description, *messages):
    return of.Case(f"group: {description}", [*messages, of.flow(of.apply(of.group(1)))])


def types():
    """OF 1.3.5 section 5.6.1."""
    for layers in FRAMES:
        frame, other = build(layers), build(changed(layers, 0, dst=5))
        two = of.bucket(of.output(2))
        three = of.bucket(of.set_field("eth_dst", 5), of.output(3))
        yield group_case("all", of.group_mod(1, of.GROUP_ALL, three, two)).sends(frame, (2, frame), (3, other))
        yield group_case("all, in port", of.group_mod(1, of.GROUP_ALL, of.bucket(of.output(1)), two)).sends(
            frame, (2, frame)
        )
        back = of.bucket(of.output(of.IN_PORT))
        yield group_case("all, back", of.group_mod(1, of.GROUP_ALL, back, two)).sends(frame, (1, frame), (2, frame))
        yield group_case("all without buckets", of.group_mod(1, of.GROUP_ALL)).sends(frame)
        yield group_case("a bucket without output", of.group_mod(1, of.GROUP_ALL, of.bucket(), two)).sends(
            frame, (2, frame)
        )
        yield group_case("indirect", of.group_mod(1, of.INDIRECT, three)).sends(frame, (3, other))
        alone = of.bucket(of.output(2), weight=1)
        yield group_case("select of one", of.group_mod(1, of.SELECT, alone)).sends(frame, (2, frame))
        never = of.bucket(of.output(3), weight=0)
        yield group_case("select by weight", of.group_mod(1, of.SELECT, never, alone)).sends(frame, (2, frame))
        dead = of.bucket(of.output(3), watch_port=77)
        alive = of.bucket(of.output(2), watch_port=2)
        yield group_case("failover", of.group_mod(1, of.FAST_FAILOVER, dead, alive)).sends(frame, (2, frame))
        yield group_case("failover to none", of.group_mod(1, of.FAST_FAILOVER, dead)).sends(frame)
        inner = of.group_mod(2, of.INDIRECT, two)
        outer = of.group_mod(1, of.GROUP_ALL, of.bucket(of.group(2)), three)
        yield group_case("in a group", inner, outer).sends(frame, (2, frame), (3, other))
        watched = of.group_mod(2, of.FAST_FAILOVER, dead)
        chosen = of.group_mod(1, of.FAST_FAILOVER, of.bucket(of.output(3), watch_group=2), alive)
        yield group_case("watching a group", watched, chosen).sends(frame, (2, frame))
        told = of.group_mod(1, of.INDIRECT, of.bucket(of.output(of.CONTROLLER)))
        yield group_case("to the controller", told).sends(frame, packet_in=frame)
        tagged = build([layers[0], ("vlan", {"vid": 5}), *layers[1:]])
        pushed = of.bucket(of.output(2), of.set_field("vlan_vid", 0x1005), of.push_vlan())
        yield group_case("a bucket is an action set", of.group_mod(1, of.INDIRECT, pushed)).sends(frame, (2, tagged))
        flood = of.group_mod(1, of.GROUP_ALL, of.bucket(of.output(of.FLOOD)), back)
        yield group_case("flood and back", flood).sends(frame, (1, frame), (2, frame), (3, frame))
        case = of.Case("after a group the frame is as before", [of.group_mod(1, of.INDIRECT, three)])
        case.messages.append(of.flow(of.apply(of.group(1), of.output(2))))
        yield case.sends(frame, (2, frame), (3, other))


def meters():
    """All units, bands and flags; loads twice as high as the rate (OF 1.3.5 section 5.7)."""
    for flags in (of.PACKETS, of.PACKETS | of.STATISTICS, of.PACKETS | of.BURST | of.STATISTICS):
        for layers in FRAMES:
            bands = [of.drop_band(LOAD_PER_S // 2, 10 if flags & of.BURST else 0)]
            yield _metered("packets/s", flags, bands, layers, LOAD_PER_S, {"pktps": LOAD_PER_S // 2})
    for layers in FRAMES:
        rate_kbps = 100
        load = 2 * rate_kbps * 1000 // (8 * len(build(layers)))
        for flags, burst_kbit in ((of.KBPS, 0), (of.KBPS | of.BURST, 20), (of.KBPS | of.STATISTICS, 0)):
            bands = [of.drop_band(rate_kbps, burst_kbit)]
            yield _metered("kbit/s", flags, bands, layers, load, {"kbps": rate_kbps})
        yield _metered("no rate is exceeded", of.PACKETS, [of.drop_band(9 * LOAD_PER_S)], layers, LOAD_PER_S)
        yield _metered("no bands", of.PACKETS, [], layers, LOAD_PER_S)
        two = [of.drop_band(LOAD_PER_S // 2), of.remark_band(LOAD_PER_S // 4, 1)]
        yield _metered("two bands", of.PACKETS, two, layers, LOAD_PER_S, {"pktps": LOAD_PER_S // 2})


def remarks():
    """DSCP 18 becomes 20 above the rate, 20 and 22 stay in their class; ARP has none and passes."""
    for layers in FRAMES[:2]:
        at = 1
        for before, levels, then in ((18, 1, 20), (18, 2, 22), (10, 1, 12), (34, 1, 36), (0, 1, 0), (46, 1, 46)):
            entry = of.flow(of.meter(1), of.apply(of.output(2)))
            band = of.remark_band(1, levels, 1)
            case = of.Case(f"DSCP {before} by {levels}", [of.meter_mod(1, of.PACKETS | of.BURST, band), entry])
            given = changed(layers, at, dscp=before)
            case.sends(build(given), (2, build(given)))
            yield case.sends(build(given), (2, build(changed(layers, at, dscp=then))))
    band = of.remark_band(1, 1, 1)
    entry = of.flow(of.meter(1), of.apply(of.output(2)))
    case = of.Case("ARP has no DSCP", [of.meter_mod(1, of.PACKETS | of.BURST, band), entry])
    frame = build(FRAMES[2])
    yield case.sends(frame, (2, frame)).sends(frame, (2, frame))


def _metered(description, flags, bands, layers, load, expected=None):
    messages = [of.meter_mod(1, flags, *bands), of.flow(of.meter(1), of.apply(of.output(2)))]
    case = of.Case(f"meter: {description}, flags {flags:#x}: {layers}", messages)
    port = {"OFPMatch": {"oxm_fields": [{"OXMTlv": {"field": "in_port", "value": 2}}]}}
    ingress = {"hex": build(layers).hex(), "text": [], "packets_per_s": load, "duration_s": 10, "randomised": False}
    case.steps.append({"ingress": ingress, "throughput": [port | (expected or {"pktps": load})]})
    return case


def cases():
    yield from types()
    yield from remarks()
    yield from meters()
