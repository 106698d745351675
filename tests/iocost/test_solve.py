"""Rules on lines that can be checked by hand, and how certain the answers are."""

import pytest
from brimful._core import Lines
from brimful.iocost import read, rules, solve, uncertainty
from brimful.iocost.analysis import analyse
from brimful.iocost.rules import Task, parse_job_spec
from brimful.iocost.selectors import AMOF, AMOF_DELTA, ISOLATION, LATENCY_IMPACT, MOF, latency
from iocost import results

STEP = Lines([(10.0, 1.0), (40.0, 1.0), (60.0, 2.0), (100.0, 2.0)])
FLAT = Lines([(10.0, 1.0), (100.0, 1.0)])


def test_extremes_of_a_line():
    assert solve.leftmost_max(STEP, 0.0) == 60.0
    assert solve.rightmost_max(STEP, 0.0) == 100.0
    assert solve.rightmost_min(STEP, 0.0) == 40.0
    assert solve.leftmost_min(STEP, 0.0) == 10.0


def test_a_margin_keeps_off_the_slope():
    assert solve.leftmost_max(STEP, 0.1) == pytest.approx(66.0)
    assert solve.rightmost_min(STEP, 0.1) == pytest.approx(36.0)
    assert solve.rightmost_max(STEP, 0.1) == 100.0
    assert solve.rightmost_max(Lines([(0.0, 1.0), (50.0, 2.0), (100.0, 1.0)]), 0.1) == 50.0


def test_on_a_flat_line_the_right_end_counts():
    assert solve.rightmost_max(FLAT, 0.1) == solve.rightmost_min(FLAT, 0.1) == solve.leftmost_min(FLAT, 0.1) == 100.0
    assert solve.leftmost_max(FLAT, 0.1) == 10.0
    assert solve.leftmost_max(FLAT, 0.1, flat=50.0) == 50.0
    assert solve.leftmost_max(FLAT, 0.1, flat=500.0) == 100.0


def fits(**lines):
    selectors = {"mof": MOF, "amof": AMOF, "delta": AMOF_DELTA, "isol": ISOLATION, "impact": LATENCY_IMPACT}
    known = {latency(direction, "99"): Lines([(10.0, 0.001), (110.0, 0.011)]) for direction in "rw"}
    known |= {selector: lines.get(name, FLAT) for name, selector in selectors.items()}
    return solve.Fits({key: solve.FittedSeries(key, [], [], value, 0.0) for key, value in known.items()})


def solved(target, **lines):
    return solve.solve(target, fits(**lines), Task())


def test_fixed_solutions():
    setting = solved(rules.BANDWIDTH, amof=Lines([(10.0, 1.0), (70.0, 2.0)]))
    assert (setting.vrate, setting.min, setting.max, setting.rpct, setting.rlat_us) == (70.0, 70.0, 70.0, 0.0, 7000)
    assert solved(rules.ISOLATION, delta=STEP).vrate == 40.0
    peak = Lines([(10.0, 1.0), (50.0, 2.0), (70.0, 1.0)])
    assert solved(rules.ISOLATED_BANDWIDTH, amof=peak, delta=STEP).vrate == 50.0
    assert (
        solved(rules.ISOLATED_BANDWIDTH, amof=peak, delta=Lines([(10.0, 0.1), (65.0, 0.1), (70.0, 0.2)])).vrate == 65.0
    )


def test_a_flat_mof_is_decided_by_latency_impact():
    assert solved(rules.OffloadMaximum(MOF), mof=FLAT, impact=STEP).vrate == 40.0
    assert solved(rules.OffloadMaximum(MOF), mof=STEP, impact=STEP).vrate == 60.0


def test_parts_of_a_latency_slope():
    quarter = solved(rules.LatencyRange("r", "99", 0.25, 0.5))
    # The line rises from 10 to the end of the range, 100.
    assert (quarter.min, quarter.max, quarter.rpct, quarter.wlat_us) == (32.5, 55.0, 99.0, 0)
    top = solved(rules.LatencyRange("w", "99", 0.75, 1.0))
    assert (top.min, top.max, top.wpct, top.rlat_us) == (77.5, 100.0, 99.0, 0)


def test_a_rule_without_solution_says_why():
    with pytest.raises(solve.UnsolvedError, match=r"aMOF has no data: no run .* could be protected"):
        solved(rules.BANDWIDTH, amof=Lines([]))
    with pytest.raises(solve.UnsolvedError, match="rlat-90-mean"):
        solved(rules.VrateRange(75.0, 100.0, "90", None))


def test_scaling_rounds_as_the_benchmark_does():
    assert solve.round_half_up(0.49999999999999994) == 0
    assert [solve.round_half_up(value) for value in (0.5, 1.5, 2.5, 2.4)] == [1, 2, 3, 2]
    setting = solve.Setting(50.0, 37.504, 50.0, 99.0, 10, 0.0, 0)
    assert solve.scaled_qos(setting) == {"rpct": 99.0, "rlat": 10, "wpct": 0.0, "wlat": 0, "min": 75.01, "max": 100.0}


@pytest.fixture
def analysis(tmp_path):
    (result,) = read.read_results(results.write(tmp_path / "r.json", [results.qos_job()]))
    return analyse(result, Task(), method="compatible")


def test_intervals_hold_the_scale_factor_and_repeat(analysis):
    known = uncertainty.intervals(analysis, resamples=50)
    assert known == uncertainty.intervals(analysis, resamples=50)
    assert set(known) == {rule.name for rule in rules.DEFAULT} - {"naive"}
    for name, found in known.items():
        low, high = found.interval
        assert low <= analysis.settings[name][1].vrate / 100 <= high
    assert all(found.interval is None for found in uncertainty.intervals(analysis, resamples=0).values())


def test_advice_names_vrates_within_the_widest_interval(analysis):
    known = uncertainty.intervals(analysis, resamples=60)
    advice = uncertainty.advise(analysis, known, resamples=40)
    widest = max(known.values(), key=lambda found: found.width)
    low, high = (end * 100 for end in widest.interval)
    assert known[advice.name] == widest
    assert all(low <= vrate <= high for vrate in advice.vrates)
    assert uncertainty.job_spec(advice).startswith(f"iocost-qos::vrate={advice.vrates[0]:g}")


def test_the_interval_is_as_wide_as_results_scatter(tmp_path):
    """On three benchmarks of one device, most answers lie within the intervals of the others."""
    if not results.EXPECTED:
        pytest.skip("the published results are not here; set BRIMFUL_SHARED")
    answers = []
    for path in results.EXPECTED:
        expected = results.read_expected(path)
        if expected["device"] != "Samsung_SSD_870":
            continue
        (result,) = read.read_results(results.raw_path(expected))
        task = parse_job_spec("iocost-tune::name=bandwidth,amof=max-vrate")
        whole = analyse(result, task, method="compatible")
        known = uncertainty.intervals(whole)["bandwidth"].interval
        answers.append((whole.settings["bandwidth"][1].vrate / 100, known))
    inside = [low <= scale <= high for scale, _ in answers for _, (low, high) in answers]
    assert len(answers) == 3
    assert sum(inside) >= 8
