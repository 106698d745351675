"""What counters of interfaces are called: by SNMP, by Linux, and by the models of OpenConfig and of vendors.

A name is known whole or not at all: what counts something else of a port, such as a queue or a subinterface of it, has
another name, and is none of these.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from brimful.discards.identity import DEVICE_LABELS, PORT_LABELS, device_of
from brimful.discards.schema import Flag

Labels = Mapping[str, str]

_KINDS = {
    "octets": "octets",
    "byte": "octets",
    "bytes": "octets",
    "ucastpkts": "unicast",
    "ucast_pkts": "unicast",
    "ucast": "unicast",
    "unicast": "unicast",
    "unicast_pkts": "unicast",
    "unicast_packets": "unicast",
    "multicast": "multicast",
    "multicastpkts": "multicast",
    "multicast_pkts": "multicast",
    "multicast_packets": "multicast",
    "broadcast": "broadcast",
    "broadcastpkts": "broadcast",
    "broadcast_pkts": "broadcast",
    "broadcast_packets": "broadcast",
    "pkts": "unicast",
    "packet": "unicast",
    "packets": "unicast",
    "discard": "discards",
    "discards": "discards",
    "discarded_packets": "discards",
    "drop": "discards",
    "drops": "discards",
    "dropped": "discards",
    "error": "errors",
    "errors": "errors",
    "errs": "errors",
    "err": "errors",
    "error_packets": "errors",
    "pause": "pause",
    "mac_pause_frames": "pause",
}
"""Types of metrics, by the word for them in small letters."""
_OF_ALL_KINDS = {"pkts", "packet", "packets"}
_RECEIVED = {"in", "receive", "received", "recv", "input", "rx"}
_WHAT = ("type", "cause", "method", "delivery_mode")
"""Labels by which exporters of SONiC distinguish counters of one name."""
_CARD = (
    "counts what the driver of the network card dropped: not what queues of the kernel did (tc -s qdisc), and what a "
    "switch chip did only where its driver says so"
)
_RECEIVER = (
    "counts packets for which the card had no room and those of no use to the kernel (unknown protocols, VLANs): not "
    "those for which a socket had no room"
)
ALL_KINDS = "packets are those of all kinds, broadcast and multicast too: nothing counts unicast ones alone"


@dataclass(frozen=True)
class Vocabulary:
    """How one kind of program names counters, ports and devices."""

    pattern: re.Pattern[str]
    """Of a name without ``_total``, with a group for ``way`` and one for ``what``."""
    ports: tuple[str, ...]
    """Labels that name the port, the best first."""
    devices: tuple[str, ...] = DEVICE_LABELS
    port_in: re.Pattern[str] | None = None
    """Finds the port in the path or name, where no label names it."""
    plain: bool = True
    """Whether ``-``, ``/``, ``:`` and capitals do not matter."""
    narrow: frozenset[str] = frozenset()
    """Types of metrics whose counters may have 32 bits; all others have 64."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """What a reader must know of a type of metric and direction."""


_OF = r"(?:(?:snmp|interface|ifTable|ifXTable)_|IF-MIB::)?"
"""What some agents put before the name of a counter."""
_IF_MIB = Vocabulary(
    pattern=re.compile(
        _OF + r"(?:if(?P<wide>HC)?(?P<way>In|Out)"
        r"(?P<what>Octets|UcastPkts|MulticastPkts|BroadcastPkts|Discards|Errors)"
        r"|dot3(?P<wide2>HC)?(?P<way2>In|Out)(?P<what2>Pause)Frames)"
    ),
    ports=PORT_LABELS,
    plain=False,
)
_MODEL_PORTS = ("interface_name", "name", "interface", "/interfaces/interface/@name", "interface-name", "ifname")
_MODEL_DEVICES = ("source", "target", "device", "system_id", "hostname", "instance", "host")
_LEAF = r"(?P<way>in|out)_(?P<what>{})"
_PACKETS = "(?:unicast_|multicast_|broadcast_)?(?:pkts|packets)"
_LINUX = {"discards.tx": _CARD, "discards.rx": _RECEIVER}

VOCABULARIES = (
    _IF_MIB,
    Vocabulary(  # OpenConfig
        pattern=re.compile(
            r"(?:\w+_)?interface_(?:state_counters_"
            + _LEAF.format(f"octets|{_PACKETS}|discards|errors")
            + r"|ethernet_state_counters_(?P<way2>in|out)_(?P<what2>mac_pause_frames))"
        ),
        ports=_MODEL_PORTS,
        devices=_MODEL_DEVICES,
    ),
    Vocabulary(  # SR Linux, IOS XE, IETF
        pattern=re.compile(
            r"(?:\w+_)?interface_statistics_"
            + _LEAF.format(f"octets|{_PACKETS}|discards|discarded_packets|errors|error_packets")
        ),
        ports=_MODEL_PORTS,
        devices=_MODEL_DEVICES,
        narrow=frozenset(("discards", "errors")),
    ),
    Vocabulary(  # IOS XR
        pattern=re.compile(
            r"(?:\w+_)?interface_latest_generic_counters_(?:"
            r"(?P<what>bytes|(?:multicast_|broadcast_)?packets)_(?P<way>sent|received)"
            r"|(?P<way2>input|output)_(?P<what2>drops|errors))"
        ),
        ports=_MODEL_PORTS,
        devices=_MODEL_DEVICES,
        narrow=frozenset(("discards", "errors")),
    ),
    Vocabulary(  # node_exporter
        pattern=re.compile(
            r"node_network_(?:(?P<way>receive|transmit)_(?P<what>bytes|packets|drop|errs)"
            r"|(?P<way2>transmit)_(?P<what2>dropped|errors))"
        ),
        ports=("device",),
        devices=("instance", "nodename", "hostname", "host"),
        remarks=_LINUX,
    ),
    Vocabulary(  # Telegraf, input "net"
        pattern=re.compile(r"net_(?:(?P<what>bytes|packets)_(?P<way>sent|recv)|(?P<what2>drop|err)_(?P<way2>in|out))"),
        ports=("interface",),
        devices=("host", "instance", "hostname"),
        remarks=_LINUX,
    ),
    Vocabulary(  # SAI, in the COUNTERS_DB of SONiC: COUNTERS/Ethernet0/SAI_PORT_STAT_IF_OUT_DISCARDS
        pattern=re.compile(
            r"(?:\w+_)?sai_port_stat_(?:if_"
            + _LEAF.format("octets|ucast_pkts|multicast_pkts|broadcast_pkts|discards|errors")
            + r"|(?P<what2>pause)_(?P<way2>rx|tx)_pkts)"
        ),
        ports=_MODEL_PORTS,
        devices=_MODEL_DEVICES,
        port_in=re.compile(r"COUNTERS[/_:](?!DB)([^/]+?)(?:[/_:]SAI_PORT_STAT|/|$)"),
    ),
    Vocabulary(  # exporters of SONiC, with what a label says behind the name
        pattern=re.compile(
            r"sonic_interface_(?:(?P<way>transmit|receive)(?:ted|d)?_(?P<what>bytes)"
            r"|(?P<way2>transmit|receive)(?:ted|d)?_packets_(?P<what2>ucast|unicast|multicast|broadcast)"
            r"|(?P<way22>transmit|receive)_(?:errs|error_(?:in|out)put_packets)_(?P<what22>discard|error|pause))"
        ),
        ports=("device", "interface"),
        devices=("instance", "hostname", "host"),
    ),
    Vocabulary(  # MKTXP
        pattern=re.compile(r"mktxp_interface_(?P<way>rx|tx)_(?P<what>byte|packet|drop|error)"),
        ports=("name",),
        devices=("routerboard_name", "routerboard_address", "instance"),
    ),
    Vocabulary(  # junos_exporter, cisco_exporter
        pattern=re.compile(r"(?:junos|cisco)_interface_(?P<way>receive|transmit)_(?P<what>bytes|packets|drops|errors)"),
        ports=("name",),
        devices=("target", "instance"),
    ),
)

FRONTS = ("interface/state/counters", "interface/statistics", "interface/latest/generic-counters")
"""What may stand in a tag, before names of models."""
NAMING_PORTS = frozenset(label for vocabulary in VOCABULARIES for label in vocabulary.ports) | {"ifAlias"}
"""Labels by which two ports of a device may differ."""


class Meaning(NamedTuple):
    """What a counter counts."""

    vocabulary: Vocabulary
    kind: str
    direction: str
    """``rx`` or ``tx``."""
    width: Flag
    """``WIDE``, ``NARROW``, or none of both where its name does not say."""
    of_all_kinds: bool
    """It stands for unicast packets, but counts others as well."""

    @property
    def remark(self) -> str | None:
        """What a reader must know of what it counts."""
        return self.vocabulary.remarks.get(f"{self.kind}.{self.direction}")


@functools.lru_cache(maxsize=10_000)
def meaning_of(name: str) -> Meaning | None:
    """Say what a counter of this name counts; nothing of what is no counter of an interface.

    >>> meaning_of("ifHCOutUcastPkts")[1:3], meaning_of("interfaces_interface_state_counters_in_discards")[1:3]
    (('unicast', 'tx'), ('discards', 'rx'))
    >>> meaning_of("/interfaces/interface/subinterfaces/subinterface/state/counters/in-discards")
    """
    short = name.removesuffix("_total")
    plain = re.sub(r"[-/:.\[\]]+", "_", short).strip("_").lower()
    for vocabulary in VOCABULARIES:
        match = vocabulary.pattern.fullmatch(plain if vocabulary.plain else short)
        if match is None:
            continue
        # Of the alternatives in a pattern, one has matched.
        said = {group.rstrip("2"): word.lower() for group, word in match.groupdict().items() if word}
        what = said["what"]
        kind = _KINDS[what]
        width = Flag(0) if kind in vocabulary.narrow else Flag.WIDE
        if vocabulary is _IF_MIB and "wide" not in said:
            width = Flag.NARROW
        return Meaning(vocabulary, kind, "rx" if said["way"] in _RECEIVED else "tx", width, what in _OF_ALL_KINDS)
    return None


def name_in(labels: Labels) -> str:
    """Give the whole name of a counter: some exporters put a part of it into a label.

    >>> name_in({"__name__": "sonic_interface_transmit_errs_total", "type": "discard"})
    'sonic_interface_transmit_errs_discard'
    """
    name = labels.get("__name__", "")
    if name.startswith("sonic_interface_"):
        name = "_".join([name.removesuffix("_total"), *(labels[label] for label in _WHAT if label in labels)])
    return full_name(name, labels.get("path", ""))


@functools.lru_cache(maxsize=10_000)
def full_name(name: str, path: str, measurement: str = "") -> str:
    """Give the whole name of a counter, of which Telegraf puts the front into the tag ``path`` or the measurement.

    >>> full_name("out_discards", "openconfig-interfaces:/interfaces/interface/state/counters")
    'openconfig-interfaces:/interfaces/interface/state/counters/out_discards'
    """
    # In Prometheus, the measurement stands before the field.
    fields = [name, *(name[place + 1 :] for place, letter in enumerate(name) if letter == "_")] if path else []
    whole = [name, *(f"{path}/{field_name}" for field_name in fields), f"{measurement}/{name}"]
    return next((one for one in whole if meaning_of(one) is not None), name)


def place_of(labels: Labels) -> tuple[str, str]:
    """Give device and port of a series."""
    meaning = meaning_of(labels.get("__name__", ""))
    vocabulary = meaning.vocabulary if meaning is not None else _IF_MIB
    device, port = (
        next((labels[label] for label in names if labels.get(label)), "")
        for names in (vocabulary.devices, vocabulary.ports)
    )
    if not port and vocabulary.port_in is not None:
        found = vocabulary.port_in.search(f"{labels.get('path', '')}/{labels['__name__']}")
        port = found[1] if found is not None else ""
    return device_of(device), port
