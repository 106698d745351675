"""Slow devices lose, slow testers spoil, and dead paths are told apart from both, on the program itself."""

import os

import pytest
from brimful.lab import links, open_lab
from brimful.measurers.base import InvalidTrialError
from honest_trials import PLACES, device_port, hogs, kept_processors, lab_tester, own_tester, valid_trial

MAC_OF_TB = "02:62:72:69:00:0b"


def test_what_a_device_does_not_forward_is_its_loss_to_the_frame(own_interfaces):
    with lab_tester("bridge") as measurer:
        bridge = measurer._lab._keepers[1].namespace
        # To be sent out of the port that they came in by: a bridge does not do that.
        links.configure_bridge(bridge, [f"fdb replace {MAC_OF_TB} dev {device_port(measurer, 0)} master static sticky"])
        trial = valid_trial(measurer, 2000.0, 0.2)
    there, back = trial.directions
    assert (there["from"], there["sent"], there["lost"]) == ("ta", 400, 400)
    assert (back["from"], back["sent"], back["lost"]) == ("tb", 400, 0)
    assert {place: there["account"]["lost"][place] for place in PLACES if there["account"]["lost"][place]} == {
        "device": 400
    }
    (warning,) = trial.warnings
    assert warning["code"] == "dead-direction"
    assert warning["text"] == "400 frames sent by ta are all that it sent to tb: none arrived"


@pytest.mark.parametrize("back_end", ["packet", "xdp-native"])
def test_a_load_beyond_the_tester_is_no_loss_of_the_device(own_interfaces, back_end):
    with open_lab("wire") as lab, own_tester(lab, f"--back-end={back_end}") as measurer:
        for _ in range(3):
            with pytest.raises(InvalidTrialError) as spoiled:
                measurer.measure(20e6, 0.1)
    for direction in spoiled.value.reply["directions"]:
        assert direction["unsent"] > 0
        assert direction["sent"] + direction["unsent"] == direction["intended"] == 2_000_000
        assert direction["account"]["lost"]["between"] == 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one processor there is none to take away")
def test_a_tester_without_its_processor_says_so_instead_of_losing(own_interfaces):
    with open_lab("wire") as lab, own_tester(lab, "--priority=normal") as measurer:
        measurer.describe()
        with hogs(kept_processors(lab)):
            for _ in range(3):
                with pytest.raises(InvalidTrialError, match=r"on schedule|stalled|rate was off|dropped") as spoiled:
                    measurer.measure(200e3, 0.5)
                assert "dropped" in str(spoiled.value) or "the load average is" in spoiled.value.reply["hint"]
