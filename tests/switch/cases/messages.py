"""OpenFlow 1.3 messages as bytes."""

import struct
from dataclasses import dataclass, field

ANY = 0xFFFFFFFF
IN_PORT, TABLE, NORMAL, FLOOD, ALL, CONTROLLER, LOCAL = range(0xFFFFFFF8, 0xFFFFFFFF)
WHOLE_PACKET = 0xFFFF
FLOW_MOD, GROUP_MOD, METER_MOD = 14, 15, 29
ADD, MODIFY, MODIFY_STRICT, DELETE, DELETE_STRICT = range(5)
KBPS, PACKETS, BURST, STATISTICS = 1, 2, 4, 8
GROUP_ALL, SELECT, INDIRECT, FAST_FAILOVER = range(4)

FIELDS = {}
"""Number, bits and bytes of each match field by its name."""
for _number, _name, _bits in (
    (0, "in_port", 32),
    (1, "in_phy_port", 32),
    (2, "metadata", 64),
    (3, "eth_dst", 48),
    (4, "eth_src", 48),
    (5, "eth_type", 16),
    (6, "vlan_vid", 13),
    (7, "vlan_pcp", 3),
    (8, "ip_dscp", 6),
    (9, "ip_ecn", 2),
    (10, "ip_proto", 8),
    (11, "ipv4_src", 32),
    (12, "ipv4_dst", 32),
    (13, "tcp_src", 16),
    (14, "tcp_dst", 16),
    (15, "udp_src", 16),
    (16, "udp_dst", 16),
    (17, "sctp_src", 16),
    (18, "sctp_dst", 16),
    (19, "icmpv4_type", 8),
    (20, "icmpv4_code", 8),
    (21, "arp_op", 16),
    (22, "arp_spa", 32),
    (23, "arp_tpa", 32),
    (24, "arp_sha", 48),
    (25, "arp_tha", 48),
    (26, "ipv6_src", 128),
    (27, "ipv6_dst", 128),
    (28, "ipv6_flabel", 20),
    (29, "icmpv6_type", 8),
    (30, "icmpv6_code", 8),
    (31, "ipv6_nd_target", 128),
    (32, "ipv6_nd_sll", 48),
    (33, "ipv6_nd_tll", 48),
    (34, "mpls_label", 20),
    (35, "mpls_tc", 3),
    (36, "mpls_bos", 1),
    (37, "pbb_isid", 24),
    (38, "tunnel_id", 64),
    (39, "ipv6_exthdr", 9),
):
    FIELDS[_name] = (_number, _bits, 4 if _bits == 20 else (_bits + 7) // 8)


def tlv(name, value, mask=None):
    """Give a match field, with its mask where there is one."""
    number, _, size = FIELDS[name]
    content = value.to_bytes(size, "big") + (b"" if mask is None else mask.to_bytes(size, "big"))
    return struct.pack("!HBB", 0x8000, number << 1 | (mask is not None), len(content)) + content


def match(*fields):
    """Give a match of (name, value) and (name, value, mask)."""
    body = b"".join(tlv(*one) for one in fields)
    whole = struct.pack("!HH", 1, 4 + len(body)) + body
    return whole + bytes(-len(whole) % 8)


def output(port, max_len=WHOLE_PACKET):
    return struct.pack("!HHIH6x", 0, 16, port, max_len)


def plain(number):
    return struct.pack("!HH4x", number, 8)


def typed(number, ether_type):
    return struct.pack("!HHH2x", number, 8, ether_type)


def numbered(number, value):
    return struct.pack("!HHI", number, 8, value)


def ttl(number, value):
    return struct.pack("!HHB3x", number, 8, value)


def set_field(name, value):
    body = tlv(name, value)
    length = (4 + len(body) + 7) // 8 * 8
    return struct.pack("!HH", 25, length) + body + bytes(length - 4 - len(body))


COPY_TTL_OUT, COPY_TTL_IN, DEC_MPLS_TTL, POP_VLAN, DEC_NW_TTL, POP_PBB = map(plain, (11, 12, 16, 18, 24, 27))


def set_mpls_ttl(value):
    return ttl(15, value)


def set_nw_ttl(value):
    return ttl(23, value)


def push_vlan(ether_type=0x8100):
    return typed(17, ether_type)


def push_mpls(ether_type=0x8847):
    return typed(19, ether_type)


def pop_mpls(ether_type):
    return typed(20, ether_type)


def push_pbb():
    return typed(26, 0x88E7)


def set_queue(number):
    return numbered(21, number)


def group(number):
    return numbered(22, number)


def goto(table):
    return struct.pack("!HHB3x", 1, 8, table)


def write_metadata(value, mask=2**64 - 1):
    return struct.pack("!HH4xQQ", 2, 24, value, mask)


def write(*actions):
    return _of_actions(3, actions)


def apply(*actions):
    return _of_actions(4, actions)


def clear():
    return struct.pack("!HH4x", 5, 8)


def meter(number):
    return struct.pack("!HHI", 6, 8, number)


def _of_actions(number, actions):
    body = b"".join(actions)
    return struct.pack("!HH4x", number, 8 + len(body)) + body


def message(kind, body, transaction=0):
    return struct.pack("!BBHI", 4, kind, 8 + len(body), transaction) + body


def flow(*instructions, matching=(), table=0, priority=1, command=ADD, **rest):
    """Give a flow-mod; `rest` are cookie, cookie_mask, idle, hard, buffer, out_port, out_group and flags."""
    value = {"cookie": 0, "cookie_mask": 0, "idle": 0, "hard": 0, "buffer": ANY} | rest
    value = {"out_port": ANY, "out_group": ANY, "flags": 0} | value
    head = struct.pack(
        "!QQBBHHH", value["cookie"], value["cookie_mask"], table, command, value["idle"], value["hard"], priority
    )
    head += struct.pack("!IIIH2x", value["buffer"], value["out_port"], value["out_group"], value["flags"])
    return message(FLOW_MOD, head + match(*matching) + b"".join(instructions))


def bucket(*actions, weight=0, watch_port=ANY, watch_group=ANY):
    body = b"".join(actions)
    return struct.pack("!HHII4x", 16 + len(body), weight, watch_port, watch_group) + body


def group_mod(number, kind, *buckets, command=ADD):
    return message(GROUP_MOD, struct.pack("!HBxI", command, kind, number) + b"".join(buckets))


def drop_band(rate, burst=0):
    return struct.pack("!HHII4x", 1, 16, rate, burst)


def remark_band(rate, levels, burst=0):
    return struct.pack("!HHIIB3x", 2, 16, rate, burst, levels)


def meter_mod(number, flags, *bands, command=ADD):
    return message(METER_MOD, struct.pack("!HHI", command, flags, number) + b"".join(bands))


@dataclass
class Case:
    """Messages for a switch, and what becomes of frames after them."""

    description: str
    messages: list
    steps: list = field(default_factory=list)

    def sends(self, frame, *outputs, packet_in=None, invalid_ttl=None, table_miss=()):
        """Say what comes out for a frame into port 1, (port, frame) each, and what is for controllers.

        What has an invalid time to live is for those that have asked for it, which controllers do not by default.
        """
        step = {"ingress": {"hex": frame.hex()}}
        step["outputs"] = [{"port": port, "hex": out.hex()} for port, out in outputs]
        if packet_in is not None:
            step["packet_in"] = {"hex": packet_in.hex()}
        if invalid_ttl is not None:
            step["invalid_ttl"] = {"hex": invalid_ttl.hex()}
        if table_miss:
            step["table_miss"] = list(table_miss)
        self.steps.append(step)
        return self

    def as_data(self):
        names = {FLOW_MOD: "OFPFlowMod", GROUP_MOD: "OFPGroupMod", METER_MOD: "OFPMeterMod"}
        messages = [{"json": {names[one[1]]: {}}, "hex": one.hex()} for one in self.messages]
        return {"description": self.description, "messages": messages, "steps": self.steps}
