"""Provoke each error that OpenFlow 1.3 has for what a controller may do wrong. usage: refusals.py SWITCHD

Runs in a network namespace of its own. Prints a JSON object: type and code of each error provoked, and the failures.
"""

import json
import struct
import sys

from cases import messages as of
from conformance import BARRIER, ERROR, HELLO, MULTIPART_REQUEST, Bench, Failed

SHORTEST_DATA = 64
FEATURES, SET_CONFIG, PACKET_OUT, PORT_MOD, TABLE_MOD, QUEUE_CONFIG, ROLE = 5, 9, 13, 16, 17, 22, 24
EXPERIMENTER = 4
FRAME = bytes(60)


def message(kind, body=b"", version=4, length=None):
    return struct.pack("!BBHI", version, kind, 8 + len(body) if length is None else length, 0) + body


def multipart(number, body=b"", flags=0):
    return message(MULTIPART_REQUEST, struct.pack("!HH4x", number, flags) + body)


def flow_of(matching, *instructions):
    """A flow-mod with a match of any bytes."""
    return of.message(of.FLOW_MOD, of.flow()[8:48] + matching + b"".join(instructions))


def match_of(*tlvs, kind=1, length=None):
    body = b"".join(tlvs)
    whole = struct.pack("!HH", kind, 4 + len(body) if length is None else length) + body
    return whole + bytes(-len(whole) % 8)


def acting(*actions, matching=()):
    return of.flow(of.apply(*actions), matching=matching)


def with_field(number, command, replacement):
    """A flow-mod with other bytes at an offset of its message."""
    whole = of.flow(of.apply(of.output(2)))
    return whole[:number] + struct.pack(command, replacement) + whole[number + struct.calcsize(command) :]


def packet_out(*actions, buffer=of.ANY, in_port=of.CONTROLLER, data=FRAME):
    body = b"".join(actions)
    return message(PACKET_OUT, struct.pack("!IIH6x", buffer, in_port, len(body)) + body + data)


def port_mod(number, address=bytes(6), config=0, mask=0):
    return message(PORT_MOD, struct.pack("!I4x6s2xIII4x", number, address, config, mask, 0))


def requests():
    """Of any message (type 1)."""
    flows = struct.pack("!B3xII4xQQ", 254, of.ANY, of.ANY, 0, 0) + of.match()
    yield (1, 0), "another version", message(BARRIER, version=5)
    yield (1, 1), "no message type", message(99)
    yield (1, 1), "a message of switches", message(6, bytes(24))
    yield (1, 2), "no multipart type", multipart(99)
    yield (1, 3), "an experimenter", message(EXPERIMENTER, struct.pack("!II", 0x00ABCDEF, 1))
    yield (1, 3), "an experimenter's multipart", multipart(0xFFFF, struct.pack("!II", 0x00ABCDEF, 1))
    yield (1, 6), "a barrier too long", message(BARRIER, bytes(8))
    yield (1, 6), "a flow-mod cut off", message(of.FLOW_MOD, bytes(20))
    yield (1, 6), "a role cut off", message(ROLE, bytes(4))
    yield (1, 6), "a multipart cut off", multipart(1, bytes(8))
    yield (1, 8), "a buffer in a packet-out", packet_out(of.output(2), buffer=77, data=b"")
    yield (1, 9), "flows of no table", multipart(1, flows)
    yield (1, 9), "the aggregate of no table", multipart(2, flows)
    yield (1, 11), "a packet-out from no port", packet_out(of.output(2), in_port=99)
    yield (1, 11), "statistics of no port", multipart(4, struct.pack("!I4x", 99))
    yield (1, 12), "a packet-out without an Ethernet header", packet_out(of.output(2), data=bytes(13))
    yield (1, 12), "a packet-out without a packet", packet_out(of.output(2), data=b"")
    yield (1, 13), "a request in parts", multipart(0, flags=1)


