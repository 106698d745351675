"""Signals that end a command in an orderly way."""

from __future__ import annotations

import signal
from pathlib import Path

import click


def take_for_interrupt() -> None:
    """Let what a system or a closed terminal ends programs with deserve the same orderly end as Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # With `nohup` a command is to outlive its terminal.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


def tell_how_to_go_on(done: str, directory: Path) -> None:
    """Say what an interrupted run has got to, and how it goes on."""
    advice = f"go on with the same options and --resume --out {directory}"
    click.echo(f"brimful: interrupted after {done}; {advice}", err=True)
