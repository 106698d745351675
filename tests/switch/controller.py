"""What a controller sees of `brimful-switchd` beyond the published cases. usage: controller.py SWITCHD

Runs in a network namespace of its own, in which it makes its interfaces; fails at the first thing that is not as it
should be.
"""

import socket
import struct
import sys
import time

from conformance import (
    ALL,
    BARRIER,
    BARRIER_REPLY,
    ECHO_REPLY,
    ECHO_REQUEST,
    ERROR,
    FLOW_MOD,
    GROUP_MOD,
    PACKET_IN,
    PATIENCE_S,
    Bench,
    Controller,
    Failed,
    Wire,
    ip,
)

FEATURES_REQUEST, FEATURES_REPLY, FLOW_REMOVED, PORT_STATUS, PACKET_OUT, ROLE_REQUEST, ROLE_REPLY = (
    5,
    6,
    11,
    12,
    13,
    24,
    25,
)
DESCRIPTION, AGGREGATE, TABLE_FEATURES, PORT_DESCRIPTION = 0, 2, 12, 13
NO_MASTER_CHANGE, MASTER, SLAVE = 0, 2, 3
ADD, DELETE = 0, 3
SEND_FLOW_REMOVED = 1
IN_PORT_FIELD, ETH_DST_FIELD = 0x80000004, 0x80000606
TO_CONTROLLER, FLOOD, TABLE = 0xFFFFFFFD, 0xFFFFFFFB, 0xFFFFFFF9
MANY = 3000
"""Entries whose statistics need several parts."""
FRAME = bytes.fromhex("020000000009020000000001") + b"\x08\x06" + bytes(46)


def matched(*fields):
    body = b"".join(struct.pack("!I", field) + value for field, value in fields)
    match = struct.pack("!HH", 1, 4 + len(body)) + body
    return match + bytes(-len(match) % 8)


def output(port):
    return struct.pack("!HHIH6x", 0, 16, port, 0xFFFF)


def flow(command, priority, match, actions=b"", cookie=0, idle_s=0, hard_s=0, flags=0, table=0):
    head = struct.pack("!QQBBHHHIIIH2x", cookie, 0, table, command, idle_s, hard_s, priority, ALL, ALL, ALL, flags)
    instructions = struct.pack("!HH4x", 4, 8 + len(actions)) + actions if actions else b""
    return head + match + instructions


def check(condition, text):
    if not condition:
        raise Failed(text)


def wait(controller, wanted):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        message = controller.message(end - time.monotonic())
        if message and message[0] == wanted:
            return message[2]
    raise Failed(f"no message {wanted} came")


def refused(controller, kind, body):
    """Send what cannot be; give the error's type, code and data."""
    transaction = controller.send(kind, body)
    error = wait(controller, ERROR)
    return *struct.unpack("!HH", error[:4]), error[4:], transaction


def what_it_is(bench):
    controller = bench.controller
    reply = controller.wait_for(FEATURES_REPLY, controller.send(FEATURES_REQUEST, b""))
    datapath, buffers, tables = struct.unpack("!QIB", reply[:13])
    check((datapath, buffers, tables) == (1, 256, 254), f"features {datapath, buffers, tables}")
    check(controller.multipart(DESCRIPTION).startswith(b"brimful\0"), "the description has no manufacturer")
    check(controller.wait_for(ECHO_REPLY, controller.send(ECHO_REQUEST, b"abc")) == b"abc", "an echo has other data")
    ports = controller.multipart(PORT_DESCRIPTION)
    check([struct.unpack("!I", ports[at : at + 4])[0] for at in range(0, len(ports), 64)] == [1, 2, 3], "other ports")
    features, found = controller.multipart(TABLE_FEATURES), []
    while features:
        (length,) = struct.unpack("!H", features[:2])
        found.append(features[2])
        features = features[length:]
    check(found == list(range(254)), "other tables have features")


