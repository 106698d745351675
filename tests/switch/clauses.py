"""What suites of conformance ask of a switch, clause by clause, beyond behaviour.py. usage: clauses.py SWITCHD

Runs in a network namespace of its own, and prints a JSON list of what is not as OpenFlow 1.3.5 has it.
"""

import json
import random
import struct
import sys
import time

from behaviour import (
    FRAME,
    GET_CONFIG,
    IP,
    PACKET_OUT,
    PORT_MOD,
    QUIET_S,
    SEND_FLOW_REMOVED,
    SET_CONFIG,
    Tables,
    check,
)
from cases import messages as of
from cases.frames import build, changed, stack
from conformance import ERROR, PACKET_IN, PATIENCE_S, Bench, Failed

NO_RECEIVE, NO_FORWARD = 1 << 2, 1 << 5
GROUP_STATS, GROUP_DESCRIPTION, GROUP_FEATURES, METER_STATS, METER_FEATURES = 6, 7, 8, 9, 11
PORT_STATS, QUEUE_STATS, TABLE_FEATURES, PORT_DESCRIPTION = 4, 5, 12, 13
RULES = []


def rule(test):
    """One more clause."""
    RULES.append(test)
    return test


def refused(table, message):
    """Give type and code of the error for a message; None where there is none."""
    transaction = table.controller.send(message[1], message[8:])
    barrier = table.controller.send(20, b"")
    end = time.monotonic() + PATIENCE_S
    found = None
    while time.monotonic() < end:
        kind, its, body = table.controller.message(PATIENCE_S) or (None, None, b"")
        if kind == ERROR:
            check(its, transaction, "the transaction of an error")
            found = struct.unpack("!HH", body[:4])
        elif (kind, its) == (21, barrier):
            return found
    raise Failed("no reply to a barrier came")


def received(table, ports=(1, 2, 3), patience=QUIET_S):
    """Give the ports by which frames leave within a time, each as often as frames do."""
    found = []
    for port in ports:
        while table.bench.wires[port].receive(patience) is not None:
            found.append(port)
    return found


def addresses(table):
    described = table.controller.multipart(PORT_DESCRIPTION)
    return {
        struct.unpack("!I", described[at : at + 4])[0]: described[at + 8 : at + 14]
        for at in range(0, len(described), 64)
    }


def configure(table, number, bit, *, on):
    body = struct.pack("!I4x6s2xIII4x", number, addresses(table)[number], bit if on else 0, bit, 0)
    table.controller.send(PORT_MOD, body)
    table.event(12)


def port_counts(table, number):
    """Received and sent packets, received and sent bytes, received and sent drops."""
    return table.port_counts(number)


@rule
def frames_that_a_port_does_not_take_are_dropped_and_counted(table):
    table.tell(of.flow(of.apply(of.output(2))))
    for port, bit, place in ((1, NO_RECEIVE, 4), (2, NO_FORWARD, 5)):
        before = port_counts(table, port)
        configure(table, port, bit, on=True)
        for _ in range(5):
            table.bench.wires[1].send(FRAME)
        table.wait_until(lambda p=port, b=before, i=place: port_counts(table, p)[i] - b[i], 5, f"drops of port {port}")
        configure(table, port, bit, on=False)
        check(received(table), [], f"out of ports while port {port} is closed")


@rule
def a_flood_leaves_out_ports_that_do_not_forward(table):
    table.tell(of.flow(of.apply(of.output(of.ALL), of.output(of.IN_PORT), of.output(of.CONTROLLER))))
    configure(table, 2, NO_FORWARD, on=True)
    table.bench.wires[1].send(FRAME)
    check(received(table), [1, 3], "out of ports")
    check(table.event(PACKET_IN)[-len(FRAME) :], FRAME, "the packet-in")
    configure(table, 2, NO_FORWARD, on=False)


