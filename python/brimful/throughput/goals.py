"""Search goals, and the presets that people know by name."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from numbers import Real

import msgspec

from brimful import units
from brimful.errors import UsageError, did_you_mean, shown
from brimful.records import Bound, Goal


class SearchGoal(msgspec.Struct, frozen=True, kw_only=True):
    """What to find: one loss ratio, and how much evidence decides about a load (MLRsearch-15 Search Goal).

    A trial above the delay limit is a high-loss trial whatever it lost. MLRsearch-15 has no such limit.

    Parameters
    ----------
    loss_ratio
        A trial with a loss ratio strictly above this is a high-loss trial; 0 to below 1.
    exceed_ratio
        Share of high-loss time that a lower bound may have; 0 to below 1.
    final_trial_duration_s
        Trials at least this long are full-length; seconds.
    duration_sum_s
        Time at one load that forces a verdict; seconds, default ``final_trial_duration_s``.
    initial_trial_duration_s
        The shortest trial to select; seconds, default ``final_trial_duration_s``.
    width
        ``(upper - lower) / upper`` at which the search for this goal ends.
    delay_limit_s
        A trial whose delay (99th percentile) is strictly above this is a high-loss trial too; seconds, default: none.
        It takes a measurer that reports the delay.
    name
        What to call it; default ``ndr`` without loss and ``pdr`` with.

    Examples
    --------
    >>> SearchGoal(loss_ratio=0.005).record("pdr").duration_sum_s
    1.0
    """

    loss_ratio: float
    exceed_ratio: float = 0.5
    final_trial_duration_s: float = 1.0
    duration_sum_s: float | None = None
    initial_trial_duration_s: float | None = None
    width: float | None = 0.005
    delay_limit_s: float | None = None
    name: str | None = None

    def record(self, name: str) -> Goal:
        """Give the goal as a record, defaults filled in.

        Raises
        ------
        UsageError
            When the name cannot be shown, or what must be a number is none.
        """
        if not (isinstance(name, str) and name.isprintable() and name.strip()):
            message = f"goal name {shown(name)}: a name is one or more printable characters"
            raise UsageError(message)

        def number(attribute: str) -> float:
            return plain_number(getattr(self, attribute), f"goal {name!r}: {attribute}")

        final = number("final_trial_duration_s")
        return Goal(
            name=name,
            loss_ratio=number("loss_ratio"),
            exceed_ratio=number("exceed_ratio"),
            final_trial_duration_s=final,
            duration_sum_s=final if self.duration_sum_s is None else number("duration_sum_s"),
            initial_trial_duration_s=(
                final if self.initial_trial_duration_s is None else number("initial_trial_duration_s")
            ),
            width=None if self.width is None else number("width"),
            delay_limit_s=None if self.delay_limit_s is None else number("delay_limit_s"),
        )


class Preset(msgspec.Struct, frozen=True):
    """Goals and strategy under one name."""

    goals: tuple[SearchGoal, ...]
    strategy: str
    description: str


def _ndr_and_pdr(
    trial: float, duration_sum_s: float, exceed: float, *, initial: float, width: float
) -> tuple[SearchGoal, ...]:
    return tuple(
        SearchGoal(
            name=name,
            loss_ratio=loss,
            exceed_ratio=exceed,
            final_trial_duration_s=trial,
            duration_sum_s=duration_sum_s,
            initial_trial_duration_s=initial,
            width=width,
        )
        for name, loss in (("ndr", 0.0), ("pdr", 0.005))
    )


PRESETS = {
    "csit": Preset(
        _ndr_and_pdr(1, 21, 0.5, initial=1, width=0.005),
        "straddle",
        "NDR and PDR (0.5 %) as FD.io CSIT runs them: 1 s trials, 21 s a load, half may exceed",
    ),
    "rfc2544": Preset(
        (
            SearchGoal(
                name="throughput",
                loss_ratio=0,
                exceed_ratio=0,
                final_trial_duration_s=60,
                duration_sum_s=60,
                initial_trial_duration_s=1,
                width=0.005,
            ),
        ),
        "straddle",
        "RFC 2544 throughput: no loss in 60 s (unconditionally compliant)",
    ),
    "tst009": Preset(
        (
            SearchGoal(
                name="throughput",
                loss_ratio=0,
                exceed_ratio=0.5,
                final_trial_duration_s=60,
                duration_sum_s=120,
                initial_trial_duration_s=60,
                width=0.005,
            ),
        ),
        "bisect",
        "ETSI GS NFV-TST 009 binary search with loss verification: a lossy 60 s trial is repeated once",
    ),
    "rfc9411": Preset(
        (
            SearchGoal(
                name="transactions",
                loss_ratio=0.00001,
                exceed_ratio=0,
                final_trial_duration_s=300,
                duration_sum_s=300,
                initial_trial_duration_s=10,
                width=0.005,
            ),
        ),
        "straddle",
        "RFC 9411 sustain phase: at most 0.001 % of transactions fail in 300 s; the measurer has to count transactions",
    ),
    "ndrpdr-2018": Preset(
        _ndr_and_pdr(30, 30, 0, initial=1, width=0.005),
        "classic",
        "NDR and PDR (0.5 %) as MLRsearch did in 2018: phases of 1 s, 5.5 s and 30 s trials",
    ),
    "disk": Preset(
        tuple(
            SearchGoal(
                name=name,
                loss_ratio=loss,
                final_trial_duration_s=5,
                initial_trial_duration_s=1,
                width=0.02,
            )
            for name, loss in (("p100", 0.0), ("p999", 0.001), ("p99", 0.01))
        ),
        "straddle",
        "Disks: all, 99.9 % and 99 % of the IOs done by their deadline, to 2 %, in trials of 5 s",
    ),
    "quick": Preset(
        _ndr_and_pdr(0.25, 1.25, 0.5, initial=0.25, width=0.02),
        "straddle",
        "NDR and PDR (0.5 %) to 2 % within seconds: for a first look, not for a report",
    ),
}
"""Presets by name."""


MOST_LOSS_OF_A_PDR = 0.05
"""No partial drop rate in use comes near: the usual ones are from 0.001 % to 1 %."""


def plain_number(value: object, name: str) -> float:
    """Give a number of any library as one of Python's.

    Raises
    ------
    UsageError
        Naming what is no number.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            return float(value)
    message = f"{name} is {shown(value)}; it must be a number"
    raise UsageError(message)