def errors(bench):
    controller = bench.controller
    wrong = flow(ADD, 1, matched((0x80001604, bytes([10, 0, 0, 1]))), output(2))
    kind, code, data, transaction = refused(controller, FLOW_MOD, wrong)
    check((kind, code) == (4, 9), f"an address without its EtherType gives {kind, code}")
    check(
        data[:8] == struct.pack("!BBHI", 4, FLOW_MOD, 8 + len(wrong), transaction), "the error is about something else"
    )
    check(len(data) >= 64, "the error carries less than 64 bytes")
    kind, code, *_ = refused(controller, FLOW_MOD, flow(ADD, 1, matched(), output(0xFFFFFFFE)))
    check((kind, code) == (2, 4), f"an output to LOCAL gives {kind, code}")
    kind, code, *_ = refused(controller, PACKET_OUT, struct.pack("!IIH6x", 7, 1, 0))
    check((kind, code) == (1, 8), f"a buffer that is not there gives {kind, code}")
    kind, code, *_ = refused(controller, 99, b"")
    check((kind, code) == (1, 1), f"a message that is none gives {kind, code}")
    controller.barrier()


def packets(bench):
    controller, wires = bench.controller, bench.wires
    controller.send(FLOW_MOD, flow(ADD, 0, matched(), output(TO_CONTROLLER), cookie=5))
    controller.barrier()
    wires[1].send(FRAME)
    body = wait(controller, PACKET_IN)
    buffer, length, reason, table, cookie = struct.unpack("!IHBBQ", body[:16])
    seen = (buffer, length, reason, table, cookie, body[-len(FRAME) :])
    check(seen == (ALL, len(FRAME), 0, 0, 5, FRAME), f"a packet-in says {seen}")
    for wire in wires.values():
        wire.drain()
    out = struct.pack("!IIH6x", ALL, 1, 16) + output(FLOOD) + FRAME
    controller.send(PACKET_OUT, out)
    check(wires[2].receive(PATIENCE_S) == FRAME and wires[3].receive(PATIENCE_S) == FRAME, "a flood does not come out")
    check(wires[1].receive(0.05) is None, "a flood comes back")
    controller.send(FLOW_MOD, flow(ADD, 9, matched((ETH_DST_FIELD, FRAME[:6])), output(3)))
    controller.send(PACKET_OUT, struct.pack("!IIH6x", ALL, 1, 16) + output(TABLE) + FRAME)
    check(wires[3].receive(PATIENCE_S) == FRAME, "a packet for the tables does not come out")
    controller.clear()


def removals(bench):
    controller = bench.controller
    for timeout, reason in (({"hard_s": 1}, 1), ({"idle_s": 1}, 0)):
        controller.send(FLOW_MOD, flow(ADD, 3, matched(), output(2), cookie=9, flags=SEND_FLOW_REMOVED, **timeout))
        body = wait(controller, FLOW_REMOVED)
        seen = struct.unpack("!QHBB", body[:12])
        check(seen == (9, 3, reason, 0), f"an entry went with {seen}")
    controller.send(FLOW_MOD, flow(ADD, 3, matched(), output(2), flags=SEND_FLOW_REMOVED))
    controller.barrier()
    bench.wires[1].send(FRAME)
    check(bench.wires[2].receive(PATIENCE_S) == FRAME, "a frame does not come out")
    controller.send(FLOW_MOD, flow(DELETE, 0, matched()))
    body = wait(controller, FLOW_REMOVED)
    packets, octets = struct.unpack("!QQ", body[24:40])
    check((body[10], packets, octets) == (2, 1, len(FRAME)), f"a deletion says {body[10], packets, octets}")


def many_entries(bench):
    controller = bench.controller
    for number in range(MANY):
        address = number.to_bytes(6, "big")
        controller.send(
            FLOW_MOD, flow(ADD, 1, matched((IN_PORT_FIELD, b"\0\0\0\1"), (ETH_DST_FIELD, address)), output(2))
        )
    controller.barrier()
    check(len(controller.flows()) == MANY, "statistics of flows miss some")
    request = struct.pack("!B3xII4xQQ", 0xFF, ALL, ALL, 0, 0) + matched()
    flows = struct.unpack("!I", controller.multipart(AGGREGATE, request)[16:20])[0]
    check(flows == MANY, f"{flows} flows in the aggregate")
    controller.clear()
    check(controller.flows() == [], "entries stay")


