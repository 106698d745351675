"""Results of Ookla's ``speedtest --format json``, ``json-pretty`` or ``jsonl``; and those of others that look alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from brimful.discards.speed_tests.ndt import Count, Rate, ResultError
from brimful.discards.speed_tests.rows import Server, SpeedTest, time_trouble
from brimful.discards.times import parse_time

_PROGRESS = (b"testStart", b"ping", b"download", b"upload", b"log")
"""Types of lines between which the result stands."""
_HEAD_BYTES = 40
FLENT = (
    "is of flent, whose tests load a link in its own ways: give rate, start and length of its transfers with --columns"
)


class Transfer(msgspec.Struct):
    """A download or an upload."""

    bandwidth: Rate
    """Bytes per second."""
    bytes: Count
    elapsed: Annotated[float, msgspec.Meta(ge=0, le=1e9)]
    """Milliseconds."""


class Interface(msgspec.Struct):
    """Where the client was."""

    externalIp: str | None = None


class Id(msgspec.Struct):
    """Of a result."""

    id: str | None = None


class Result(msgspec.Struct):
    """A result, whose time is that of its end."""

    timestamp: str
    download: Transfer | None = None
    upload: Transfer | None = None
    interface: Interface | None = None
    result: Id | None = None


def without_progress(documents: Iterable[tuple[int, bytes | None]]) -> Iterator[tuple[int, bytes | None]]:
    """Leave out lines that only say how far a test is."""
    for number, text in documents:
        head = b"" if text is None else text[:_HEAD_BYTES].replace(b" ", b"")
        if not any(b'{"type":"%s"' % kind in head for kind in _PROGRESS):
            yield number, text


def tests_of(found: dict[str, Any], server: Server | None) -> list[SpeedTest]:
    """Give the transfers of a result: the upload ends with it, and the download where the upload begins.

    Raises
    ------
    ResultError
        When it is none, or not a possible one.
    """
    try:
        result = msgspec.convert(found, Result, strict=False)
        last_us = parse_time(result.timestamp)
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        message = f"is no result of Ookla's speedtest: {error}"
        raise ResultError(message) from None
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    tests = []
    for direction, transfer in (("upload", result.upload), ("download", result.download)):
        if transfer is None or not transfer.elapsed:
            continue
        first_us = last_us - round(transfer.elapsed * 1e3)
        trouble = time_trouble(first_us, last_us)
        if trouble:
            raise ResultError(trouble)
        tests.append(
            SpeedTest(
                site=server.site,
                test_id=f"ookla-{result.result.id}-{direction}"
                if result.result is not None and result.result.id
                else "",
                protocol="ookla",
                direction=direction,
                machine=server.machine,
                server_name=server.name,
                start=first_us,
                end=last_us,
                logged=first_us,
                client=None if result.interface is None else result.interface.externalIp,
                bytes=transfer.bytes,
                sending_s=transfer.elapsed / 1e3,
                rate_bps=8 * transfer.bandwidth,
            )
        )
        last_us = first_us
    return tests


def other(found: dict[str, Any]) -> str | None:
    """Say which program wrote a result that cannot be used, and why; nothing where it is not known."""
    if isinstance(found["download"], float | int) and isinstance(found["upload"], float | int):
        return (
            "is of speedtest-cli or LibreSpeed, which do not say when a transfer was: use speedtest of Ookla or iperf3"
        )
    if found["intervals"] is not None and found["succeeded"] is not None:
        return "is a result of pScheduler without its times and direction: give those in a table, with --columns"
    if isinstance(found["x_values"], list):
        return FLENT
    if str(found["Key"]) in {"starting", "connected", "measurement", "complete", "error"}:
        return "is an event of ndt7-client, which does not say when it was: take the files of the server"
    return None
