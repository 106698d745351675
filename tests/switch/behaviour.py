"""How tables, groups, meters and ports behave towards a controller. usage: behaviour.py SWITCHD

As OpenFlow 1.3.5 has it in sections 6.4 to 7.4. Runs in a network namespace of its own; fails at the first thing that
is not as it should be.
"""

import struct
import sys
import time

from cases import messages as of
from cases.frames import build, changed, stack
from conformance import FLOW_STATS, PACKET_IN, PATIENCE_S, TABLE_STATS, Bench, Failed

FLOW_REMOVED, PORT_STATUS, PACKET_OUT, PORT_MOD, GET_ASYNC, GET_ASYNC_REPLY, SET_ASYNC = 11, 12, 13, 16, 26, 27, 28
GET_CONFIG, GET_CONFIG_REPLY, SET_CONFIG = 7, 8, 9
AGGREGATE, PORT_STATS, GROUP_STATS, METER_STATS, PORT_DESCRIPTION = 2, 4, 6, 9, 13
SEND_FLOW_REMOVED, CHECK_OVERLAP, RESET_COUNTS = 1, 2, 4
IDLE, HARD, DELETED, GROUP_DELETED = range(4)
LAYERS = stack("eth", "ipv4", "tcp")
FRAME = build(LAYERS)
IP = ("eth_type", 0x0800)
QUIET_S = 0.1


def check(found, expected, text):
    if found != expected:
        raise Failed(f"{text}: {found} instead of {expected}")


class Tables:
    """What a controller asks and says, in words of the specification."""

    def __init__(self, bench):
        self.bench, self.controller = bench, bench.controller

    def tell(self, *messages):
        for one in messages:
            self.controller.send(one[1], one[8:])
        self.controller.barrier()

    def clear(self):
        self.controller.clear()
        # Packet-ins of the part before may still be on their way. This one comes after them.
        body, last = of.output(of.CONTROLLER), build(changed(LAYERS, 1, ttl=77))
        self.controller.send(PACKET_OUT, struct.pack("!IIH6x", of.ANY, 1, len(body)) + body + last)
        while not self.event(PACKET_IN).endswith(last):
            pass
        self.controller.passed_over.clear()
        for wire in self.bench.wires.values():
            wire.drain()

    def passes(self, port, frame=FRAME, expected=None):
        self.bench.wires[1].send(frame)
        check(self.bench.wires[port].receive(PATIENCE_S), expected or frame, f"out of port {port}")

    def drops(self, port=2):
        self.bench.wires[1].send(FRAME)
        check(self.bench.wires[port].receive(QUIET_S), None, f"out of port {port}")

    def event(self, wanted):
        end, before = time.monotonic() + 2 * PATIENCE_S, self.controller.passed_over
        while before or time.monotonic() < end:
            message = before.pop(0) if before else self.controller.message(end - time.monotonic())
            if message and message[0] == wanted:
                return message[2]
        raise Failed(f"no message {wanted} came")

    def no_event(self, wanted):
        self.controller.barrier()
        time.sleep(QUIET_S)
        self.controller.barrier()
        for kind, _, body in self.controller.passed_over:
            if kind == wanted:
                raise Failed(f"message {wanted} came: {body.hex()}")

    def flows(self, table=255, out_port=of.ANY, out_group=of.ANY, cookie=0, mask=0, matching=()):
        """Give table, priority, cookie, idle and hard timeouts, flags, packets and bytes of entries."""
        filters = struct.pack("!B3xII4xQQ", table, out_port, out_group, cookie, mask) + of.match(*matching)
        left, found = self.controller.multipart(FLOW_STATS, filters), []
        while left:
            length, number = struct.unpack("!HB", left[:3])
            priority, idle, hard, flags, cookie, packets, octets = struct.unpack("!HHHH4xQQQ", left[12:48])
            found.append((number, priority, cookie, idle, hard, flags, packets, octets))
            left = left[length:]
        return sorted(found)

    def cookies(self, **filters):
        return sorted(entry[2] for entry in self.flows(**filters))

    def aggregate(self, **filters):
        request = struct.pack("!B3xII4xQQ", 255, filters.get("out_port", of.ANY), of.ANY, 0, 0) + of.match()
        return struct.unpack("!QQI", self.controller.multipart(AGGREGATE, request)[:20])

    def port_counts(self, number):
        body = self.controller.multipart(PORT_STATS, struct.pack("!I4x", number))
        check(len(body), 112, "statistics of one port")
        return struct.unpack("!QQQQQQ", body[8:56])

    def wait_until(self, ask, expected, text):
        end = time.monotonic() + PATIENCE_S
        while (found := ask()) != expected:
            if time.monotonic() > end:
                raise Failed(f"{text}: {found} instead of {expected}")


