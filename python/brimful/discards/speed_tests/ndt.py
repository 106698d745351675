"""Results of ndt5 and ndt7: as the servers write them, and as rows of M-Lab's tables wrap them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from brimful.discards.speed_tests.rows import Server, SpeedTest, time_trouble
from brimful.discards.times import parse_time

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Port = Annotated[int, msgspec.Meta(ge=0, lt=2**16)]
Rate = Annotated[float, msgspec.Meta(ge=0)]

NOT_STARTED = "0001-01-01"
"""How Go writes a time that was never set."""
NOMINAL_S = 10
"""An NDT server sends for this long: the end of a test whose row does not have it."""


class TcpInfo(msgspec.Struct):
    """What the kernel of the server said of the connection at last; times in microseconds."""

    BytesAcked: Count | None = None
    BytesReceived: Count | None = None
    BusyTime: Count | None = None
    ElapsedTime: Count | None = None
    TotalRetrans: Count | None = None
    SegsOut: Count | None = None


class Measurement(msgspec.Struct):
    """One of many during an ndt7 transfer."""

    TCPInfo: TcpInfo | None = None


class Transfer(msgspec.Struct):
    """One direction of a result: of ndt5 (with its own addresses) or of ndt7 (with measurements)."""

    UUID: str | None = None
    StartTime: str | None = None
    EndTime: str | None = None
    ServerIP: str | None = None
    ServerPort: Port | None = None
    ClientIP: str | None = None
    ClientPort: Port | None = None
    MeanThroughputMbps: Rate | None = None
    TCPInfo: TcpInfo | None = None
    ServerMeasurements: list[Measurement] | None = None


class ControlConnection(msgspec.Struct):
    """The control connection of ndt5."""


class Result(msgspec.Struct):
    """A result file of ndt5 or ndt7."""

    StartTime: str | None = None
    ServerIP: str | None = None
    ServerPort: Port | None = None
    ClientIP: str | None = None
    ClientPort: Port | None = None
    Control: ControlConnection | None = None
    S2C: Transfer | None = None
    C2S: Transfer | None = None
    Download: Transfer | None = None
    Upload: Transfer | None = None


class ResultError(ValueError):
    """A result that cannot be used; the message is the reason, without anything of the result itself in it."""


def tests_of(result: Result, server: Server | None) -> list[SpeedTest]:
    """Give the transfers of a result; none where none took place.

    Raises
    ------
    ResultError
        When it is no result of ndt5 or ndt7, or not a possible one.
    """
    if result.Control is None and not (result.S2C or result.C2S or result.Download or result.Upload):
        message = "is no result of a known speed test"
        raise ResultError(message)
    if result.StartTime is None and any(
        transfer is not None and transfer.StartTime is None for transfer in (result.Download, result.Upload)
    ):
        message = "does not say when it ran, as the summary of ndt7-client: take the files of the server"
        raise ResultError(message)
    found = [
        ("ndt5", "download", result.S2C),
        ("ndt5", "upload", result.C2S),
        ("ndt7", "download", result.Download),
        ("ndt7", "upload", result.Upload),
    ]
    return [
        _test(protocol, direction, transfer, result, server)
        for protocol, direction, transfer in found
        if transfer is not None and not (transfer.StartTime or NOT_STARTED).startswith(NOT_STARTED)
    ]


def stripped_id(uuid: str) -> str:
    """Give an id as M-Lab's tables have it: without the mark of hosts whose clock may have been set back."""
    return uuid.replace("_unsafe", "")


def _test(protocol: str, direction: str, transfer: Transfer, result: Result, server: Server | None) -> SpeedTest:
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    start, end = _time(transfer.StartTime), _time(transfer.EndTime)
    trouble = time_trouble(start, end)
    if trouble:
        raise ResultError(trouble)
    # ndt5 uses a connection of its own for each direction, ndt7 one for all.
    addresses = transfer if transfer.ClientIP is not None else result
    measured = (_of_ndt5 if protocol == "ndt5" else _of_ndt7)(direction, transfer, (end - start) / 1e6)
    return SpeedTest(
        site=server.site,
        test_id=stripped_id(transfer.UUID or ""),
        protocol=protocol,
        direction=direction,
        machine=server.machine,
        server_name=server.name,
        start=start,
        end=end,
        logged=start,
        client=addresses.ClientIP or None,
        client_port=addresses.ClientPort,
        server=addresses.ServerIP or None,
        server_port=addresses.ServerPort,
        **measured,
    )


