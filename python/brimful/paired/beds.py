"""Where the devices are: a test bed each, or one on which builds are made active in turns."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Protocol

from brimful.errors import MeasureError, one_line
from brimful.measurers.base import Measurer

_LONGEST_OUTPUT = 4000


class Beds(Protocol):
    """The devices of a comparison."""

    def measurer(self, device: int) -> Measurer:
        """Give the measurer of a device."""
        ...

    def measurers(self) -> list[Measurer]:
        """Give each measurer once."""
        ...

    def make_anew(self, device: int) -> str:
        """Make the devices anew, or a build active; gives what was printed.

        Raises
        ------
        MeasureError
            When that failed.
        """
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


_OF_A_PLACE = {"disk": (), "tester": None, "trex": ("sync-port", "ports"), "iperf3": ("port",)}
"""Kinds of measurers that hold what they measure through: what their first word names, and which options beside it;
none: all that is behind the kind."""


def share_a_place(specs: Sequence[str]) -> bool:
    """Say whether some devices are measured through the same ports, or are the same disk or server.

    >>> share_a_place(["disk:/dev/sda,pattern=read", "disk:/dev/sda"]), share_a_place(["lab:bridge", "lab:bridge"])
    (True, False)
    >>> share_a_place(["iperf3:dut,port=5202", "iperf3:dut"]), share_a_place(["trex:t,cores=2", "trex:t"])
    (False, True)
    """
    places = [_place(spec) for spec in specs if spec.partition(":")[0] in _OF_A_PLACE]
    return len(set(places)) < len(places)


def _place(spec: str) -> tuple[str, ...]:
    options = _OF_A_PLACE[spec.partition(":")[0]]
    if options is None:
        return (spec,)
    first, *words = spec.split(",")
    return (first, *(word for word in sorted(words) if word.partition("=")[0] in options))


class OwnBeds:
    """A test bed for each device.

    Parameters
    ----------
    open_device
        Makes the bed of a device, by its number.
    count
        How many devices there are.
    one_at_a_time
        Whether what one device holds keeps others from being measured: it is then given back before.
    """

    def __init__(self, open_device: Callable[[int], Measurer], count: int, *, one_at_a_time: bool = False) -> None:
        self._open = open_device
        self._count = count
        self._one_at_a_time = one_at_a_time
        self._last: int | None = None
        self._measurers: list[Measurer] = []
        self._make()

    def measurer(self, device: int) -> Measurer:
        """Give the measurer of a device; one that was closed begins again with its next trial."""
        if self._one_at_a_time and self._last not in (None, device):
            for number, measurer in enumerate(self._measurers):
                if number != device:
                    measurer.close()
        self._last = device
        return self._measurers[device]

    def measurers(self) -> list[Measurer]:
        """Give each measurer once."""
        return list(self._measurers)

    def make_anew(self, device: int) -> str:
        """Take all devices down, and make them again."""
        self.close()
        self._make()
        return ""

    def close(self) -> None:
        """Take all devices down."""
        with contextlib.ExitStack() as stack:
            while self._measurers:
                stack.callback(self._measurers.pop().close)

    def _make(self) -> None:
        try:
            for device in range(self._count):
                self._measurers.append(self._open(device))
        except BaseException:
            self.close()
            raise


class SharedBed:
    """One test bed, on which a command makes one of several builds the active one.

    Parameters
    ----------
    measurer
        Measures whichever is active.
    commands
        Of each build: given to the shell.
    limit_s
        A command that takes longer has failed.
    """

    def __init__(self, measurer: Measurer, commands: Sequence[str], *, limit_s: float) -> None:
        self._measurer = measurer
        self._commands = commands
        self._limit_s = limit_s

    def measurer(self, device: int) -> Measurer:
        """Give the measurer, which all builds share."""
        return self._measurer

    def measurers(self) -> list[Measurer]:
        """Give the one measurer."""
        return [self._measurer]

    def make_anew(self, device: int) -> str:
        """Make a build the active one."""
        return run_command(self._commands[device], self._limit_s)

    def close(self) -> None:
        """Give the measurer back."""
        self._measurer.close()


class CommandFailedError(MeasureError):
    """A command failed; ``output`` is the end of what it printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def run_command(
    command: str, limit_s: float, *, option: str = "--switch-limit", environment: Mapping[str, str] | None = None
) -> str:
    """Run a shell command and give the end of what it printed; ``option`` is what sets its limit.

    What it starts in the background goes on when it has ended.

    Raises
    ------
    CommandFailedError
        When it fails or takes too long; what it started is ended with it then.
    """
    # A file: a pipe would be open for as long as what was started in the background.
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )
        began_s = time.monotonic()
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            message = f"{command}: took longer than {time.monotonic() - began_s:.0f} s ({option})"
            raise CommandFailedError(message, _end_of(printed)) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output = _end_of(printed)
    if process.returncode != 0:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "it printed nothing")
        message = f"{command}: failed with {_how(process.returncode)}: {one_line(last)}"
        raise CommandFailedError(message, output)
    return output


def _how(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _end_of(printed: IO[bytes]) -> str:
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - 4 * _LONGEST_OUTPUT))
    return printed.read().decode(errors="replace")[-_LONGEST_OUTPUT:]
