"""Frames as lists of layers, outermost first, and their bytes."""

import ipaddress
import struct

PAYLOAD = bytes(range(1, 41))
ETHER_TYPES = {
    "vlan": 0x8100,
    "service": 0x88A8,
    "ipv4": 0x0800,
    "ipv6": 0x86DD,
    "arp": 0x0806,
    "mpls": 0x8847,
    "pbb": 0x88E7,
    None: 0x88B5,
}
PROTOCOLS = {
    "hop": 0,
    "icmpv4": 1,
    "tcp": 6,
    "udp": 17,
    "ipv6": 41,
    "ipv4": 4,
    "route": 43,
    "fragment": 44,
    "esp": 50,
    "auth": 51,
    "icmpv6": 58,
    "none": 59,
    "destination": 60,
    "sctp": 132,
    None: 253,
}
MACS = {"dst": 0x220000000001, "src": 0x120000000011}
DEFAULTS = {
    "eth": MACS,
    "vlan": {"pcp": 0, "dei": 0, "vid": 100},
    "service": {"pcp": 0, "dei": 0, "vid": 100},
    "mpls": {"label": 100, "tc": 3, "bos": None, "ttl": 64},
    "pbb": {"pcp": 0, "uca": 0, "isid": 100} | MACS,
    "arp": {
        "op": 1,
        "sha": MACS["src"],
        "spa": 0xC0A80001,
        "tha": 0,
        "tpa": 0xC0A80002,
    },
    "ipv4": {
        "dscp": 0,
        "ecn": 0,
        "id": 7,
        "fragment": 0,
        "ttl": 64,
        "src": 0xC0A80A0A,
        "dst": 0xC0A81414,
        "options": b"",
    },
    "ipv6": {
        "dscp": 0,
        "ecn": 0,
        "label": 100,
        "ttl": 64,
        "src": int(ipaddress.ip_address("10::10")),
        "dst": int(ipaddress.ip_address("20::20")),
    },
    "tcp": {"src": 11111, "dst": 2222},
    "udp": {"src": 11111, "dst": 2222, "has_sum": True},
    "sctp": {"src": 11111, "dst": 2222},
    "icmpv4": {"type": 8, "code": 0},
    "icmpv6": {"type": 128, "code": 0, "target": None, "sll": None, "tll": None},
    "hop": {},
    "route": {},
    "destination": {},
    "auth": {},
    "fragment": {"offset": 0},
    "esp": {},
    "none": {},
}


def stack(*layers):
    """Give a list of layers from names, or names with values: ("eth", ("vlan", {"vid": 5}), "arp")."""
    return [(layer, {}) if isinstance(layer, str) else layer for layer in layers]


def changed(layers, index, **values):
    """Give the same layers with other values in one of them."""
    kind, before = layers[index]
    return [*layers[:index], (kind, before | values), *layers[index + 1 :]]


def place(layers, kind):
    """Give the index of the outermost layer of a kind."""
    return next(index for index, (name, _) in enumerate(layers) if name == kind)


def build(layers, network=None):
    """Give the bytes of layers. A value "type", "proto" or "bos" says something else than what follows."""
    if not layers:
        return PAYLOAD
    (kind, given), *inner = layers
    values = DEFAULTS[kind] | given
    if kind in ("ipv4", "ipv6"):
        network = (kind, values)
    following = inner[0][0] if inner else None
    return _WRITERS[kind](values, following, build(inner, network), network)


def _ethernet(values, following, payload, _):
    head = values["dst"].to_bytes(6, "big") + values["src"].to_bytes(6, "big")
    return head + _ether_type(values, following) + payload


def _tag(values, following, payload, _):
    control = values["pcp"] << 13 | values["dei"] << 12 | values["vid"]
    return struct.pack("!H", control) + _ether_type(values, following) + payload


def _ether_type(values, following):
    return struct.pack("!H", values.get("type", ETHER_TYPES.get(following, ETHER_TYPES[None])))


def _backbone(values, following, payload, _):
    service = values["pcp"] << 29 | values["uca"] << 27 | values["isid"]
    return struct.pack("!I", service) + _ethernet(values, following, payload, None)


def _label(values, following, payload, _):
    bottom = values["bos"] if values["bos"] is not None else int(following != "mpls")
    return struct.pack("!I", values["label"] << 12 | values["tc"] << 9 | bottom << 8 | values["ttl"]) + payload


