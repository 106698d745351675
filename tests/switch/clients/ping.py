"""Ask another host for echoes. usage: ping.py ADDRESS COUNT INTERVAL_S

Prints how many came, and the last one's time to live. It runs in the namespace of a host, with the standard
library alone.
"""

import os
import select
import socket
import struct
import sys
import time

ECHO, ECHO_REPLY = 8, 0
PATIENCE_S = 0.4


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~((total >> 16) + total) & 0xFFFF


def main():
    address, count, interval = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    own, came, ttl = os.getpid() & 0xFFFF, set(), 0
    connection = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    begun = time.monotonic()
    for number in range(count):
        head = struct.pack("!BBHHH", ECHO, 0, 0, own, number) + bytes(range(40))
        connection.sendto(head[:2] + struct.pack("!H", checksum(head)) + head[4:], (address, 0))
        is_last = number == count - 1
        end = time.monotonic() + PATIENCE_S if is_last else begun + (number + 1) * interval
        while len(came) < count and select.select([connection], [], [], max(0, end - time.monotonic()))[0]:
            packet = connection.recv(2048)
            kind, _, _, identifier, sequence = struct.unpack("!BBHHH", packet[20:28])
            if (kind, identifier) == (ECHO_REPLY, own):
                came.add(sequence)
                ttl = packet[8]
    sys.stdout.write(f"{len(came)} {ttl}\n")


if __name__ == "__main__":
    main()
