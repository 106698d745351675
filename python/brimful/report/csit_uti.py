"""Results as FD.io CSIT keeps its own: a test case of its Unified Test Interface (UTI), model 1.4.0."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from brimful.errors import UsageError
from brimful.records import Goal, GoalResult, RunFile

MODEL_VERSION = "1.4.0"
LOSS_RATIOS = {"ndr": 0.0, "pdr": 0.005}
"""What the two results of a search stand for there."""


def render(file: RunFile) -> bytes:
    """Give the result of a search with goals of 0 and 0.5 % loss as the JSON text of a test case of type ``ndrpdr``.

    Rates are sums over all directions. A search without both bounds of both goals did not pass, and its
    result is ``unknown``.

    Raises
    ------
    UsageError
        When the run has no such goals, or its loads count no frames.
    """
    run = file.run
    goals = {name: _goal(run.goals, ratio) for name, ratio in LOSS_RATIOS.items()}
    if run.load_unit != "frames/s" or None in goals.values():
        message = f"{file.path}: CSIT knows searches of frames/s with a goal of 0 % and one of 0.5 % loss; this is none"
        raise UsageError(message)
    found = {result.goal: result for result in file.goal_results}
    results = {name: found.get(goal.name) for name, goal in goals.items() if goal is not None}
    problems = [
        f"{name}: {'no result' if each is None else each.reason}"
        for name, each in results.items()
        if not _regular(each)
    ]
    end = file.ends[-1] if file.ends else None
    duration_s = end.search_s if end is not None else 0.0
    start = datetime.fromisoformat(run.started)
    device = str(run.device.get("name") or run.device.get("device") or run.measurer.spec or "unknown")
    name = (
        "-".join(str(part) for part in (device, run.traffic.get("frame_size", "any"), "ndrpdr"))
        .lower()
        .replace(" ", "_")
    )
    content = {
        "version": MODEL_VERSION,
        "test_type": "ndrpdr",
        "test_id": f"brimful.{name}",
        "test_name_long": name,
        "test_name_short": name,
        "test_documentation": "",
        "tags": ["NDRPDR", *(f"{key}={text}" for key, text in run.labels.items())],
        "start_time": _utc(start),
        "end_time": _utc(start + timedelta(seconds=duration_s)),
        "duration": duration_s,
        "hosts": [str(run.host.get("name") or run.host.get("system") or "unknown")],
        "dut_type": device,
        "dut_version": str(run.device.get("version") or run.labels.get("firmware") or "unknown"),
        "tg_type": run.measurer.name or "unknown",
        "tg_version": str(run.measurer.extra.get("version") or run.tool.get("version") or "unknown"),
        "telemetry": [],
        "passed": not problems,
        "message": "; ".join(problems),
        "result": _result(results, run.conversion_factor),
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def _goal(goals: list[Goal], loss_ratio: float) -> Goal | None:
    return next((goal for goal in goals if goal.loss_ratio == loss_ratio and goal.delay_limit_s is None), None)


def _regular(result: GoalResult | None) -> bool:
    return result is not None and result.regular


def _result(results: dict[str, GoalResult | None], factor: float) -> dict[str, Any]:
    rates: dict[str, Any] = {}
    for name, result in results.items():
        if result is None or result.lower_bound is None or result.upper_bound is None:
            return {"type": "unknown"}
        rates[name] = {"lower": _rate(result.lower_bound * factor), "upper": _rate(result.upper_bound * factor)}
    return {"type": "ndrpdr", **rates}


def _rate(value: float) -> dict[str, Any]:
    return {"rate": {"value": value, "unit": "pps"}}


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
