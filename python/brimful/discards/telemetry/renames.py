"""Ports that get another name between two scrapes: followed where their ifIndex stays, reported where it is unknown."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

NEXT_SCRAPE = 2.5
"""The next sample lies within this number of usual distances: one scrape may have failed."""

Key = tuple[str, str, str]
"""Device, ifIndex and name of a port."""


@dataclass(frozen=True)
class Span:
    """From when to when a port was called by a name, in Unix seconds."""

    device: str
    index: str
    """Its ifIndex; empty where it is not known."""
    name: str
    first_s: float
    last_s: float
    every_s: float
    """Usual distance of its samples; 0 where it is not known."""
    stored_as: str | None = None
    """What the port is called in the store, where it is in there."""

    @property
    def key(self) -> Key:
        """What distinguishes it from others."""
        return (self.device, self.index, self.name)


def follow(found: Iterable[Span], seen: Iterable[Span]) -> tuple[dict[Key, str], list[str]]:
    """Give what ports that have another name are called in the store, and what to report of them.

    A port keeps the name that it has in the store, or the first one.

    Parameters
    ----------
    found
        Of what is read now.
    seen
        Of what is in the store.
    """
    read = joined(found)
    before = joined(seen)
    spans = joined([*before.values(), *read.values()])
    ports = {key: span.stored_as for key, span in spans.items() if span.stored_as not in {None, span.name}}
    known = {key: port for key, port in ports.items() if port is not None}
    notes: list[str] = []
    for old, new in _successors(spans):
        if old.stored_as is not None and new.stored_as is not None:
            continue
        told = f"{old.device}: port {old.name} is called {new.name} from {_text(new.first_s)} on"
        if not _is_next(old, new):
            notes.append(
                f"{told} (its ifIndex is the same, but samples between are missing): these are two ports in the store; "
                "to join them, give them one name in the file"
            )
            continue
        port = known.get(old.key, new.stored_as or old.name)
        known |= {span.key: port for span in (old, new) if port != span.name}
        notes.append(f"{told} (its ifIndex is the same): both are {port} in the store")
    return known, notes + list(_maybe_renamed(read, before.keys()))


def joined(found: Iterable[Span]) -> dict[Key, Span]:
    """Put the spans of one name, of all its metrics and files, together."""
    spans: dict[Key, Span] = {}
    for one in found:
        known = spans.get(one.key, one)
        distances = [every_s for every_s in (one.every_s, known.every_s) if every_s]
        spans[one.key] = Span(
            *one.key,
            min(known.first_s, one.first_s),
            max(known.last_s, one.last_s),
            min(distances, default=0),
            known.stored_as or one.stored_as,
        )
    return spans


def _successors(spans: dict[Key, Span]) -> Iterator[tuple[Span, Span]]:
    """Give names of one index that follow each other, unless the name lives on: then the indices were given anew."""
    order = sorted(spans.values(), key=lambda span: (span.device, span.index, span.first_s, span.name))
    for old, new in itertools.pairwise(order):
        if old.index and (old.device, old.index) == (new.device, new.index) and old.last_s < new.first_s:
            others = [span for span in order if span.device == old.device and span not in (old, new)]
            lives_on = any(span.name == old.name and span.last_s > old.last_s for span in others)
            was_before = any(span.name == new.name and span.first_s < new.first_s for span in others)
            if not lives_on and not was_before:
                yield old, new


def _maybe_renamed(read: dict[Key, Span], before: Collection[Key]) -> Iterator[str]:
    """Report ports without an index of which one ends where another one begins, in what is read now."""
    begins: dict[str, float] = {}
    ends: dict[str, float] = {}
    for span in read.values():
        begins[span.device] = min(begins.get(span.device, span.first_s), span.first_s)
        ends[span.device] = max(ends.get(span.device, span.last_s), span.last_s)
    old_ones = [span for span in read.values() if span.last_s < ends[span.device]]
    new_ones = [span for span in read.values() if span.first_s > begins[span.device] and span.key not in before]
    for old, new in itertools.product(old_ones, new_ones):
        unknown = old.device == new.device and old.name != new.name and not (old.index and new.index)
        if unknown and old.last_s < new.first_s and _is_next(old, new):
            yield (
                f"{old.device}: port {old.name} ends and port {new.name} begins at the next sample, "
                f"{_text(new.first_s)}: these are two ports in the store; if one was renamed, save the label ifIndex, "
                "too, or give them one name in the file"
            )


def _is_next(old: Span, new: Span) -> bool:
    return new.first_s - old.last_s <= NEXT_SCRAPE * max(old.every_s, new.every_s)


def _text(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S}"
