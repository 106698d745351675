"""What a reader of a suite should know beside its figures: failures, warnings of its tests, ports that stand out."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report import words
from brimful.report.lone_ports import lone_losers
from brimful.report.loss.model import ends_with_loss
from brimful.report.suite.congestion import BY_TWO, CONGESTION, CONTROL
from brimful.report.suite.results import Result


def warnings_of(results: Sequence[Result]) -> list[str]:
    """Give them, each once."""
    return list(dict.fromkeys([*_failures(results), *_warnings(results)]))


def _failures(results: Sequence[Result]) -> list[str]:
    return [
        f"{result.test} at {result.size}: {result.text or result.reason}"
        for result in results
        if result.reason == "measurement-failed"
    ]


def _warnings(results: Sequence[Result]) -> list[str]:
    """Give the warnings of all tests; those that most tests have, in a line each."""
    found: dict[str, list[tuple[str, RunFile, str]]] = {}
    for result in results:
        if result.file is not None:
            # Where senders were held, no trial counts, and all say what the test asks.
            is_held = result.reason == "done" and not result.file.counted()
            for warning in result.file.warnings:
                if is_held and warning.code == "invalid-trials":
                    continue
                at = f"{result.test} at {result.size}"
                found.setdefault(warning.code, []).append((at, result.file, warning.text))
    restless = [at for at, _, _ in found.pop("machine-not-quiet", [])]
    spoiled = [f"{at} ({_spoiled(file)})" for at, file, _ in found.pop("invalid-trials", [])]
    lines = [f"{at}: {text}" for warnings in found.values() for at, _, text in warnings]
    lines += _disorder(results)
    cut = [f"{result.test} at {result.size}" for result in results if result.test == "loss" and _is_cut(result)]
    if cut:
        lines.append(
            f"{', '.join(cut)}: the loads ended before two in a row lost nothing (section 26.3): the device takes less"
            " than a fifth of 100 %; a lower --max-load has finer steps"
        )
    for result in results:
        # Which ports lose is the question of the tests of congestion.
        if result.file is not None and result.test not in (CONTROL, CONGESTION, BY_TWO):
            lines += [f"{result.test} at {result.size}: {text}" for text in [lone_losers(result.file)] if text]
    if restless:
        lines.append(
            f"the machine was not quiet in {', '.join(restless)}: results may move by more than their width; leave the"
            " machine alone, or repeat the suite"
        )
    if spoiled:
        lines.append(f"trials that were invalid were not counted: {', '.join(spoiled)}")
    return lines


def _is_cut(result: Result) -> bool:
    """Whether loads of the loss rate ended too early, at a size that passes."""
    throughput = result.beside.get("throughput")
    passes = throughput is None or not throughput.passes_nothing
    return result.file is not None and passes and ends_with_loss(result.file)


def _disorder(results: Sequence[Result]) -> list[str]:
    """Name the tests whose frames arrived twice or out of order; neither is loss (section 10 of RFC 2544)."""
    lines = []
    for name, said in (("duplicated", "arrived twice"), ("reordered", "arrived out of order")):
        counts = [
            (f"{result.test} at {result.size}", sum(getattr(trial, name) or 0 for trial in result.file.counted()))
            for result in results
            if result.file is not None
        ]
        seen = [f"{at} ({words.group(count)})" for at, count in counts if count]
        if seen:
            lines.append(f"frames {said}, which is no loss: {', '.join(seen)}")
    return lines


def _spoiled(file: RunFile) -> str:
    return f"{sum(trial.invalid is not None for trial in file.trials)} of {len(file.trials)}"
