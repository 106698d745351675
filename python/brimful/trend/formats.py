"""Files of other tools: one table, a row and a function each. A value is seconds unless its file has another unit."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, stdev
from typing import Any

import msgspec

from brimful.errors import UsageError, one_line
from brimful.files import read_file
from brimful.trend import reading
from brimful.trend.measured import Measured, Point
from brimful.trend.series import HIGHER, LOWER

_PER_MEDIAN = 1.2533
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "hr": 3600.0, "day": 86400.0}
_UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What reading a file of another form ends with."""


class Format(msgspec.Struct, frozen=True):
    """A format: what it is, and what reads it."""

    what: str
    read: Callable[[Any], Measured]
    """Of the parsed file; source, and the version where the file has none, are filled in later."""


def read(path: Path, name: str, version: str | None, *, machine: str | None = None) -> Measured:
    """Read a file of another tool.

    Parameters
    ----------
    path
        JSON, compressed with gzip or not.
    name
        A key of `FORMATS`.
    version
        Of what was measured; null: the file says it.
    machine
        Name of the machine, in place of what the file says; null: what it says, if anything.

    Raises
    ------
    UsageError
        When it cannot be read, is of another format, or nothing says the version.
    """
    content = read_file(path)
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        found = FORMATS[name].read(json.loads(_without_notes(content)))
    except _UNREADABLE as error:
        message = f"{path}: is no file of {name} ({FORMATS[name].what}): {one_line(error)}"
        raise UsageError(message) from error
    if not (version or found.version):
        message = f"{path}: does not say the version that was measured; give it with --version"
        raise UsageError(message)
    if not found.points:
        message = f"{path}: has no results; nothing was added"
        raise UsageError(message)
    version = version or found.version
    digest = hashlib.sha256(content + version.encode() + (machine or "").encode()).hexdigest()
    points = found.points if machine is None else [_on(machine, point) for point in found.points]
    return msgspec.structs.replace(found, source=f"{name} {digest}", version=version, report=str(path), points=points)


def _without_notes(content: bytes) -> bytes:
    """Leave out lines before the document: some tools print notes and results to one place."""
    begin = re.search(rb"^\s*[\[{]", content, re.MULTILINE)
    return content[begin.start() :] if begin else content


def _csit(data: dict[str, Any]) -> Measured:
    """Read a test case of FD.io CSIT (UTI): one result each of NDR, PDR, MRR or soak."""
    result = data["result"]
    key = {"device": str(data.get("dut_type") or "unknown"), "size": str(data["test_name_long"])}
    machine = " ".join(map(str, data.get("hosts") or []))
    key |= {"machine": machine} if machine else {}
    kind, points = result["type"], []
    rates: dict[str, tuple[Any, list[float]]] = {}
    if kind == "ndrpdr":
        rates = {name: (result[name]["lower"]["rate"], [result[name]["lower"]["rate"]["value"]]) for name in _BOUNDS}
    elif kind == "mrr":
        rate = result["receive_rate"]["rate"]
        rates = {"mrr": (rate, rate.get("values") or [rate["avg"]])}
    elif kind == "soak":
        rate = result["critical_rate"]["lower"]["rate"]
        rates = {"soak": (rate, [rate["value"]])}
    for goal, (rate, values) in rates.items():
        points.append(_point({**key, "goal": goal}, values, unit=str(rate.get("unit", "")), worse=LOWER))
    if not points or not data.get("passed", True):
        goals = _BOUNDS if data.get("test_type") == "ndrpdr" else (str(data.get("test_type")),)
        problem = one_line(data.get("message") or "the test did not pass")
        points = [Point(key={**key, "goal": goal}, worse=LOWER, unit="pps", problem=problem) for goal in goals]
    labels = {"tester": str(data.get("tg_version") or "")}
    return _run(points, version=data.get("dut_version"), at=_time(data.get("start_time")), labels=labels)


_BOUNDS = ("ndr", "pdr")


def _asv(data: dict[str, Any]) -> Measured:
    """Read the results of a commit of airspeed velocity."""
    columns = data["result_columns"]
    machine = str(data.get("params", {}).get("machine") or "")
    points = []
    for name, row in data["results"].items():
        entry = dict(zip(columns, row, strict=False))
        combinations = list(itertools.product(*(entry.get("params") or [])))
        results = entry["result"] or [None] * len(combinations)
        for combination, value in zip(combinations, results, strict=True):
            full = f"{name}({', '.join(combination)})" if combination else name
            key = {"name": full, "goal": str(data.get("env_name") or ""), "machine": machine}
            points.append(_point(key, [] if value is None else [value]))
    return _run(points, version=data["commit_hash"], at=_time(data.get("date")), labels={})


def _hyperfine(data: dict[str, Any]) -> Measured:
    """Read an export of hyperfine."""
    points = []
    for each in data["results"]:
        # With --command-name all of a scan have one name.
        key = {"name": str(each["command"]), "goal": _parameters(each.get("parameters"))}
        points.append(_point(key, each.get("times") or [each["median"]]))
    return _run(points)


def _pytest_benchmark(data: dict[str, Any]) -> Measured:
    """Read a file of pytest-benchmark."""
    commit, machine = data.get("commit_info") or {}, data.get("machine_info") or {}
    points = []
    for each in data["benchmarks"]:
        stats = each["stats"]
        key = {"name": str(each["fullname"]), "machine": str(machine.get("node") or "")}
        points.append(_point(key, stats.get("data") or [stats["median"]]))
    labels = {"python": str(machine.get("python_version") or "")}
    return _run(points, version=commit.get("id"), at=_time(data.get("datetime")), labels=labels)


