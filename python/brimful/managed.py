"""A run as a whole: begun, gone on with, or shown again where it is complete; and what its record begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from brimful import units
from brimful.errors import RecordError, UsageError
from brimful.measurers.base import Description
from brimful.records import MeasurerFacts, Record, Run, RunFile
from brimful.runs import no_record, open_record, run_identity, saved_run

Sink = Callable[[Record], None]
Note = Callable[[str], None]
_T = TypeVar("_T")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the record of a run is, and whether to go on with the one there."""

    out: Path | None = None
    """Its directory; none: a new one under ``runs/``."""
    resume: bool = False
    keep: bool = True
    """Whether there is a record at all."""


class Begun(msgspec.Struct, frozen=True):
    """What the record of a new run begins with."""

    run: Run
    more: Sequence[Record] = ()
    out: Path | None = None
    """Its directory, where one had to be made already."""


class Ended(msgspec.Struct, Generic[_T], frozen=True):
    """A run that ended, and where its record is."""

    path: Path
    outcome: _T


def manage(
    what: str,
    wanted: str,
    place: Place,
    note: Note,
    *,
    begin: Callable[[], Begun],
    perform: Callable[[RunFile, Sink], _T],
    show: Callable[[RunFile], _T],
    check: Callable[[RunFile], None] = lambda file: None,
    things: str = "trials",
    saved_of: Callable[[RunFile], Sequence[object]] = lambda file: file.trials,
) -> _T:
    """Begin a run, or go on with one that was interrupted, or show the result of one that is complete.

    Parameters
    ----------
    what, wanted
        Is run, such as "search", and the fingerprint of it.
    place
        Of its record.
    note
        Is given what a user should know, in words.
    begin
        Gives the begin of a new record; refuses what cannot be carried out before anything is written.
    perform
        Carries it out: is given what is in the record, and where to write what comes.
    show
        Gives the outcome of a complete one.
    check
        Refuses to go on from a record.
    things, saved_of
        The trials of the run, or what it has instead: in words, and those that are in a record.

    Raises
    ------
    RecordError
        When nothing can be built on the record there.
    """
    saved = saved_run(place.out, wanted, resume=place.resume, what=what, note=note)
    if saved is not None and saved.is_done():
        note(f"{saved.path}: this run is complete; its result is shown again")
        return show(saved)
    begun = begin() if saved is None else Begun(saved.run)
    head = [begun.run, *begun.more]
    with open_record(begun.out or place.out, saved, head) if place.keep else no_record(head) as (writer, file):
        if saved is not None:
            check_intact(file, what)
            check(file)
            note(f"{file.path}: going on after {len(saved_of(file))} saved {things}")
        return perform(file, writer.write)


def check_intact(file: RunFile, what: str) -> None:
    """Refuse to build on trials that are not those that were made.

    Raises
    ------
    RecordError
        Saying what became of them.
    """
    fault = file.change() or file.disorder()
    if fault is not None:
        message = f"{file.path}: {fault}; a {what} cannot go on from it, begin another"
        raise RecordError(message)


def new_run(spec: str, description: Description, **facts: Any) -> Run:  # noqa: ANN401 - fields of Run
    """Give the first record of a run that measures.

    Parameters
    ----------
    spec
        What the measurer was asked for by.
    description
        What it says of itself.
    facts
        Fields of the run; ``measurer``: what else is to be kept of the measurer.
    """
    known = facts.pop("measurer", {})
    measurer = MeasurerFacts(spec, description.name, contract=description.contract, **known)
    return Run(
        **run_identity(),
        measurer=measurer,
        load_unit=description.load_unit,
        load_scope=description.load_scope,
        conversion_factor=description.conversion_factor,
        traffic=description.traffic,
        device=description.device,
        **facts,
    )


def parse_load(option: str, text: str | float, description: Description, max_load: float | None) -> float:
    """Read the load of an option, in the unit of a measurer.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if isinstance(text, float):
        return text
    size = str(description.traffic.get("frame_size"))
    try:
        return units.parse_load(
            text,
            frame_size=int(size) if size.isdecimal() else None,
            io_size=description.traffic.get("mean_io_size"),
            max_load=max_load,
        )
    except UsageError as error:
        message = f"{option}: {error}"
        raise UsageError(message) from error
