"""Puts the results of one kind of device together: more points, a steadier answer.

Results are grouped by what must be equal for their points to mean the same. Within a group, a result is rejected where
it cannot be trusted, and the reason is kept.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from brimful.errors import RecordError
from brimful.iocost.layout import Model
from brimful.iocost.read import Result, version_of

FEWEST_MODELS = 4
"""With fewer distinct models, none can be known to be an outlier."""
_FIELDS = Model.__struct_fields__


class Rules(msgspec.Struct, frozen=True):
    """What may differ within a group, and what may be wrong with a result."""

    by_id: bool = False
    ignore_versions: bool = False
    ignore_requirements: bool = False
    multiple: bool = False
    """Keep all groups, not only the largest of those that differ in no more than device or settings."""


class GroupKey(msgspec.Struct, frozen=True, order=True):
    """What is equal within a group."""

    id: str
    versions: tuple[str, ...]
    """Of benchmark, agent and workload, as major.minor; empty where they do not matter."""
    memory_profile_gib: int
    model: str
    firmware: str
    classifier: str
    """Properties of the benchmark, but for the number of intervals."""


class Source(msgspec.Struct, frozen=True):
    """A result and why it does not count, if it does not."""

    result: Result
    rejected: str | None


class Group(msgspec.Struct, frozen=True):
    """Results of one kind, in the order in which they were given."""

    key: GroupKey
    sources: list[Source]
    median_model: Model
    dropped: list[Group]
    """Smaller groups that this one was kept instead of."""

    @property
    def accepted(self) -> list[Result]:
        """The results that count."""
        return [source.result for source in self.sources if source.rejected is None]


def group_results(results: list[Result], rules: Rules) -> list[Group]:
    """Group results and say which are rejected.

    Raises
    ------
    RecordError
        When a group has no result left that counts.
    """
    members: dict[GroupKey, list[Result]] = {}
    for result in results:
        members.setdefault(_key(result, rules), []).append(result)
    groups = [_judge(key, members[key], rules) for key in sorted(members)]
    if not rules.multiple:
        groups = _largest(groups)
    empty = next((group for group in groups if not group.accepted), None)
    if empty is not None:
        reasons = "; ".join(f"{source.result.path}: {source.rejected}" for source in empty.sources)
        message = f"nothing is left to merge of {empty.key.model} {empty.key.firmware}: {reasons}"
        raise RecordError(message)
    return groups


def merged(group: Group) -> Result:
    """Give the result that a group comes to; solutions scale the base model of its first source."""
    first = group.accepted[0]
    names = {selector for result in group.accepted for selector in result.selectors}
    stored = {
        selector.name: sorted(point for result in group.accepted for point in result.points(selector) or ())
        for selector in sorted(names, key=lambda selector: selector.order)
    }
    return msgspec.structs.replace(
        first,
        period=(
            min(result.period[0] for result in group.accepted),
            max(result.period[1] for result in group.accepted),
        ),
        runs=[],
        stored=stored,
        skipped_runs=sum(result.skipped_runs for result in group.accepted),
        warnings=[f"{result.path}: {text}" for result in group.accepted for text in result.warnings],
    )


def facts(group: Group) -> dict[str, Any]:
    """Give the ``merge`` of a `Run`'s source."""
    return {
        "group": msgspec.to_builtins(group.key),
        "sources": [
            {"file": source.result.path, "id": source.result.id, "rejected": source.rejected}
            for source in group.sources
        ],
        "first_model": msgspec.to_builtins(group.accepted[0].base_model) if group.accepted else {},
        "median_model": msgspec.to_builtins(group.median_model),
        "dropped": [facts(dropped) for dropped in group.dropped],
    }


def _key(result: Result, rules: Rules) -> GroupKey:
    machine = result.machine
    versions = (result.system.bench_version, machine.agent_version, machine.hashd_version)
    return GroupKey(
        id=(result.id or "") if rules.by_id else "",
        versions=() if rules.ignore_versions else tuple(map(_major_minor, versions)),
        memory_profile_gib=result.system.mem.profile,
        model=machine.scr_dev_model,
        firmware=machine.scr_dev_fwrev,
        classifier=_classifier(result.properties),
    )


def _major_minor(version: str) -> str:
    found = version_of(version)
    return f"{found[0]}.{found[1]}" if found else version


def _classifier(properties: list[dict[str, str]]) -> str:
    groups = [dict(group) for group in properties]
    if groups:
        groups[0].pop("vrate-intvs", None)
    return ":".join(
        ",".join(f"{key}={value}" if value else key for key, value in sorted(group.items())) for group in groups
    )


def _judge(key: GroupKey, results: list[Result], rules: Rules) -> Group:
    models = [_controller_model(result) for result in results]
    outliers = _outliers(sorted(set(models), key=models.index))
    sources: list[Source] = []
    first: Result | None = None
    for result, model in zip(results, models, strict=True):
        reason = _reason(result, outliers.get(model), first, rules)
        sources.append(Source(result, reason))
        first = first or (result if reason is None else None)
    counted = [model for model in sorted(set(models), key=models.index) if model not in outliers]
    return Group(key, sources, _median(counted), [])


def _controller_model(result: Result) -> Model:
    return result.system.iocost.model if result.system.iocost is not None else result.base_model


def _reason(result: Result, outlier: str | None, first: Result | None, rules: Rules) -> str | None:
    missed = result.system.sysreqs_missed
    if missed and not rules.ignore_requirements:
        return f"the benchmark missed requirements: {', '.join(missed)}"
    if result.unfinished:
        return "the benchmark is not finished"
    if outlier is not None:
        return f"the model is an outlier: {outlier}"
    if first is None:
        return None
    for name, mine, theirs in (
        ("memory profile", result.memory_profile_gib, first.memory_profile_gib),
        ("isolation percentile", result.isolation_percentile, first.isolation_percentile),
        ("isolation threshold", result.isolation_threshold, first.isolation_threshold),
    ):
        if mine != theirs:
            return f"the {name} is {mine}, but {theirs} in {first.path}"
    return None


def _outliers(models: list[Model]) -> dict[Model, str]:
    """Find models with a number too large to belong with the others (Chauvenet, on that side only)."""
    if len(models) < FEWEST_MODELS:
        return {}
    found: dict[Model, str] = {}
    for name in _FIELDS:
        values = [getattr(model, name) for model in models]
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        for model, value in zip(models, values, strict=True):
            if deviation and 0.5 * math.erfc((value - mean) / deviation / math.sqrt(2)) * len(values) < 0.5:
                found.setdefault(model, f"{name} is {value}, the mean {mean:.0f}")
    return found


def _median(models: list[Model]) -> Model:
    """Take the median of each number; of an even count the greater of the two."""
    return Model(*(sorted(getattr(model, name) for model in models)[len(models) // 2] for name in _FIELDS))


def _largest(groups: list[Group]) -> list[Group]:
    """Keep the group with the most results of each id; the others go with it."""
    kept: dict[str, Group] = {}
    for group in groups:
        best = kept.get(group.key.id)
        if best is None or len(group.accepted) > len(best.accepted):
            kept[group.key.id] = group
    return [
        msgspec.structs.replace(best, dropped=[group for group in groups if group.key.id == name and group is not best])
        for name, best in kept.items()
    ]