def _google_benchmark(data: dict[str, Any]) -> Measured:
    """Read the JSON of Google Benchmark: repetitions, or their median where only aggregates are written."""
    context = data["context"]
    values: dict[str, list[float]] = {}
    medians: dict[str, list[float]] = {}
    for each in data["benchmarks"]:
        name = str(each.get("run_name") or each["name"])
        into = values if each.get("run_type", "iteration") == "iteration" else medians
        if into is values or each.get("aggregate_name") == "median":
            found = into.setdefault(name, [])
            if not each.get("error_occurred"):
                found.append(each["real_time"] * _SECONDS[each["time_unit"]])
    machine = str(context.get("host_name") or "")
    points = [_point({"name": name, "machine": machine}, found) for name, found in {**medians, **values}.items()]
    return _run(points, at=_time(context.get("date")), labels={"library": str(context.get("library_version") or "")})


def _jmh(data: list[dict[str, Any]]) -> Measured:
    """Read the results of JMH: operations a second, or the time of one; the mean of each fork is a value."""
    points = []
    for each in data:
        metric = each["primaryMetric"]
        above, _, below = str(metric["scoreUnit"]).partition("/")
        factor, unit, worse = (1 / _SECONDS[below], "/s", LOWER) if above == "ops" else (_SECONDS[above], "s", HIGHER)
        forks = [sum(fork) / len(fork) for fork in metric.get("rawData") or [] if fork]
        key = {"name": str(each["benchmark"]), "goal": f"{each['mode']} {_parameters(each.get('params'))}".strip()}
        values = [value * factor for value in forks or [float(metric["score"])]]
        points.append(_point(key, values, unit=unit, worse=worse))
    labels = {"java": str(data[0].get("jdkVersion") or "")} if data else {}
    return _run(points, labels=labels)


def _fio(data: dict[str, Any]) -> Measured:
    """Read the JSON of fio: IOs a second and their mean completion latency, by job and direction."""
    points = []
    for job in data["jobs"]:
        for direction in ("read", "write", "trim"):
            found = job.get(direction) or {}
            if not found.get("total_ios"):
                continue
            key = {"name": str(job["jobname"]), "goal": direction}
            problem = f"fio ended with error {job['error']}" if job.get("error") else None
            points.append(_point(key, [found["iops"]], unit="/s", worse=LOWER, problem=problem))
            latency = (found.get("clat_ns") or {}).get("mean")
            if latency is not None:
                points.append(_point({**key, "goal": f"latency of {direction}"}, [latency * 1e-9], problem=problem))
    labels = {"fio": str(data.get("fio version") or "")}
    return _run(points, at=_time(data.get("timestamp_ms")), labels=labels)


def _iperf3(data: dict[str, Any]) -> Measured:
    """Read the JSON of iperf3: what the receiver got, in bits a second."""
    start, end = data["start"], data.get("end") or {}
    test = start.get("test_start") or {}
    peer = (start.get("connecting_to") or start.get("accepted_connection") or {}).get("host")
    way = "reverse" if test.get("reverse") else "both ways" if test.get("bidir") else ""
    key = {"device": str(peer or "unknown"), "goal": " ".join(filter(None, (str(test.get("protocol", "")), way)))}
    received = end.get("sum_received") or {}
    if received.get("bits_per_second"):
        rates = [received["bits_per_second"]]
    else:  # of UDP, before 3.7: what was sent
        rates = [one["bits_per_second"] * (1 - one["lost_percent"] / 100) for one in [end.get("sum")] if one]
    problem = one_line(data["error"]) if data.get("error") else None
    at = float((start.get("timestamp") or {}).get("timesecs") or 0) or None
    labels = {"iperf3": str(start.get("version") or "")}
    return _run([_point(key, rates, unit="bit/s", worse=LOWER, problem=problem)], at=at, labels=labels)


def _parameters(found: dict[str, Any] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted((found or {}).items()))


FORMATS = {
    "csit-uti": Format("a test case of FD.io CSIT", _csit),
    "asv": Format("results of a commit", _asv),
    "hyperfine": Format("what --export-json writes", _hyperfine),
    "pytest-benchmark": Format("what --benchmark-json writes", _pytest_benchmark),
    "google-benchmark": Format("what --benchmark_format=json writes", _google_benchmark),
    "jmh": Format("what -rf json writes", _jmh),
    "fio": Format("what --output-format=json writes", _fio),
    "iperf3": Format("what --json writes", _iperf3),
}
"""Name of a format: what it is, and its reader."""


def _point(
    key: dict[str, str], values: Sequence[float], *, unit: str = "s", worse: str = HIGHER, problem: str | None = None
) -> Point:
    key = {name: one_line(text) for name, text in key.items() if text}
    good = [float(value) for value in values if 0 < float(value) < math.inf]
    if problem or not good:
        return Point(key=key, worse=worse, unit=unit, problem=problem or "it has no result above 0")
    logs = [math.log(value) for value in good]
    error = _PER_MEDIAN * stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return Point(key=key, worse=worse, unit=unit, value=median(good), error=error)


def _on(machine: str, point: Point) -> Point:
    return msgspec.structs.replace(point, key={**point.key, "machine": machine})


def _run(
    points: Sequence[Point],
    *,
    version: object = None,
    at: float | None = None,
    labels: dict[str, str] | None = None,
) -> Measured:
    said = {name: one_line(text) for name, text in (labels or {}).items() if text}
    return Measured(source="", version=one_line(version or ""), at=at, labels=said, points=list(points))


def _time(value: object) -> float | None:
    """Read milliseconds since 1970, or a date with a time; one without a zone is taken as UTC."""
    return value / 1000 if isinstance(value, int | float) else reading.time(str(value))