@rule
def a_packet_out_of_nothing_does_nothing(table):
    empty = of.message(PACKET_OUT, struct.pack("!IIH6x", of.ANY, 0, 0))
    check(refused(table, empty), None, "an empty packet-out")
    # Controllers such as Floodlight say ANY where they mean none.
    come_from = ((of.CONTROLLER, None), (of.ANY, None), (1, None))
    for in_port, error in (*come_from, (0, (1, 11)), (0xFFFFFF00, (1, 11)), (of.LOCAL, (1, 11))):
        body = struct.pack("!IIH6x", of.ANY, in_port, 16) + of.output(3) + FRAME
        check(refused(table, of.message(PACKET_OUT, body)), error, f"a packet-out from {in_port:#x}")
    check(received(table), [3, 3, 3], "out of ports")


@rule
def entries_match_what_a_controller_sends_into_the_tables(table):
    entry = of.flow(of.apply(of.output(2)), matching=[("in_port", of.CONTROLLER)])
    table.tell(entry)
    body = struct.pack("!IIH6x", of.ANY, of.CONTROLLER, 16) + of.output(of.TABLE) + FRAME
    table.controller.send(PACKET_OUT, body)
    check(table.bench.wires[2].receive(PATIENCE_S), FRAME, "out of port 2")


@rule
def a_packet_out_uses_groups_and_fields(table):
    new = build(changed(stack("eth", "ipv4", "tcp"), 1, src=0xC0A80105))
    table.tell(of.group_mod(1, of.GROUP_ALL, of.bucket(of.output(3))))
    actions = of.set_field("ipv4_src", 0xC0A80105) + of.group(1) + of.output(2)
    body = struct.pack("!IIH6x", of.ANY, 1, len(actions)) + actions + FRAME
    table.controller.send(PACKET_OUT, body)
    for port in (2, 3):
        check(table.bench.wires[port].receive(PATIENCE_S), new, f"out of port {port}")


@rule
def modifications_of_nothing_change_nothing(table):
    for command in (of.MODIFY, of.MODIFY_STRICT, of.DELETE, of.DELETE_STRICT):
        message = of.flow(of.apply(of.output(2)), matching=[IP], command=command)
        check(refused(table, message), None, f"command {command} without entries")
    check(table.flows(), [], "entries")


@rule
def deletion_by_port_takes_what_sends_there(table):
    table.tell(of.flow(of.apply(of.output(2)), priority=100), of.flow(of.apply(of.output(3)), priority=200))
    table.passes(3)
    table.tell(of.flow(command=of.DELETE, out_port=3))
    table.passes(2)


@rule
def entries_come_back_as_they_were_given(table):
    given = []
    for number, flags in enumerate((8, 16, 2), 1):
        entry = {"priority": 0x10 + number, "idle": 0x20 + number, "hard": 0x30 + number, "flags": flags}
        matching = [("in_port", number), ("vlan_vid", 0x1000 | number)]
        table.tell(of.flow(of.write(of.output(number)), matching=matching, cookie=number, **entry))
        given.append((0, 0x10 + number, number, 0x20 + number, 0x30 + number, flags, 0, 0))
    check(table.flows(), given, "entries")


@rule
def an_entry_that_is_replaced_tells_nobody(table):
    entry = {"matching": [("in_port", 1)], "priority": 1000}
    table.tell(of.flow(of.apply(of.output(2)), cookie=1, flags=SEND_FLOW_REMOVED, hard=1000, idle=2000, **entry))
    table.passes(2)
    table.wait_until(lambda: table.flows()[0][6], 1, "packets")
    table.tell(of.flow(of.apply(of.output(3)), cookie=2, hard=3000, idle=4000, **entry))
    table.no_event(11)
    check(table.flows(), [(0, 1000, 2, 4000, 3000, 0, 1, len(FRAME))], "the entry")


