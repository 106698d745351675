"""What is added to the throughput test: the modifiers of RFC 2544 section 11, each alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from brimful.errors import MeasureError, UsageError, did_you_mean, one_line

BROADCAST = "broadcast"
BY_COMMAND = ("management", "routing", "filters")
"""Modifiers that only a program of the user can make: who answers queries, which routes change, and how filters are set
is a matter of the device."""
BROADCAST_EVERY = 100
"""Section 11.1: 1 % of the frames."""
_PREFIX = "with-"
TESTS = tuple(f"{_PREFIX}{name}" for name in (BROADCAST, *BY_COMMAND))
"""Of the suite: a throughput with a modifier."""
_PATIENCE_S = 10.0


def test_of(modifier: str) -> str:
    """Give the name of the test with a modifier.

    >>> test_of("broadcast")
    'with-broadcast'
    """
    return f"{_PREFIX}{modifier}"


def parse_modifiers(texts: Sequence[str]) -> dict[str, str]:
    """Read ``broadcast`` or ``NAME=COMMAND``; gives the command of each modifier, which broadcasts have none of.

    >>> parse_modifiers(["broadcast", "filters=nft -f rules"])
    {'broadcast': '', 'filters': 'nft -f rules'}

    Raises
    ------
    UsageError
        Naming the text.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        if name not in (BROADCAST, *BY_COMMAND):
            known = ", ".join([BROADCAST, *(f"{name}=COMMAND" for name in BY_COMMAND)])
            message = f"--modifier: there is no {name!r}{did_you_mean(name, [BROADCAST, *BY_COMMAND])}: {known}"
            raise UsageError(message)
        reason = ""
        if name in found:
            reason = "is given twice"
        elif name == BROADCAST and equals:
            reason = "takes no command"
        elif name != BROADCAST and not command.strip():
            reason = f"needs a command: {name}=COMMAND"
        if reason:
            message = f"--modifier {text!r}: {name} {reason}"
            raise UsageError(message)
        if not text.isprintable():
            message = f"--modifier {text!r} has characters that cannot be shown; leave them out"
            raise UsageError(message)
        found[name] = command
    return found


@contextlib.contextmanager
def running(command: Sequence[str], wait_s: float) -> Iterator[None]:
    """Have a command run during a test; one that has done its work may end before.

    Parameters
    ----------
    command
        Program and arguments; ended with all that it started when the test is over, first by SIGTERM.
    wait_s
        How long it has before the test begins, in seconds.

    Raises
    ------
    MeasureError
        When it cannot be started, or failed.
    """
    # A file, not a pipe: what the command leaves in the background would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except OSError as error:
            message = f"the command of the modifier cannot be started: {error.strerror}"
            raise MeasureError(message) from error
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait_s)
            _check(process, output.fileno())
            yield
            _check(process, output.fileno())
        finally:
            _end(process)


def _check(process: subprocess.Popen[bytes], output: int) -> None:
    if process.poll():
        text = os.pread(output, 4000, 0).decode(errors="replace").strip()
        message = f"the command of the modifier ended with {process.returncode}: {one_line(text or 'it said nothing')}"
        raise MeasureError(message)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
