"""Published results and what the reference prints of them, as record files; and a device that was made up."""

import gzip
import json
import os
from pathlib import Path

import pytest
from brimful.records import Finding, Fit, Run, RunFile, Series, Solution, Warning
from support import ROOT

SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "iocost"

SHAPES = {"isol": "non-increasing", "aMOF": "single-peak", "work-csv": "any"}
SERIES = [
    *("MOF", "isol", "aMOF", "aMOF-delta", "lat-imp", "work-csv"),
    *(
        f"{side}lat-{requests}-{seconds}"
        for side in "rw"
        for seconds, requests in (
            ("mean", "50"),
            ("mean", "99"),
            ("99", "50"),
            ("99", "99"),
            ("100", "50"),
            ("100", "100"),
        )
    ),
]
"""In the order of the reference."""
RULES = {
    "naive": "vrate=75-100, rpct=99, wpct=99",
    "bandwidth": "aMOF=max-vrate",
    "isolated-bandwidth": "(aMOF=right-max).clamp(isolation, bandwidth)",
    "isolation": "aMOF-delta=min",
    "rlat-99-q1": "rlat-99=0.75-1",
    "rlat-99-q2": "rlat-99=0.5-0.75",
    "rlat-99-q3": "rlat-99=0.25-0.5",
    "rlat-99-q4": "rlat-99=0-0.25",
}


ABSENT = pytest.mark.skip(reason="the published results are not there: set BRIMFUL_SHARED")


def sample_names():
    """Names of the published results; one that is skipped, where they are absent."""
    names = sorted(path.stem for path in (SHARED / "expected").glob("2.*.json"))
    return names or [pytest.param("absent", marks=ABSENT)]


def expected(name):
    return json.loads((SHARED / "expected" / f"{name}.json").read_text(), parse_float=_read_as_reference)


def _read_as_reference(text):
    """Read a number as the reference does before it prints it: digits, then a power of ten, each rounded.

    So 0.9552499999999999 becomes 0.95525, and 95.53 % where 95.52 % is right.
    """
    mantissa, _, exponent = text.partition("e")
    whole, _, decimals = mantissa.partition(".")
    power = int(exponent or 0) - len(decimals)
    digits = float(int(whole + decimals))
    return digits * 10.0**power if power >= 0 else digits / 10.0**-power


def expected_text(name):
    return gzip.decompress((SHARED / "expected" / "text" / f"{name}.format.txt.gz").read_bytes()).decode()


def published(name):
    """Make the record that the reference's own fits and solutions of a published result come to."""
    facts = expected(name)
    raw = SHARED / "raw" / facts["version"] / facts["device"] / facts["file"]
    jobs = json.loads(gzip.decompress(raw.read_bytes()))
    job = next(job for job in jobs if job["spec"]["kind"] == "iocost-tune")
    series, fits = [], []
    for series_name in SERIES:
        stored = job["result"]["data"][series_name]
        # The key is "points" before version 2.2.
        points = [(point["x"], point["y"]) for key in ("data", "points", "outliers") for point in stored.get(key, [])]
        one_series, fit = _fitted(series_name, facts["resolved_fit"][series_name], points)
        series.append(one_series)
        fits.append(fit)
    return record(
        run=_run(facts, job),
        series=series,
        fits=fits,
        solutions=[_solution(rule, target, facts["resolved_solutions"].get(rule)) for rule, target in RULES.items()],
        findings=[Finding(code="remark", text=text) for text in facts["resolved_remarks"]],
    )


def merged_names():
    """Names of the published results that are merged from others, with those that they are merged from."""
    merged = {
        "2.2_KXG50ZNV256G_TOSHIBA": ["4313a9cd", "a8a758ea"],
        "2.2_Samsung_SSD_870": ["3599c212", "8c1e0635", "dba43f9c"],
    }
    if not SHARED.exists():
        return [pytest.param("absent", [], marks=ABSENT)]
    return [pytest.param(name, [f"{name}_{part}" for part in parts], id=name) for name, parts in merged.items()]


