"""The sentences that people read."""

import math
import runpy
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from brimful import records
from brimful.discards import findings
from brimful.statistics.before_after import compare_paired, compare_samples, dose_classes, dose_response, holm
from brimful.statistics.change_points import change_points
from hypothesis import given
from hypothesis import strategies as st

BENCH = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "bench" / "discards_power.py")))
FIRST = date(2018, 1, 1)


def of_series(hits, bins=None):
    bins = bins or [8640] * len(hits)
    days = [FIRST + timedelta(day) for day in range(len(hits))]
    return findings.of_change_points("dfw02", hits, bins, change_points(days, hits, bins))


def told(found):
    """Give codes and sentences; the data has to survive the way through a file."""
    for finding in found:
        assert records.decode_line(records.encode(finding), where="here").data.keys() == finding.data.keys()
    return "\n".join(f"{finding.code}: {finding.text}" for finding in found)


@pytest.mark.parametrize(
    ("hits", "bins"),
    [
        pytest.param([0] * 40 + [2400, 2600] * 20 + [0] * 30, None, id="begin and stop"),
        pytest.param([0, 0, 1, 2, 0] * 12 + [1500] * 40, None, id="level"),
        pytest.param([300] * 40 + [0] * 30, [8640] * 38 + [0] * 4 + [8640] * 28, id="stop in an outage"),
        pytest.param([700] * 40 + [0] * 20 + [3] + [0] * 20, None, id="a false day since"),
        pytest.param([0] * 40, None, id="none"),
        pytest.param([0] * 40, [0] * 40, id="no telemetry"),
        pytest.param([0] * 40 + [1], None, id="one day"),
    ],
)
def test_changes_are_told(hits, bins, snapshot):
    assert told(of_series(hits, bins)) == snapshot


def test_comparisons_are_told(snapshot):
    worlds = {
        ("dfw01", "download_max"): (400, 1.0),
        ("dfw02", "download_max"): (3000, 0.7),
        ("dfw03", "download_median"): (4, 1.0),
    }
    compared = {
        key: compare_samples(*BENCH.periods(size, 1, ratio=ratio), seed=1, family_size=2)
        for key, (size, ratio) in worlds.items()
    }
    found = findings.of_comparisons(compared)
    assert told(found) == snapshot
    first = found[0].data
    assert first["holm_p"] == holm([compared[key].p_value for key in list(worlds)[:2]])[0]


def test_paired_comparisons_are_told(snapshot):
    worlds = {("dfw01", "download_max"): (400, 1.0), ("dfw02", "download_max"): (400, 0.9), ("x", "y"): (3, 1.0)}
    compared = {
        key: compare_paired(*BENCH.periods(size, 1, ratio=ratio, paired=True), seed=1, family_size=2)
        for key, (size, ratio) in worlds.items()
    }
    assert told(findings.of_paired(compared)) == snapshot


def test_values_that_are_all_equal_are_told(snapshot):
    same = np.full(30, 1e6)
    key = ("dfw01", "download_max")
    assert (
        told(
            [
                *findings.of_comparisons({key: compare_samples(same, same, seed=1)}),
                *findings.of_paired({key: compare_paired(same, same, seed=1)}),
            ]
        )
        == snapshot
    )


def test_the_dose_response_is_told(snapshot):
    generator = np.random.default_rng(1)
    base = generator.normal(7, 0.5, 200)
    doses = 10 ** generator.uniform(0, 3, 200)
    columns = (
        base - 0.02 * np.log10(doses) + generator.normal(0, 0.05, 200),
        base,
        np.full(200, 3),
        np.full(200, 12),
    )
    few = [column[:2] for column in columns]
    responses = {
        "dfw02": [dose_response(*columns), *dose_classes(*columns, doses)],
        "dfw03": [dose_response(*few)],
    }
    found = findings.of_dose_responses(responses)
    assert told(found) == snapshot
    data = found[0].data
    rows = [(one["p_value"], one["holm_p"]) for one in (data, *data["classes"]) if one["p_value"] is not None]
    assert [corrected for _, corrected in rows] == holm([p_value for p_value, _ in rows])
    assert (data["tests"], found[1].data["holm_p"]) == (len(rows), None)


@given(st.floats(0.01, 100), st.floats(1e-5, 5), st.floats(1e-5, 5))
def test_no_more_digits_than_the_interval_supports(value, below, above):
    text = findings.with_interval(value, (value - below, value + above))
    digits = len(text.split(" ")[0].partition(".")[2])
    half_width = (below + above) / 2
    assert digits <= max(0, math.ceil(-math.log10(half_width)) + 1)


@given(st.floats(1e-6, 50))
def test_what_is_promised_is_rounded_up(change):
    said = findings._rounded_up(change)
    number = float(said.removesuffix(" %").replace(",", "")) / 100
    assert change * (1 - 1e-6) <= number <= change * 1.11