@rule
def groups_are_described_and_counted(table):
    bucket = of.bucket(of.set_field("tcp_src", 2000), of.output(2))
    table.tell(
        of.group_mod(0, of.GROUP_ALL, bucket, of.bucket(of.output(3))),
        of.group_mod(0xFFFFFF00, of.SELECT, of.bucket(of.output(2), weight=1), of.bucket(weight=3)),
        of.group_mod(2, of.FAST_FAILOVER, of.bucket(of.output(2), watch_port=2)),
        of.group_mod(3, of.INDIRECT, of.bucket()),
    )
    described = {struct.unpack("!I", one[2:6])[0]: one[0] for one in table.controller.structures(GROUP_DESCRIPTION)}
    check(described, {0: 0, 0xFFFFFF00: 1, 2: 3, 3: 2}, "types of groups")
    for number, parts in ((0, 2), (0xFFFFFF00, 2), (2, 1), (3, 1)):
        body = table.controller.multipart(GROUP_STATS, struct.pack("!I4x", number))
        check(len(body), 40 + 16 * parts, f"bytes about group {number}")
    check(table.controller.multipart(GROUP_STATS, struct.pack("!I4x", 77)), b"", "what is said of no group")
    every = table.controller.multipart(GROUP_STATS, struct.pack("!I4x", 0xFFFFFFFC))
    check(len(every), 4 * 40 + 16 * 6, "bytes about all groups")
    table.tell(of.group_mod(0, of.SELECT, command=of.MODIFY), of.group_mod(2, of.GROUP_ALL, command=2))
    described = [struct.unpack("!I", one[2:6])[0] for one in table.controller.structures(GROUP_DESCRIPTION)]
    check(sorted(described), [0, 3, 0xFFFFFF00], "groups that are left")
    table.tell(of.group_mod(0xFFFFFFFC, of.GROUP_ALL, command=2))
    check(table.controller.structures(GROUP_DESCRIPTION), [], "groups after all went")


@rule
def an_empty_group_leaves_the_action_list_alone(table):
    table.tell(of.group_mod(1, of.SELECT), of.flow(of.apply(of.output(2), of.group(1))))
    table.passes(2)


@rule
def flows_of_a_select_group_stay_and_are_spread(table):
    table.tell(of.group_mod(1, of.SELECT, *[of.bucket(of.output(port), weight=1) for port in (2, 3)]))
    table.tell(of.flow(of.apply(of.group(1))))
    count, seen = 200, {2: 0, 3: 0}
    numbers = random.Random(7)
    for source in range(count):
        frame = build(stack("eth", "ipv4", ("tcp", {"src": source, "dst": numbers.randrange(65536)})))
        for _ in range(2):
            table.bench.wires[1].send(frame)
        ports = []
        end = time.monotonic() + PATIENCE_S
        while len(ports) < 2 and time.monotonic() < end:
            ports += received(table, (2, 3), 0.0005)
        check(len(set(ports)), 1, f"ports of one flow: {ports}")
        seen[ports[0]] += 1
    check(all(0.7 * count / 2 < found < 1.3 * count / 2 for found in seen.values()), True, f"spread as {seen}")


@rule
def features_say_what_the_switch_has(table):
    types, capabilities, *rest = struct.unpack("!10I", table.controller.multipart(GROUP_FEATURES))
    check((types, capabilities & 0xF), (0xF, 0xF), "types and capabilities of groups")
    check(all(rest), True, "most groups and their actions")
    most, bands, flags, most_bands, _ = struct.unpack("!IIIBB2x", table.controller.multipart(METER_FEATURES))
    check((most > 0, bands, flags, most_bands > 0), (True, 6, 0xF, True), "features of meters")
    check(refused(table, of.flow(of.meter(most + 1))), (12, 3), "a meter beyond the last")


