"""Analyses as records: what reports, comparisons and other programs read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful import __version__, records
from brimful.iocost import remarks, solve, uncertainty
from brimful.iocost.analysis import Analysis
from brimful.iocost.read import Result
from brimful.iocost.rules import Rule
from brimful.iocost.selectors import MOF
from brimful.iocost.uncertainty import Uncertainty


def to_run(analysis: Analysis, *, command: list[str], started: str, resamples: int) -> records.RunFile:
    """Give all records of an analysis.

    Parameters
    ----------
    analysis
        Fitted and solved.
    command
        The command line that asked for it.
    started
        When, as RFC 3339.
    resamples
        Of the bootstrap behind the intervals; 0: no intervals.
    """
    return records.collect(Path(analysis.result.path), list(_records(analysis, command, started, resamples)))


def _records(analysis: Analysis, command: list[str], started: str, resamples: int) -> Iterator[records.Record]:
    known = uncertainty.intervals(analysis, resamples=resamples)
    yield records.Run(
        schema=records.SCHEMA,
        run_id=f"iocost-{Path(analysis.result.path).name.partition('.')[0]}",
        started=started,
        tool={"name": "brimful", "version": __version__},
        command=command,
        host={},
        subject="block-device",
        device=device_facts(analysis.result),
        source=source_facts(analysis),
    )
    for selector in analysis.points:
        series = analysis.fits.fitted[selector]
        yield records.Series(
            name=selector.name, points=analysis.points[selector], y_unit="s" if selector.is_latency else ""
        )
        yield records.Fit(
            series=selector.name,
            method=analysis.method,
            shape=selector.shape,
            vertices=series.lines.vertices,
            error=series.error,
            rejected=series.rejected,
        )
    for rule in analysis.task.rules:
        yield _solution(analysis, rule, known.get(rule.name))
    yield from _findings(analysis, known, resamples)
    for text in analysis.result.warnings:
        yield records.Warning(code="result", text=text)


def _solution(analysis: Analysis, rule: Rule, uncertain: Uncertainty | None) -> records.Solution:
    if rule.name in analysis.unsolved:
        return records.Solution(name=rule.name, target=rule.target.text, unsolved=analysis.unsolved[rule.name])
    _, setting = analysis.settings[rule.name]
    scale = setting.vrate / 100
    return records.Solution(
        name=rule.name,
        target=rule.target.text,
        scale_factor=scale,
        interval=uncertain.interval if uncertain is not None else None,
        model=solve.scaled_model(analysis.base_model, scale),
        qos=solve.scaled_qos(setting),
        info=solve.expected(analysis.fits, setting.vrate, analysis.result.memory_profile_gib),
    )


def _findings(analysis: Analysis, known: dict[str, Uncertainty], resamples: int) -> Iterator[records.Finding]:
    task = analysis.task
    for text in remarks.of_latencies(analysis.fits, task.scale_min, task.scale_max):
        yield records.Finding(code="remark", text=text)
    about_solutions = (*remarks.of_settings(analysis.settings), *remarks.of_sizing(analysis.fits, analysis.settings))
    for name, text in about_solutions:
        yield records.Finding(code="remark", text=text, subject=name)
    advice = uncertainty.advise(analysis, known) if resamples else None
    if advice is not None:
        yield records.Finding(
            code="measure-next",
            text=uncertainty.in_words(advice),
            subject=advice.name,
            data={"vrates": advice.vrates, "job_spec": uncertainty.job_spec(advice)},
        )


def device_facts(result: Result) -> dict[str, Any]:
    """Give the ``device`` of a `Run`; what the result does not say is left out."""
    machine = result.machine
    facts = {
        "name": machine.scr_dev,
        "device_number": ":".join(map(str, machine.scr_devnr)) if any(machine.scr_devnr) else "",
        "model": machine.scr_dev_model,
        "firmware": machine.scr_dev_fwrev,
        "size_bytes": machine.scr_dev_size,
        "scheduler": machine.scr_dev_iosched,
    }
    return {key: value for key, value in facts.items() if value}


def source_facts(analysis: Analysis) -> dict[str, Any]:
    """Give the ``source`` of a `Run`."""
    result, system, machine = analysis.result, analysis.result.system, analysis.result.machine
    facts: dict[str, Any] = {
        "files": analysis.files,
        "period_s": list(result.period),
        "bench_version": system.bench_version,
        "system": {
            "kernel": machine.kernel_version,
            "cpus": machine.nr_cpus,
            "memory_bytes": machine.total_memory,
            "swap_bytes": machine.total_swap,
            "swappiness": system.swappiness,
        },
        "memory": {
            "profile": system.mem.profile,
            "available_bytes": system.mem.avail,
            "share_bytes": system.mem.share,
            "target_bytes": system.mem.target,
        },
        "base_model": msgspec.to_builtins(analysis.base_model),
        "base_qos": msgspec.to_builtins(result.base_qos),
        "scale_basis": analysis.basis,
        "fit": analysis.method,
        "isolation_percentile": result.isolation_percentile,
        "isolation_threshold": result.isolation_threshold,
        "scale_min": analysis.task.scale_min,
        "scale_max": analysis.task.scale_max,
        "runs": len(analysis.points[MOF]),
    }
    if analysis.merge is not None:
        facts["merge"] = analysis.merge
    if result.id is not None:
        facts["id"] = result.id
    if system.iocost is not None:
        facts["controller"] = msgspec.to_builtins(system.iocost)
    if system.hashd is not None:
        facts["benchmark"] = {
            "hash_bytes": system.hashd.hash_size,
            "rps_max": system.hashd.rps_max,
            "memory_bytes": system.hashd.mem_size,
            "memory_fraction": system.hashd.mem_frac,
            "chunk_pages": system.hashd.chunk_pages,
            "fake_cpu_load": system.hashd.fake_cpu_load,
        }
    if system.sysreqs_missed:
        facts["missed_requirements"] = system.sysreqs_missed
    return facts