def _arp(values, _, payload, __):
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, values["op"])
    sender = values["sha"].to_bytes(6, "big") + values["spa"].to_bytes(4, "big")
    target = values["tha"].to_bytes(6, "big") + values["tpa"].to_bytes(4, "big")
    return head + sender + target + payload[:0]


def _ipv4(values, following, payload, _):
    options = values["options"]
    words = [
        0x45 + len(options) // 4,
        values["dscp"] << 2 | values["ecn"],
        20 + len(options) + len(payload),
        values["id"],
    ]
    words += [values["fragment"], values["ttl"], values.get("proto", PROTOCOLS[following]), 0]
    head = struct.pack("!BBHHHBBHII", *words, values["src"], values["dst"]) + options
    total = internet_sum(head)
    return head[:10] + struct.pack("!H", total) + head[12:] + payload


def _ipv6(values, following, payload, _):
    first = 6 << 28 | values["dscp"] << 22 | values["ecn"] << 20 | values["label"]
    head = struct.pack("!IHBB", first, len(payload), values.get("proto", PROTOCOLS[following]), values["ttl"])
    return head + values["src"].to_bytes(16, "big") + values["dst"].to_bytes(16, "big") + payload


def _options(values, following, payload, _):
    return struct.pack("!BB6x", values.get("proto", PROTOCOLS[following]), 0) + payload


def _authentication(values, following, payload, _):
    # RFC 4302: in words of four bytes, less two.
    return struct.pack("!BBHII", values.get("proto", PROTOCOLS[following]), 1, 0, 5, 6) + payload


def _fragment(values, following, payload, _):
    return struct.pack("!BBHI", PROTOCOLS[following], 0, values["offset"] << 3, 9) + payload


def _opaque(_, __, payload, ___):
    return payload


def _tcp(values, _, payload, network):
    head = struct.pack("!HHIIHHHH", values["src"], values["dst"], 1, 2, 0x5018, 8192, 0, 0)
    return _summed(head + payload, 16, "tcp", network)


def _udp(values, _, payload, network):
    segment = struct.pack("!HHHH", values["src"], values["dst"], 8 + len(payload), 0) + payload
    if not values["has_sum"]:
        return segment
    whole = _summed(segment, 6, "udp", network)
    return whole if whole[6:8] != b"\0\0" else whole[:6] + b"\xff\xff" + whole[8:]


def _sctp(values, _, payload, __):
    chunk = struct.pack("!BBHIHHI", 0, 3, 16 + len(payload), 1, 2, 3, 0) + payload
    before = struct.pack("!HHI", values["src"], values["dst"], 77)
    return before + struct.pack("<I", _crc32c(before + bytes(4) + chunk)) + chunk


def _icmpv4(values, _, payload, __):
    message = struct.pack("!BBHHH", values["type"], values["code"], 0, 3, 4) + payload
    return message[:2] + struct.pack("!H", internet_sum(message)) + message[4:]


def _icmpv6(values, _, payload, network):
    message = struct.pack("!BBHI", values["type"], values["code"], 0, 5)
    if values["target"] is None:
        message += payload
    else:
        message += values["target"].to_bytes(16, "big")
    for number, name in ((1, "sll"), (2, "tll")):
        if values[name] is not None:
            message += bytes((number, 1)) + values[name].to_bytes(6, "big")
    return _summed(message, 2, "icmpv6", network)


def _summed(segment, at, kind, network):
    name, values = network
    size = 4 if name == "ipv4" else 16
    addresses = values["src"].to_bytes(size, "big") + values["dst"].to_bytes(size, "big")
    # RFC 8200 section 8.1 has the length in 32 bits; with 16 bits of zeroes in front the sum is the same for IPv4.
    pseudo = addresses + struct.pack("!II", len(segment), values.get("proto", PROTOCOLS[kind]))
    return segment[:at] + struct.pack("!H", internet_sum(pseudo + segment)) + segment[at + 2 :]


def internet_sum(data):
    """Give the checksum of RFC 1071."""
    padded = data + bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


_WRITERS = {
    "eth": _ethernet,
    "vlan": _tag,
    "service": _tag,
    "pbb": _backbone,
    "mpls": _label,
    "arp": _arp,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "tcp": _tcp,
    "udp": _udp,
    "sctp": _sctp,
    "icmpv4": _icmpv4,
    "icmpv6": _icmpv6,
    "hop": _options,
    "route": _options,
    "destination": _options,
    "auth": _authentication,
    "fragment": _fragment,
    "esp": _opaque,
    "none": _opaque,
}
