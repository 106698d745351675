"""Sends numbered frames of many flows by one interface, takes them from another, and prints what became of them.

usage: flows.py WAY_IN WAY_OUT
"""

import json
import socket
import struct
import sys
import time

FLOWS, FRAMES_EACH = 60, 40
NUMBERS = struct.Struct("!II")
HEADERS_LEN = 42


def frame(flow: int, number: int) -> bytes:
    """A UDP datagram of a flow: its port tells flows apart, for the kernel as well."""
    ethernet = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
    ipv4 = struct.pack("!BBHHHBBHII", 0x45, 0, 46, 0, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
    udp = struct.pack("!HHHH", 1000 + flow, 2000, 26, 0)
    return (ethernet + ipv4 + udp + NUMBERS.pack(flow, number)).ljust(60, b"\0")


def main(way_in: str, way_out: str) -> None:
    """Send in bursts that no queue is too short for."""
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((way_in, 0))
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    receiver.bind((way_out, 0))
    receiver.settimeout(1)
    arrived: dict[int, list[int]] = {flow: [] for flow in range(FLOWS)}

    def receive(count: int) -> None:
        for _ in range(count):
            try:
                flow, number = NUMBERS.unpack_from(receiver.recv(2048), HEADERS_LEN)
            except TimeoutError:
                return
            arrived[flow].append(number)

    for number in range(FRAMES_EACH):
        for flow in range(FLOWS):
            sender.send(frame(flow, number))
        time.sleep(0.001)
        receive(FLOWS)
    lost = sum(FRAMES_EACH - len(set(numbers)) for numbers in arrived.values())
    overtaken = sum(numbers != sorted(numbers) for numbers in arrived.values())
    sys.stdout.write(json.dumps({"lost": lost, "flows that came out of order": overtaken}))


main(*sys.argv[1:])
