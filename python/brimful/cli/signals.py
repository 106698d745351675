"""Signals that end a command in an orderly way."""

from __future__ import annotations

import signal


def take_for_interrupt() -> None:
    """Let what a system or a closed terminal ends programs with deserve the same orderly end as Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Of `nohup`, which has a command outlive its terminal.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.default_int_handler)