def _of_ndt5(direction: str, transfer: Transfer, duration_s: float) -> dict[str, Any]:
    said = (transfer.TCPInfo if direction == "download" else None) or TcpInfo()
    mean_mbps = transfer.MeanThroughputMbps
    return {
        "bytes": said.BytesAcked,
        "sending_s": said.BusyTime / 1e6 if said.BusyTime else duration_s,
        "rate_bps": None if mean_mbps is None else mean_mbps * 1e6,
        **_retransmissions(said),
        "congestion_control": "cubic",
    }


def _of_ndt7(direction: str, transfer: Transfer, duration_s: float) -> dict[str, Any]:
    measured = [one.TCPInfo for one in transfer.ServerMeasurements or [] if one.TCPInfo is not None]
    said = measured[-1] if measured else TcpInfo()
    octets = said.BytesAcked if direction == "download" else said.BytesReceived
    elapsed_s = said.ElapsedTime / 1e6 if said.ElapsedTime else None
    rate_bps = None if octets is None or elapsed_s is None else 8 * octets / elapsed_s
    return {
        "bytes": octets,
        "sending_s": duration_s if elapsed_s is None else elapsed_s,
        "rate_bps": rate_bps,
        # The server retransmits nothing that matters while it receives.
        **_retransmissions(said if direction == "download" else TcpInfo()),
        "congestion_control": "bbr",
    }


def _retransmissions(said: TcpInfo) -> dict[str, int | str | None]:
    known = said.TotalRetrans is not None and said.SegsOut is not None
    return {
        "retransmitted": said.TotalRetrans if known else None,
        "sent": said.SegsOut if known else None,
        "retransmission_unit": "segments" if known else None,
    }


def _time(text: str | None) -> int:
    try:
        return parse_time(text or "")
    except (ValueError, OverflowError):
        message = "a time is missing or is none"
        raise ResultError(message) from None


class Analysed(msgspec.Struct):
    """What M-Lab's tables derive from a result."""

    UUID: str | None = None
    TestTime: str | None = None
    MeanThroughputMbps: Rate | None = None
    CongestionControl: str | None = None


class Host(msgspec.Struct):
    """The server or the client of a row of M-Lab's tables."""

    IP: str | None = None
    Port: Port | None = None
    Machine: str | None = None
    Site: str | None = None


def tests_of_row(
    analysed: Analysed | None, raw: Result | None, host: Host | None, client: Host | None, server: Server | None
) -> list[SpeedTest]:
    """Give the transfers of a row of ``ndt.ndt5``, ``ndt.ndt7`` or a unified view, as ``bq`` exports it in JSON.

    Raises
    ------
    ResultError
        As `tests_of`; also when there is neither the result nor its analysis.
    """
    if host is not None and host.Machine and host.Site:
        server = Server(host.Machine, host.Site, f"{host.Machine}-{host.Site}")
    if raw is None or (raw.StartTime is None and not (raw.S2C or raw.C2S or raw.Download or raw.Upload)):
        return [_analysed_test(analysed or Analysed(), host or Host(), client or Host(), server)]
    return tests_of(raw, server)


def _analysed_test(analysed: Analysed, host: Host, client: Host, server: Server | None) -> SpeedTest:
    """Read a row of a unified view of downloads: it has neither the end of a test nor its bytes."""
    if not analysed.UUID:
        message = "is no result of a known speed test"
        raise ResultError(message)
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    start = _time(analysed.TestTime)
    end = start + NOMINAL_S * 1_000_000
    trouble = time_trouble(start, end)
    if trouble:
        raise ResultError(trouble)
    return SpeedTest(
        site=server.site,
        test_id=stripped_id(analysed.UUID),
        protocol={"reno": "web100", "cubic": "ndt5", "bbr": "ndt7"}.get(analysed.CongestionControl or "", "ndt"),
        direction="download",
        machine=server.machine,
        server_name=server.name,
        start=start,
        end=end,
        logged=start,
        client=client.IP or None,
        client_port=client.Port,
        server=host.IP or None,
        server_port=host.Port,
        sending_s=float(NOMINAL_S),
        rate_bps=None if analysed.MeanThroughputMbps is None else analysed.MeanThroughputMbps * 1e6,
        congestion_control=analysed.CongestionControl,
    )