def actions():
    """Type 2."""
    yield (2, 0), "no action type", acting(of.plain(50))
    yield (2, 1), "an output too short", acting(struct.pack("!HHI", 0, 8, 2))
    yield (2, 1), "an action of no length", acting(struct.pack("!HH4x", 18, 0))
    yield (2, 1), "an action beyond its list", acting(struct.pack("!HH4x", 18, 24))
    yield (2, 2), "an experimenter's action", acting(struct.pack("!HHI", 0xFFFF, 8, 0x00ABCDEF))
    for name, port in (("0", 0), ("LOCAL", of.LOCAL), ("TABLE", of.TABLE), ("ANY", of.ANY)):
        yield (2, 4), f"an output to {name}", acting(of.output(port))
    yield (2, 4), "an output to a reserved number", acting(of.output(0xFFFFFF01))
    yield (2, 4), "a packet-out to ANY", packet_out(of.output(of.ANY))
    yield (2, 4), "a bucket to ANY", of.group_mod(1, of.GROUP_ALL, of.bucket(of.output(of.ANY)))
    yield (2, 5), "push_vlan of IPv4", acting(of.push_vlan(0x0800))
    yield (2, 5), "push_mpls of IPv4", acting(of.push_mpls(0x0800))
    yield (2, 5), "push_pbb of IPv4", acting(of.typed(26, 0x0800))
    yield (2, 8), "a queue that no port has", acting(of.set_queue(7))
    yield (2, 8), "all queues", of.flow(of.write(of.set_queue(of.ANY)))
    yield (2, 8), "no queue in a packet-out", packet_out(of.set_queue(7), of.output(2))
    yield (2, 8), "no queue in a bucket", of.group_mod(1, of.GROUP_ALL, of.bucket(of.set_queue(7)))
    yield (2, 9), "no group", acting(of.group(99))
    yield (2, 9), "all groups", acting(of.group(0xFFFFFFFC))
    yield (2, 9), "no group in the set", of.flow(of.write(of.group(99)))
    yield (2, 9), "no group in a packet-out", packet_out(of.group(99))
    yield (2, 10), "set tcp_src without TCP", acting(of.set_field("tcp_src", 5))
    yield (2, 10), "set ipv6_dst of IPv4", acting(of.set_field("ipv6_dst", 5), matching=[("eth_type", 0x0800)])
    yield (2, 10), "set vlan_pcp without a tag", acting(of.set_field("vlan_pcp", 5))
    yield (2, 13), "set no field", acting(struct.pack("!HHHBB8x", 25, 16, 0x8000, 100 << 1, 4))
    yield (2, 13), "set in_port", acting(of.set_field("in_port", 5))
    yield (2, 13), "set metadata", acting(of.set_field("metadata", 5))
    yield (2, 14), "set with a field too short", acting(struct.pack("!HHHBB8x", 25, 16, 0x8000, 3 << 1, 4))
    yield (2, 15), "set with bits that the field lacks", acting(struct.pack("!HHHBBB7x", 25, 16, 0x8000, 36 << 1, 1, 2))


def instructions():
    """Type 3."""
    yield (3, 0), "no instruction type", of.flow(struct.pack("!HH4x", 50, 8))
    yield (3, 1), "an instruction twice", of.flow(of.goto(1), of.goto(2))
    yield (3, 1), "on from the last table", of.flow(of.goto(254), table=253)
    yield (3, 1), "from the last table to itself", of.flow(of.goto(253), table=253)
    yield (3, 2), "back to the same table", of.flow(of.goto(3), table=3)
    yield (3, 2), "back to a table before", of.flow(of.goto(1), table=3)
    yield (3, 2), "on to no table", of.flow(of.goto(254))
    yield (3, 5), "an experimenter's instruction", of.flow(struct.pack("!HHI", 0xFFFF, 8, 0x00ABCDEF))
    yield (3, 7), "a goto too long", of.flow(struct.pack("!HHB11x", 1, 16, 1))
    yield (3, 7), "an instruction of no length", of.flow(struct.pack("!HH4x", 5, 0))
    yield (3, 7), "an instruction beyond the message", of.flow(struct.pack("!HH4x", 5, 64))


def matches():
    """Type 4."""
    vlan = of.tlv("vlan_vid", 0x1005, 0x1FFF)
    yield (4, 0), "a match of another type", flow_of(match_of(kind=0))
    yield (4, 1), "a match beyond the message", flow_of(match_of(length=200))
    yield (4, 1), "a match too short", flow_of(match_of(length=2))
    yield (4, 1), "a field too short", flow_of(match_of(struct.pack("!HBBI", 0x8000, 3 << 1, 4, 0)))
    yield (4, 5), "a value beyond its mask", flow_of(match_of(of.tlv("eth_dst", 5, 4)))
    yield (4, 6), "no field", flow_of(match_of(struct.pack("!HBBI", 0x8000, 100 << 1, 4, 0)))
    yield (4, 6), "a field of another class", flow_of(match_of(struct.pack("!HBBI", 1, 0, 4, 0)))
    yield (4, 6), "an experimenter's field", flow_of(match_of(struct.pack("!HBBII", 0xFFFF, 0, 8, 1, 0)))
    yield (4, 7), "a value too large", flow_of(match_of(vlan, of.tlv("vlan_pcp", 8)))
    yield (4, 7), "a tag's id without its bit", flow_of(match_of(of.tlv("vlan_vid", 5)))
    yield (4, 8), "a mask where none may be", flow_of(match_of(of.tlv("in_port", 1, 1)))
    for name, value in (("ipv4_src", 5), ("ip_proto", 6), ("arp_op", 1), ("mpls_label", 5), ("pbb_isid", 5)):
        yield (4, 9), f"{name} without its EtherType", of.flow(matching=[(name, value)])
    yield (4, 9), "tcp_dst of UDP", of.flow(matching=[("eth_type", 0x0800), ("ip_proto", 17), ("tcp_dst", 5)])
    icmpv6 = [("eth_type", 0x86DD), ("ip_proto", 58)]
    yield (4, 9), "a target without its type", of.flow(matching=[*icmpv6, ("ipv6_nd_target", 5)])
    addresses = [of.tlv("ipv4_src", 5), of.tlv("eth_type", 0x0800)]
    yield (4, 9), "an address before its EtherType", flow_of(match_of(*addresses))
    ports = [of.tlv("eth_type", 0x0800), of.tlv("tcp_src", 5), of.tlv("ip_proto", 6)]
    yield (4, 9), "a port before its protocol", flow_of(match_of(*ports))
    yield (4, 9), "vlan_pcp without a tag", of.flow(matching=[("vlan_vid", 0), ("vlan_pcp", 5)])
    yield (4, 10), "a field twice", of.flow(matching=[("eth_type", 0x0800), ("eth_type", 0x0800)])


