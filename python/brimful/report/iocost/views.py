"""What a page about a block device says, in words and cells, from the records of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec
from msgspec import structs

from brimful import kernel
from brimful.errors import UsageError
from brimful.kernel import MODEL_KEYS, PLACEHOLDER, QOS_KEYS
from brimful.records import RunFile, Solution
from brimful.report import facts, words
from brimful.report.iocost import figures, header
from brimful.units import format_duration, format_load

LATENCY_CELLS = (("50", "mean"), ("50", "99"), ("50", "100"), ("99", "mean"), ("99", "99"), ("100", "100"))
RECOMMENDED = ("isolated-bandwidth", "isolation", "bandwidth", "naive")
"""Which solution the summary is about: the first of them that there is."""


class Rule(msgspec.Struct, frozen=True):
    """What a solution answers, with the letter it has in figures."""

    letter: str
    name: str
    target: str

    def __str__(self) -> str:
        return f"{self.letter} {self.name} ({self.target})"


class Answer(msgspec.Struct, frozen=True):
    """A solution, and the neighbouring rules that it answers."""

    rules: list[Rule]
    solution: Solution

    @property
    def names(self) -> str:
        """The names of its rules."""
        return ", ".join(rule.name for rule in self.rules)

    @property
    def letters(self) -> str:
        """The letters of its rules."""
        return ",".join(rule.letter for rule in self.rules)

    @property
    def scale(self) -> str:
        """Its share of the base model."""
        return words.share(self.solution.scale_factor or 0.0)

    @property
    def interval(self) -> str:
        """That of the scale; empty where there is none."""
        return " to ".join(words.share(end) for end in self.solution.interval or ())

    @property
    def expected(self) -> list[tuple[str, str]]:
        """What is expected under it, by name."""
        info = self.solution.info
        isolation = _finite(info.get("isol"))
        return [
            ("MOF", _factor(info.get("MOF"))),
            ("aMOF", _factor(info.get("aMOF"))),
            ("aMOF-delta", _factor(info.get("aMOF_delta"))),
            ("Isolation", words.share(isolation) if isolation is not None else "–"),
            ("p99 read, mean", latency(info, "rlat", "99", "mean")),
            ("p99 write, mean", latency(info, "wlat", "99", "mean")),
        ]


def device_title(run_file: RunFile) -> str:
    """Give what the device is called."""
    device = run_file.run.device
    return str(device.get("model") or device.get("name") or "").strip() or "Block device"


def device_facts(run_file: RunFile) -> str:
    """Say which device it is, in one line."""
    device = run_file.run.device
    size = facts.number(device.get("size_bytes"))
    parts = [
        f"firmware {str(device['firmware']).strip()}" if device.get("firmware") else "firmware not recorded",
        _disk_size(size) if size is not None else "size not recorded",
        f"measured as {device['name']}" if device.get("name") else "",
        f"scheduler {device['scheduler']}" if device.get("scheduler") else "",
    ]
    return ", ".join(part for part in parts if part)


def device_number(run_file: RunFile) -> str:
    """Give the number of the device as the kernel takes it, or the placeholder where the record has none."""
    number = str(run_file.run.device.get("device_number", ""))
    # It goes into a command that people copy, so nothing but a number will do.
    return number if re.fullmatch(r"[0-9]{1,9}:[0-9]{1,9}", number, re.ASCII) else PLACEHOLDER


def summarise(run_file: RunFile) -> str:
    """Say what came out, in words."""
    solved = [solution for solution in run_file.solutions if solution.scale_factor is not None]
    if not run_file.solutions:
        return "No rule was asked for, so there are no solutions."
    total = len(run_file.solutions)
    if not solved:
        return f"{'None of the ' + str(total) + ' rules has' if total > 1 else 'The rule does not have'} a solution."
    chosen = min(solved, key=lambda each: RECOMMENDED.index(each.name) if each.name in RECOMMENDED else 99)
    counted = (
        "The rule has a solution."
        if total == 1
        else f"{len(solved)} of {total} rules {'has' if len(solved) == 1 else 'have'} a solution."
    )
    return f"{counted} With {chosen.name}, {_sentence(run_file, chosen)}"


def answers(run_file: RunFile) -> list[Answer]:
    """Give the solutions; neighbours that differ in nothing but their rule are one."""
    solved = [
        (Rule(figures.letter(number), solution.name, solution.target), structs.replace(solution, name="", target=""))
        for number, solution in enumerate(run_file.solutions)
        if solution.scale_factor is not None
    ]
    return [
        Answer([rule for rule, _ in group], solution) for solution, group in groupby(solved, key=lambda pair: pair[1])
    ]


def unsolved(run_file: RunFile) -> list[tuple[str, list[Rule]]]:
    """Give the rules without a solution by the reason why there is none."""
    reasons: dict[str, list[Rule]] = {}
    for number, solution in enumerate(run_file.solutions):
        if solution.scale_factor is None:
            reason = solution.unsolved or "no reason is recorded"
            reasons.setdefault(reason, []).append(Rule(figures.letter(number), solution.name, solution.target))
    return list(reasons.items())


def next_steps(run_file: RunFile) -> list[str]:
    """Say what is worth measuring, or was left out, with the job spec for the benchmark where there is one."""
    steps = [f"Not measured: {warning.text}." for warning in run_file.warnings if warning.code == "not-measured"]
    for finding in run_file.findings:
        if finding.code == "measure-next":
            said = finding.subject is None or finding.subject in finding.text
            text = finding.text if said else f"{finding.subject}: {finding.text}"
            job = str(finding.data.get("job_spec", ""))
            steps.append(f"{text} As the benchmark takes it: {job}" if job else text)
    return steps


def kernel_lines(run_file: RunFile, solution: Solution) -> list[str]:
    """Give the commands that set a solution; none where the record has numbers that the kernel would not take."""
    try:
        return list(kernel.echo_lines(device_number(run_file), solution))
    except UsageError:
        return []


def method(run_file: RunFile) -> list[tuple[str, str]]:
    """Give how the numbers came about, as rows of name and value."""
    source = run_file.run.source
    percentile, threshold = source.get("isolation_percentile"), _finite(source.get("isolation_threshold"))
    rows = [
        ("Method", _text(source.get("method"))),
        ("Fit", _FITS.get(str(source.get("fit")), _text(source.get("fit")))),
        ("Scale factors", _BASES.get(str(source.get("scale_basis")), _text(source.get("scale_basis")))),
        ("Limits of scale factors", _limits(source)),
        (
            "Protected",
            f"{figures.title('isol', percentile=str(percentile))} of at least {words.share(threshold)}"
            if percentile is not None and threshold is not None
            else "",
        ),
        ("Runs with data", _text(source.get("runs"))),
        ("Benchmark", _text(source.get("bench_version"))),
        ("Measured", _period(source.get("period_s"))),
        ("Files", _text(source.get("files"))),
        ("Base model", _numbers(source.get("base_model"))),
        ("Base QoS", _numbers(source.get("base_qos"))),
    ]
    for key, name in _PARTS.items():
        part = source.get(key)
        if isinstance(part, Mapping):
            rows += [(f"{name}: {path.removesuffix('_bytes').replace('_', ' ')}", shown) for path, shown in _part(part)]
        else:
            rows.append((name, _text(part)))
    rows += [(str(key), _text(value)) for key, value in source.items() if key not in _KNOWN]
    return [(name, shown) for name, shown in rows if shown]


def over_time(percentile: str) -> str:
    """Say in a word how a latency is taken over time."""
    return {"mean": "mean", "100": "worst"}.get(percentile, f"p{percentile}")


_FITS = {
    "compatible": "compatible: lines as published results have them",
    "exact": "exact: the best line of each shape",
}
_BASES = {
    "result": "of the base model of the result",
    "first": "of the base model of the first result",
    "median": "of the median base model of the results",
}
_PARTS = {
    "system": "System",
    "memory": "Memory",
    "controller": "Controller during the benchmark",
    "benchmark": "Workload",
    "missed_requirements": "Missed requirements",
    "merge": "Merge",
}
_KNOWN = {
    *_PARTS,
    *("method", "fit", "scale_basis", "scale_min", "scale_max", "isolation_percentile", "isolation_threshold", "runs"),
    *("bench_version", "period_s", "files", "base_model", "base_qos"),
}


def _sentence(run_file: RunFile, solution: Solution) -> str:
    """Say what a solution means; the beginning of it goes on from another sentence."""
    text = f"the device runs at {words.share(solution.scale_factor or 0.0)} of its measured speed"
    if solution.interval:
        low, high = (words.share(end) for end in solution.interval)
        certainty = "by the bounds of the search" if header.has_bounds(run_file.run) else "with 95 % confidence"
        text += f" ({low} to {high} {certainty})"
    larger, protected = _finite(solution.info.get("MOF")), _finite(solution.info.get("aMOF"))
    isolation = _finite(solution.info.get("isol"))
    sentences = [text + "."]
    if larger:
        part = f"A workload can be {larger:.2f} times as large as the memory it has"
        part += f", {protected:.2f} times if it is to stay protected from a memory hog" if protected else ""
        sentences.append(part + ".")
    if larger and isolation is not None:
        seconds = _seconds_kept(str(run_file.run.source.get("isolation_percentile", "")))
        sentences.append(f"Beside the hog it keeps {words.share(isolation)} of its rate{seconds}.")
    return " ".join(sentences)


def _seconds_kept(percentile: str) -> str:
    if percentile == "mean":
        return " on average"
    number = _finite(float(percentile)) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", percentile, re.ASCII) else None
    return f" or more in {100 - number:g} % of all seconds" if number is not None and number <= 100 else ""


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < figures.LARGEST and math.isfinite(value) else None


def _factor(value: object) -> str:
    number = _finite(value)
    return f"{number:.3f}" if number is not None else "–"


def latency(info: Mapping[str, Any], direction: str, requests: str, time: str) -> str:
    """Write an expected latency: the percentile of requests within a while, and how it is over time."""
    table = info.get(direction)
    row = table.get(requests) if isinstance(table, Mapping) else None
    seconds = _finite(row.get(time)) if isinstance(row, Mapping) else None
    return format_duration(seconds) if seconds is not None and seconds >= 0 else "–"


def model_number(key: str, value: int | None) -> str:
    """Write a parameter of a model with its unit."""
    if value is None:
        return "–"
    return format_load(value, "B/s") if key.endswith("bps") else f"{words.group(value)} IO/s"


def qos_number(key: str, qos: Mapping[str, float]) -> str:
    """Write a QoS parameter with its unit."""
    value = _finite(qos.get(key))
    if value is None:
        return "–"
    if key in {"rlat", "wlat"}:
        return format_duration(value / 1e6)
    return "off" if key in {"rpct", "wpct"} and value == 0 else f"{value:g} %"


def _text(value: object) -> str:
    return "" if value is None else facts.text(value)


def _numbers(value: object) -> str:
    if not isinstance(value, Mapping):
        return _text(value)
    known = [key for key in (*MODEL_KEYS, *QOS_KEYS) if key in value]
    keys = known + [key for key in value if key not in known and value[key] not in (None, "", [])]
    return ", ".join(f"{str(key).replace('_', ' ')} {facts.text(value[key])}" for key in keys)


def _limits(source: Mapping[str, Any]) -> str:
    low, high = _finite(source.get("scale_min")), _finite(source.get("scale_max"))
    return f"{words.share(low)} to {words.share(high)}" if low is not None and high is not None else ""


def _part(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in part.items():
        number = _finite(value)
        if number is not None and str(key).endswith("_bytes"):
            rows.append((str(key), _memory_size(number)))
        elif number is not None and not isinstance(value, int):
            rows.append((str(key), f"{number:.4g}"))
        elif number is not None and key == "profile":
            rows.append((str(key), f"{number:g} GiB"))
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            rows += [(f"{str(key).removesuffix('s')} {number}", _numbers(each)) for number, each in enumerate(value, 1)]
        elif value not in (None, "", [], {}):
            rows.append((str(key), _numbers(value)))
    return rows


def _memory_size(number: float) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number:g} bytes"


def _disk_size(number: float) -> str:
    return f"{number / 1e12:.3g} TB" if number >= 0.9995e12 else f"{number / 1e9:.3g} GB"


def _period(period: object) -> str:
    try:
        ends = [datetime.fromtimestamp(float(end), UTC) for end in (period if isinstance(period, list) else [])]
    except (TypeError, ValueError, OverflowError, OSError):
        return _text(period)
    shown = list(dict.fromkeys(f"{end:%Y-%m-%d %H:%M}" for end in ends))
    return " to ".join(shown) + " UTC" if shown else _text(period)
