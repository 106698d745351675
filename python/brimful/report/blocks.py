"""What a report shows, built once: terminal, page, paper and JSON render the same blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from brimful.records import NONE_PASSES, Run, RunFile
from brimful.report import facts, words
from brimful.report.figures import Size
from brimful.units import format_duration, format_load

Pairs = Sequence[tuple[str, str]]
"""Names and values."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of its own."""

    text: str


class Bullets(msgspec.Struct, frozen=True, kw_only=True):
    """Sentences that belong together, each on its own; left out where there are none."""

    title: str
    entries: Sequence[str]
    key: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of cells below the names of their columns; left out where there are none."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    key: str
    """Its anchor in the page."""
    words: int = 0
    """How many columns at the left hold words; those of numbers are aligned at their right edge."""
    notes: Sequence[str] = ()
    """Sentences below it."""
    grouped: bool = False
    """Whether the first cell, which may be long, stands on a line of its own above the rows that share it."""
    badges: Mapping[str, str] = {}
    """Beginnings of cells that are set off, each with its role: ``good``, ``bad``, ``quiet``."""
    links: int | None = None
    """The column whose cells are keys of other blocks."""
    terminal: Sequence[int] = ()
    """The columns that a terminal shows, the last of them wrapped; empty: all, as they are."""
    folded: bool = False
    """Whether only a page has it, and there only its title until it is opened."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing."""

    title: str
    draw: Callable[[Size], str]
    """Gives it as SVG, as wide as the page needs it."""
    caption: str
    key: str
    terminal: str = ""
    """What a terminal has in its place; empty: nothing."""


class Panels(msgspec.Struct, frozen=True, kw_only=True):
    """Small drawings beside each other; only a page has them."""

    title: str
    draws: Sequence[tuple[str, Callable[[], str]]]
    """What each shows, and what gives it as SVG."""
    notes: Sequence[str] = ()
    key: str


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to copy as they are; only a page has them."""

    title: str
    text: str


Block = Sentence | Bullets | Table | Figure | Panels | Code


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows of one part of a run."""

    title: str
    blocks: Sequence[Block]
    key: str
    set_up: Sequence[tuple[str, Pairs]] = ()


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A result in large type at the top of a page."""

    name: str
    value: str
    caption: str = ""
    badge: str = ""
    """What kind of result it is, in a word or two."""
    role: str = "bad"
    """Of the badge: ``good``, ``bad``, or none."""
    pairs: Pairs = ()
    colour: int | None = None
    """Number of the goal whose colour it has in figures."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a run, or about runs side by side."""

    run: Run | None
    """Null: there are several."""
    kind: str
    """What was measured, in two or three words."""
    title: str
    """The same, and of which device."""
    outcome: str
    """How the run ended."""
    how: str = ""
    """What made the run, in a line."""
    blocks: Sequence[Block]
    details: Sequence[Block] = ()
    """What a summary does without."""
    notes: Sequence[str]
    """What the values mean, and what they do not."""
    deviations: Sequence[str] | None = None
    """From the trial procedure; null: those of the run."""
    set_up: Pairs = ()
    groups: Sequence[tuple[str, Pairs]] | None = None
    """Facts of the set-up by what they are about; a terminal has them where there is no ``set_up``. Null: all that the
    record has."""
    warnings: Sequence[str]
    """What to know before the results are used."""
    machine: str | None = None
    """How quiet the machine was; null where nothing was watched."""
    sections: Callable[[], Sequence[Section]] = tuple
    """What a page has below the blocks; a terminal does without, so that what it needs is not read."""
    cards: Sequence[Card] = ()
    cards_title: str = ""
    """In a terminal; empty: it does without cards, as tables say the same."""
    has_result: bool = True
    """Whether there is more to sum up than how the run ended."""
    lead: str = ""
    """A sentence below the cards."""
    values: str = "values"
    """What `brimful verify` computes again."""
    data: Mapping[str, Any]
    """What JSON has of this subject alone."""


def device_name(run: Run) -> str:
    """Give what the device is called, or what stands for it."""
    device = run.device
    return str(device.get("name") or device.get("run") or device.get("device") or run.measurer.spec or run.run_id)


def outcome(file: RunFile, one: str) -> str:
    """Say how a run ended; ``one`` is what it counted, such as "trial"."""
    if not file.ends:
        return "The run has not ended: it is still active, or it was killed."
    last = file.ends[-1]
    how = words.CLOCK_WORDS.get(last.reason, f"ended ({last.reason})")
    said = f"The run {how} after {words.count(last.trials, one)} in {format_duration(last.search_s)}."
    passes = words.as_sentence(NONE_PASSES) if file.passes_nothing else ""
    return " ".join(filter(None, [said, words.as_sentence(last.text), passes]))


def how(run: Run) -> str:
    """Say how loads were chosen, and by which program."""
    tool = " ".join(part for part in (run.tool.get("name", ""), run.tool.get("version", "")) if part)
    return f"strategy {run.strategy}{f', preset {run.preset}' if run.preset else ''}, {tool or 'unknown tool'}"


def load_offered(load: float, asked: float | None, unit: str) -> str:
    """Write a load, and the one that was asked for where the tester could not offer that.

    >>> load_offered(750e3, 1e6, "frames/s")
    '750.000 kpps (the tester could not offer 1.00000 Mpps)'
    """
    said = "" if asked is None else f" (the tester could not offer {format_load(asked, unit, digits=6)})"
    return f"{format_load(load, unit, digits=6)}{said}"


def machine(file: RunFile) -> str | None:
    """Say how quiet the machine was; none where nothing was watched."""
    seen = facts.machine(file.ends)
    return None if seen is None else words.machine(seen)


def place_and_time(run: Run) -> list[tuple[str, str]]:
    """Give the last rows of every set-up."""
    return [
        ("Started", run.started),
        ("Host", f"{run.host.get('cpu_model', '')}, kernel {run.host.get('kernel', '')}"),
    ]
