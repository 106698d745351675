"""Run inside a lab: `cross.py FRAMES IP MAC_A MAC_B` sends frames both ways and prints what arrived.

Standard library only, because it is also run by users who cannot read the virtual environment.
"""

import json
import socket
import struct
import sys

IPV4 = {"ta": ("198.18.0.2", "198.19.0.2"), "tb": ("198.19.0.2", "198.18.0.2")}
IPV6 = {"ta": ("2001:2::2", "2001:2:0:8000::2"), "tb": ("2001:2:0:8000::2", "2001:2::2")}
MARK = b"brimful lab test"


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(ip: int, port: str) -> bytes:
    datagram = struct.pack("!HHHH", 9, 9, 8 + len(MARK) + 4, 0) + MARK
    if ip == 6:
        source, destination = (socket.inet_pton(socket.AF_INET6, address) for address in IPV6[port])
        return struct.pack("!IHBB", 6 << 28, len(datagram) + 4, 17, 64) + source + destination + datagram
    source, destination = (socket.inet_pton(socket.AF_INET, address) for address in IPV4[port])
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(datagram) + 4, 0, 0, 64, 17, 0) + source + destination
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + datagram


def main() -> None:
    frames, ip = int(sys.argv[1]), int(sys.argv[2])
    next_hops = {"ta": bytes.fromhex(sys.argv[3].replace(":", "")), "tb": bytes.fromhex(sys.argv[4].replace(":", ""))}
    ether_type = 0x86DD if ip == 6 else 0x0800
    ports = {}
    for name in ("ta", "tb"):
        ports[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ether_type))
        ports[name].bind((name, ether_type))
        ports[name].settimeout(5)
    found = {}
    for sender, receiver in (("ta", "tb"), ("tb", "ta")):
        own = ports[sender].getsockname()[4]
        sequence, hops = [], set()
        for number in range(frames):
            frame = next_hops[sender] + own + struct.pack("!H", ether_type) + packet(ip, sender)
            ports[sender].send(frame + struct.pack("!I", number))
            while True:
                got, address = ports[receiver].recvfrom(2048)
                if address[2] != socket.PACKET_OUTGOING and MARK in got:
                    break
            mark = got.index(MARK) + len(MARK)
            sequence.append(struct.unpack("!I", got[mark : mark + 4])[0])
            hops.add(got[14 + (7 if ip == 6 else 8)])
        found[sender] = {"in_order": sequence == list(range(frames)), "hops": sorted(hops)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
