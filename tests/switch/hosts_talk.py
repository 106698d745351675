"""One of two hosts that talk: usage: talk.py WHAT VERSION ADDRESS serve|ask, WHAT being tcp, udp, http or sctp."""

import contextlib
import hashlib
import json
import socket
import struct
import sys
import threading

PORT = 5000
TCP_BYTES = 3_000_000
DATAGRAMS = [1, 2, 17, 100, 999, 1400]
PATIENCE_S = 5.0
SOL_UDP, UDP_SEGMENT = 17, 103
SEGMENT = 1000
ETH_ALL, PACKET_VNET_HDR, SOL_PACKET = 3, 15, 263
BODY = bytes(range(256)) * (TCP_BYTES // 256)


def say(line: str) -> None:
    """Tell whoever has started this."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def crc32c(data: bytes) -> int:
    """Sum as RFC 9260 has it, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def sctp_frame(version: int, address: str) -> bytes:
    """Return a frame as a host hands it over whose card is to sum SCTP."""
    segment = struct.pack("!HHII", PORT, PORT, 7, 0) + bytes(range(101))
    ends = [bytes.fromhex("020000000002"), bytes.fromhex("020000000001")]
    if version == 4:
        source, target = socket.inet_aton("10.9.0.1"), socket.inet_aton(address)
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0, 64, 132, 0) + source + target
        total = sum(struct.unpack("!10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        header = header[:10] + struct.pack("!H", ~total & 0xFFFF) + header[12:]
        kind = b"\x08\x00"
    else:
        ends6 = [socket.inet_pton(socket.AF_INET6, one) for one in ("fd00::1", address)]
        header = struct.pack("!IHBB", 6 << 28, len(segment), 132, 64) + b"".join(ends6)
        kind = b"\x86\xdd"
    frame = b"".join(ends) + kind + header + segment
    # To be summed from behind IP on, into the field eight bytes behind that.
    return struct.pack("=BBHHHH", 1, 0, 0, 0, len(frame) - len(segment), 8) + frame


def serve(what: str, family: int, version: int) -> None:
    if what == "sctp":
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL)) as packets:
            packets.bind(("eth0", 0))
            say("ready")
            place = 14 + (20 if version == 4 else 40)
            while True:
                frame = packets.recv(4096)
                if len(frame) > place + 12 and frame[14 + (9 if version == 4 else 6)] == 132:
                    break
            segment = frame[place:]
            summed = crc32c(segment[:8] + bytes(4) + segment[12:])
            is_right = segment[8:12] == summed.to_bytes(4, "little")
        with socket.socket(family, socket.SOCK_DGRAM) as answers:
            answers.sendto(json.dumps({"sctp": is_right}).encode(), (sys.argv[4], PORT))
        return
    kind = socket.SOCK_DGRAM if what == "udp" else socket.SOCK_STREAM
    with socket.socket(family, kind) as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("", PORT))
        if what == "udp":
            say("ready")
            while True:
                data, peer = own.recvfrom(65536)
                own.sendto(hashlib.sha256(data).digest() + data, peer)
        own.listen()
        say("ready")
        while True:
            connection, _ = own.accept()
            with connection:
                if what == "http":
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += connection.recv(4096)
                    connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
                    continue
                echo = threading.Thread(target=pump, args=(connection,))
                echo.start()
                echo.join()


def pump(connection: socket.socket) -> None:
    while data := connection.recv(1 << 16):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def ask(what: str, family: int, version: int, address: str) -> dict[str, object]:
    if what == "sctp":
        with (
            socket.socket(family, socket.SOCK_DGRAM) as answers,
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as packets,
        ):
            answers.bind(("", PORT))
            answers.settimeout(PATIENCE_S)
            packets.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            packets.bind(("eth0", 0))
            packets.send(sctp_frame(version, address))
            answer: dict[str, object] = json.loads(answers.recv(100))
            return answer
    if what == "udp":
        with socket.socket(family, socket.SOCK_DGRAM) as own:
            own.settimeout(PATIENCE_S)
            own.connect((address, PORT))
            for length in DATAGRAMS:
                data = bytes([length % 251]) * length
                own.send(data)
                assert own.recv(65536) == hashlib.sha256(data).digest() + data
            merged = False
            with contextlib.suppress(OSError):
                own.setsockopt(SOL_UDP, UDP_SEGMENT, SEGMENT)
                merged = True
            if merged:
                own.send(b"".join(bytes([number]) * SEGMENT for number in range(4)))
                with contextlib.suppress(TimeoutError):
                    own.settimeout(0.3)
                    got = sorted(own.recv(65536)[32] for _ in range(4))
                    return {"udp": True, "segments": got == [0, 1, 2, 3]}
            return {"udp": True, "segments": False}
    with socket.create_connection((address, PORT), timeout=PATIENCE_S) as own:
        own.settimeout(PATIENCE_S)
        if what == "http":
            own.sendall(b"GET / HTTP/1.0\r\n\r\n")
            with own.makefile("rb") as stream:
                return {"http": stream.read().endswith(b"\r\n\r\n" + BODY)}
        sender = threading.Thread(target=lambda: (own.sendall(BODY), own.shutdown(socket.SHUT_WR)))
        sender.start()
        with own.makefile("rb") as stream:
            back = stream.read()
        sender.join()
        return {"tcp": back == BODY}


def main() -> None:
    what, version, address, role = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[-1]
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    if role == "serve":
        serve(what, family, version)
    else:
        say(json.dumps(ask(what, family, version, address)))


main()
