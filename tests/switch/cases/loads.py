"""Loads in the form of the published cases: frames of 1500 bytes, twice the rate of a meter; groups of all."""

from cases import messages as of
from cases.frames import build, stack

LENGTH = 1500
DSCP, REMARKED_DSCP = 18, 20
STACKS = [
    stack("eth", ("ipv4", {"dscp": DSCP}), "tcp"),
    stack("eth", ("ipv6", {"dscp": DSCP}), "tcp"),
    stack("eth", "arp"),
]
RATES = [
    *((of.KBPS, mbps * 1000) for mbps in (0.1, 1, 10, 100)),
    *((of.PACKETS, rate) for rate in (100, 1000, 10_000)),
]


def _frame(layers):
    return build(layers).ljust(LENGTH, b"\x11")


def _wanted(unit, rate, dscp=None, port=2):
    fields = [{"field": "in_port", "value": port}] + ([] if dscp is None else [{"field": "ip_dscp", "value": dscp}])
    return {"OFPMatch": {"oxm_fields": [{"OXMTlv": field} for field in fields]}, unit: rate}


def _case(description, messages, layers, packets_per_s, wanted):
    case = of.Case(f"{description}: {layers}", messages)
    ingress = {"hex": _frame(layers).hex(), "text": [], "packets_per_s": packets_per_s, "randomised": False}
    case.steps.append({"ingress": ingress | {"duration_s": 30}, "throughput": wanted})
    return case


def meters():
    """Every unit and rate, dropped and remarked; what has no DSCP passes (OF 1.3.5 section 5.7.1)."""
    for number, (flags, rate) in enumerate(RATES):
        unit = "kbps" if flags == of.KBPS else "pktps"
        load = 2 * rate if flags == of.PACKETS else 2 * rate * 1000 / 8 / LENGTH
        entry = of.flow(of.meter(1), of.apply(of.output(2)))
        # Each rate with another kind of frame, so that it takes less time.
        layers, other = STACKS[number % 3], STACKS[(number + 1) % 3]
        drop = of.meter_mod(1, flags, of.drop_band(int(rate)))
        yield _case(f"drop above {rate} {unit}", [drop, entry], layers, load, [_wanted(unit, rate)])
        remark = of.meter_mod(1, flags, of.remark_band(int(rate), 1))
        both = [_wanted(unit, rate, DSCP), _wanted(unit, rate, REMARKED_DSCP)]
        wanted = [_wanted(unit, 2 * rate)] if other is STACKS[2] else both
        yield _case(f"remark above {rate} {unit}", [remark, entry], other, load, wanted)


def groups():
    """A group of all gives each port everything."""
    buckets = [of.bucket(of.output(port)) for port in (2, 3)]
    messages = [of.group_mod(0, of.GROUP_ALL, *buckets), of.flow(of.apply(of.group(0)), matching=[("in_port", 1)])]
    for layers in STACKS:
        yield _case("all", messages, layers, 175, [_wanted("kbps", 2100, port=port) for port in (2, 3)])


def cases():
    yield from meters()
    yield from groups()
