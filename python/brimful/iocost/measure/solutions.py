"""From what steps measured to a model, QoS parameters, solutions and remarks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from brimful._core import fit_series
from brimful.iocost.measure import protection, searches
from brimful.iocost.measure.plan import CONFIRMATION, PROBES, SEARCHES, STEADY, VALIDATION, VRATE
from brimful.kernel import MODEL_KEYS
from brimful.records import Finding, Fit, Record, Series, Solution
from brimful.units import format_duration, format_load, format_ratio

Results = Mapping[str, Mapping[str, Any]]
"""Name of a step: its result."""
PERCENTILE = 99.0
SLACK = 4.0
"""By this many points the kernel's percentile is below that of the latency: a target that is met with slack."""
LEAST_SHARE = 50.0
"""Lowest vrate of the dynamic rule, in per cent of the found one."""
NAIVE_LEAST = 75.0
_NONE_PROTECTS = "too many protected IOs were late at every vrate that was tried"
_NONE_TRIED = "no trial at a vrate counts: the tester was late in each; is the machine busy?"
_DOES_NOT_HOLD = "the vrate found, and lower ones, let too many protected IOs be late in longer trials"
_NOT_TRIED_LONGER = "the vrate found could not be tried for longer: time was over, or the machine is busy"
_PAGE = 4096
_RISING, _FIT = "non-decreasing", "exact"

_RULES = {
    "isolation": ("p999", "at most 0.1 % of a protected group's IOs late beside a hog"),
    "bandwidth": ("p99", "at most 1 % of a protected group's IOs late beside a hog"),
}
"""Name of a solution: goal of the search for vrate, what it promises."""
_NAIVE = "the model as measured, throttled by latency"


def base_model(results: Results) -> dict[str, int]:
    """Give the six numbers, those of them that were measured."""
    rates = {key: results[key]["rate"] for key in MODEL_KEYS if key in results}
    size = {key: 128 << 10 if PROBES[key][1] == "128k" else 1 for key in rates}
    return {key: round(rate * size[key]) for key, rate in rates.items()}


def latencies_us(results: Results) -> dict[str, int]:
    """Give the 99th percentiles of reads and writes at the highest load that left none late, less the size's cost.

    Where every load left some late, it is that of the goal that allows the least. Nearer to what the disk does at most,
    a 99th percentile is as long as the deadline.
    """
    model = base_model(results)
    found = {}
    for side, step, what in (("r", "late-reads", "reads"), ("w", "late-writes", "writes")):
        goals = [results.get(step, {}).get(goal, {}) for goal in searches.GOALS]
        p99_s = next((goal[f"{what}_p99_s"] for goal in goals if f"{what}_p99_s" in goal), None)
        if p99_s is not None and f"{side}bps" in model:
            found[f"{side}lat"] = max(1, round((p99_s - _PAGE / model[f"{side}bps"]) * 1e6))
    return found


def targets_us(results: Results, *, deadline_s: float) -> dict[str, int]:
    """Give ``rlat`` and ``wlat``: as many times what the disk needs as the deadline is them.

    The 99th percentile at even arrivals knows no queue: as a target, it has the kernel throttle a disk that is in time,
    and a period, twice the target, holds too few IOs to share them out. At the deadline it is too late.
    """
    found = latencies_us(results).items()
    return {side: max(1, round(math.sqrt(min(needed / 1e6, deadline_s) * deadline_s) * 1e6)) for side, needed in found}


def pinned(vrate: float, targets: Mapping[str, int]) -> dict[str, float]:
    """Give the QoS that holds the model at a vrate.

    Targets stay set, as the kernel's period follows from them, and so do percentiles: without them the kernel leaves
    vrate where it was while three of four IOs miss the target, and so beside a hog that fills the disk's queue.
    """
    return _qos(vrate, vrate, targets, percentile=PERCENTILE - SLACK)


def dynamic(vrate: float, targets: Mapping[str, int]) -> dict[str, float]:
    """Give the QoS that lets the kernel go below a vrate when IOs are late."""
    return _qos(vrate * LEAST_SHARE / 100, vrate, targets, percentile=PERCENTILE - SLACK)


def protected_load(results: Results) -> float:
    """Give the load of the protected group."""
    reads = results.get("late-reads", {}).get("p99", {}).get("lower")
    return protection.LOAD_SHARE * float(reads if reads is not None else results["rrandiops"]["rate"])


def least_vrate(results: Results) -> float:
    """Give the vrate at which the search begins."""
    return protection.least_vrate(protected_load(results), results["rrandiops"]["rate"])


def vrate_bounds(results: Results) -> Mapping[str, Any] | None:
    """Give the bounds of vrate by goal: those that held for longer, where that was tried; nothing without a search."""
    return results.get(CONFIRMATION, results.get(VRATE))


def found_vrate(results: Results) -> float | None:
    """Give the vrate to validate: the most isolating one that was found."""
    bounds = vrate_bounds(results) or {}
    found = [bounds.get(goal, {}).get("lower") for goal, _ in _RULES.values()]
    return next((vrate for vrate in found if vrate is not None), None)


def conclude(results: Results, *, deadline_s: float) -> Iterator[Record]:
    """Give the records of what was found: series, solutions, remarks."""
    trials = results.get(VRATE, {}).get("trials", [])
    if trials:
        points = sorted((trial["set"], trial["late"] / trial["sent"] if trial["sent"] else 1.0) for trial in trials)
        yield from _with_line(Series(name="late", points=points))
        rates = sorted((trial["set"], trial["hog_rate"]) for trial in trials)
        yield from _with_line(Series(name="hog-rate", points=rates, y_unit="IO/s"))
    yield from _solutions(results, deadline_s)
    for text in _remarks(results, deadline_s):
        yield Finding(code="remark", text=text)