@rule
def statistics_of_ports(table):
    body = table.controller.multipart(PORT_STATS, struct.pack("!I4x", of.ANY))
    numbers = [struct.unpack("!I", body[at : at + 4])[0] for at in range(0, len(body), 112)]
    check(numbers, [1, 2, 3], "ports with statistics")
    table.controller.multipart(QUEUE_STATS, struct.pack("!II", of.ANY, of.ANY))
    table.controller.multipart(QUEUE_STATS, struct.pack("!II", 1, of.ANY))


@rule
def frames_of_802_3_have_the_type_that_snap_says(table):
    inner = build(stack("eth", "ipv4", "tcp"))[14:]
    addresses = FRAME[:12]
    snap = addresses + struct.pack("!H", len(inner) + 8) + bytes.fromhex("aaaa03000000") + b"\x08\x00" + inner
    llc = addresses + struct.pack("!H", 46) + bytes.fromhex("aaab03") + bytes(43)
    table.tell(of.flow(of.apply(of.output(2)), matching=[IP]), of.flow(of.apply(of.output(3)), priority=0))
    table.passes(2, snap)
    table.passes(3, llc)
    table.passes(2)
    new = build(changed(stack("eth", "ipv4", "tcp"), 1, dst=5))[14:]
    set_it = of.flow(of.apply(of.set_field("ipv4_dst", 5), of.output(2)), matching=[IP, ("ip_proto", 6)], priority=9)
    table.tell(set_it)
    table.passes(2, snap, snap[: -len(inner)] + new)


@rule
def frames_of_802_3_without_snap_have_their_length_for_a_type(table):
    # No clause of 1.3 gives them another type; 1.0 had 0x05ff for them.
    llc = FRAME[:12] + struct.pack("!H", 46) + bytes.fromhex("aaab03") + bytes(43)
    table.tell(of.flow(of.apply(of.output(2)), matching=[("eth_type", 46)]))
    table.tell(of.flow(of.apply(of.output(3)), matching=[("eth_type", 0x05FF)]))
    table.passes(2, llc)


@rule
def lengths_of_802_3_count_the_labels_behind_them(table):
    inner = build(stack("eth", "ipv4", "tcp"))[14:]

    def snap(kind, data, tag=b""):
        return FRAME[:12] + tag + struct.pack("!H", len(data) + 8) + bytes.fromhex("aaaa03000000") + kind + data

    plain, label = snap(b"\x08\x00", inner), struct.pack("!I", 1 << 8 | 64)
    labelled = snap(b"\x88\x47", label + inner)
    customer = bytes.fromhex("020000000011020000000022")
    backbone = snap(b"\x88\xe7", bytes(4) + customer + b"\x08\x00" + inner)
    for text, actions, frame, expected in (
        ("push_mpls", of.push_mpls(), plain, labelled),
        ("pop_mpls", of.pop_mpls(0x0800), labelled, plain),
        ("pop_pbb", of.plain(27), backbone, customer + plain[12:]),
        ("push_vlan", of.push_vlan(), plain, snap(b"\x08\x00", inner, bytes.fromhex("81000000"))),
        ("both", of.push_vlan() + of.push_mpls(), plain, snap(b"\x88\x47", label + inner, bytes.fromhex("81000000"))),
    ):
        needed = {labelled: 0x8847, backbone: 0x88E7}.get(frame)
        matching = [] if needed is None else [("eth_type", needed)]
        table.tell(of.flow(of.apply(actions, of.output(2)), matching=matching))
        table.bench.wires[1].send(frame)
        check(table.bench.wires[2].receive(PATIENCE_S), expected, text)
        table.clear()