def counts(table):
    """Counts stay when an entry is added again or modified, unless they are to begin anew (OF 1.3.5 section 6.4)."""
    entry = {"matching": [IP], "cookie": 7, "idle": 100, "hard": 200, "flags": SEND_FLOW_REMOVED}
    table.tell(of.flow(of.apply(of.output(2)), **entry))
    table.passes(2)
    octets = len(FRAME)
    table.wait_until(table.flows, [(0, 1, 7, 100, 200, 1, 1, octets)], "an entry")
    table.tell(of.flow(of.apply(of.output(3)), matching=[IP], command=of.MODIFY, cookie=9, idle=1, hard=1))
    check(table.flows(), [(0, 1, 7, 100, 200, 1, 1, octets)], "a modified entry")
    table.passes(3)
    table.wait_until(table.flows, [(0, 1, 7, 100, 200, 1, 2, 2 * octets)], "a modified entry that was met")
    table.tell(of.flow(of.apply(of.output(3)), matching=[IP], command=of.MODIFY_STRICT, flags=RESET_COUNTS))
    check(table.flows(), [(0, 1, 7, 100, 200, 1, 0, 0)], "counts that were reset")
    table.passes(3)
    table.wait_until(lambda: table.flows()[0][6:], (1, octets), "counts before it is added again")
    table.tell(of.flow(of.apply(of.output(2)), matching=[IP], cookie=8))
    check(table.flows(), [(0, 1, 8, 0, 0, 0, 1, octets)], "an entry added again")
    table.tell(of.flow(of.apply(of.output(2)), matching=[IP], cookie=8, flags=RESET_COUNTS))
    check(table.flows(), [(0, 1, 8, 0, 0, RESET_COUNTS, 0, 0)], "an entry added again that resets")
    table.no_event(FLOW_REMOVED)
    table.tell(of.flow(of.apply(of.output(3)), matching=[("in_port", 1)], command=of.MODIFY))
    check(len(table.flows()), 1, "entries after the modification of none")


def selections(table):
    """Which entries a modification or deletion means."""
    narrow = [IP, ("ipv4_dst", 0xC0A81414)]

    def fill():
        table.clear()
        group = of.group_mod(4, of.INDIRECT, of.bucket(of.output(3)))
        table.tell(
            group,
            of.flow(of.apply(of.output(2)), matching=[IP], cookie=0x11, priority=5),
            of.flow(of.apply(of.output(3)), matching=narrow, cookie=0x12, priority=6),
            of.flow(of.apply(of.group(4)), matching=[("in_port", 3)], cookie=0x23, priority=5),
            of.flow(of.write(of.output(3)), cookie=0x24, priority=0),
            of.flow(of.apply(of.output(2)), cookie=0x35, table=3),
        )

    for text, rest, left in (
        ("everything", {"table": 255}, []),
        ("a table", {"table": 3}, [0x11, 0x12, 0x23, 0x24]),
        ("all of a table", {}, [0x35]),
        ("what is narrower", {"matching": [IP]}, [0x23, 0x24, 0x35]),
        ("what is as narrow", {"matching": narrow}, [0x11, 0x23, 0x24, 0x35]),
        ("strictly", {"matching": [IP], "priority": 5, "command": of.DELETE_STRICT}, [0x12, 0x23, 0x24, 0x35]),
        ("strictly, another priority", {"matching": [IP], "priority": 6, "command": of.DELETE_STRICT}, None),
        ("by cookie", {"cookie": 0x10, "cookie_mask": 0xF0}, [0x23, 0x24, 0x35]),
        ("by port", {"out_port": 3}, [0x11, 0x23, 0x35]),
        ("by port in all tables", {"table": 255, "out_port": 2}, [0x12, 0x23, 0x24]),
        ("by group", {"out_group": 4}, [0x11, 0x12, 0x24, 0x35]),
        ("by port and cookie", {"out_port": 3, "cookie": 0x24, "cookie_mask": 0xFF}, [0x11, 0x12, 0x23, 0x35]),
    ):
        fill()
        rest = {"command": of.DELETE} | rest
        table.tell(of.flow(**rest))
        every = [0x11, 0x12, 0x23, 0x24, 0x35]
        check(table.cookies(), every if left is None else left, f"left after deleting {text}")
    fill()
    for filters, found in (
        ({"table": 3}, [0x35]),
        ({"out_port": 3}, [0x12, 0x24]),
        ({"out_group": 4}, [0x23]),
        ({"cookie": 0x20, "mask": 0xF0}, [0x23, 0x24]),
        ({"matching": [IP]}, [0x11, 0x12]),
    ):
        check(table.cookies(**filters), found, f"statistics by {filters}")
    check(table.aggregate()[2], 5, "entries in the aggregate")
    check(table.aggregate(out_port=2)[2], 2, "entries in the aggregate by port")
    table.tell(
        of.flow(of.apply(of.output(2)), command=of.MODIFY, out_port=0, out_group=0, cookie=0x12, cookie_mask=0xFF)
    )
    check(table.cookies(out_port=3), [0x24], "entries to port 3 after a modification by cookie")