def flows():
    """Type 5."""
    yield (5, 2), "no table", of.flow(table=254)
    yield (5, 2), "all tables", of.flow(table=255)
    yield (5, 2), "a modification of all tables", of.flow(table=255, command=of.MODIFY)
    yield (5, 2), "a deletion of no table", of.flow(table=254, command=of.DELETE)
    overlapping = of.flow(matching=[("eth_type", 0x0800)], flags=2, priority=7)
    yield (5, 3), "an overlap", overlapping, of.flow(matching=[("in_port", 1)], priority=7)
    yield (5, 3), "an entry again", overlapping, overlapping
    yield (5, 6), "no command", of.flow(command=9)
    yield (5, 7), "no flag", of.flow(flags=0x100)


def groups():
    """Type 6."""
    plain = of.bucket(of.output(2))
    one = of.group_mod(1, of.GROUP_ALL, plain)
    leading = of.group_mod(2, of.GROUP_ALL, of.bucket(of.group(1)))
    yield (6, 0), "a group again", one, one
    yield (6, 1), "a reserved number", of.group_mod(0xFFFFFF01, of.GROUP_ALL, plain)
    yield (6, 1), "all groups", of.group_mod(0xFFFFFFFC, of.GROUP_ALL, plain)
    yield (
        (6, 1),
        "a modification of a reserved number",
        of.group_mod(0xFFFFFF01, of.GROUP_ALL, plain, command=of.MODIFY),
    )
    weighty = of.bucket(of.output(2), weight=1)
    for name, kind in (("all", of.GROUP_ALL), ("indirect", of.INDIRECT), ("failover", of.FAST_FAILOVER)):
        yield (6, 1), f"a weight in a group {name}", of.group_mod(1, kind, weighty)
    yield (6, 1), "shares of nothing", of.group_mod(1, of.SELECT, plain, plain)
    yield (6, 1), "two buckets of an indirect group", of.group_mod(1, of.INDIRECT, plain, plain)
    yield (6, 1), "no bucket of an indirect group", of.group_mod(1, of.INDIRECT)
    back = of.group_mod(1, of.GROUP_ALL, of.bucket(of.group(2)), command=of.MODIFY)
    yield (6, 7), "a loop", back, one, leading
    own = of.group_mod(1, of.GROUP_ALL, of.bucket(of.group(1)))
    yield (6, 7), "a group in itself", own
    yield (6, 8), "no group", of.group_mod(1, of.GROUP_ALL, plain, command=of.MODIFY)
    deleted = of.group_mod(1, of.GROUP_ALL, command=2)
    yield (6, 9), "a group that another one leads to", deleted, one, leading
    yield (6, 10), "no type", of.group_mod(1, 9, plain)
    yield (6, 11), "no command", of.group_mod(1, of.GROUP_ALL, plain, command=9)
    yield (6, 12), "a bucket too short", of.group_mod(1, of.GROUP_ALL, struct.pack("!HHIIxxxx", 8, 0, 0, 0))
    yield (6, 12), "a bucket beyond the message", of.group_mod(1, of.GROUP_ALL, struct.pack("!HHIIxxxx", 64, 0, 0, 0))
    yield (6, 13), "a bucket that watches nothing", of.group_mod(1, of.FAST_FAILOVER, plain)


