"""What makes runs the same experiment: which can be compared, which are one series, and which can be gone on with.

Three relations, from the widest to the narrowest:

- the same `Question`: the same was asked of the same traffic, and results can be compared (`differences`);
- the same `Experiment`: the same question, put to the same device in the same way: repeats, or one trend (`key`);
- the same request, by its `fingerprint`: all settings alike, so that ``--resume`` goes on with it.

Versions of the device, of the tester and of the kernel are in none of them: they are what a comparison is about.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from brimful.records.run import Run

PLACES = frozenset({"ports", "seed", "warnings"})
"""Parts of the traffic that say where the tester stood, what it drew or what to beware of, not what it sent."""
SENT = (
    "profile",
    "frame_size",
    "direction",
    "flows",
    "vlan",
    "ip_version",
    "pattern",
    "port_shares",
    "io_size",
    "broadcast_every",
)
"""Parts of the traffic that any result depends on."""
_OF_THE_DEVICE = ("name", "device", "model", "simulated")
"""Facts that say which device it is, and not in which state."""
_FOUND = re.compile(r"throughput|loads?$|load_after$|wire_run$")
"""Parts of a plan that follow from what an earlier run found."""
_SEED = re.compile(r",seed=[0-9]+(?=,|$)")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, and of which traffic."""

    subject: str
    load_unit: str
    load_scope: str
    conversion_factor: float
    measurer: str
    """Its kind."""
    goals: dict[str, dict[str, Any]]
    """By their names."""
    traffic: dict[str, Any]


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and how it was put to which device."""

    question: Question
    spec: str
    """Of the measurer, without a seed."""
    device: dict[str, str]
    strategy: str
    plan: dict[str, Any]
    """Of bursts, delays, recovery and losses, but for what was found first."""

    @property
    def digest(self) -> str:
        """The same for all runs of an experiment, and another for those of any other."""
        return fingerprint(**msgspec.to_builtins(self))


class Difference(msgspec.Struct, frozen=True):
    """A part in which two runs differ."""

    what: str
    one: Any = None
    other: Any = None
    one_only: bool = False
    """Whether one of them has no such part."""


def fingerprint(**facts: Any) -> str:  # noqa: ANN401 - any JSON value
    """Digest facts, whatever their order."""
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint_of(request: msgspec.Struct, *changeable: str, **more: Any) -> str:  # noqa: ANN401 - any JSON value
    """Digest what a user asked for, but for what may change when a run is resumed; `more` comes beside, or instead."""
    asked = {name: value for name, value in msgspec.to_builtins(request).items() if name not in changeable}
    return fingerprint(**{**asked, **more})


def question(run: Run) -> Question:
    """Give what a run asked."""
    return Question(
        subject=run.subject,
        load_unit=run.load_unit,
        load_scope=run.load_scope,
        conversion_factor=run.conversion_factor,
        measurer=run.measurer.kind,
        goals={goal.name: msgspec.structs.asdict(goal) for goal in run.goals},
        traffic={name: value for name, value in run.traffic.items() if name not in PLACES},
    )


def key(run: Run) -> Experiment:
    """Give the experiment that a run is one of.

    Two runs of one experiment differ by chance, by the version of something, or by the time between them.
    """
    plan = msgspec.to_builtins(run.burst or run.delay or run.recovery or run.loss or {})
    device = {name: run.device[name] for name in _OF_THE_DEVICE if run.device.get(name)}
    return Experiment(
        question=question(run),
        spec=_SEED.sub("", run.measurer.title),
        device={name: _SEED.sub("", str(value)) for name, value in device.items()},
        strategy=run.strategy,
        plan={name: value for name, value in plan.items() if not _FOUND.search(name)},
    )


def differences(one: Run, other: Run) -> list[Difference]:
    """Give the parts of the question that two runs differ in; none: their results can be compared."""
    ours, theirs = question(one), question(other)
    found = [
        Difference(name.replace("_", " "), getattr(ours, name), getattr(theirs, name))
        for name in ("subject", "load_unit", "load_scope", "conversion_factor", "measurer")
        if getattr(ours, name) != getattr(theirs, name)
    ]
    for name in dict.fromkeys([*ours.goals, *theirs.goals]):
        if name not in ours.goals or name not in theirs.goals:
            found.append(Difference(f"goal {name}", one_only=True))
        else:
            found += _parts(ours.goals[name], theirs.goals[name], f"goal {name}: ")
    return [*found, *_parts(ours.traffic, theirs.traffic, "traffic.")]


def _parts(ours: Mapping[str, Any], theirs: Mapping[str, Any], where: str) -> Iterator[Difference]:
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) != theirs.get(name):
            yield Difference(f"{where}{name}", ours.get(name), theirs.get(name))


def other_traffic(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Name the parts of two traffics that make the results of one wrong for the other.

    >>> other_traffic({"frame_size": 64, "ports": 2}, {"frame_size": 512, "ports": 3})
    ['frame_size']
    """
    return [name for name in SENT if one.get(name) != other.get(name)]