def overlaps(table):
    """An entry that is the same replaces; one that overlaps is refused only where that was asked for."""
    table.tell(of.flow(of.apply(of.output(2)), matching=[IP], cookie=1))
    table.tell(of.flow(of.apply(of.output(3)), matching=[("in_port", 1)], cookie=2))
    check(table.cookies(), [1, 2], "entries that overlap")
    table.clear()
    table.tell(of.flow(of.apply(of.output(2)), matching=[IP], cookie=1))
    for rest in (
        {"matching": [("eth_type", 0x0806)]},
        {"matching": [("in_port", 1)], "priority": 2},
    ):
        table.tell(of.flow(of.apply(of.output(3)), flags=CHECK_OVERLAP, cookie=3, **rest))
    check(table.cookies(), [1, 3, 3], "entries that do not overlap others")
    table.tell(of.flow(of.apply(of.output(3)), matching=[IP], cookie=3))
    check(table.cookies(), [3, 3, 3], "entries of which one replaced another")


def removals(table):
    """Why an entry went, and what it had counted."""

    def removed():
        body = table.event(FLOW_REMOVED)
        cookie, priority, reason, number, seconds, _, idle, hard, packets, octets = struct.unpack(
            "!QHBBIIHHQQ", body[:40]
        )
        return cookie, priority, reason, number, idle, hard, packets, octets, seconds

    asked = {"matching": [IP], "flags": SEND_FLOW_REMOVED, "priority": 9}
    table.tell(of.flow(of.apply(of.output(2)), cookie=1, hard=1, idle=30, **asked))
    table.passes(2)
    *seen, seconds = removed()
    check(seen, [1, 9, HARD, 0, 30, 1, 1, len(FRAME)], "an entry whose time is up")
    check(seconds in (1, 2), True, f"{seconds} s of an entry of 1 s")
    table.tell(of.flow(of.apply(of.output(2)), cookie=2, idle=1, hard=30, **asked))
    table.passes(2)
    check(removed()[:-1], (2, 9, IDLE, 0, 1, 30, 1, len(FRAME)), "an entry that was idle")
    table.tell(of.flow(of.apply(of.output(2)), cookie=3, **asked), of.flow(command=of.DELETE, table=255))
    check(removed()[:4], (3, 9, DELETED, 0), "an entry that was deleted")
    table.tell(of.group_mod(1, of.INDIRECT, of.bucket(of.output(2))), of.flow(of.apply(of.group(1)), cookie=4, **asked))
    table.tell(of.group_mod(1, of.INDIRECT, command=2))
    check(removed()[:4], (4, 9, GROUP_DELETED, 0), "an entry whose group went")
    table.tell(of.meter_mod(1, of.PACKETS, of.drop_band(9)), of.flow(of.meter(1), cookie=5, **asked))
    table.tell(of.meter_mod(1, 0, command=2))
    check(removed()[:2], (5, 9), "an entry whose meter went")
    table.tell(of.flow(of.apply(of.output(2)), cookie=6), of.flow(command=of.DELETE))
    table.no_event(FLOW_REMOVED)
    check(table.flows(), [], "entries that are left")


