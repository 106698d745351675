"""Speak the measurer protocol on standard input and output."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from . import frames
from .client import Session
from .errors import CannotMeasureError, LostSessionError, SpoiledError
from .installation import load_api


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line."""
        sys.stderr.write(f"TRex options: {message}\n")
        raise SystemExit(2)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = _Parser(prog="trex", allow_abbrev=False)
    parser.add_argument("--server", required=True)
    parser.add_argument("--trex-path")
    parser.add_argument("--ports", type=_ports, default=[0, 1], help="pairs that face each other, like 0:1")
    parser.add_argument("--user", help="name to own the ports by")
    parser.add_argument("--force", action="store_true", help="take the ports from whoever has them")
    parser.add_argument("--count", choices=["port", "flow"], default="port")
    parser.add_argument("--cores", choices=["split", "pin"], default="split")
    parser.add_argument("--settle", type=_seconds, default=0.5, help="from the end of sending to reading the counters")
    parser.add_argument("--max-stretch", type=_seconds, default=0.05, help="how much longer a trial may take")
    parser.add_argument("--ignore-receive-errors", action="store_true")
    parser.add_argument("--first-group", type=int, default=1, help="packet groups are numbered from here")
    parser.add_argument("--rpc-timeout", type=int, help="seconds to wait for an answer of the server")
    parser.add_argument("--sync-port", type=int, default=4501)
    parser.add_argument("--async-port", type=int, default=4500)
    parser.add_argument("--frame-size")
    parser.add_argument("--flows", type=int, default=1)
    parser.add_argument("--direction", choices=["bi", "uni"], default="bi")
    parser.add_argument("--vlan", type=int)
    parser.add_argument("--ip", type=int, choices=[4, 6], default=4)
    parser.add_argument("--source-ip")
    parser.add_argument("--destination-ip")
    options = parser.parse_args(arguments)
    options.frame_size = options.frame_size or str(frames.smallest(options.ip, options.vlan))
    options.source_ip = options.source_ip or ("198.18.0.2" if options.ip == 4 else "2001:2::2")
    options.destination_ip = options.destination_ip or ("198.19.0.2" if options.ip == 4 else "2001:2:0:8000::2")
    most = frames.LAST_PORT - frames.FIRST_PORT + 1
    if not 1 <= options.flows <= most:
        parser.error(f"--flows {options.flows}: TRex flows differ in their UDP source port, so use 1 to {most}")
    if options.ip == 6 and options.flows > 1 and options.count == "port":
        parser.error("--flows: several flows over IPv6 need count=flow")
    return options


def _ports(text: str) -> list[int]:
    ports = [int(port) for port in text.split(":")]
    if len(ports) % 2 or len(set(ports)) != len(ports):
        raise ValueError(text)
    return ports


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < 3600:
        raise ValueError(text)
    return seconds


class _Ended(BaseException):
    """The reader is gone."""


class _Requests:
    """Lines of the standard input. Its end, or a signal, is noticed while a trial runs as well.

    A signal never interrupts the client: it would take that for a lost connection, and keep the ports.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._signalled, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)

    def next(self) -> dict[str, Any]:
        """Give the next request, and wait for it."""
        while b"\n" not in self._buffer:
            self._read(None)
        line, self._buffer = self._buffer.split(b"\n", 1)
        request: dict[str, Any] = json.loads(line)
        return request

    def wait(self, seconds: float) -> None:
        """Sleep, unless somebody ends the program."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            self._read(remaining)

    def _read(self, timeout_s: float | None) -> None:
        ready = select.select([0, self._signalled], [], [], timeout_s)[0]
        if self._signalled in ready:
            raise _Ended
        if ready:
            chunk = os.read(0, 65536)
            if not chunk:
                raise _Ended
            self._buffer += chunk


class _Program:
    """Keeps one session for all trials, and makes a new one after a trial that failed."""

    def __init__(self, api: Any, options: argparse.Namespace, requests: _Requests) -> None:  # noqa: ANN401
        self._api = api
        self._options = options
        self._requests = requests
        self._session: Session | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        if request.get("op") == "describe":
            return self._open().describe()
        if request.get("op") != "measure":
            return {"error": f"unknown request {request.get('op')!r}"}
        try:
            reply = self._open().measure(float(request["load"]), float(request["duration_s"]), self._requests.wait)
        except SpoiledError as error:
            if isinstance(error, LostSessionError):
                self.close()
            reply = {"invalid": str(error)}
        return {"id": request["id"], **reply}

    def _open(self) -> Session:
        if self._session is None:
            self._session = Session(self._api, self._options)
        return self._session

    def close(self) -> None:
        """Give back what is held."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def main() -> int:
    """Answer requests until the standard input ends or a signal comes."""
    # The client prints what it does; the standard output is for replies alone.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    options = parse(sys.argv[1:])
    requests = _Requests()
    program: _Program | None = None
    try:
        while True:
            request = requests.next()
            try:
                if program is None:
                    program = _Program(load_api(options.trex_path), options, requests)
                reply = program.answer(request)
            except CannotMeasureError as error:
                reply = {"error": str(error), "id": request.get("id")}
            except (AttributeError, KeyError, TypeError) as error:
                text = f"the TRex client is not used as it wants to be, or answers strangely: {error!r}"
                reply = {"error": text, "id": request.get("id")}
            replies.write(json.dumps(reply) + "\n")
            replies.flush()
    except (_Ended, BrokenPipeError):
        return 0
    finally:
        if program is not None:
            program.close()


if __name__ == "__main__":
    raise SystemExit(main())