def merged(name, parts):
    """Make the record that the reference's merge of published results comes to."""
    path = SHARED / "expected" / "merged" / f"{name}.json"
    result = json.loads(path.read_text(), parse_float=_read_as_reference)["results"][0]
    sources = [published(part) for part in parts]
    series, fits = [], []
    for number, series_name in enumerate(SERIES):
        points = [point for source in sources for point in source.series[number].points]
        one_series, fit = _fitted(series_name, result["fit"][series_name], points)
        series.append(one_series)
        fits.append(fit)
    return record(
        run=sources[0].run,
        series=series,
        fits=fits,
        solutions=[_solution(rule, target, result["solutions"].get(rule)) for rule, target in RULES.items()],
        findings=[Finding(code="remark", text=text) for text in result["remarks"]],
    )


def merged_text(name):
    return gzip.decompress((SHARED / "expected" / "merged" / f"{name}.format.txt.gz").read_bytes()).decode()


def record(run, **records):
    return RunFile(
        path=Path("run.jsonl"),
        run=run,
        **{"trials": [], "bounds": [], "goal_results": [], "warnings": [], "ends": []} | records,
    )


def _fitted(name, fit, points):
    points = sorted(points)
    # The expected points are rounded; rejected ones are told by being equal to measured ones.
    rejected = [
        min(points, key=lambda point: abs(point[0] - wanted[0]) + abs(point[1] - wanted[1]))
        for wanted in fit["rejected"]
    ]
    series = Series(name=name, points=points, y_unit="s" if name[1:].startswith("lat-") else "")
    return series, Fit(
        series=name,
        method="compatible",
        shape=SHAPES.get(name, "non-decreasing"),
        vertices=[tuple(point) for point in fit["points"]],
        error=fit["error"],
        rejected=rejected,
    )


def _solution(name, target, found):
    if found is None:
        return Solution(name=name, target=target, unsolved="")
    return Solution(
        name=name,
        target=target,
        scale_factor=found["scale"],
        model=found["model"],
        qos=found["qos"],
        info=found["info"],
    )


def _run(facts, job):
    system = job["sysinfo"]
    found = system["sysreqs_report"]
    return Run(
        schema=1,
        run_id="tune-1",
        started="2026-01-02T03:04:05+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=[],
        host={},
        subject="block-device",
        device={
            "name": found["scr_dev"],
            "device_number": ":".join(map(str, found["scr_devnr"])),
            "model": found["scr_dev_model"],
            "firmware": found["scr_dev_fwrev"],
            "size_bytes": found["scr_dev_size"],
            "scheduler": found["scr_dev_iosched"],
        },
        source={
            "files": [facts["file"]],
            "period_s": job["period"],
            "system": {
                "kernel": found["kernel_version"],
                "cpus": found["nr_cpus"],
                "memory_bytes": found["total_memory"],
                "swap_bytes": found["total_swap"],
                "swappiness": system["swappiness"],
            },
            "memory": {
                "profile": system["mem"]["profile"],
                "available_bytes": system["mem"]["avail"],
                "share_bytes": system["mem"]["share"],
                "target_bytes": system["mem"]["target"],
            },
            "controller": {key: system["iocost"][key] for key in ("model", "qos")},
            "base_model": facts["base_model"],
            "base_qos": facts["base_qos"],
            "isolation_percentile": facts["isol_pct"],
            "isolation_threshold": facts["isol_thr"],
            "runs": facts["resolved_fit"]["MOF"]["n"],
        },
    )


BASE_MODEL = {
    "rbps": 571_000_000,
    "rseqiops": 81_000,
    "rrandiops": 98_123,
    "wbps": 402_000_000,
    "wseqiops": 60_000,
    "wrandiops": 900,
}