def packet_ins(table):
    """What a packet-in says of where it comes from."""
    told = of.output(of.CONTROLLER, 64)
    for text, messages, expected, fields in (
        ("a miss", [of.flow(of.apply(told), priority=0, cookie=5)], (0, 0, 5), [("in_port", 1)]),
        ("an action", [of.flow(of.apply(told), cookie=6)], (1, 0, 6), [("in_port", 1)]),
        # OF 1.3.5 section 7.4.1: what an action set or a bucket sends has no entry's cookie.
        ("an action set", [of.flow(of.write(told), cookie=7)], (1, 0, 2**64 - 1), [("in_port", 1)]),
        (
            "a bucket",
            [of.group_mod(1, of.INDIRECT, of.bucket(told)), of.flow(of.apply(of.group(1)), cookie=7)],
            (1, 0, 2**64 - 1),
            [("in_port", 1)],
        ),
        (
            "a table behind",
            [
                of.flow(of.apply(of.set_field("tunnel_id", 77)), of.write_metadata(0xAB), of.goto(3)),
                of.flow(of.apply(told), table=3, cookie=8, priority=0),
            ],
            (0, 3, 8),
            [("in_port", 1), ("metadata", 0xAB), ("tunnel_id", 77)],
        ),
    ):
        table.clear()
        table.tell(*messages)
        table.bench.wires[1].send(FRAME)
        body = table.event(PACKET_IN)
        total, reason, number, cookie = struct.unpack("!HBBQ", body[4:16])
        check((reason, number, cookie), expected, text)
        check(total, len(FRAME), f"bytes of {text}")
        match = of.match(*fields)
        check(body[16 : 16 + len(match)], match, f"the match of {text}")
        data = body[16 + len(match) + 2 :]
        check(FRAME.startswith(data) and len(data) >= 64, True, f"the data of {text}, {data.hex()}")


def packet_outs(table):
    """Where a packet of the controller goes."""
    table.clear()

    def out(*actions, in_port=of.CONTROLLER):
        body = b"".join(actions)
        table.controller.send(PACKET_OUT, struct.pack("!IIH6x", of.ANY, in_port, len(body)) + body + FRAME)

    changed_frame = build(changed(LAYERS, 0, dst=5))
    for text, actions, in_port, expected in (
        ("a port", [of.output(2)], of.CONTROLLER, {2: FRAME}),
        ("IN_PORT", [of.output(of.IN_PORT)], 3, {3: FRAME}),
        ("its own port", [of.output(3)], 3, {}),
        ("ALL", [of.output(of.ALL)], of.CONTROLLER, {1: FRAME, 2: FRAME, 3: FRAME}),
        ("ALL from a port", [of.output(of.ALL)], 2, {1: FRAME, 3: FRAME}),
        ("FLOOD from a port", [of.output(of.FLOOD)], 1, {2: FRAME, 3: FRAME}),
        ("two", [of.output(2), of.set_field("eth_dst", 5), of.output(3)], 1, {2: FRAME, 3: changed_frame}),
        ("nowhere", [], of.CONTROLLER, {}),
    ):
        out(*actions, in_port=in_port)
        found = {
            number: wire.receive(PATIENCE_S if number in expected else 0.02)
            for number, wire in table.bench.wires.items()
        }
        check({number: frame for number, frame in found.items() if frame}, expected, f"a packet-out to {text}")
    table.tell(of.flow(of.apply(of.output(3)), matching=[("in_port", 2)]))
    out(of.output(of.TABLE), in_port=2)
    check(table.bench.wires[3].receive(PATIENCE_S), FRAME, "a packet-out to TABLE")
    table.wait_until(lambda: table.flows()[0][6], 1, "packets of the entry that it met")
    out(of.output(of.CONTROLLER), in_port=1)
    check(table.event(PACKET_IN)[-len(FRAME) :], FRAME, "a packet-out to CONTROLLER")