def named_goals(goals: Sequence[SearchGoal], *, of_disk: bool = False) -> list[Goal]:
    """Give goals as records; those without a name get that of their loss ratio, numbered where there are several.

    Parameters
    ----------
    goals
        What is searched for.
    of_disk
        Whether what is lost are IOs that were not done in time: their goals are named after the share that was.

    Examples
    --------
    >>> [goal.name for goal in named_goals([SearchGoal(loss_ratio=ratio) for ratio in (0, 0.001, 0.01)], of_disk=True)]
    ['p100', 'p999', 'p99']
    >>> [goal.name for goal in named_goals([SearchGoal(loss_ratio=ratio) for ratio in (0, 0.005, 0.01, 0.5)])]
    ['ndr', 'pdr', 'pdr-2', 'lossy']

    Raises
    ------
    UsageError
        When one is no goal, or has an attribute that cannot be.
    """
    given = list(goals) if isinstance(goals, Iterable) else [None]
    if not all(isinstance(goal, SearchGoal) for goal in given):
        message = f"goals is {shown(goals)}; give a list of SearchGoal"
        raise UsageError(message)
    taken = [goal.name for goal in given if goal.name is not None]
    records: list[Goal] = []
    for goal in given:
        name = goal.name
        if name is None:
            ratio = plain_number(goal.loss_ratio, "loss_ratio of a goal")
            kind = _kind_of_disk(ratio) if of_disk else _kind(ratio)
            numbered = (f"{kind}-{number}" for number in itertools.count(2))
            name = next(free for free in itertools.chain([kind], numbered) if free not in taken)
            taken.append(name)
        records.append(goal.record(name))
    return records


