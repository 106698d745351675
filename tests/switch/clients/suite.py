"""Print the cases of a version in the test suite that os-ken brings, as JSON in the form of the published ones.

usage: suite.py VERSION, such as 1.4, with the Python that has os-ken. Categories, each with its cases.
"""

import json
import re
import struct
import sys
from pathlib import Path

import netaddr
import os_ken.tests.switch
from os_ken.lib.packet import arp, ethernet, icmp, icmpv6, ipv4, ipv6, mpls, pbb, sctp, tcp, udp, vlan
from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3, ofproto_v1_4

VERSIONS = {"1.3": ("of13", ofproto_v1_3.OFP_VERSION), "1.4": ("of14", ofproto_v1_4.OFP_VERSION)}
PORTS = {
    "target_recv_port": 1, "target_send_port_1": 2, "target_send_port_2": 3,
    "tester_send_port": 1, "tester_recv_port_1": 2, "tester_recv_port_2": 3,
}  # fmt: skip
DURATION_S, PACKETS_PER_S = 30, 1000


def crc32c(data):
    """Sum as RFC 9260 has it, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


# The suite's own sum goes wrong where a byte is above 127.
sctp.sctp._checksum = lambda _self, data: crc32c(data)


def randint(low, high):
    """Stand for a number that is another one in each frame."""
    return (low + high) // 3 | 0x020000 if high > 1 << 24 else low


NAMES = {"netaddr": netaddr, "randint": randint}
# Where two have a name, the suite means the later one; it calls the other by a name of its own.
for module in (ipv6, icmpv6, arp, ethernet, icmp, ipv4, mpls, pbb, sctp, tcp, udp, vlan):
    NAMES |= {name: value for name, value in vars(module).items() if isinstance(value, type)}
NAMES |= {"icmpv6echo": icmpv6.echo, "ipv6option": ipv6.option}
"""What the suite's texts are made of."""


def frame(lines):
    """Give the bytes of a frame that the suite writes as constructors."""
    packet = eval("/".join(lines), dict(NAMES))
    packet.serialize()
    return {"text": lines, "hex": bytes(packet.data).hex()}


def with_ports(value):
    """Give the same with numbers of ports."""
    if isinstance(value, dict):
        return {key: with_ports(one) for key, one in value.items()}
    if isinstance(value, list):
        return [with_ports(one) for one in value]
    return PORTS.get(value, value) if isinstance(value, str) else value


class Datapath(ofproto_protocol.ProtocolDesc):
    """What a message is put together for."""

    def set_xid(self, _):
        """Leave transactions to the tester."""

    def send_msg(self, _):
        """Send nothing."""


def message(version, data):
    """Give a message and its bytes."""
    made = ofproto_parser.ofp_msg_from_jsondict(Datapath(version), data)
    made.xid = 0
    made.serialize()
    whole = bytearray(made.buf)
    whole[4:8] = struct.pack("!I", 0)
    return {"json": data, "hex": bytes(whole).hex()}


def step(data):
    """Give what is sent, and what becomes of it."""
    ingress = data["ingress"]
    if isinstance(ingress, dict):
        packets = ingress["packets"]
        text = packets["data"]
        sent = frame(text) | {
            "packets_per_s": packets.get("pktps", PACKETS_PER_S),
            "duration_s": packets.get("duration_time", DURATION_S),
            "randomised": any("randint" in line for line in text),
        }
    else:
        sent = frame(ingress)
    if "PACKET_IN" in data:
        return {"ingress": sent, "packet_in": frame(data["PACKET_IN"])}
    if "table-miss" in data:
        return {"ingress": sent, "table_miss": data["table-miss"]}
    if isinstance(data["egress"], dict):
        wanted = data["egress"]["throughput"]
        return {"ingress": sent, "throughput": wanted}
    return {"ingress": sent, "egress": frame(data["egress"])}


def main():
    """Print the cases."""
    folder, version = VERSIONS[sys.argv[1]]
    root = Path(os_ken.tests.switch.__file__).parent / folder
    categories = {}
    for path in sorted(root.rglob("*.json")):
        for case in json.loads(path.read_text()):
            if isinstance(case, str):
                continue
            case = with_ports(case)
            categories.setdefault(path.relative_to(root).parts[0], []).append(
                {
                    "description": f"{path.stem}: {re.sub(r' +', ' ', case['description'])}",
                    "messages": [message(version, one) for one in case["prerequisite"]],
                    "steps": [step(one) for one in case["tests"]],
                }
            )
    json.dump(categories, sys.stdout)


if __name__ == "__main__":
    main()
