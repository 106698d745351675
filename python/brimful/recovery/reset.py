"""The command that resets a device while a trial runs: once in that trial, and never after it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence

from brimful.errors import MeasureError, one_line
from brimful.measurers.base import InvalidTrialError
from brimful.units import format_delay

PATIENCE_S = 60.0
"""How long after its trial a command may still run, in seconds."""


class Reset:
    """A command that begins to run a number of seconds after it was made, unless it is cancelled before.

    Parameters
    ----------
    command
        Program and arguments.
    after_s
        Seconds until it begins.
    patience_s
        How long `finish` waits for its end, in seconds.
    """

    def __init__(self, command: Sequence[str], after_s: float, *, patience_s: float = PATIENCE_S) -> None:
        self._command = list(command)
        self._after_s = after_s
        self._patience_s = patience_s
        self._begun = threading.Lock()
        self._is_decided = False
        self._process: subprocess.Popen[bytes] | None = None
        # A file, not a pipe: what the command leaves in the background would keep a pipe open.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `cancel`
        self._refusal = ""
        self.began_s: float | None = None
        """When it began, of the monotonic clock; none: it did not."""
        self._timer = threading.Timer(after_s, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def _begin(self) -> None:
        # The lock: a command that is cancelled at this moment has either begun and is ended, or never begins.
        with self._begun:
            if self._is_decided:
                return
            self._is_decided = True
            self.began_s = time.monotonic()
            out = self._output
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
                )
            except OSError as error:
                self._refusal = error.strerror or str(error)

    def _stop_waiting(self) -> bool:
        """Let it not begin any more; gives whether it had begun."""
        self._timer.cancel()
        with self._begun:
            self._is_decided = True
            return self.began_s is not None

    def cancel(self) -> None:
        """Let it not begin any more, and end it where it runs."""
        if self._stop_waiting():
            self._end()
        self._output.close()

    def finish(self) -> None:
        """Wait for the end of the command, after its trial.

        Raises
        ------
        InvalidTrialError
            When the trial was over before the command began: nothing was reset in it.
        MeasureError
            When the command failed, or does not end.
        """
        if not self._stop_waiting():
            message = f"the trial ended before the device was reset, {format_delay(self._after_s)} after its begin"
            raise InvalidTrialError(message)
        process = self._process
        if process is None:
            message = f"the reset command cannot be started: {self._refusal}"
            raise MeasureError(message)
        try:
            process.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            self._end()
            message = (
                f"the reset command still ran {format_delay(self._patience_s)} after its trial and was ended; let it go"
                " on in the background (`COMMAND &`) if that is meant"
            )
            raise MeasureError(message) from None
        if process.returncode != 0:
            self._output.seek(0)
            text = one_line(self._output.read().decode(errors="replace").strip() or "it said nothing")
            message = f"the reset command ended with {process.returncode}: {text}"
            raise MeasureError(message)

    def _end(self) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5.0)


@contextlib.contextmanager
def resetting(command: Sequence[str], after_s: float) -> Iterator[Reset]:
    """Have a command run once during the trial within the block.

    A trial that was spoiled or interrupted takes its command with it: what begins later would reset the device in the
    trial after it.

    Parameters
    ----------
    command
        Program and arguments.
    after_s
        Seconds after the begin of the block when it is to run.

    Raises
    ------
    InvalidTrialError
        When the block ended before the command began.
    MeasureError
        When the command failed, or does not end.

    Examples
    --------
    >>> import time
    >>> with resetting(["true"], 0.01) as reset:
    ...     time.sleep(0.5)
    >>> reset.began_s is not None
    True
    """
    reset = Reset(command, after_s)
    try:
        yield reset
        reset.finish()
    finally:
        reset.cancel()
