"""An end for what may take too long, and peace for what must be done whole."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def alarm(seconds: float | None, error: type[Exception]) -> Iterator[None]:
    """Raise the error within the block after so many seconds; none: never. Only the main thread can have an alarm."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise error

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let interruptions and the alarm of the budget wait: the results are to be of all trials in the record."""
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():  # only there do signals raise
            for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                stack.enter_context(_deferred(number))
        yield


@contextlib.contextmanager
def _deferred(number: signal.Signals) -> Iterator[None]:
    came = []
    previous = signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(number, previous)
    if came:
        signal.raise_signal(number)
