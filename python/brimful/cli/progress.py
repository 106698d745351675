"""Where a search stands: a live picture on terminals, a plain line a trial elsewhere."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import click

from brimful import units

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from brimful.records import Run
    from brimful.run_loop import Progress

_SCALE_WIDTH = 48


class ProgressView(Protocol):
    """Whoever shows progress."""

    def update(self, run: Run, progress: Progress) -> None:
        """Show where the search stands."""
        ...

    def note(self, text: str) -> None:
        """Say something once."""
        ...


@contextlib.contextmanager
def open_progress(*, quiet: bool) -> Iterator[ProgressView]:
    """Give what suits standard error: nothing, lines, or a live picture."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
            yield _Picture(live)
    else:
        yield _Lines()


class _Silent:
    def update(self, run: Run, progress: Progress) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class _Lines:
    def update(self, run: Run, progress: Progress) -> None:
        """Print one line."""
        click.echo(trial_line(run, progress), err=True)

    def note(self, text: str) -> None:
        """Print one line."""
        click.echo(text, err=True)


class _Picture:
    def __init__(self, live: Live) -> None:
        self._live = live

    def update(self, run: Run, progress: Progress) -> None:
        """Redraw."""
        self._live.update(_drawn(run, progress))

    def note(self, text: str) -> None:
        """Print above the picture."""
        self._live.console.print(text, highlight=False)


def _drawn(run: Run, progress: Progress) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    names = max(len(goal.name) for goal in run.goals)
    rows = [Text(trial_line(run, progress), style="bold")]
    for goal, (lower, upper) in zip(run.goals, progress.bounds, strict=True):
        scale = scale_line(run, (lower, upper), progress.next_trial[0] if progress.next_trial else None)
        rows.append(Text(f"  {goal.name:<{names}} {scale} {bounds_text(run, lower, upper)}"))
    return Group(*rows)


def trial_line(run: Run, progress: Progress) -> str:
    """Write what is being measured, and how long it may still take, on one line."""
    parts = [f"{units.format_duration(progress.elapsed_s):>9}", f"trial {progress.trials + 1:>3}"]
    if progress.next_trial is not None:
        load, duration_s = progress.next_trial
        parts.append(f"{units.format_load(load, run.load_unit):>12} for {units.format_duration(duration_s)}")
    if progress.remaining_s is not None:
        parts.append(f"about {units.format_duration(progress.remaining_s)} left")
    known = [
        f"{goal.name} {bounds_text(run, *bounds)}"
        for goal, bounds in zip(run.goals, progress.bounds, strict=True)
        if bounds != (None, None)
    ]
    return "  ".join(parts + known)


def bounds_text(run: Run, lower: float | None, upper: float | None) -> str:
    """Write two bounds, either of which may still be unknown.

    The unit stands once where both have the same.
    """
    if lower is None or upper is None:
        below = "?" if lower is None else units.format_load(lower, run.load_unit)
        above = "?" if upper is None else units.format_load(upper, run.load_unit)
        return f"{below} .. {above}"
    low, high = (units.format_load(load, run.load_unit).split(" ", 1) for load in (lower, upper))
    return f"{low[0]} .. {high[0]} {high[1]}" if low[1] == high[1] else f"{' '.join(low)} .. {' '.join(high)}"


def scale_line(run: Run, bounds: tuple[float | None, float | None], trial: float | None) -> str:
    """Draw bounds and the trial in flight between min and max load, on a logarithmic scale.

    ``=`` is where the answer lies, ``*`` the trial.
    """
    span = math.log(run.max_load / run.min_load) or 1.0

    def cell(load: float) -> int:
        share = math.log(load / run.min_load) / span
        return min(_SCALE_WIDTH - 1, max(0, int(share * _SCALE_WIDTH)))

    first = cell(bounds[0]) if bounds[0] is not None else 0
    last = cell(bounds[1]) if bounds[1] is not None else _SCALE_WIDTH - 1
    cells = ["=" if first <= index <= last else "-" for index in range(_SCALE_WIDTH)]
    if trial is not None:
        cells[cell(trial)] = "*"
    return "[" + "".join(cells) + "]"
