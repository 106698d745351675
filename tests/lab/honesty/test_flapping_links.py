"""A link that goes down spoils the trial that it was part of, however short the moment, and no other trial."""

import threading
import time

import pytest
from brimful.measurers.base import InvalidTrialError
from honest_trials import device_port, in_device, lab_tester, valid_trial

CABLE_END = "da"


def flap(measurer, after_s, down_s=0.0):
    """Take the device's end of a cable down for a moment, later."""

    def down_and_up():
        time.sleep(after_s)
        in_device(measurer, f"link set dev {CABLE_END} down")
        time.sleep(down_s)
        in_device(measurer, f"link set dev {CABLE_END} up")

    thread = threading.Thread(target=down_and_up)
    thread.start()
    return thread


@pytest.mark.parametrize("down_s", [0.0, 0.1])
def test_while_frames_are_sent(own_interfaces, down_s):
    with lab_tester("bridge") as measurer:
        valid_trial(measurer, 1000.0, 0.1)
        flapping = flap(measurer, 0.3, down_s)
        with pytest.raises(InvalidTrialError, match="link of ta"):
            valid_trial(measurer, 1000.0, 2.0)
        flapping.join()
        assert valid_trial(measurer, 1000.0, 0.1).lost == 0


def test_while_frames_are_waited_for(own_interfaces):
    with lab_tester("bridge", "--straggler-wait=3s") as measurer:
        in_device(measurer, f"link set dev {device_port(measurer, 1)} nomaster")
        flapping = flap(measurer, 1.0)
        with pytest.raises(InvalidTrialError, match="link of ta"):
            valid_trial(measurer, 1000.0, 0.1)
        flapping.join()


def test_between_trials(own_interfaces):
    with lab_tester("bridge") as measurer:
        valid_trial(measurer, 1000.0, 0.1)
        in_device(measurer, f"link set dev {CABLE_END} down")
        with pytest.raises(InvalidTrialError, match="the link of ta is down"):
            measurer.measure(1000.0, 0.1)
        in_device(measurer, f"link set dev {CABLE_END} up")
        assert valid_trial(measurer, 1000.0, 0.1).lost == 0
