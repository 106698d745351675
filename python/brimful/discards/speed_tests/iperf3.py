"""Results of ``iperf3 --json``, of a client or a server, over TCP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from brimful.discards.schema import SEVERAL_STREAMS
from brimful.discards.speed_tests.ndt import Count, Port, Rate, ResultError
from brimful.discards.speed_tests.rows import Server, SpeedTest, time_trouble


class Time(msgspec.Struct):
    """When it began."""

    timesecs: float
    timemillisecs: float | None = None


class Connection(msgspec.Struct):
    """One of the parallel connections."""

    local_host: str | None = None
    local_port: Port | None = None
    remote_host: str | None = None
    remote_port: Port | None = None


class Plan(msgspec.Struct):
    """What was asked for."""

    protocol: str = "TCP"
    num_streams: int = 1
    reverse: int = 0
    bidir: int = 0
    """Not written before version 3.13."""
    omit: float = 0.0
    """Seconds at the beginning that are not counted."""


class Start(msgspec.Struct):
    """What was known when it began."""

    timestamp: Time | None = None
    connected: list[Connection] = []
    cookie: str | None = None
    test_start: Plan | None = None
    accepted_connection: dict[str, object] | None = None
    """Only a server has this."""
    tcp_mss: Count | None = None
    tcp_mss_default: Count | None = None


class Sum(msgspec.Struct):
    """All connections together."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    bytes: Count | None = None
    bits_per_second: Rate | None = None
    retransmits: Count | None = None


class Side(msgspec.Struct):
    """What one end said of a connection."""

    sender: bool | None = None
    """Whether the one that wrote the result sent; not written before version 3.7."""


class Stream(msgspec.Struct):
    """One of the parallel connections."""

    sender: Side | None = None


class End(msgspec.Struct):
    """What came out."""

    streams: list[Stream] = []
    sum_sent: Sum | None = None
    sum_received: Sum | None = None
    sum_sent_bidir_reverse: Sum | None = None
    sender_tcp_congestion: str | None = None


class _Event(msgspec.Struct):
    """A line of ``--json-stream``."""

    event: str
    data: msgspec.Raw = msgspec.Raw(b"null")


def joined(documents: Iterable[tuple[int, bytes | None]]) -> Iterator[tuple[int, bytes | None]]:
    """Put the lines of ``iperf3 --json-stream`` together to results, each at its first line; give others as is."""
    waiting: tuple[int, bytes] | None = None
    for number, text in documents:
        event = _event(text)
        if event is None:
            yield number, text
        elif event.event in ("start", "end", "error"):
            part = b'"%s": %s' % (event.event.encode(), bytes(event.data))
            if waiting is not None and event.event == "start":
                yield waiting[0], b"{%s}" % waiting[1]
            if event.event == "start" or waiting is None:
                waiting = (number, part)
            else:
                waiting = (waiting[0], waiting[1] + b", " + part)
    if waiting is not None:
        yield waiting[0], b"{%s}" % waiting[1]


def _event(text: bytes | None) -> _Event | None:
    if text is None or b'"event"' not in text[:20]:
        return None
    try:
        return _EVENTS.decode(text)
    except msgspec.DecodeError:
        return None


_EVENTS = msgspec.json.Decoder(_Event)


def tests_of(start: Start, end: End | None, error: str | None, server: Server | None) -> list[SpeedTest]:
    """Give the transfer of a result; none where it failed before it began.

    Raises
    ------
    ResultError
        When the result is of a kind that is not one transfer over TCP, or is not a possible one.
    """
    if error is not None and (start.test_start is None or not start.connected or end is None):
        return []
    plan = start.test_start
    if plan is None or start.timestamp is None or end is None:
        message = "is no result of a known speed test"
        raise ResultError(message)
    if plan.protocol != "TCP":
        message = (
            f"is a result of iperf3 over {plan.protocol}, whose rate is set, not found: leave out --udp and --sctp"
        )
        raise ResultError(message)
    if plan.bidir or _is_both_ways(end):
        message = "is a result of iperf3 in both directions at once: test one after the other, with --reverse"
        raise ResultError(message)
    if not any(one is not None and one.seconds for one in (end.sum_sent, end.sum_received)):
        # It ended, for whatever reason, before anything was counted.
        return []
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    return [_test(start, start.timestamp, plan, end, server)]


def _is_both_ways(end: End) -> bool:
    sending = {stream.sender.sender for stream in end.streams if stream.sender is not None} - {None}
    return end.sum_sent_bidir_reverse is not None or len(sending) > 1


def _test(start: Start, time: Time, plan: Plan, end: End, server: Server) -> SpeedTest:
    sent = end.sum_sent or Sum()
    arrived = end.sum_received if end.sum_received is not None and end.sum_received.seconds else sent
    first_us = _microseconds(time) + round(1e6 * max(0.0, min(plan.omit, 3600.0)))
    last_us = first_us + round(arrived.seconds * 1e6)
    trouble = time_trouble(first_us, last_us)
    if trouble:
        raise ResultError(trouble)
    connection = start.connected[0] if start.connected else Connection()
    near = (connection.local_host, connection.local_port)
    far = (connection.remote_host, connection.remote_port)
    client, own = (far, near) if start.accepted_connection is not None else (near, far)
    streams = max(plan.num_streams, len(start.connected))
    segment_bytes = start.tcp_mss or start.tcp_mss_default
    counted = sent.retransmits is not None and bool(segment_bytes) and sent.bytes is not None
    return SpeedTest(
        site=server.site,
        test_id=f"iperf3-{start.cookie}" if start.cookie else "",
        protocol="iperf3" if streams == 1 else f"iperf3{SEVERAL_STREAMS}{streams}",
        direction="download" if plan.reverse else "upload",
        machine=server.machine,
        server_name=server.name,
        start=first_us,
        end=last_us,
        logged=first_us,
        client=client[0],
        client_port=client[1],
        server=own[0],
        server_port=own[1],
        bytes=arrived.bytes,
        sending_s=arrived.seconds,
        rate_bps=arrived.bits_per_second,
        retransmitted=sent.retransmits if counted else None,
        # iperf3 does not count segments: at least this number carried what was sent.
        sent=-(-(sent.bytes or 0) // (segment_bytes or 1)) if counted else None,
        retransmission_unit="segments" if counted else None,
        congestion_control=end.sender_tcp_congestion,
    )


def _microseconds(time: Time) -> int:
    seconds = time.timesecs if time.timemillisecs is None else time.timemillisecs / 1e3
    # What is out of these bounds is refused as a time of another unit; here it must only not overflow.
    return round(max(0.0, min(seconds, 1e12)) * 1e6)
