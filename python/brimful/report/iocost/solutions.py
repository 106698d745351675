"""Solutions as text: rules that come to the same answer share one body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from brimful.records import Solution
from brimful.report.iocost.header import model_parameters, qos_parameters
from brimful.report.iocost.numbers import duration, percent
from brimful.report.styles import Style

COMMON_RULES = ("naive", "bandwidth", "isolated-bandwidth", "isolation")
"""The rules that every device is asked, in the order of the published results."""

_LATENCIES = (("50", "mean"), ("50", "99"), ("50", "100"), ("99", "mean"), ("99", "99"), ("100", "100"))
"""Percentile over requests, then over time."""
_DURATION_WIDTH = 5


def groups(solutions: Sequence[Solution], isolation_percentile: str, style: Style, *, certainty: str = "95 %") -> str:
    """Write all solutions, neighbours that differ in the rule alone as one."""
    return "\n\n".join(
        _group(list(group), isolation_percentile, style, certainty) for _, group in groupby(solutions, key=_answer)
    )


def _answer(solution: Solution) -> tuple[Any, ...]:
    if solution.scale_factor is None:
        return (None,)
    return (solution.scale_factor, solution.model, solution.qos, solution.info)


def _group(group: list[Solution], isolation_percentile: str, style: Style, certainty: str) -> str:
    width = max(len(solution.name) for solution in group)
    lines = [f"{style(f'[{solution.name.ljust(width)}]', 'title')} {solution.target}" for solution in group]
    first = group[0]
    if first.scale_factor is None:
        lines.append(f"  {style('NO SOLUTION', 'bad')}")
        lines += _by_rule("reason", [(solution.name, solution.unsolved or "") for solution in group])
        return "\n".join(lines)
    info = first.info
    lines += [
        f"  info: scale={percent(first.scale_factor)}% {_offload(info)} {_isolation(info, isolation_percentile)}",
        *(f"  {side}: {_latencies(info.get(side))}" for side in ("rlat", "wlat")),
        f"  model: {' '.join(model_parameters(first.model))}",
        f"  qos: {' '.join(qos_parameters(first.qos))}",
    ]
    lines += _by_rule("interval", [(solution.name, _interval(solution.interval, certainty)) for solution in group])
    return "\n".join(lines)


def _offload(info: Mapping[str, Any]) -> str:
    profile = f"@{info['mem_profile']}" if info.get("mem_profile") is not None else ""
    return (
        f"MOF={_factor(info.get('MOF'))}{profile} aMOF={_factor(info.get('aMOF'))} "
        f"aMOF-delta={_factor(info.get('aMOF_delta'))}"
    )


def _isolation(info: Mapping[str, Any], isolation_percentile: str) -> str:
    name = f"isol-{isolation_percentile}" if isolation_percentile else "isol"
    return f"{name}={percent(info['isol'])}%" if info.get("isol") is not None else f"{name}=-"


def _factor(value: float | None) -> str:
    # The reference shows 0.000 for what was never measured.
    return "-" if value is None else f"{value:.3f}"


def _latencies(table: Mapping[str, Mapping[str, float]] | None) -> str:
    cells = []
    for requests, seconds in _LATENCIES:
        value = (table or {}).get(requests, {}).get(seconds)
        text = "-" if value is None else duration(value)
        cells.append(f"{requests}-{seconds}={text.rjust(_DURATION_WIDTH)}")
    return " ".join(cells)


def _interval(interval: tuple[float, float] | None, certainty: str) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"{low * 100:.1f}%-{high * 100:.1f}% of the base model ({certainty})"


def _by_rule(what: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    """Write one line for all rules if they agree, else one for each text with the rules that it holds for.

    >>> _by_rule("reason", [("bandwidth", "no data"), ("isolation", "no data")])
    ['  reason: no data']
    >>> _by_rule("reason", [("bandwidth", "no data"), ("isolation", "too flat"), ("rlat-99-q1", "")])
    ['  reason (bandwidth): no data', '  reason (isolation): too flat']
    """
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    if len(names) == 1:
        return [f"  {what}: {text}" for text in names if text]
    return [f"  {what} ({', '.join(rules)}): {text}" for text, rules in names.items() if text]