def links(bench):
    for state in ("down", "up"):
        ip("link", "set", "h3", state)
        body = wait(bench.controller, PORT_STATUS)
        down = struct.unpack("!I", body[8 + 36 : 8 + 40])[0] & 1
        check(
            (body[0], down) == (2, int(state == "down")), f"port-status says {body[0], down} when the link is {state}"
        )


def fail_over(bench):
    """The next bucket of a group carries on when the port that the first one watches falls."""
    # A socket tells once that its interface has been down: others are there for the next part.
    bench.wires = {port: Wire(f"h{port}") for port in bench.wires}
    controller, wires = bench.controller, bench.wires
    buckets = b"".join(struct.pack("!HHII4x", 32, 0, port, ALL) + output(port) for port in (2, 3))
    controller.send(GROUP_MOD, struct.pack("!HBxI", 0, 3, 1) + buckets)
    controller.send(FLOW_MOD, flow(ADD, 1, matched(), struct.pack("!HHI", 22, 8, 1)))
    controller.barrier()
    wires[1].send(FRAME)
    check(wires[2].receive(PATIENCE_S) == FRAME, "a group does not use its first bucket")
    ip("link", "set", "h2", "down")
    wait(controller, PORT_STATUS)
    wires[1].send(FRAME)
    check(wires[3].receive(PATIENCE_S) == FRAME, "a group does not use its second bucket")
    ip("link", "set", "h2", "up")
    wait(controller, PORT_STATUS)
    bench.wires[2] = Wire("h2")
    controller.clear()


def roles(bench, listener):
    first, second = bench.controller, Controller(listener.accept()[0])

    def ask(controller, role, generation):
        transaction = controller.send(ROLE_REQUEST, struct.pack("!I4xQ", role, generation))
        return struct.unpack("!I4xQ", controller.wait_for(ROLE_REPLY, transaction))

    check(ask(first, MASTER, 10) == (MASTER, 10), "the first is not master")
    check(ask(second, MASTER, 11) == (MASTER, 11), "the second is not master")
    check(ask(first, NO_MASTER_CHANGE, 0) == (SLAVE, 11), "the first has not become slave")
    kind, code, *_ = refused(first, FLOW_MOD, flow(ADD, 1, matched(), output(2)))
    check((kind, code) == (1, 10), f"a slave's change gives {kind, code}")
    kind, code, *_ = refused(first, ROLE_REQUEST, struct.pack("!I4xQ", MASTER, 5))
    check((kind, code) == (11, 0), f"a stale generation gives {kind, code}")
    # Generations go round: what counts is the difference as a signed number.
    for generation in (2**62, 2**63 + 2**61, 5):
        check(ask(second, MASTER, generation) == (MASTER, generation), f"generation {generation} is stale")
    second.send(FLOW_MOD, flow(ADD, 1, matched(), output(2)))
    second.wait_for(BARRIER_REPLY, second.send(BARRIER, b""))


def again(bench, listener):
    """Tables stay while no controller is there, and the switch comes back."""
    bench.controller.connection.close()
    bench.wires[1].send(FRAME)
    check(bench.wires[2].receive(PATIENCE_S) == FRAME, "frames stop without a controller")
    listener.settimeout(10)
    Controller(listener.accept()[0]).barrier()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)
    bench = Bench(sys.argv[1], f"tcp:127.0.0.1:{listener.getsockname()[1]}")
    try:
        for part in (what_it_is, errors, packets, removals, many_entries, links, fail_over):
            part(bench)
        roles(bench, listener)
        again(bench, listener)
    finally:
        bench.end()


if __name__ == "__main__":
    main()
