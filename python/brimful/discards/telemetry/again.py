"""Series that other sources had, too, over the same time: a second poller of one port, or two ports under one name.

What replicas in one file are to each other (`replicas`) they are across files: the samples of the store stay, and the
others fill its gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brimful.discards.schema import Flag
from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.replicas import (
    FEWEST_BETWEEN,
    Samples,
    agree,
    are_between,
    differing,
    filling,
    name_two_ports,
    samples_of,
    told,
)
from brimful.discards.telemetry.rows import ABSOLUTE, day_of
from brimful.discards.telemetry.seen import Before, Known
from brimful.discards.telemetry.source import Source
from brimful.discards.telemetry.vocabularies import Labels, meaning_of

HOUR_S = 3600
_NOT_AGREED = (
    "has samples between those of another source, with which they do not agree: of another port, or of a poller whose "
    "clock was set back; save what tells ports apart, or one of the sources"
)
_WIDTHS = (Flag.WIDE, Flag(0), Flag.NARROW)
"""The best first."""


def rank_of(labels: Labels) -> tuple[bool, int]:
    """Say how good a counter is by its name, the best least: of unicast packets alone, and wide."""
    meaning = meaning_of(labels["__name__"])
    if meaning is None:
        return True, len(_WIDTHS)
    return meaning.of_all_kinds, _WIDTHS.index(meaning.width)


def leave_out_stored(one: Known, others: Sequence[Before], source: Source, decoded: Decoded) -> str | None:
    """Leave to a series what the store lacks; say what is wrong where it is another counter than the store has.

    Parameters
    ----------
    one
        A series.
    others
        Those that other sources had of its port, metric and time; the store has their samples.
    source
        What it is from.
    decoded
        Gets how many samples the store has, and what to report.
    """
    labels = one.series.metric
    # Those of another port first, then those of another poller.
    other = max((found.labels for found in others), key=lambda one: (name_two_ports(labels, one), one != labels))
    if name_two_ports(labels, other):
        return told(one.place, other, labels)
    if rank_of(labels) < rank_of(other):
        return (
            f"counts better what {other['__name__']} does, which the store has of this time: ingest both into a new "
            "store, from one file"
        )
    if rank_of(labels) > rank_of(other):
        decoded.repeated += len(one.series.values)
        one.series.values = []
        return None
    stored, own = _stored(one, source), samples_of(one)
    if not len(stored[0]) or not len(own[0]) or (other == labels and not are_between(own[0], stored[0])):
        return None
    if not agree(own, stored):
        return told(one.place, other, labels) if other != labels else _NOT_AGREED
    kept = filling(stored[0], one)
    decoded.repeated += len(one.series.values) - len(kept)
    decoded.notes.append(
        f"{one.place[0]}: counters are there twice, {_where(other, labels)}, and agree: what the store has stays, and "
        "the other is taken where it has gaps"
    )
    one.series.values = kept
    return None


def may_be_of_two(one: Known, others: Sequence[Before]) -> bool:
    """Say whether a series shares more with others than samples that two files of one poller have."""
    for other in others:
        shared = one.times[(one.times >= other.first_s) & (one.times <= other.last_s)]
        is_same = other.times is not None and bool(np.isin(shared, other.times).all())
        if other.labels != one.series.metric or (len(shared) >= FEWEST_BETWEEN and not is_same):
            return True
    return False


def _stored(one: Known, source: Source) -> Samples:
    """Give the polls that the store has of a counter on the days of its samples, and the hours around them."""
    first, last = day_of(np.array([(one.first_s - HOUR_S) * 1e6, (one.last_s + HOUR_S) * 1e6], np.int64)).tolist()
    rows = source.rows_between(one.place, first, last)
    rows = rows[(rows["metric"] == one.metric) & (rows["kind"] == ABSOLUTE)]
    rows = rows[np.argsort(rows["end_us"])]
    return rows["end_us"] / 1e6, rows["counter"].astype(np.float64)


def _where(labels: Labels, others: Labels) -> str:
    if labels == others:
        return "from two pollers with the same labels, in two sources"
    return f"with {' and '.join(differing(labels, others))} in two sources"
