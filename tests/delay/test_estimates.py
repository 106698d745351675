"""From trials to results, against plain arithmetic."""

import statistics

import msgspec
import pytest
from brimful.delay import estimates
from brimful.delay.estimates import systematic
from brimful.delay.observed import observe
from brimful.statistics.student import student_quantile
from delay_cases import LOAD, plan, trial
from test_observed import direction, plain

DEVICE = [(5000, 5100, 5200), (5300, 5100, 5000), (5400, 5600, 5500), (5000, 5000, 5300), (5900, 5200, 5100)]
WIRE = [(1000, 1100, 1300), (1200, 1300, 1000), (1500, 1400, 1700), (900, 1200, 1100), (1200, 1000, 1300)]


def results(trials, **changes):
    found = estimates.results(trials, plan(**changes))
    return {(delay.load, delay.direction): delay for delay in found}


def paired():
    rounds = enumerate(zip(DEVICE, WIRE, strict=True))
    return [one for at, (device, wire) in rounds for one in (trial("device", at, device), trial("wire", at, wire))]


def test_the_mean_is_that_of_the_differences_of_rounds():
    found = results(paired())[LOAD, "all"]
    differences = [
        (statistics.fmean(device) - statistics.fmean(wire)) / 1e9 for device, wire in zip(DEVICE, WIRE, strict=True)
    ]
    half = student_quantile(0.975, 4) * statistics.stdev(differences) / 5**0.5
    assert (found.of, found.mean.method, found.mean.batches, found.mean.freedom) == ("device", "paired", 5, 4)
    assert found.mean.value_s == pytest.approx(statistics.fmean(differences))
    assert found.mean.high_s - found.mean.value_s == pytest.approx(half + found.mean.systematic_s)
    assert found.mean.value_s - found.mean.low_s == pytest.approx(half + found.mean.systematic_s)


def test_what_is_common_to_both_paths_cancels():
    """A machine that grows slower from round to round."""
    rounds = [(at, 3_000_000 * at) for at in range(6)]
    trials = [
        one
        for at, slow in rounds
        for one in (trial("device", at, (5000 + slow,) * 3), trial("wire", at, (1000 + slow,) * 3))
    ]
    mean = results(trials)[LOAD, "all"].mean
    assert mean.value_s == pytest.approx(4e-6)
    # Nothing but the tester's own part is left.
    assert mean.high_s - mean.low_s == pytest.approx(2 * mean.systematic_s)


def test_a_wire_measured_apart_takes_part_by_itself():
    trials = [trial("wire", at, wire) for at, wire in enumerate(WIRE)]
    trials += [trial("device", at, device) for at, device in enumerate(DEVICE)]
    found = results(trials, wire="runs/1", wire_run="1")[LOAD, "all"]
    spreads = [statistics.variance([statistics.fmean(one) / 1e9 for one in path]) / 5 for path in (DEVICE, WIRE)]
    freedom = sum(spreads) ** 2 / sum(spread**2 / 4 for spread in spreads)
    half = student_quantile(0.975, freedom) * sum(spreads) ** 0.5
    assert (found.mean.method, found.median) == ("welch", None)
    assert found.mean.high_s - found.mean.value_s == pytest.approx(half + found.mean.systematic_s)


def test_without_a_wire_the_total_is_stated():
    found = results([trial("device", at, device) for at, device in enumerate(DEVICE)], wire=None)[LOAD, "all"]
    assert (found.of, found.mean.method, found.wire) == ("total", "total", None)
    assert found.mean.value_s == pytest.approx(statistics.fmean(sum(DEVICE, ())) / 1e9)


def test_each_direction_has_its_own_result():
    trials = [trial("device", at, device, wire) for at, (device, wire) in enumerate(zip(DEVICE, WIRE, strict=True))]
    found = results(trials, wire=None)
    assert [name for _, name in found] == ["all", "to", "from"]
    to, back, every = (found[LOAD, name].mean.value_s for name in ("to", "from", "all"))
    assert (to + back) / 2 == pytest.approx(every)
    assert found[LOAD, "to"].device.frames == 15
    assert found[LOAD, "all"].device.frames == 30