@rule
def a_controller_is_told_of_all_but_invalid_ttls_unless_it_asks(table):
    def masks():
        return struct.unpack("!6I", table.controller.wait_for(27, table.controller.send(26, b"")))

    usual = (0x3, 0, 0x7, 0x7, 0xF, 0)
    check(masks(), usual, "masks at first")
    frame = build(changed(stack("eth", "ipv4", "udp"), 1, ttl=1))
    table.tell(of.flow(of.apply(of.plain(24), of.output(2)), matching=[IP]))
    table.bench.wires[1].send(frame)
    table.no_event(PACKET_IN)
    table.controller.send(28, struct.pack("!6I", 0x7, *usual[1:]))
    check(masks(), (0x7, *usual[1:]), "masks that were given")
    table.bench.wires[1].send(frame)
    check(table.event(PACKET_IN)[6], 2, "the reason")
    table.controller.send(28, struct.pack("!6I", *usual))


@rule
def replies_that_are_too_long_come_in_parts(table):
    count = 2000
    table.tell(*(of.flow(of.apply(of.output(2)), matching=[("eth_dst", number)]) for number in range(count)))
    filters = struct.pack("!B3xII4xQQ", 0xFF, of.ANY, of.ANY, 0, 0) + of.match()
    transaction = table.controller.send(18, struct.pack("!HH4x", 1, 0) + filters)
    more, entries = [], 0
    while not more or more[-1]:
        body = table.controller.wait_for(19, transaction)
        more.append(struct.unpack("!HH", body[:4])[1])
        left = body[8:]
        while left:
            left, entries = left[struct.unpack("!H", left[:2])[0] :], entries + 1
    check((entries, len(more) > 2, set(more[:-1])), (count, True, {1}), "entries in parts, all but the last with MORE")


@rule
def what_was_asked_for_is_all_that_is_told(table):
    told = of.output(of.CONTROLLER, 0)
    table.tell(of.flow(of.apply(told)))
    table.bench.wires[1].send(FRAME)
    body = table.event(PACKET_IN)
    (buffer,) = struct.unpack("!I", body[:4])
    check((buffer != of.ANY, len(body) - 16 - 16 - 2), (True, 0), "a packet-in of 0 bytes")
    table.tell(of.flow(command=of.DELETE))
    out = struct.pack("!IIH6x", buffer, of.CONTROLLER, 16) + of.output(2)
    check(refused(table, of.message(PACKET_OUT, out)), None, "a packet-out of a buffer")
    check(table.bench.wires[2].receive(PATIENCE_S), FRAME, "out of port 2")
    check(refused(table, of.message(PACKET_OUT, out)), (1, 7), "a buffer used twice")


@rule
def a_buffer_goes_through_the_entry_that_it_comes_with(table):
    table.tell(of.flow(of.apply(of.output(of.CONTROLLER, 64)), priority=0))
    long = build(stack("eth", "ipv4", "tcp")) + bytes(200)
    table.bench.wires[1].send(long)
    body = table.event(PACKET_IN)
    buffer, total = struct.unpack("!IH", body[:6])
    check((total, len(body) - 34), (len(long), 64), "a packet-in")
    table.tell(of.flow(of.apply(of.output(3)), buffer=buffer))
    check(table.bench.wires[3].receive(PATIENCE_S), long, "out of port 3")


@rule
def fragments_are_dropped_where_the_controller_wants_it(table):
    table.tell(of.flow(of.apply(of.output(2))))
    plain = stack("eth", "ipv4", "udp")
    frames = [build(changed(plain, 1, fragment=value)) for value in (0x2000, 0x2005, 5)]
    frames.append(build(stack("eth", "ipv6", ("fragment", {"offset": 5}), "udp")))

    def set_config(flags):
        return of.message(SET_CONFIG, struct.pack("!HH", flags, 128))

    def config():
        return struct.unpack("!HH", table.controller.wait_for(8, table.controller.send(GET_CONFIG, b"")))

    check(config(), (0, 128), "the configuration at first")
    for frame in frames:
        table.passes(2, frame)
    check(refused(table, set_config(1)), None, "fragments to be dropped")
    check(config(), (1, 128), "the configuration")
    for frame in frames:
        table.bench.wires[1].send(frame)
    table.passes(2, build(plain))
    check(received(table), [], "out of ports")
    for flags in (2, 3, 4):
        check(refused(table, set_config(flags)), (10, 0), f"flags {flags}")
    check(config(), (1, 128), "the configuration after what was refused")
    check(refused(table, set_config(0)), None, "fragments to be treated normally")
    table.passes(2, frames[0])


