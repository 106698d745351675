"""An end for what may take too long, and peace for what must be done whole."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

_SOON_S = 0.001
"""An alarm after no time would be none."""


@contextlib.contextmanager
def alarm(seconds: float | None, error: type[Exception]) -> Iterator[None]:
    """Raise the error within the block after this number of seconds; none: never.

    Only the main thread can have an alarm. One that is set already and rings earlier is left to do so, a later one is
    set again.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    outer_s, _ = signal.getitimer(signal.ITIMER_REAL)
    if 0 < outer_s <= seconds:
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise error

    began_s = time.monotonic()
    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(_SOON_S, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer_s:
            signal.setitimer(signal.ITIMER_REAL, max(_SOON_S, outer_s - (time.monotonic() - began_s)))


@contextlib.contextmanager
def undisturbed(*, forget: bool = False) -> Iterator[None]:
    """Let interruptions and the alarm of the budget wait: the results are to be of all trials in the record.

    With ``forget`` they are dropped, where what they ask for is what is being done.
    """
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():  # only there do signals raise
            for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                if signal.getsignal(number) is not None:  # one that Python did not set could not be set again
                    stack.enter_context(_deferred(number, forget=forget))
        yield


@contextlib.contextmanager
def _deferred(number: signal.Signals, *, forget: bool) -> Iterator[None]:
    came = []
    previous = signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(number, previous)
    if came and not forget:
        signal.raise_signal(number)
