"""Where a search stands: a live picture on terminals, a plain line a trial elsewhere."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import click
import msgspec

from brimful import units

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live

    from brimful.records import Run
    from brimful.throughput.run_loop import Progress

_WIDEST_SCALE, _NARROWEST_SCALE = 48, 16
_LINE_EVERY_S = 10.0
_BOUNDS_WIDTH = len("999.9 kpps .. 1.000 Mpps")


class ProgressView(Protocol):
    """What shows progress."""

    def update(self, run: Run, progress: Progress) -> None:
        """Show where the search stands."""
        ...

    def line(self, text: str) -> None:
        """Show in one line where a run stands."""
        ...

    def note(self, text: str) -> None:
        """Say something once."""
        ...


@contextlib.contextmanager
def open_progress(*, quiet: bool, verbose: bool = False) -> Iterator[ProgressView]:
    """Give what suits standard error: nothing, lines, or a live picture; verbose: a line for each trial."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty() and not verbose:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
            yield _Picture(live)
    else:
        yield _Lines(each_trial=verbose)


class _Silent:
    def update(self, run: Run, progress: Progress) -> None:
        """Show nothing."""

    def line(self, text: str) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class _Lines:
    """A line every ten seconds at most: a log is read later, by people who look for what went wrong."""

    def __init__(self, *, each_trial: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._each_trial, self._clock = each_trial, clock
        self._last_s: float | None = None

    def update(self, run: Run, progress: Progress) -> None:
        """Print one line, unless one was printed just now."""
        self.line(trial_line(run, progress))

    def line(self, text: str) -> None:
        """Print it, unless one was printed just now."""
        now_s = self._clock()
        if self._each_trial or self._last_s is None or now_s - self._last_s >= _LINE_EVERY_S:
            self._last_s = now_s
            click.echo(text, err=True)

    def note(self, text: str) -> None:
        """Print one line."""
        click.echo(text, err=True)


class _Picture:
    def __init__(self, live: Live) -> None:
        self._live = live

    def update(self, run: Run, progress: Progress) -> None:
        """Redraw."""
        self._live.update(Standing(run, progress, time.monotonic))

    def line(self, text: str) -> None:
        """Put it in the place of the last one."""
        from rich.text import Text

        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"))

    def note(self, text: str) -> None:
        """Print above the picture."""
        self._live.console.print(text, highlight=False)


class Standing:
    """Where a search stood when this was made, drawn by rich for its width and with the time that has passed since."""

    def __init__(self, run: Run, progress: Progress, clock: Callable[[], float]) -> None:
        self._run, self._progress = run, progress
        self._clock, self._since_s = clock, clock()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw."""
        from rich.text import Text

        passed_s, then = self._clock() - self._since_s, self._progress
        now = msgspec.structs.replace(
            then,
            elapsed_s=then.elapsed_s + passed_s,
            remaining_s=_after(then.remaining_s, passed_s),
            campaign_remaining_s=_after(then.campaign_remaining_s, passed_s),
        )
        for line in trial_parts_in_lines(self._run, now, options.max_width):
            yield Text(line, style="bold", no_wrap=True, overflow="ellipsis")
        for line in goal_lines(self._run, now, options.max_width):
            yield Text(line, no_wrap=True, overflow="ellipsis")


def _after(left_s: float | None, passed_s: float) -> float | None:
    return None if left_s is None else max(0.0, left_s - passed_s)


def trial_parts_in_lines(run: Run, progress: Progress, columns: int) -> list[str]:
    """Write what is being measured, and how long it may still take, on as few lines as it fits on."""
    first, *rest = _trial_parts(run, progress)
    lines = [first]
    for part in rest:
        if len(lines[-1]) + 2 + len(part) <= columns:
            lines[-1] += f"  {part}"
        else:
            lines.append(f"  {part.strip()}")
    return lines


def goal_lines(run: Run, progress: Progress, columns: int) -> list[str]:
    """Draw the bounds of each goal on a scale, with their values beside it or, where that is too narrow, below."""
    names = min(max(len(goal.name) for goal in run.goals), columns // 4)
    trial = progress.next_trial[0] if progress.next_trial else None
    room = columns - len("   []") - names
    beside = room - 1 - _BOUNDS_WIDTH >= _NARROWEST_SCALE
    cells = max(1, min(_WIDEST_SCALE, room - 1 - _BOUNDS_WIDTH if beside else room))
    lines = []
    for goal, bounds in zip(run.goals, progress.bounds, strict=True):
        name = goal.name if len(goal.name) <= names else f"{goal.name[: names - 1]}…"
        scale, values = scale_line(run, bounds, trial, cells), bounds_text(run, *bounds)
        lines.append(f"  {name:<{names}} {scale}" + (f" {values}" if beside else ""))
        if not beside:
            lines.append(f"  {'':<{names}} {values}")
    return lines


def trial_line(run: Run, progress: Progress) -> str:
    """Write what is being measured, how long it may still take, and the bounds, on one line."""
    known = [
        f"{goal.name} {bounds_text(run, *bounds)}"
        for goal, bounds in zip(run.goals, progress.bounds, strict=True)
        if bounds != (None, None)
    ]
    return "  ".join(_trial_parts(run, progress) + known)


def _trial_parts(run: Run, progress: Progress) -> list[str]:
    # What is below a millisecond is the start, in virtual time too.
    parts = [f"{units.format_duration(round(progress.elapsed_s, 3)):>9}", f"trial {progress.trials:>3}"]
    if progress.next_trial is not None:
        load, duration_s = progress.next_trial
        parts.append(f"{units.format_load(load, run.load_unit):>12} for {units.format_duration(duration_s)}")
    if progress.remaining_s is not None:
        parts.append(f"about {units.format_duration(progress.remaining_s)} left")
    if progress.campaign_remaining_s is not None:
        parts.append(f"{units.format_duration(progress.campaign_remaining_s)} in all")
    return parts


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


def scale_line(run: Run, bounds: tuple[float | None, float | None], trial: float | None, width: int) -> str:
    """Draw bounds and the trial in flight between min and max load, on a logarithmic scale of N cells.

    ``=`` is where the answer lies, ``*`` the trial.
    """
    span = math.log(run.max_load / run.min_load) or 1.0

    def cell(load: float) -> int:
        share = math.log(load / run.min_load) / span
        return min(width - 1, max(0, int(share * width)))

    first = cell(bounds[0]) if bounds[0] is not None else 0
    last = cell(bounds[1]) if bounds[1] is not None else width - 1
    cells = ["=" if first <= index <= last else "-" for index in range(width)]
    if trial is not None:
        cells[cell(trial)] = "*"
    return "[" + "".join(cells) + "]"