@rule
def tables_may_be_asked_for_what_they_can_do(table):
    transaction = table.controller.send(18, struct.pack("!HH4x", TABLE_FEATURES, 0))
    parts, every = [], b""
    while not parts or struct.unpack("!HH", parts[-1][:4])[1] & 1:
        parts.append(table.controller.wait_for(19, transaction))
        every += parts[-1][8:]

    def ask(*tables):
        """Give the error for tables that are set, in parts that fit into messages; None where they are."""
        left, more = [*tables], []
        while left:
            body = b""
            while left and len(body) + len(left[0]) < 60000:
                body += left.pop(0)
            more.append(body)
        transaction = 0xABCD
        for index, body in enumerate(more):
            flags = int(index + 1 < len(more))
            table.controller.send(18, struct.pack("!HH4x", TABLE_FEATURES, flags) + body, transaction)
        barrier = table.controller.send(20, b"")
        error = None
        while (message := table.controller.message(PATIENCE_S))[:2] != (21, barrier):
            if message[0] == ERROR:
                error = struct.unpack("!HH", message[2][:4])
        return error

    own = []
    while every:
        (length,) = struct.unpack("!H", every[:2])
        own.append(every[:length])
        every = every[length:]
    check(ask(*own), None, "all tables as they are")
    bare = [one[:64] for one in own]
    bare = [struct.pack("!H", 64) + one[2:] for one in bare]
    check(ask(*bare), None, "all tables without properties")
    check(ask(*own[:-1]), (13, 5), "fewer tables")
    check(ask(struct.pack("!HB", 64, 254) + bare[0][3:]), (13, 0), "a table that is none")
    check(ask(bare[0], bare[0]), (13, 0), "a table twice")
    check(ask(bare[0][:60] + struct.pack("!I", 2**32 - 1)), (13, 4), "too many entries")
    for text, error, number, content in (
        ("a property that is none", 2, 77, b""),
        ("a table before", 4, 2, b"\0"),
        ("an instruction that is none", 4, 0, struct.pack("!HH", 99, 4)),
        ("an action that is none", 4, 4, struct.pack("!HH", 99, 4)),
        ("a field that is none", 4, 8, struct.pack("!I", 0x8000 << 16 | 99 << 9 | 4)),
        ("a mask where none may be", 4, 8, struct.pack("!I", 0x80000008 | 1 << 8)),
    ):
        content = struct.pack("!HH", number, 4 + len(content)) + content
        content += bytes(-len(content) % 8)
        whole = struct.pack("!H", 64 + len(content)) + bare[0][2:] + content
        check(ask(whole), (13, error), text)


@rule
def timeouts_count_from_the_last_frame_or_the_beginning(table):
    asked = {"flags": SEND_FLOW_REMOVED}
    table.tell(of.flow(of.apply(of.output(2)), idle=1, cookie=1, **asked))
    for _ in range(4):
        time.sleep(0.4)
        table.passes(2)
    check(table.cookies(), [1], "entries that are in use")
    body = table.event(11)
    check((body[10], *struct.unpack("!Q", body[24:32])), (0, 4), "reason and packets")


def main():
    bench = Bench(sys.argv[1])
    table, failures = Tables(bench), []
    try:
        for test in RULES:
            if len(sys.argv) > 2 and sys.argv[2] not in test.__name__:
                continue
            table.clear()
            try:
                test(table)
            except Failed as failed:
                failures.append(f"{test.__name__}: {failed}")
    finally:
        bench.end()
    sys.stdout.write(json.dumps(failures, indent=1))


if __name__ == "__main__":
    main()