def the_rest():
    """Types 7 to 13."""
    yield (7, 0), "no port", port_mod(99)
    yield (7, 0), "a reserved port", port_mod(of.ALL)
    yield (7, 1), "another address", port_mod(1, bytes(6))
    yield (8, 0), "a table that is none", message(TABLE_MOD, struct.pack("!B3xI", 254, 0))
    yield (8, 1), "a table's configuration", message(TABLE_MOD, struct.pack("!B3xI", 0, 0x80))
    yield (9, 0), "queues of no port", message(QUEUE_CONFIG, struct.pack("!I4x", 99))
    yield (9, 0), "statistics of queues of no port", multipart(5, struct.pack("!II", 99, of.ANY))
    yield (9, 1), "statistics of no queue", multipart(5, struct.pack("!II", 1, 99))
    yield (10, 0), "a switch's flags", message(SET_CONFIG, struct.pack("!HH", 0x80, 128))
    yield (11, 2), "no role", message(ROLE, struct.pack("!I4xQ", 9, 0))
    one = of.meter_mod(1, of.PACKETS, of.drop_band(100))
    yield (12, 1), "a meter again", one, one
    yield (12, 2), "meter 0", of.meter_mod(0, of.PACKETS, of.drop_band(100))
    yield (12, 2), "a reserved meter", of.meter_mod(0xFFFF0001, of.PACKETS, of.drop_band(100))
    yield (12, 2), "a modification of meter 0", of.meter_mod(0, of.PACKETS, of.drop_band(9), command=of.MODIFY)
    yield (12, 3), "no meter", of.meter_mod(1, of.PACKETS, of.drop_band(100), command=of.MODIFY)
    yield (12, 3), "no meter of a flow", of.flow(of.meter(99))
    yield (12, 3), "statistics of no meter", multipart(9, struct.pack("!I4x", 99))
    yield (12, 4), "no command", of.meter_mod(1, of.PACKETS, of.drop_band(100), command=9)
    yield (12, 5), "no flag", of.meter_mod(1, 0x80, of.drop_band(100))
    yield (12, 5), "two units", of.meter_mod(1, of.PACKETS | of.KBPS, of.drop_band(100))
    yield (12, 6), "a rate of 0", of.meter_mod(1, of.PACKETS, of.drop_band(0))
    yield (12, 8), "no band", of.meter_mod(1, of.PACKETS, struct.pack("!HHII4x", 9, 16, 100, 0))
    yield (12, 8), "an experimenter's band", of.meter_mod(1, of.PACKETS, struct.pack("!HHIII", 0xFFFF, 16, 100, 0, 1))
    yield (12, 9), "a precedence of 0", of.meter_mod(1, of.PACKETS, of.remark_band(100, 0))


def bad_port_configuration(controller):
    """Needs the port's address."""
    ports = controller.multipart(13)
    return (7, 2), "a port's configuration", port_mod(1, ports[8:14], 0x80, 0x80)


def provoke(controller, expected, name, wrong, *before):
    controller.clear()
    for one in before:
        controller.send(one[1], one[8:])
    controller.barrier()
    state = controller.flows(), controller.structures(7), controller.structures(10, struct.pack("!I4x", of.ANY))
    transaction = 0xABCD0000 + len(name)
    whole = wrong[:4] + struct.pack("!I", transaction) + wrong[8:]
    controller.connection.sendall(whole)
    barrier = controller.send(BARRIER, b"")
    found = controller.message(2)
    if found is None or found[0] != ERROR:
        raise Failed(f"{name}: {found} instead of error {expected}")
    _, its, body = found
    code, data = struct.unpack("!HH", body[:4]), body[4:]
    if code != expected:
        raise Failed(f"{name}: error {code} instead of {expected}")
    if its != transaction or data != whole[: len(data)] or len(data) < min(SHORTEST_DATA, len(whole)):
        raise Failed(f"{name}: the error is about {its:#x} {data.hex()} instead of {whole.hex()}")
    following = controller.message(2)
    if following is None or following[:2] != (21, barrier):
        raise Failed(f"{name}: {following} instead of the reply to the barrier")
    now = controller.flows(), controller.structures(7), controller.structures(10, struct.pack("!I4x", of.ANY))
    if now != state:
        raise Failed(f"{name}: {state} has become {now}")


def main():
    bench, codes, failures = Bench(sys.argv[1]), set(), []
    controller = bench.controller
    try:
        kinds = (requests, actions, instructions, matches, flows, groups, the_rest)
        wrong = [one for kind in kinds for one in kind()]
        for one in [*wrong, bad_port_configuration(controller)]:
            try:
                provoke(controller, *one)
                codes.add(one[0])
            except Failed as failed:
                failures.append(str(failed))
        controller.send(HELLO, b"")
        controller.barrier()
    finally:
        bench.end()
    sys.stdout.write(json.dumps({"codes": sorted(codes), "failures": failures}))


if __name__ == "__main__":
    main()
