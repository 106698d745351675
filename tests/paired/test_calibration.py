"""The load at which a device is compared, and the length of its trials."""

import pytest
from brimful.paired.calibration import Calibration
from brimful.records import Trial
from comparing import Drifting
from support import sharp


def test_a_queue_that_is_not_there_is_not_subtracted():
    for seed in range(30):
        calibration, device = Calibration(0.25, first_load=2e5, queue=None), Drifting(1e5, None, seed=seed)
        while not calibration.is_done:
            load, duration_s = calibration.next()
            output = device.measure(load, duration_s)
            calibration.record(
                Trial(seq=0, load=load, duration_s=duration_s, intended=output.sent, sent=output.sent, lost=output.lost)
            )
        assert calibration.queue == 0


@pytest.mark.parametrize(("capacity", "trial_s"), [(100e3, 0.5), (20e3, 0.8), (100.0, 4.0)])
def test_trials_are_longer_where_most_of_what_arrives_is_from_the_queue(capacity, trial_s):
    calibration = Calibration(0.5, first_load=2e5, queue=8000)
    while not calibration.is_done:
        load, duration_s = calibration.next()
        sent = round(load * duration_s)
        lost = max(0, sent - round(capacity * duration_s) - 8000)
        calibration.record(Trial(seq=0, load=load, duration_s=duration_s, intended=sent, sent=sent, lost=lost))
    assert calibration.trial_s == pytest.approx(trial_s, rel=0.01)


def test_calibration_begins_far_below_any_device_where_nothing_is_known():
    calibration = Calibration(0.5)
    while not calibration.is_done:
        load, duration_s = calibration.next()
        sent, lost = sharp(3e7)(load, duration_s)
        calibration.record(Trial(seq=0, load=load, duration_s=duration_s, intended=sent, sent=sent, lost=lost))
    assert calibration.load == pytest.approx(1.3 * 3e7, rel=0.01)
    assert calibration.trials < 24
