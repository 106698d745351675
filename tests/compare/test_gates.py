"""Comparisons of recorded runs as a gate: what could not have been seen does not pass."""

import json
from xml.etree import ElementTree

import pytest
from brimful.statistics.comparison import Sample, compare, would_show
from support import brimful

SHORT = ("--preset", "quick", "--quiet")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Searches and campaigns of simulated devices: one as the base, one alike, one slower."""
    place = tmp_path_factory.mktemp("runs")
    for name, capacity, seed in (("base", 1000, 1), ("again", 1000, 2), ("third", 1000, 3), ("slow", 800, 4)):
        system = f"sim:noisy,capacity={capacity}kpps,seed={seed}"
        brimful("search", "-m", system, *SHORT, "--out", name, cwd=place)
    for name, capacity in (("campaign-base", 1000), ("campaign-slow", 800)):
        brimful("search", "-m", f"sim:sharp,capacity={capacity}kpps", *SHORT, "--repeat", "3", "--out", name, cwd=place)
    return place


def test_one_run_a_side_shows_no_loss_of_any_size(runs):
    done = brimful("compare", "again", "--against", "base", "--detect", "80%", cwd=runs, check=4)
    assert "ndr: a loss of 80 % could have been missed: one run a side shows no spread" in done.stderr
    brimful("compare", "again", "--against", "base", cwd=runs, check=0)


def test_repeated_runs_that_would_show_it_pass(runs):
    sides = ("again", "third", "--against", "base", "again")
    brimful("compare", "again", "third", "--against", "base", "third", "--detect", "90%", cwd=runs, check=0)
    done = brimful("compare", *sides, "--detect", "0.001%", cwd=runs, check=4)
    assert "could have been missed: only" in done.stderr


def test_a_regression_is_one_whatever_could_have_been_seen(runs):
    brimful("compare", "slow", "--against", "base", "--tolerance", "5%", "--detect", "1%", cwd=runs, check=1)


def test_a_loss_within_the_interval_could_have_been_missed():
    wide = compare(Sample((90.0, 110.0), (91.0, 111.0)), Sample((95.0, 105.0), (96.0, 106.0)))
    assert not would_show(wide, 0.02)
    narrow = compare(Sample((100.0, 100.1), (100.2, 100.3)), Sample((100.0, 100.1), (100.2, 100.3)))
    assert would_show(narrow, 0.02)
    assert narrow.ratio_least > 0.98


def test_a_ci_server_reads_each_value(runs):
    options = ("--tolerance", "5%", "--detect", "1%", "--junit", "found.xml")
    brimful("compare", "slow", "--against", "base", *options, cwd=runs, check=1)
    (suite,) = ElementTree.parse(runs / "found.xml").getroot()
    cases = {case.get("name"): case.find("failure") is not None for case in suite}
    assert cases["ndr has not got worse"]
    assert cases["ndr: a loss would have been seen"]
    assert suite.get("name") == "slow against base"


def test_campaigns_have_a_page_and_pair_measurers_with_other_names(runs):
    sides = ("campaign-slow", "--against", "campaign-base", "--html", "campaigns.html", "--json")
    found = json.loads(brimful("compare", *sides, cwd=runs, check=1).stdout)
    (cell,) = found["cells"]
    assert (cell["measurer"], cell["against"]) == ("sim:sharp,capacity=800kpps", "sim:sharp,capacity=1000kpps")
    page = (runs / "campaigns.html").read_text()
    for shown in ("sim:sharp,capacity=800kpps against sim:sharp,capacity=1000kpps", "regression", "ndr", "-20"):
        assert shown in page, shown
    brimful("compare", "campaign-base", "--against", "campaign-base", "--detect", "5%", cwd=runs, check=0)


def test_a_threshold_is_a_share_of_another_run(runs):
    def search(capacity, condition, check):
        system = f"sim:sharp,capacity={capacity}kpps"
        return brimful("search", "-m", system, *SHORT, "--assert", condition, cwd=runs, check=check)

    search(1000, "ndr >= 70% of base", 0)
    missed = search(500, "ndr >= 95% of base", 1).stdout
    assert "Missed: ndr >= 95% of base: it is 49" in missed
    assert "the threshold" in missed
    assert "has no such value of goal" in search(1000, "ndr >= 95% of campaign-base", 2).stderr
    assert "no-such-run" in search(1000, "ndr >= 95% of no-such-run", 2).stderr
    other = ("--goal", "loss=0,name=ndr", "--quiet", "--assert", "ndr >= 95% of base")
    refused = brimful("search", "-m", "sim:sharp,capacity=1Mpps", *other, cwd=runs, check=1).stdout
    assert "cannot be compared: goal pdr is in one only" in refused or "cannot be compared: goal ndr" in refused
