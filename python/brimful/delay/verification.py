"""Recompute the results of a delay run from its trials, and hold them against what the record claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from brimful.delay.estimates import results
from brimful.records import Delay, RunFile
from brimful.units import format_load

_TOLERANCE = 1e-9


class DelayVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    delays: list[Delay]
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end."""


def verify_delay(file: RunFile) -> DelayVerification:
    """Recompute every delay and interval of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured, or a trial says what cannot be.
    """
    found = results(file.trials, file.planned(file.run.delay), file.ceiling)
    findings, notes = file.checked()
    return DelayVerification(found, len(file.counted()), [*findings, *_differences(file, found)], notes)


def _differences(file: RunFile, found: list[Delay]) -> Iterator[str]:
    claimed = {(delay.load, delay.direction): delay for delay in file.delays}
    for delay in found:
        claim = claimed.pop((delay.load, delay.direction), None)
        name = f"load {format_load(delay.load, file.run.load_unit)}, {delay.direction}"
        if claim is None:
            if file.ends:
                yield f"{name}: the record has no result"
            continue
        for path, said, computed in _unequal(msgspec.to_builtins(claim), msgspec.to_builtins(delay)):
            yield f"{name}: {path} is recorded as {said!r}, but the trials give {computed!r}"
    for load, direction in claimed:
        shown = format_load(load, file.run.load_unit)
        yield f"load {shown}, {direction}: the record has a result, but no trials for it"


def _unequal(said: Any, computed: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - any JSON value
    """Give the path and both values wherever two JSON values differ; floats may by rounding."""
    if isinstance(said, dict) and isinstance(computed, dict):
        for key in sorted(said.keys() | computed.keys()):
            yield from _unequal(said.get(key), computed.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(said, float | int) and isinstance(computed, float | int):
        if not math.isclose(said, computed, rel_tol=_TOLERANCE, abs_tol=1e-15):
            yield path, said, computed
    elif said != computed:
        yield path, said, computed
