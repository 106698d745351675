"""Any program that speaks the measurer protocol (``docs/reference/measurer-protocol.md``)."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from typing import IO, Any

import msgspec

from brimful.errors import MeasureError, UsageError, one_line
from brimful.measurers.base import (
    Description,
    InvalidTrialError,
    Settings,
    TrialFailedError,
    TrialOutput,
    checked_description,
    checked_output,
    kept,
)
from brimful.units import format_duration, format_load

DEFAULT_TIMEOUT_S = 30.0
"""How much longer than a trial its reply may take."""
_CALIBRATION_TIMEOUT_S = 60.0
_STDERR_LINES = 3
_LONGEST_COMPLAINT = 4096
"""Bytes of a line on standard error that are kept, whatever a program writes."""
_LONGEST_REPLY = 1 << 22
_LONGEST_QUOTE = 200
_LONGEST_SELECT_S = 1e6
"""The kernel takes no more milliseconds at once."""
_REST_S = 0.05
"""How long more is waited for of what is no reply: a banner comes in pieces."""
_DEEPEST = 100
"""Levels of a reply: what reads a record takes more."""
_KNOWN_FIELDS = frozenset(TrialOutput.__struct_fields__) - {"extra"}


class CommandMeasurer:
    """Runs a program and asks it for trials, one line each way.

    The program is started for the first request, and again after one that failed. Where it does not say itself whether
    the processors of this machine send the frames, `on_this_machine` does.
    """

    def __init__(
        self,
        command: list[str],
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        name: str | None = None,
        detail: bool = False,
        on_this_machine: bool = False,
    ) -> None:
        self._command = command
        self._detail = detail
        self._on_this_machine = on_this_machine
        self._timeout_s = timeout_s
        self._name = name or shlex.join(command)
        self._process: _Program | None = None
        self._next_id = 1
        self._description: Description | None = None

    def describe(self) -> Description:
        """Ask the program what it is, once."""
        if self._description is None:
            self._description = self._ask_description()
        return self._description

    def _ask_description(self) -> Description:
        reply = self._ask({"op": "describe"}, self._timeout_s)
        if "error" in reply:
            message = f"{self._name}: {one_line(reply['error'])}"
            raise MeasureError(message)
        try:
            facts = {"name": self._name, "on_this_machine": self._on_this_machine, **reply}
            description = msgspec.convert(facts, Description)
        except msgspec.ValidationError as error:
            message = f"{self._name}: reply to describe: {error}"
            raise MeasureError(message) from error
        where = f"{self._name}: reply to describe"
        kept(description, where)
        return checked_description(description, where=where)

    def calibrate(self) -> float:
        """Ask for the highest load that the program itself can send and receive, with no device between."""
        reply = self._ask({"op": "calibrate"}, _CALIBRATION_TIMEOUT_S)
        ceiling = reply.get("ceiling")
        if not isinstance(ceiling, int | float) or not 0 < ceiling < 1e15:
            message = f"{self._name}: reply to calibrate: {one_line(reply.get('error', reply))}"
            raise MeasureError(message)
        return float(ceiling)

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Ask for one trial and check the reply."""
        request: dict[str, Any] = {"op": "measure", "id": self._next_id, "load": load, "duration_s": duration_s}
        if stop_above is not None:
            request["stop_above_loss_ratio"] = stop_above
        if self._detail:
            request["detail"] = True
        self._next_id += 1
        reply = self._ask(request, duration_s + self._timeout_s)
        if reply.get("id") != request["id"]:
            self.close()
            message = f"{self._name}: the reply has id {reply.get('id')!r}, not {request['id']}"
            raise TrialFailedError(message)
        if "error" in reply:
            message = f"{self._name}: trial at {self._shown(load)}: {one_line(reply['error'])}"
            raise MeasureError(message)
        if "invalid" in reply:
            kept(reply, self._name)
            raise InvalidTrialError(one_line(reply["invalid"]), reply)
        output = trial_output(reply, where=self._name)
        if output.stopped_early and stop_above is None:
            message = f"{self._name}: stopped_early is true, but no stop was asked for"
            raise TrialFailedError(message)
        return output

    def _shown(self, load: float) -> str:
        return format_load(load) if self._description is None else format_load(load, self._description.load_unit)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Go on with numbers of requests that the run has not used, a thousand for each second that is past.

        A disk tester draws its places from them: the same ones again would be answered by a cache.
        """
        self._next_id = max(self._next_id, 1 + math.ceil(1000 * elapsed_s))

    def close(self) -> None:
        """End the program: first by closing its input, then by force."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def ask(self, request: dict[str, Any], lasts_s: float = 0.0) -> dict[str, Any]:
        """Ask anything that takes this time, in seconds, and give the reply.

        Raises
        ------
        TrialFailedError
            When there is none, or it is no JSON object.
        """
        return self._ask(request, lasts_s + self._timeout_s)

    def _ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        if self._process is None:
            self._process = _Program(self._command, self._name, has_answered=self._description is not None)
        try:
            line = self._process.ask(json.dumps(request).encode() + b"\n", timeout_s)
        except BaseException:
            self.close()
            raise
        try:
            return _object(line)
        except ValueError as error:
            read = b"\n".join([line, *([self._process.unread()] if self._process is not None else [])])
            self.close()
            message = f"{self._name}: reply to {request['op']} {error}: {_quoted(read)}"
            raise TrialFailedError(message) from error


