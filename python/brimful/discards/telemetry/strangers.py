"""JSON that people have of counters and that cannot be read as it is: what it is, and what to do instead."""

from __future__ import annotations

UNKNOWN = (
    "is JSON of no known form: save the answer of /api/v1/query_range, or write rows with timestamp, device, port, "
    "direction and discards"
)
_ROWS = "write a row with timestamp, device, port, direction and its counters for each poll"
_STRANGERS: tuple[tuple[tuple[bytes, ...], str], ...] = (
    (
        (b'"RX_DRP"', b'"TX_DRP"'),
        f"is of portstat, which says no times, and counts since it was last cleared: poll ifOutDiscards, or {_ROWS}",
    ),
    (
        (b"SAI_PORT_STAT_",),
        "is of SONiC's COUNTERS_DB, without times or device: save what gnmic subscribe prints, with --target "
        f"COUNTERS_DB and --path COUNTERS/Ethernet0, or {_ROWS}",
    ),
    ((b'"stats', b'"ifname"'), f"is of ip -s link, which says neither when nor where: {_ROWS}"),
    ((b'"interfaces"', b'"interface'), f"is of a switch's show interfaces, without times: {_ROWS}"),
    ((b'"interfaces"', b'"out'), f"is of a switch's show interfaces, without times: {_ROWS}"),
    ((b'"itemid"', b'"clock"'), f"is history of Zabbix, which says neither device nor port: {_ROWS}"),
    (
        (b'"meta"', b'"legend"', b'"step"'),
        f"is of rrdtool xport: its means over steps are rates, not counters; poll the counters, and {_ROWS}",
    ),
)
"""What a document must hold, and what is said of it."""
_LOOKED_AT_BYTES = 1 << 20


def advice_on(text: bytes) -> str:
    """Say what JSON of no known form is, and what to do.

    >>> advice_on(b'[{"itemid": "7", "clock": "1772323200", "value": "5", "ns": "0"}]')[:24]
    'is history of Zabbix, wh'
    """
    begin = text[:_LOOKED_AT_BYTES]
    return next((advice for marks, advice in _STRANGERS if all(mark in begin for mark in marks)), UNKNOWN)