def invented_run(**changes):
    """The facts of a device that nobody sells."""
    facts = {
        "tool": {"name": "brimful", "version": "0.1.0"},
        "device": {
            "name": "sdz",
            "device_number": "8:400",
            "model": "Tincan 9000",
            "firmware": " T1",
            "size_bytes": 2_000_398_934_016,
            "scheduler": "none",
        },
        "source": {
            "files": ["result-0123456789abcdef.json.gz"],
            "period_s": [1_700_000_000, 1_700_030_000],
            "system": {"kernel": "6.9.1", "cpus": 8, "memory_bytes": 2**34, "swap_bytes": 2**32, "swappiness": 60},
            "memory": {
                "profile": 16,
                "available_bytes": 15 * 2**30,
                "share_bytes": 12 * 2**30,
                "target_bytes": 11 * 2**30,
            },
            "controller": {
                "model": BASE_MODEL,
                "qos": {"enable": 1, "rpct": 95.0, "rlat": 5000, "wpct": 95.0, "wlat": 9000, "min": 50.0, "max": 150.0},
            },
            "benchmark": {
                "hash_bytes": 1_258_291,
                "rps_max": 1200,
                "memory_bytes": 10 * 2**30,
                "memory_fraction": 0.62,
                "chunk_pages": 25,
                "fake_cpu_load": False,
            },
            "base_model": BASE_MODEL,
            "isolation_percentile": "05",
            "isolation_threshold": 0.9,
            "runs": 6,
            "missed_requirements": {"Swap": ["2.0G is less than 4.8G"], "NoWbt": []},
        },
    }
    return Run(
        schema=1,
        run_id="tune-2",
        started="2026-01-02T03:04:05+00:00",
        command=[],
        host={},
        subject="block-device",
        **facts | changes,
    )


def solution(name, scale=0.7, interval=None, **changes):
    facts = {
        "target": RULES[name],
        "scale_factor": scale,
        "interval": interval,
        "model": {key: round(value * scale) for key, value in BASE_MODEL.items()},
        "qos": {"rpct": 0.0, "rlat": 2731, "wpct": 0.0, "wlat": 29021, "min": 100.0, "max": 100.0},
        "info": {
            "MOF": 1.3 + scale / 10,
            "aMOF": 1.2,
            "aMOF_delta": 0.1,
            "isol": 0.9563,
            "mem_profile": 16,
            "rlat": {"50": {"mean": 0.0002, "99": 0.0014}, "99": {"mean": 0.0027, "99": 0.0999}, "100": {"100": 1.2}},
        },
    }
    return Solution(name=name, **facts | changes)


def unsolved(name, reason):
    return Solution(name=name, target=RULES[name], unsolved=reason)


def invented():
    """A device with some of everything that a report can show."""
    return record(
        run=invented_run(),
        series=[
            Series("MOF", [(20.0, 1.1), (40.0, 1.2), (60.0, 1.35), (80.0, 1.38), (100.0, 1.41), (120.0, 1.4)]),
            Series("isol", [(20.0, 1.0), (40.0, 0.98), (60.0, 0.97), (80.0, 0.9), (100.0, 0.7), (120.0, 0.55)]),
            Series("aMOF", [(20.0, 0.97), (40.0, 1.2), (60.0, 1.3), (80.0, 1.21)]),
            Series("rlat-99-mean", [(1.0, 0.002), (40.0, 0.0021), (60.0, 0.012), (80.0, 0.0026)], y_unit="s"),
            Series("wlat-99-mean", [], y_unit="s"),
        ],
        fits=[
            Fit("MOF", "exact", "non-decreasing", [(20.0, 1.1), (70.0, 1.39), (120.0, 1.4)], 0.004),
            Fit("isol", "exact", "non-increasing", [(20.0, 0.99), (60.0, 0.99), (120.0, 0.55)], 0.003),
            Fit("aMOF", "exact", "single-peak", [(20.0, 0.97), (60.0, 1.3), (80.0, 1.21)], 0.001),
            Fit("rlat-99-mean", "exact", "non-decreasing", [(1.0, 0.0022), (80.0, 0.0022)], 2e-4, [(60.0, 0.012)]),
            Fit("wlat-99-mean", "exact", "non-decreasing", [], 0.0),
        ],
        solutions=[
            solution("naive", 1.0),
            solution("bandwidth", 0.733, (0.691, 0.775)),
            solution("isolated-bandwidth", 0.733, (0.6, 0.775)),
            solution("isolation", 0.5, (0.41, 0.52)),
            unsolved("rlat-99-q1", "the line of rlat-99-mean is flat"),
            unsolved("rlat-99-q2", "the line of rlat-99-mean is flat"),
        ],
        findings=[
            Finding(code="remark", text="Mean read latencies cannot be modulated with throttling."),
            Finding(
                code="measure-next",
                text="2 more vrates between 45 and 60 would about halve the interval of isolation.",
                subject="isolation",
                data={"vrates": [47.5, 52.5], "job_spec": "iocost-qos::vrate=47.5:vrate=52.5"},
            ),
        ],
        warnings=[Warning(code="missing-reports", text="12 % of the reports of run 3 are missing")],
    )