def _quoted(read: bytes) -> str:
    """Show what was read instead of a reply: a banner often begins with an empty line.

    >>> _quoted(b"\\n\\n  My tester 1.0\\nready\\n")
    "an empty line, then 'My tester 1.0 / ready'; write replies to standard output, everything else to standard error"
    >>> _quoted(b"")
    'an empty line; write replies to standard output, everything else to standard error'
    """
    lines = [one_line(line) for line in read.decode(errors="replace").splitlines()]
    text = " / ".join(filter(None, lines))
    shown = f"{text[:_LONGEST_QUOTE]}..." if len(text) > _LONGEST_QUOTE else text
    is_empty = not read.partition(b"\n")[0].strip()
    what = ", then ".join([*(["an empty line"] if is_empty else []), *([repr(shown)] if shown else [])])
    return f"{what}; write replies to standard output, everything else to standard error"


def _object(line: bytes) -> dict[str, Any]:
    """Read a reply. NaN is no JSON, but taken, so that the field that it stands in is named."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        message = "is no JSON object"
        raise ValueError(message)
    if _is_deep(reply):
        message = f"is nested more than {_DEEPEST} deep"
        raise ValueError(message)
    return reply


def _is_deep(reply: dict[str, Any]) -> bool:
    level: list[Any] = [reply]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    values = value.values() if isinstance(value, dict) else value
    return [inner for inner in values if isinstance(inner, dict | list)]


def trial_output(reply: dict[str, Any], *, where: str) -> TrialOutput:
    """Check the reply to ``measure`` and give it as a trial output.

    Raises
    ------
    TrialFailedError
        Naming the field that cannot be.
    """
    known = {key: value for key, value in reply.items() if key in _KNOWN_FIELDS}
    extra = {key: value for key, value in reply.items() if key not in _KNOWN_FIELDS and key != "id"}
    return checked_output({**known, "extra": extra}, where=where)


class _Program:
    """A running program with a line in and a line out."""

    def __init__(self, command: list[str], name: str, *, has_answered: bool) -> None:
        self._name = name
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for brimful, which then ends the program in an orderly way.
                start_new_session=True,
            )
        except OSError as error:
            message = f"measurer {name!r} cannot be started: {error.strerror}; check the program's path and permissions"
            raise UsageError(message) from error
        self._complaints: collections.deque[str] = collections.deque(maxlen=_STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, args=(_pipe(self._process.stderr),), daemon=True)
        self._listener.start()
        self._buffer = b""
        self._has_answered = has_answered

    def ask(self, request: bytes, timeout_s: float) -> bytes:
        """Send one line and wait for one line."""
        try:
            stdin = _pipe(self._process.stdin)
            stdin.write(request)
            stdin.flush()
        except OSError:
            raise self._ended() from None
        deadline = time.monotonic() + timeout_s
        descriptor = _pipe(self._process.stdout).fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    message = f"{self._name}: no reply within {format_duration(timeout_s)}"
                    raise TrialFailedError(message)
                if not selector.select(min(remaining, _LONGEST_SELECT_S)):
                    continue
                chunk = os.read(descriptor, 65536)
                if not chunk:
                    raise self._ended()
                self._buffer += chunk
                if len(self._buffer) > _LONGEST_REPLY:
                    message = f"{self._name}: a reply is longer than {_LONGEST_REPLY} bytes"
                    raise TrialFailedError(message)
        line, self._buffer = self._buffer.split(b"\n", 1)
        self._has_answered = True
        return line

    def unread(self) -> bytes:
        """Give what else it has written so far."""
        descriptor = _pipe(self._process.stdout).fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(self._buffer) < _LONGEST_COMPLAINT and selector.select(_REST_S):
                chunk = os.read(descriptor, _LONGEST_COMPLAINT)
                if not chunk:
                    break
                self._buffer += chunk
        return self._buffer

    def end(self) -> None:
        """Close its input, and be firm if that is not enough. The whole process group goes."""
        try:
            # Closing flushes, and a program that has ended makes that fail.
            with contextlib.suppress(OSError):
                _pipe(self._process.stdin).close()
            if not self._has_ended(1.0):
                self._signal(signal.SIGTERM)
                self._has_ended(1.0)
        finally:
            # A user who interrupts the wait has no patience left for the program.
            self._signal(signal.SIGKILL)
            self._has_ended(5.0)
            self._listener.join(1.0)
            _pipe(self._process.stdout).close()

    def _has_ended(self, patience_s: float) -> bool:
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _listen(self, stderr: IO[bytes]) -> None:
        with stderr:
            is_new = True
            while piece := stderr.readline(_LONGEST_COMPLAINT):
                text = one_line(piece.decode(errors="replace")).removeprefix(f"{self._name}: ")
                if text and is_new:
                    self._complaints.append(text)
                is_new = piece.endswith(b"\n")

    def _ended(self) -> TrialFailedError | UsageError:
        try:
            code: int | None = self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            code = None
        self._listener.join(1.0)
        if code is None:
            how = "closed its output"
        elif code < 0:
            how = f"was killed by signal {-code}"
        else:
            how = f"ended with exit code {code}"
        said = "; it said: " + " / ".join(self._complaints) if self._complaints else ""
        text = f"{self._name}: the program {how}{said}"
        refused = code == UsageError.exit_code and not self._has_answered
        return UsageError(text) if refused else TrialFailedError(text)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        message = "a pipe that was asked for is missing"
        raise AssertionError(message)
    return pipe


def open_command(command: str, settings: Settings) -> CommandMeasurer:
    """Open a program that speaks the measurer protocol, written as for a shell.

    Raises
    ------
    UsageError
        When the text cannot be parted into words.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"measurer 'cmd:{command}': {str(error).lower()}; check the quotes"
        raise UsageError(message) from error
    if not words:
        message = "measurer 'cmd:' names no program"
        raise UsageError(message)
    return CommandMeasurer(words, timeout_s=settings.timeout_s, detail=settings.detail)
