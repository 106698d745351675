"""Signals that end a command in an orderly way."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import NoReturn

import click

INTERRUPTED = 130
"""Exit code of a command that a signal ended: 128 and the number of SIGINT, as shells say it."""


class Interrupts:
    """Raises `KeyboardInterrupt` for each signal, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, _number: int, _frame: object) -> NoReturn:
        """Take a signal."""
        self._count += 1
        raise KeyboardInterrupt

    @property
    def were_repeated(self) -> bool:
        """Whether one came while another was being followed."""
        return self._count > 1


def take_for_interrupt() -> Interrupts:
    """Let what a system or a closed terminal ends programs with deserve the same orderly end as Ctrl-C."""
    interrupts = Interrupts()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # With `nohup` a command is to outlive its terminal.
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupts)
    return interrupts


def tell_how_to_go_on(done: str, directory: Path) -> None:
    """Say what an interrupted run has got to, and how it goes on."""
    advice = f"go on with the same options and --resume --out {directory}"
    click.echo(f"brimful: interrupted after {done}; {advice}", err=True)
