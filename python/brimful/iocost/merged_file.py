"""Merged results as files in the benchmark's own layout, so that it and brimful can read them again."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import msgspec

from brimful.iocost import record, rules
from brimful.iocost.analysis import Analysis
from brimful.iocost.merge import Group
from brimful.iocost.read import MERGE, TUNE, Result, read_bytes
from brimful.iocost.rules import LatencyRange, OffloadMaximum, Target, VrateRange
from brimful.records import Solution

_TAGS = {
    rules.BANDWIDTH.text: "AMOFMaxVrate",
    rules.ISOLATION.text: "AMOFDeltaMin",
    rules.ISOLATED_BANDWIDTH.text: "IsolatedBandwidth",
}


def encode(groups: list[Group], analyses: list[Analysis], *, compress: bool, at_s: int) -> bytes:
    """Give the file: a job that says what was merged, then one for each group.

    Parameters
    ----------
    groups, analyses
        Parallel to each other.
    compress
        With gzip.
    at_s
        When the merge was done, Unix seconds.
    """
    systems = [_system(group) for group in groups]
    info = {
        "spec": {"kind": MERGE, "id": None, "passive": None, "props": [{}]},
        "period": [at_s, at_s],
        "sysinfo": systems[0],
        "record": {"merges": [_entry(group) for group in groups]},
        "result": True,
    }
    jobs = [info, *map(_job, groups, analyses, systems)]
    content = msgspec.json.format(msgspec.json.encode(jobs), indent=2) + b"\n"
    # gzip without the time, nor the version of Python: the same merge gives the same file.
    return zlib.compress(content, 9, 31) if compress else content


def _system(group: Group) -> dict[str, Any]:
    """Take all that the first source says of its system, known to brimful or not, with the median model."""
    first = group.accepted[0]
    for job in msgspec.json.decode(read_bytes(Path(first.path)), type=list[dict[str, msgspec.Raw]]):
        system: dict[str, Any] = msgspec.json.decode(job["sysinfo"])
        report = system.get("sysreqs_report") or {}
        if report.get("scr_dev_fwrev", "") == group.key.firmware and system.get("iocost"):
            system["iocost"]["model"] |= msgspec.to_builtins(group.median_model)
            return system
    return {}


def _entry(group: Group) -> dict[str, Any]:
    def source(result: Result) -> dict[str, Any]:
        return {"file": Path(result.path).name, "kind": TUNE, "id": result.id}

    return {
        "mid": {
            "kind": TUNE,
            "id": group.key.id or None,
            "versions": list(group.key.versions) or None,
            "mem_profile": group.key.memory_profile_gib,
            "storage_model": group.key.model,
            "storage_fwver": group.key.firmware,
            "classifier": group.key.classifier,
        },
        "srcs": [source(each.result) for each in group.sources if each.rejected is None],
        "rejects": [[source(each.result), each.rejected] for each in group.sources if each.rejected is not None],
        "dropped": [_entry(dropped) for dropped in group.dropped],
    }


def _job(group: Group, analysis: Analysis, system: dict[str, Any]) -> dict[str, Any]:
    run = record.to_run(analysis, command=[], started="", resamples=0)
    result = analysis.result
    series = {}
    for selector, fitted in analysis.fits.fitted.items():
        series[selector.name] = {
            "data": _places(fitted.kept),
            "outliers": _places(fitted.rejected),
            "lines": {"points": _places(fitted.lines.vertices), "range": list(fitted.lines.range)},
            "error": fitted.error,
        }
    targets = {rule.name: rule.target for rule in analysis.task.rules}
    return {
        "spec": {"kind": TUNE, "id": result.id, "passive": None, "props": [{}]},
        "period": list(result.period),
        "sysinfo": system,
        "record": {"qos_props": result.properties, "dfl_qos": True},
        "result": {
            "base_model": msgspec.to_builtins(analysis.base_model),
            "base_qos": msgspec.to_builtins(result.base_qos),
            "mem_profile": result.memory_profile_gib,
            "isol_pct": result.isolation_percentile,
            "isol_thr": result.isolation_threshold,
            "data": series,
            "solutions": {
                solution.name: _solution(solution, targets[solution.name])
                for solution in run.solutions
                if solution.unsolved is None
            },
            "remarks": [finding.text for finding in run.findings if finding.code == "remark"],
        },
    }


def _places(points: list[tuple[float, float]]) -> list[dict[str, float]]:
    return [{"x": x, "y": y} for x, y in points]


def _solution(solution: Solution, target: Target) -> dict[str, Any]:
    info = solution.info
    return {
        "target": _tag(target),
        "model": solution.model,
        "qos": solution.qos,
        "scale_factor": solution.scale_factor,
        "mem_profile": info["mem_profile"],
        "mem_offload_factor": info["MOF"],
        "adjusted_mem_offload_factor": info["aMOF"],
        "adjusted_mem_offload_delta": info["aMOF_delta"],
        "isol": info["isol"],
        "rlat": info["rlat"],
        "wlat": info["wlat"],
    }


def _tag(target: Target) -> object:
    match target:
        case VrateRange():
            return {"VrateRange": [[target.low, target.high], [target.read_percentile, target.write_percentile]]}
        case LatencyRange():
            return {"LatRange": [f"{target.direction}lat-{target.percentile}-mean", [target.low, target.high]]}
        case OffloadMaximum():
            return f"{target.selector.name.replace('a', 'A')}Max"
        case _:
            return _TAGS[target.text]