def _kind(loss_ratio: float) -> str:
    if loss_ratio == 0:
        return "ndr"
    return "pdr" if loss_ratio <= MOST_LOSS_OF_A_PDR else "lossy"


def _kind_of_disk(loss_ratio: float) -> str:
    if not 0 < loss_ratio < 1:
        return "p100" if loss_ratio == 0 else "late"
    digits = f"{1 - loss_ratio:.6f}".removeprefix("0.").rstrip("0")
    return f"p{digits:0<2}" if digits else "p100"


def problem_json(
    goals: Sequence[Goal],
    min_load: float,
    max_load: float,
    *,
    hint: float | None = None,
    early_termination: bool = False,
) -> str:
    """Write goals and limits the way the engine reads them.

    ``early_termination`` says that trials may be stopped; with ``hint`` it affects the selection of loads only.

    Raises
    ------
    UsageError
        When a number is none; everything else the engine itself refuses.
    """
    for goal in goals:
        for name, value in msgspec.structs.asdict(goal).items():
            if isinstance(value, float) and not math.isfinite(value):
                message = f"goal {goal.name!r}: {name} is {value}; it must be a finite number"
                raise UsageError(message)
    for name, load in (("min load", min_load), ("max load", max_load), ("hint", hint)):
        if load is not None and not math.isfinite(load):
            message = f"{name} is {load}; it must be a finite number"
            raise UsageError(message)
    problem = {
        "goals": msgspec.to_builtins(list(goals)),
        "min_load": min_load,
        "max_load": max_load,
        "hint": hint,
        "early_termination": early_termination,
    }
    return json.dumps(problem)


def moves_of_bounds(
    goals: Sequence[Goal],
    before: Sequence[tuple[float | None, float | None]],
    after: Sequence[tuple[float | None, float | None]],
    seq: int,
) -> Iterator[Bound]:
    """Give what changed between two times in (lower, upper) of each goal, with the trial ``seq`` that changed it."""
    for goal, old, new in zip(goals, before, after, strict=True):
        for index, side in enumerate(("lower", "upper")):
            if old[index] != new[index]:
                yield Bound(goal=goal.name, side=side, load=new[index], seq=seq)


_ATTRIBUTES = ("name", "loss", "delay", "exceed", "trial", "sum", "initial", "width")


def parse_goal(text: str) -> SearchGoal:
    """Read a goal from the command line.

    >>> goal = parse_goal("name=pdr,loss=0.5%,exceed=50%,trial=1s,sum=21s,width=0.5%")
    >>> goal.loss_ratio, goal.duration_sum_s
    (0.005, 21.0)
    >>> parse_goal("loss=0,delay=1ms").delay_limit_s
    0.001

    Raises
    ------
    UsageError
        Naming the attribute, the value and what is allowed.
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _ATTRIBUTES:
            known = ", ".join(f"{name}=" for name in _ATTRIBUTES)
            message = f"goal {text!r}: {part.strip()!r} is not one of {known}{did_you_mean(key, _ATTRIBUTES)}"
            raise UsageError(message)
        if key in given:
            message = f"goal {text!r}: {key} is given twice"
            raise UsageError(message)
        given[key] = value
    if "loss" not in given:
        message = f"goal {text!r}: the loss ratio is missing; add loss=0 or loss=0.5%"
        raise UsageError(message)
    try:
        return _goal_of(given)
    except UsageError as error:
        message = f"goal {text!r}: {error}"
        raise UsageError(message) from error


def _goal_of(given: dict[str, str]) -> SearchGoal:
    trial = units.parse_duration(given.get("trial", "1s"))
    return SearchGoal(
        name=given.get("name"),
        loss_ratio=units.parse_small_ratio(given["loss"]),
        exceed_ratio=units.parse_ratio(given.get("exceed", "50%")),
        final_trial_duration_s=trial,
        duration_sum_s=units.parse_duration(given["sum"]) if "sum" in given else None,
        initial_trial_duration_s=units.parse_duration(given["initial"]) if "initial" in given else None,
        width=units.parse_small_ratio(given.get("width", "0.5%")),
        delay_limit_s=units.parse_duration(given["delay"]) if "delay" in given else None,
    )
