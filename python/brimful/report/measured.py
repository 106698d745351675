"""What reports on delays, bursts and recovery share: all but their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from brimful.records import Run, RunFile
from brimful.report import facts, words
from brimful.report.lines import bullets, table, wrap
from brimful.report.styles import Style
from brimful.units import format_duration


class View(Protocol):
    """What is shown about a run beside its results."""

    @property
    def title(self) -> str:
        """What was measured, and of which device."""

    @property
    def outcome(self) -> str:
        """How the run ended."""

    @property
    def notes(self) -> list[str]:
        """What the values mean, and what they do not."""

    @property
    def set_up(self) -> list[tuple[str, str]]:
        """Names and values."""

    @property
    def warnings(self) -> list[str]:
        """What to know before the results are used."""

    @property
    def machine(self) -> str | None:
        """How quiet the machine was; null where nothing was watched."""


def device_name(run: Run) -> str:
    """Give what the device is called, or what stands for it."""
    return str(run.device.get("name") or run.device.get("device") or run.measurer.get("spec") or run.run_id)


def outcome(file: RunFile, one: str) -> str:
    """Say how a run ended; ``one`` is what it counted, such as "trial"."""
    if not file.ends:
        return "The run has not ended: it is still active, or it was killed."
    last = file.ends[-1]
    how = words.CLOCK_WORDS.get(last.reason, f"ended ({last.reason})")
    said = f"The run {how} after {words.count(last.trials, one)} in {format_duration(last.search_s)}."
    return f"{said} {last.text}".rstrip()


def machine(file: RunFile) -> str | None:
    """Say how quiet the machine was; none where nothing was watched."""
    seen = facts.machine(file.ends)
    return None if seen is None else words.machine(seen)


def render(view: View, run: Run, results: Sequence[str], style: Style, columns: int) -> str:
    """Write a report as lines for a terminal; ``results`` are blocks of lines."""
    head = [
        style(view.title, "title"),
        wrap(view.outcome, 0, columns=columns),
        *([wrap(view.machine, 0, columns=columns)] if view.machine is not None else []),
        style(f"run {run.run_id}, started {run.started}", "faint"),
    ]
    blocks = [
        "\n".join(head),
        *results,
        bullets("Warnings", view.warnings, style, columns),
        bullets("Deviations", run.deviations, style, columns),
        bullets("What the values mean", view.notes, style, columns),
        "\n".join([style("Set-up", "title"), table([list(row) for row in view.set_up])]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def titled(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> str:
    """Write a table with its title and the names of its columns."""
    return "\n".join([title, table([list(names), *rows], right=right)])