def normal(table):
    """An output to NORMAL goes where the receiver was last seen (OF 1.3.5 section 4.5)."""
    table.tell(of.flow(of.apply(of.output(of.NORMAL))))
    here, there, several = 0x020000000001, 0x020000000002, 0x01005E000001

    def sent(port, sender, receiver, vlan=None):
        tags = [] if vlan is None else [("vlan", {"vid": vlan})]
        frame = build(stack(("eth", {"src": sender, "dst": receiver}), *tags, "ipv4", "udp"))
        table.bench.wires[port].send(frame)
        found = {number: wire.receive(QUIET_S) for number, wire in table.bench.wires.items()}
        return [number for number, came in found.items() if came == frame]

    check(sent(1, here, there), [2, 3], "a frame for nobody yet known")
    check(sent(2, there, here), [1], "a frame for who was seen")
    check(sent(1, here, there), [2], "a frame for who has answered")
    check(sent(3, 0x020000000003, there, vlan=7), [1, 2], "a frame for who was seen in another VLAN")
    check(sent(1, here, several), [2, 3], "a frame for several")
    check(sent(3, there, here), [1], "a frame of who has moved")
    check(sent(1, here, there), [3], "a frame for who has moved")
    check(sent(3, 0x020000000004, there), [], "a frame for who is behind the same port")
    check(sent(1, here, 0x0180C2000000), [], "a frame for bridges")


def tables_and_ports(table):
    """Lookups and matches of tables, frames and bytes of ports."""

    def looked_up(number):
        left = table.controller.multipart(TABLE_STATS)
        return next(
            struct.unpack("!IQQ", left[at + 4 : at + 24]) for at in range(0, len(left), 24) if left[at] == number
        )

    _, lookups, matches = looked_up(0)
    first, second = table.port_counts(1), table.port_counts(2)
    table.tell(of.flow(of.apply(of.output(2)), matching=[("in_port", 1)]))
    table.passes(2)
    table.wait_until(lambda: looked_up(0), (1, lookups + 1, matches + 1), "a table that was met")
    table.bench.wires[3].send(FRAME)
    table.wait_until(lambda: looked_up(0), (1, lookups + 2, matches + 1), "a table that was missed")
    grown = tuple(now - before for now, before in zip(table.port_counts(1), first, strict=True))
    check(grown, (1, 0, len(FRAME), 0, 0, 0), "what port 1 has counted")
    grown = tuple(now - before for now, before in zip(table.port_counts(2), second, strict=True))
    check(grown, (0, 1, 0, len(FRAME), 0, 0), "what port 2 has counted")


def groups_and_meters(table):
    """Statistics of groups, buckets, meters and bands; modifications take effect."""
    table.tell(
        of.group_mod(5, of.GROUP_ALL, of.bucket(of.output(2)), of.bucket(of.output(3))),
        of.group_mod(6, of.INDIRECT, of.bucket(of.group(5))),
        of.flow(of.apply(of.group(5))),
    )
    table.passes(2)
    check(table.bench.wires[3].receive(PATIENCE_S), FRAME, "the other bucket")

    def statistics(number):
        body = table.controller.multipart(GROUP_STATS, struct.pack("!I4x", number))
        references, packets, octets = struct.unpack("!I4xQQ", body[8:32])
        return references, packets, octets, struct.unpack(f"!{(len(body) - 40) // 8}Q", body[40:])

    octets = len(FRAME)
    table.wait_until(lambda: statistics(5), (2, 1, octets, (1, octets, 1, octets)), "a group")
    table.tell(of.group_mod(5, of.INDIRECT, of.bucket(of.output(3)), command=of.MODIFY))
    table.passes(3)
    check(table.bench.wires[2].receive(QUIET_S), None, "a bucket that went")
    table.tell(of.group_mod(99, of.INDIRECT, command=2), of.meter_mod(99, 0, command=2))
    table.clear()
    table.tell(of.meter_mod(3, of.PACKETS | of.BURST, of.drop_band(1, 1)), of.flow(of.meter(3), of.apply(of.output(2))))
    table.passes(2)
    table.drops()
    body = table.controller.multipart(METER_STATS, struct.pack("!I4x", 3))
    check(struct.unpack("!IQQ", body[12:32]), (1, 2, 2 * octets), "a meter's flows, packets and bytes")
    check(struct.unpack("!QQ", body[40:56]), (1, octets), "what a band took")
    table.tell(of.meter_mod(3, of.PACKETS, of.drop_band(1000), command=of.MODIFY))
    table.passes(2)


