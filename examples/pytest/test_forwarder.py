"""Tests of how much a forwarder takes; put `lab:bridge`, `tester:eth1,eth2` or a function in the place of `sim:`."""

import pytest

FORWARDER = "sim:soft-knee,capacity=1Mpps,seed={seed}"
QUICK = {"preset": "quick"}


def test_throughput(brimful):
    """No loss at 0.8 Mpps, and less than 0.5 % at 0.9 Mpps."""
    result = brimful.search(FORWARDER.format(seed=1), **QUICK)
    brimful.require(result, "ndr >= 0.8Mpps", "pdr >= 0.9Mpps")


@pytest.mark.parametrize("size", [64, 1518])
def test_sizes(brimful, size):
    """Frames of every size; a simulated system takes as many of each."""
    result = brimful.search(FORWARDER.format(seed=size), traffic=[f"--frame-size={size}"], **QUICK)
    assert result.regular
    assert result["ndr"].lower_bound >= 0.8e6


def test_new_build_is_not_slower(brimful):
    """Both builds side by side, in pairs of trials in random order."""
    comparison = brimful.compare(FORWARDER.format(seed=1), FORWARDER.format(seed=1), tolerance="2%")
    brimful.require_no_regression(comparison)