def _with_line(series: Series) -> Iterator[Record]:
    """Give a series that rises with vrate, and the line through it."""
    lines, _, rejected, error = fit_series(series.points, _RISING, _FIT, None, False)
    yield series
    yield Fit(series=series.name, method=_FIT, shape=_RISING, vertices=lines.vertices, error=error, rejected=rejected)


def _solutions(results: Results, deadline_s: float) -> Iterator[Solution]:
    model, targets, info = base_model(results), targets_us(results, deadline_s=deadline_s), _info(latencies_us(results))
    missing = [key for key in MODEL_KEYS if key not in model]
    reason = f"{', '.join(missing)} were not measured, as that writes: give --destroy-data" if missing else None
    for name, (goal, target) in _RULES.items():
        yield _at_vrate(name, target, results, goal, model, targets, info, reason)
    if reason is not None:
        yield Solution(name="naive", target=_NAIVE, unsolved=reason)
        return
    yield Solution(
        name="naive",
        target=_NAIVE,
        scale_factor=1.0,
        model=model,
        qos=_qos(NAIVE_LEAST, 100.0, targets, percentile=PERCENTILE - SLACK),
        info=info,
    )


def _at_vrate(
    name: str,
    target: str,
    results: Results,
    goal: str,
    model: dict[str, int],
    targets: dict[str, int],
    info: dict[str, Any],
    reason: str | None,
) -> Solution:
    found = vrate_bounds(results)
    if reason is None and found is None:
        reason = "vrate was not searched"
    bounds = (found or {}).get(goal, {})
    vrate = bounds.get("lower")
    if reason is None and vrate is None:
        reason = _why_no_vrate(results, goal)
    if reason is not None or vrate is None:
        return Solution(name=name, target=target, unsolved=reason)
    scale = vrate / 100
    upper = bounds.get("upper")
    return Solution(
        name=name,
        target=target,
        scale_factor=scale,
        interval=(scale, upper / 100) if upper is not None else None,
        model={key: round(value * scale) for key, value in model.items()},
        qos=dynamic(100.0, targets),
        info=info,
    )


def _why_no_vrate(results: Results, goal: str) -> str:
    search = results[VRATE]
    found = search.get(goal, {}).get("lower")
    if found is None:
        return _NONE_PROTECTS if search["trials"] else _NONE_TRIED
    failed = results[CONFIRMATION].get(goal, {}).get("upper")
    return _DOES_NOT_HOLD if failed is not None and failed <= found else _NOT_TRIED_LONGER


def _qos(least: float, most: float, targets: Mapping[str, int], *, percentile: float) -> dict[str, float]:
    qos: dict[str, float] = {"min": round(least, 2), "max": round(most, 2)}
    for side in ("r", "w"):
        target = targets.get(f"{side}lat")
        qos |= {f"{side}pct": percentile if target else 0.0, f"{side}lat": target or 0}
    return qos


def _info(latencies: Mapping[str, int]) -> dict[str, Any]:
    return {key: {"99": {"mean": latency / 1e6}} for key, latency in latencies.items()}


def _remarks(results: Results, deadline_s: float) -> Iterator[str]:
    for key, (_, size, counted) in PROBES.items():
        if key in results:
            factor, unit = (128 << 10, "B/s") if size == "128k" else (1, "IO/s")
            found = results[key]
            yield f"Most {counted}: {format_load(found['rate'] * factor, unit)} with {found['depth']} IOs in flight."
    steady = results.get(STEADY)
    if steady and steady.get("rounds") is not None:
        rounds = steady["rounds"]
        yield f"Steady after {rounds} rounds." if steady["is_steady"] else f"Not steady after {rounds} rounds."
    for step, (_, text) in SEARCHES.items():
        if step in results:
            yield f"{text.capitalize()} within {format_duration(deadline_s)}: {_loads(results[step])}."
    yield from _of_validation(results.get(VALIDATION, {}))


def _loads(found: Mapping[str, Any]) -> str:
    shares = {"p100": "all in time", "p999": "99.9 %", "p99": "99 %"}
    said = [(share, found.get(goal, {}).get("lower")) for goal, share in shares.items()]
    return ", ".join(
        f"{share} {'up to ' + format_load(load, 'IO/s') if load is not None else 'at no load that was tried'}"
        for share, load in said
    )


def _of_validation(found: Mapping[str, Any]) -> Iterator[str]:
    names = {"off": "Without io.cost", "pinned": "With the vrate found", "dynamic": "With the dynamic rule"}
    for key, name in names.items():
        trials = found.get(key, [])
        sent = sum(trial["sent"] for trial in trials)
        if sent:
            late = sum(trial["late"] for trial in trials) / sent
            hog = sum(trial["hog_rate"] for trial in trials) / len(trials)
            vrates = [trial["vrate"] for trial in trials if trial["vrate"] is not None]
            at = f", vrate at the end {', '.join(f'{vrate:.0f}' for vrate in vrates)}" if vrates else ""
            share, rate = format_ratio(late), format_load(hog, "IO/s")
            yield f"{name} {share} of the protected IOs are late, and the hog gets {rate}{at}."
