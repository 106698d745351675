"""iperf3 in UDP mode as a tester, for those who have nothing else (``docs/how-to/iperf3.md``)."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from brimful.errors import MeasureError, UsageError, one_line, shown
from brimful.measurers.base import Description, InvalidTrialError, Settings, TrialFailedError, TrialOutput
from brimful.units import format_delay

_ETHERNET_BYTES = 18
"""With the frame check sequence."""
_HEADER_BYTES = {4: _ETHERNET_BYTES + 20 + 8, 6: _ETHERNET_BYTES + 40 + 8}
_SMALLEST_FRAME = 64
_SMALLEST_DATAGRAM = 16
_LARGEST_DATAGRAM = 65507
_MOST_STREAMS = 128
_INTERVAL_S = 0.1
"""From 3.18 on iperf3 looks only at the end of an interval of its report whether it has sent everything, and sends on
until then, at the same rate. This is the shortest that it takes."""
_RATE_TOLERANCE = 0.02
"""Its timers tick every millisecond: over a fifth of a second the rate is off by so much at most."""
_UNSEEN_S = 0.02
"""The receiver stops listening when it hears, on another connection, that sending is over: the last frames may be
missing from its counters without being lost."""
_TICK_FRAMES = 10
_BUSY_S = 1.0
"""A server that tests with somebody else, or has not noticed that a client is gone, needs a while."""
_NOT_A_NUMBER = re.compile(r"(?<=[:,\[\s])(-?)(?:nan|(inf))(?=\s*[,}\]])")
"""As C prints what a counter of 0 was divided by, where JSON has no word for it."""
_SET_UP_S = 5.0
"""How long connecting to the server and fetching its counters may take."""


@dataclass(frozen=True)
class Iperf3Options:
    """What stays the same in all trials."""

    server: str
    datagram_bytes: int
    streams: int = 1
    both_ways: bool = False
    ip: int = 4
    port: int = 5201
    max_stretch_s: float = 0.05
    window_bytes: int | None = None
    prefix: tuple[str, ...] = ()
    """What to run iperf3 through: a command that enters a network namespace."""


def open_iperf3(spec: str, settings: Settings) -> Iperf3Measurer:
    """Drive iperf3 against the server that ``HOST[,key=value...]`` names.

    Raises
    ------
    UsageError
        When an option is unknown, iperf3 is not installed or cannot send such traffic.
    """
    host, *words = spec.split(",")
    server, ip = _server(spec, host, settings.ip)
    given = dict(word.partition("=")[::2] for word in words)
    unknown = sorted(given.keys() - {"port", "max-stretch", "window", "netns"})
    if unknown:
        message = f"measurer 'iperf3:{spec}': {unknown[0]!r} is none of port=, max-stretch=, window=, netns="
        raise UsageError(message)
    traffic = dict(argument.removeprefix("--").partition("=")[::2] for argument in settings.tester_arguments)
    unknown = sorted(traffic.keys() - {"frame-size", "flows", "direction"})
    if unknown:
        message = f"--{unknown[0]}: iperf3 cannot send such traffic; leave it out"
        raise UsageError(message)
    try:
        options = Iperf3Options(
            server=server,
            datagram_bytes=_datagram_bytes(traffic.get("frame-size"), ip),
            streams=int(traffic.get("flows", "1")),
            both_ways=traffic.get("direction", "bi") == "bi",
            ip=ip,
            port=int(given.get("port", "5201")),
            max_stretch_s=float(given.get("max-stretch", "0.05")),
            window_bytes=int(given["window"]) if "window" in given else None,
            prefix=("ip", "netns", "exec", given["netns"]) if "netns" in given else (),
        )
    except ValueError as error:
        message = f"measurer 'iperf3:{spec}': {error}; write numbers, seconds and bytes"
        raise UsageError(message) from error
    if options.streams > _MOST_STREAMS:
        message = f"--flows {options.streams}: iperf3 has at most {_MOST_STREAMS} streams"
        raise UsageError(message)
    return Iperf3Measurer(options, timeout_s=settings.timeout_s)


def _server(spec: str, host: str, ip: int) -> tuple[str, int]:
    """Give the server as iperf3 takes it, and the version of the Internet protocol: an address has its own.

    >>> _server("[::1],port=5202", "[::1]", 4), _server("far", "far", 6)
    (('::1', 6), ('far', 6))
    """
    text = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        version = ipaddress.ip_address(text).version
    except ValueError:
        if not text or any(character in text for character in "[]:/ ") or text.startswith("-"):
            message = f"measurer 'iperf3:{spec}': {host!r} is no server; write HOST, an address or [ADDRESS], and port="
            raise UsageError(message) from None
        return text, ip
    if ip == 6 and version == 4:
        message = f"measurer 'iperf3:{spec}': {text} is an address of IPv4, and --ip is 6; leave --ip out"
        raise UsageError(message)
    return text, version


def _datagram_bytes(frame_size: str | None, ip: int) -> int:
    headers = _HEADER_BYTES[ip]
    least, most = headers + _SMALLEST_DATAGRAM, headers + _LARGEST_DATAGRAM
    if frame_size is None:
        return max(_SMALLEST_FRAME, least) - headers
    if not frame_size.isdecimal() or not least <= int(frame_size) <= most:
        message = f"--frame-size {frame_size}: over IPv{ip} iperf3 can send frames of {least} to {most} bytes"
        raise UsageError(message)
    return int(frame_size) - headers


class Iperf3Measurer:
    """Runs iperf3 once for each trial and reads its JSON."""

    def __init__(self, options: Iperf3Options, *, timeout_s: float) -> None:
        self._options = options
        self._timeout_s = min(timeout_s, _SET_UP_S)
        if shutil.which("iperf3") is None:
            message = "iperf3 is not installed here: install the Debian package iperf3, or choose another measurer"
            raise UsageError(message)
        self._process: subprocess.Popen[str] | None = None

    def describe(self) -> Description:
        """Say what is sent. There is no highest load: iperf3 does not know its own."""
        options = self._options
        return Description(
            name=f"iperf3 to {options.server}",
            conversion_factor=2.0 if options.both_ways else 1.0,
            contract="lost: missing among the datagrams up to the last one that the iperf3 receiver counted",
            traffic={
                "datagram_bytes": options.datagram_bytes,
                "frame_size": options.datagram_bytes + _HEADER_BYTES[options.ip],
                "flows": options.streams,
                "direction": "bi" if options.both_ways else "uni",
                "ip": options.ip,
            },
            on_this_machine=True,
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Send the frames of one trial and fetch both counts."""
        frames = max(1, round(load * duration_s))
        report = self._run(load, frames, duration_s)
        where = f"iperf3 to {self._options.server}"
        if "error" in report:
            said = f"{where}: {one_line(report['error'])}"
            if "unable to connect" in said:
                message = f"{said}; start `iperf3 -s` there"
                raise MeasureError(message)
            if "busy" in said:
                time.sleep(_BUSY_S)
            raise InvalidTrialError(said)
        ways = [("forward", "sum_sent", "sum_received")]
        if self._options.both_ways:
            ways.append(("backward", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"))
        try:
            end = report["end"]
            directions = [
                direction(
                    name, end[sent], end[received], self._options, load=load, frames=frames, duration_s=duration_s
                )
                for name, sent, received in ways
            ]
        except KeyError as error:
            message = f"{where}: the report of iperf3 lacks {error}; use iperf3 3.10 or later at both ends"
            raise TrialFailedError(message) from error
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{where}: the report of iperf3 has no counts that can be: {one_line(error)}"
            raise TrialFailedError(message) from error
        sent = sum(way["sent"] for way in directions)
        most_sent = max(way["offered"] for way in directions)
        return TrialOutput(
            intended=sent,  # what it sent too little is rounding of its timers, or has made the trial invalid
            sent=sent,
            lost=sum(way["lost"] for way in directions),
            # Where it went on to the end of an interval, the trial is as long as its frames take at this load.
            effective_duration_s=most_sent / load if most_sent > frames else None,
            directions=directions,
            extra={"cpu_utilization_percent": end.get("cpu_utilization_percent")},
        )

    def _run(self, load: float, frames: int, duration_s: float) -> dict[str, Any]:
        options = self._options
        bits_per_second = max(1, round(load * options.datagram_bytes * 8 / options.streams))
        command = [*options.prefix, "iperf3", "--json", "--udp", f"-{options.ip}", "--client", options.server]
        # A count, not a time: iperf3 knows whole seconds only, and versions before 3.16 then send exactly that number.
        command += [f"--port={options.port}", f"--blockcount={frames}", f"--bitrate={bits_per_second}"]
        command += [f"--length={options.datagram_bytes}", f"--parallel={options.streams}"]
        command += [f"--interval={_INTERVAL_S:g}"]
        command += ["--bidir"] if options.both_ways else []
        command += [f"--window={options.window_bytes}"] if options.window_bytes else []
        patience_s = duration_s + _INTERVAL_S + options.max_stretch_s + self._timeout_s
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        try:
            said, complaint = self._process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            message = f"stretched: iperf3 had not finished the {format_delay(duration_s)} of the trial"
            raise InvalidTrialError(message) from None
        finally:
            self.close()
        try:
            report = _report(said)
        except (ValueError, RecursionError) as error:
            message = f"iperf3: no JSON came back; it said: {one_line(complaint or said, longest=200)}"
            raise TrialFailedError(message) from error
        if not isinstance(report, dict):
            message = f"iperf3: its report is no JSON object: {shown(report)}"
            raise TrialFailedError(message)
        return report

    def now(self) -> float:
        """Give the time of the wall clock."""
        return time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the past is past."""

    def close(self) -> None:
        """End a trial that runs."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _report(said: str) -> Any:  # noqa: ANN401 - whatever was printed
    """Read the first report in what iperf3 printed: some versions print warnings around it, or print it twice.

    >>> _report('warning: JSON data length overflow\\n{"end": {"lost_percent": -nan}}\\niperf3: error - Broken pipe')
    {'end': {'lost_percent': nan}}
    """
    begin = re.search(r"^\s*[\[{]", said, re.MULTILINE)
    text = said[begin.end() - 1 :] if begin else said.lstrip()
    plain = _NOT_A_NUMBER.sub(lambda found: f"{found[1]}Infinity" if found[2] else "NaN", text)
    return json.JSONDecoder().raw_decode(plain)[0]


def direction(
    name: str,
    sender: dict[str, Any],
    receiver: dict[str, Any],
    options: Iperf3Options,
    *,
    load: float,
    frames: int,
    duration_s: float,
) -> dict[str, Any]:
    """Give what was sent and lost in one direction.

    Raises
    ------
    InvalidTrialError
        When the sender was not as fast as asked, or sent for longer or less.
    ValueError
        When one of the counts cannot be.
    """
    seconds, seen = float(sender["seconds"]), int(receiver["packets"])
    arrived = int(receiver["bytes"]) // options.datagram_bytes
    # Of what an older server sent, a newer client knows the bytes only: its packets are 0.
    offered = int(sender["packets"]) or int(sender["bytes"]) // options.datagram_bytes
    if not (math.isfinite(seconds) and seconds > 0 and min(offered, seen, arrived) >= 0):
        message = f"{name}: {offered} sent in {format_delay(seconds)}, {arrived} of {seen} arrived"
        raise ValueError(message)
    due = frames - max(load * options.max_stretch_s, _TICK_FRAMES)
    if offered < due * (1 - _RATE_TOLERANCE):
        message = f"{name}: {frames - offered} of {frames} frames were not sent: the sender is too slow"
        raise InvalidTrialError(message)
    # How long the frames take at the load that was asked for: longer than that, the sender was too slow.
    due_s, took = offered / load, f"sent for {format_delay(seconds)}"
    if seconds > due_s + options.max_stretch_s:
        message = f"{name}: stretched: {took} instead of {format_delay(due_s)}: the sender is too slow"
        raise InvalidTrialError(message)
    if seconds > duration_s + _INTERVAL_S + options.max_stretch_s:
        message = f"{name}: stretched: {took} instead of {format_delay(duration_s)}"
        raise InvalidTrialError(message)
    most = load * max(seconds, duration_s)
    if offered > most * (1 + _RATE_TOLERANCE) + _TICK_FRAMES * options.streams:
        message = f"{name}: {offered} frames were sent where {most:.0f} were due"
        raise InvalidTrialError(message)
    if arrived > offered:
        message = f"{name}: {arrived} frames arrived of {offered} that were sent: duplicates, or frames of others"
        raise InvalidTrialError(message)
    unseen = offered - seen
    population = seen if 0 <= unseen <= load * _UNSEEN_S + _TICK_FRAMES and seen else offered
    return {
        "name": name,
        "sent": population,
        "lost": max(0, population - arrived),
        "offered": offered,
        "arrived": arrived,
        "unseen_at_end": unseen,
        "seconds": seconds,
    }
