"""Fits of published results, against those of the reference program, and what the exact method changes."""

import gzip
import itertools
import json
import math
import os
from pathlib import Path

import pytest
from brimful._core import Lines, fit_series

SHAPES = {
    "isol": "non-increasing",
    "work-csv": "any",
    "aMOF": "single-peak",
}


def shared() -> Path:
    root = Path(__file__).parents[2]
    data = Path(os.environ.get("BRIMFUL_SHARED", root.parent / "shared")) / "iocost"
    if not data.is_dir():
        pytest.skip(f"published results are needed: set BRIMFUL_SHARED to the folder with {data.name}")
    return data


def published():
    """Each series of each result: its name, the reference's fit, its points, where it was cut."""
    data = shared()
    for path in sorted((data / "expected").glob("2.*.json")):
        expected = json.loads(path.read_text())
        raw = data / "raw" / expected["version"] / expected["device"] / expected["file"]
        jobs = json.loads(gzip.decompress(raw.read_bytes()))
        stored = next(job for job in jobs if job["spec"]["kind"] == "iocost-tune")["result"]["data"]
        for name, fit in expected["resolved_fit"].items():
            parts = [stored[name].get(key, []) for key in ("data", "points", "outliers")]
            points = [(point["x"], point["y"]) for part in parts for point in part]
            last = max((x for x, _ in points), default=0)
            is_cut = name.startswith("aMOF") and fit["range"][1] not in (last, 0)
            yield f"{path.stem} {name}", fit, points, fit["range"][1] if is_cut else None


def shape(name):
    return SHAPES.get(name.split()[-1], "non-decreasing")


def flat(places):
    return [value for place in places for value in place]


def score(points, vertices):
    line = Lines(vertices)
    bends = 0 if len({y for _, y in vertices}) < 2 else len(vertices) - 1
    return math.hypot(*(y - line.evaluate(x) for x, y in points)) * 1.025**bends


def test_compatible_fits_are_those_of_the_reference():
    seen = 0
    for name, expected, points, cut in published():
        is_latency = name.split()[-1][1:4] == "lat"
        lines, kept, rejected, error = fit_series(points, shape(name), "compatible", cut, is_latency)
        assert flat(lines.vertices) == pytest.approx(flat(expected["points"]), rel=1e-9), name
        # The reference reads some decimal numbers wrong in the last digit.
        assert flat(sorted(rejected)) == pytest.approx(flat(sorted(expected["rejected"])), rel=1e-12), name
        assert len(kept) == expected["n"], name
        assert error == pytest.approx(expected["error"], rel=1e-9, abs=1e-15), name
        seen += 1
    assert seen > 200


def test_exact_fits_are_no_worse_where_the_compatible_ones_have_wide_segments():
    for name, _, points, cut in published():
        kept = [(x, y) for x, y in points if cut is None or x <= cut]
        compatible, exact = (fit_series(kept, shape(name), method)[0] for method in ("compatible", "exact"))
        places = [x for x, _ in compatible.vertices]
        widths = [right - left for left, right in itertools.pairwise(places)]
        if len(widths) == 1 or all(width >= 10 for width in widths):
            assert score(kept, exact.vertices) <= score(kept, compatible.vertices) * (1 + 1e-9) + 1e-15, name