def ports(table):
    """A port's configuration, and that it is told (OF 1.3.5 section 7.3.4.3)."""
    described = table.controller.multipart(PORT_DESCRIPTION)
    addresses = {
        struct.unpack("!I", described[at : at + 4])[0]: described[at + 8 : at + 14]
        for at in range(0, len(described), 64)
    }
    check(len(set(addresses.values())), 3, "addresses of three ports")
    table.tell(of.flow(of.apply(of.output(2), of.output(of.CONTROLLER))))

    def configure(number, bit, *, on):
        value = bit if on else 0
        body = struct.pack("!I4x6s2xIII4x", number, addresses[number], value, bit, 0)
        table.controller.send(PORT_MOD, body)
        status = table.event(PORT_STATUS)
        found = (status[0], *struct.unpack("!I", status[8:12]), struct.unpack("!I", status[40:44])[0] & bit)
        check(found, (2, number, value), "a port-status")
        table.controller.barrier()

    for number, bit, leaves, told in (
        (1, 1 << 2, False, False),
        (2, 1 << 5, False, True),
        (1, 1 << 6, True, False),
        (2, 1, False, True),
    ):
        configure(number, bit, on=True)
        table.controller.packet_ins.clear()
        table.bench.wires[1].send(FRAME)
        out = table.bench.wires[2].receive(PATIENCE_S if leaves else QUIET_S)
        check(out is not None, leaves, f"whether a frame leaves while port {number} has {bit:#x}")
        if told:
            table.event(PACKET_IN)
        else:
            table.no_event(PACKET_IN)
        configure(number, bit, on=False)
    table.wait_until(lambda: port_state(table, 2) & 1, 0, "port 2 down")
    table.passes(2)


def port_state(table, number):
    described = table.controller.multipart(PORT_DESCRIPTION)
    at = 64 * (number - 1)
    return struct.unpack("!I", described[at + 36 : at + 40])[0]


def asynchronous(table):
    """What a controller wants to be told of, and how."""

    def masks():
        transaction = table.controller.send(GET_ASYNC, b"")
        return struct.unpack("!6I", table.controller.wait_for(GET_ASYNC_REPLY, transaction))

    default = masks()
    # OF 1.3.5 section 7.3.10: all but an invalid TTL for masters, ports alone for slaves.
    check(
        (default[0] & 7, default[1], default[2] & 7, default[3] & 7, default[4] & 15, default[5]),
        (3, 0, 7, 7, 15, 0),
        "what is told at first",
    )
    table.tell(of.flow(of.apply(of.DEC_NW_TTL, of.output(2)), matching=[IP]))
    dying = build(changed(LAYERS, 1, ttl=1))
    table.bench.wires[1].send(dying)
    check(table.bench.wires[2].receive(QUIET_S), None, "a frame whose time is up")
    table.no_event(PACKET_IN)
    wanted = (7, 0, 0, 7, 0, 0)
    table.controller.send(SET_ASYNC, struct.pack("!6I", *wanted))
    check(masks(), wanted, "what is told now")
    table.bench.wires[1].send(dying)
    body = table.event(PACKET_IN)
    check((body[6], body[-len(dying) :]), (2, dying), "a packet-in of an invalid TTL")
    table.tell(of.flow(flags=SEND_FLOW_REMOVED), of.flow(command=of.DELETE))
    table.no_event(FLOW_REMOVED)
    table.controller.send(SET_ASYNC, struct.pack("!6I", *default))
    table.controller.send(SET_CONFIG, struct.pack("!HH", 0, 200))
    transaction = table.controller.send(GET_CONFIG, b"")
    check(table.controller.wait_for(GET_CONFIG_REPLY, transaction), struct.pack("!HH", 0, 200), "the configuration")


def main():
    bench = Bench(sys.argv[1])
    table = Tables(bench)
    parts = (
        counts,
        selections,
        overlaps,
        removals,
        packet_ins,
        packet_outs,
        normal,
        tables_and_ports,
        groups_and_meters,
        ports,
        asynchronous,
    )
    try:
        for part in parts:
            table.clear()
            part(table)
    finally:
        bench.end()


if __name__ == "__main__":
    main()
