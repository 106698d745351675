"""Each way into the kernel, on real interfaces."""

import contextlib
import subprocess

import pytest
from brimful.lab import open_lab
from brimful.measurers import tester
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer

SPOILED_BY_LOAD = ("on schedule", "stalled", "the rate was off")


def measure(lab, *arguments, load=2000.0):
    """Perform a trial; what other work on this machine spoils is repeated."""
    command = lab.command([tester.tester_program(), *lab.tester_arguments(), "--max-stall=1s", *arguments])
    measurer = CommandMeasurer(command, timeout_s=20, name="brimful-tester")
    try:
        traffic = measurer.describe().traffic
        for attempt in range(20):
            try:
                return traffic, measurer.measure(load, 0.2)
            except InvalidTrialError as error:
                if attempt == 19 or not any(words in str(error) for words in SPOILED_BY_LOAD):
                    raise
    finally:
        measurer.close()


@pytest.mark.parametrize("back_end", ["packet", "packet-blocks", "xdp-native", "xdp-generic"])
def test_every_frame_crosses_a_wire(own_interfaces, back_end):
    with open_lab("wire") as lab:
        traffic, trial = measure(lab, f"--back-end={back_end}")
    assert traffic["back_end"] == back_end
    assert (trial.sent, trial.lost) == (800, 0)


@pytest.mark.parametrize("back_end", ["packet", "xdp-native"])
def test_frames_cross_a_bridge(own_interfaces, back_end):
    with open_lab("bridge") as lab:
        _, trial = measure(lab, f"--back-end={back_end}", load=200.0)
    assert (trial.sent, trial.lost) == (80, 0)


def test_what_the_tester_is_not_given_spoils_a_trial(own_interfaces):
    # Some kernels give the frames that come through a bridge to a queue that the socket is not bound to.
    with open_lab("bridge") as lab, contextlib.suppress(InvalidTrialError):
        assert measure(lab, "--back-end=xdp-generic", load=200.0)[1].lost == 0


@pytest.mark.parametrize(
    ("arguments", "back_end"),
    [([], "xdp-native"), (["--vlan=7", "--frame-size=68"], "packet"), (["--frame-size=1518"], "xdp-native")],
)
def test_the_fastest_way_that_fits_is_taken(own_interfaces, arguments, back_end):
    with open_lab("wire") as lab:
        traffic, trial = measure(lab, *arguments, load=200.0)
    assert traffic["back_end"] == back_end
    assert trial.lost == 0


def test_a_way_that_does_not_fit_is_refused_with_a_remedy(own_interfaces):
    with open_lab("wire") as lab:
        command = lab.command(
            [tester.tester_program(), *lab.tester_arguments(), "--back-end=xdp-native", "--frame-size=9216"]
        )
        finished = subprocess.run(command, input="", capture_output=True, text=True)
    assert finished.returncode == 3
    assert "AF_XDP carries frames of" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