def test_the_median_is_of_differences_of_rounds():
    trials = []
    for at, stall in enumerate((0, 0, 9_000_000, 0, 0, 0, 0, 0, 0)):
        trials += [trial("device", at, (5000, 5000, 5000 + stall)), trial("wire", at, (1000, 1000, 1100 + at))]
    found = results(trials)[LOAD, "all"]
    assert found.median.method == "sign"
    assert found.median.value_s == pytest.approx(4e-6, rel=2e-3)
    assert found.median.low_s < 4e-6 < found.median.high_s
    assert found.mean.value_s > 0.3e-3


def test_a_round_without_its_other_half_does_not_count():
    trials = [*paired(), trial("device", 5, (1_000_000,) * 3)]
    assert results(trials)[LOAD, "all"].mean == results(paired())[LOAD, "all"].mean


def test_invalid_trials_do_not_count():
    spoiled = [trial("device", 0, (9_000_000,) * 3, invalid="the sender stalled"), *paired()]
    assert results(spoiled) == results(paired())


def test_no_result_without_the_wire_that_was_asked_for():
    assert results([trial("device", 0, DEVICE[0])]) == {}


def test_loss_is_said():
    lossy = [
        msgspec.structs.replace(one, directions=[direction((5000,) * 3, sent=4)]) if one.path == "device" else one
        for one in paired()
    ]
    said = estimates.warnings(results(lossy).values())
    assert [warning.code for warning in said] == ["delay-under-loss"]
    assert "5 of 20 frames" in said[0].text


def looks(*polls):
    return [observe([direction((1000,), polls=list(polls))], where="here")["all"]]


def absences(trials, delay_s):
    return systematic(trials, [], delay_s)


def test_a_tester_that_does_not_tell_is_assumed_to_look_every_microsecond():
    found = absences(looks(), 50e-6)
    assert found.of_mean_s == found.of_median_s == pytest.approx(1.001e-6)


def test_frames_whose_arrival_the_kernel_notes_wait_for_no_look():
    found = absences(looks((1000, 0.0)), 50e-6)
    assert found.of_mean_s == found.of_median_s == pytest.approx(1e-9)


def test_short_times_between_looks_add_half_of_themselves():
    found = absences(looks((1000, 1000 * 0.2e-6)), 50e-6)
    assert found.of_median_s == pytest.approx(0.201e-6)
    assert found.of_mean_s == pytest.approx(0.301e-6)


def test_long_absences_add_their_share_of_the_delay_at_most():
    """Against every single frame: one a nanosecond, sent unless the tester is away, taken when it is back."""
    delay, period, away = 50, 1000, 200
    # Present from 0 to 799 of every period, away from then on.
    sent = range(period - away)
    waits = [period - arrival if period - away < (arrival := at + delay) < period else 0 for at in sent]
    expected = sum(waits) / period
    found = absences(looks((800, 800e-9), (1, 200e-9)), delay * 1e-9)
    usual = 1e-9 + 1000e-9 / 801
    # Never less; more by no more than the grain of one nanosecond.
    assert 0 <= found.of_mean_s - usual - expected * 1e-9 <= 1e-9
    assert found.of_mean_s - usual < 0.2 * delay * 1e-9


@pytest.mark.parametrize("histogram", [plain, lambda times: None])
def test_waits_over_the_wire_count_up_to_the_delay(histogram):
    wire = [observe([direction((1000, 1000, 3000, 9000, 1000), encode=histogram)], where="here")["all"]]
    for delay_ns, waits in ((500, (0, 0, 500, 500, 0)), (4000, (0, 0, 2000, 4000, 0))):
        found = systematic(looks((10**6, 1e-6)), wire, delay_ns / 1e9)
        expected = statistics.fmean(waits) if histogram is plain else min(delay_ns, 2000)
        assert found.of_mean_s == pytest.approx((1 + expected) * 1e-9, abs=6e-12 + 1e-3 * 4e-6)
        assert found.of_median_s == pytest.approx(1e-9, abs=2e-12)


def test_a_device_that_absorbs_the_bursts_of_the_tester_is_within_the_interval():
    """Frames of a burst wait for its end on the wire; the device holds them until after that."""
    burst = tuple(range(1000, 41000, 1000))
    trials = []
    for at in range(8):
        trials += [trial("device", at, (50_000,) * 40), trial("wire", at, burst)]
    found = results(trials)[LOAD, "all"]
    assert found.mean.value_s < 30e-6
    assert found.mean.low_s <= 49e-6 <= found.mean.high_s
    assert found.median.low_s <= 49e-6 <= found.median.high_s
