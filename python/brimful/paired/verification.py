"""Run a live comparison again from its trials, and hold the verdicts against what the record claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from brimful.errors import MeasureError
from brimful.paired.planner import replay
from brimful.records import LossPairs, Pair, Ratio, RunFile
from brimful.records.stated import paired_plan

_TOLERANCE = 1e-9


class PairedVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    ratios: list[Ratio]
    losses: list[LossPairs]
    pairs: int
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end."""


def verify_comparison(file: RunFile) -> PairedVerification:
    """Recompute every pair, ratio and verdict of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan = paired_plan(file)
    findings, notes = file.checked()
    try:
        planner, pairs = replay(plan, file)
    except MeasureError as error:
        if not file.ends or file.ends[-1].text != str(error):
            findings.append(str(error))
        return PairedVerification([], [], 0, len(file.trials), findings, notes)
    ratios, losses = planner.ratios(), planner.losses()
    findings += _differences("pair", file.of(Pair), pairs)
    if file.ends:
        findings += _differences("ratio", file.latest(Ratio, "device"), ratios)
        findings += _differences("count of losses", file.latest(LossPairs, "device"), losses)
    return PairedVerification(ratios, losses, len(pairs), len(file.trials), findings, notes)


def _differences(what: str, claimed: Sequence[object], found: Sequence[object]) -> Iterator[str]:
    if len(claimed) != len(found):
        yield f"{len(claimed)} of {len(found)} of the kind {what} are recorded"
    for number, (said, computed) in enumerate(zip(claimed, found, strict=False), start=1):
        ours, theirs = msgspec.to_builtins(computed), msgspec.to_builtins(said)
        for field in sorted(ours.keys() | theirs.keys()):
            if not _is_same(ours.get(field), theirs.get(field)):
                message = f"{what} {number}: {field} is recorded as {theirs.get(field)!r}"
                yield f"{message}, but the trials give {ours.get(field)!r}"


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=1e-15)
    return one == other
