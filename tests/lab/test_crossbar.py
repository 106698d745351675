"""The switch of known truth for tests of congestion: in virtual time, and with real frames in a lab."""

import itertools
import math
import random
import re
from collections import Counter

import pytest
from brimful.lab import open_lab
from brimful.lab.crossbar_program import Crossbar
from hypothesis import given
from hypothesis import strategies as some
from lab_support import cross
from support import brimful

RATE, TIME_S = 1000.0, 20.0
A, B, C, D = range(4)


def congest(queues, weight=1, frames=50):
    """Give which share of the frames of section 5.5 of RFC 2889 does not arrive at C and at D."""
    crossbar, arrived, jitter = Crossbar(4, queues, RATE, frames, weight), Counter(), random.Random(1)
    slots = range(int(RATE * TIME_S))
    # In step with the outputs, frames to C would find a queue full more or less often than those to D.
    due = [((slot + jitter.random()) / RATE, A, C if slot % 2 == 0 else D) for slot in slots]
    due += [((slot + jitter.random()) / RATE, B, D) for slot in slots]
    for at_s, port, output in sorted(due):
        while crossbar.due_s() <= at_s:
            arrived[crossbar.leave()[1]] += 1
        crossbar.arrive(at_s, port, output, b"")
    while crossbar.due_s() < math.inf:
        arrived[crossbar.leave()[1]] += 1
    return [1 - arrived[C] / (RATE * TIME_S / 2), 1 - arrived[D] / (RATE * TIME_S * 1.5)]


@pytest.mark.parametrize(
    ("queues", "weight", "free", "congested"),
    [
        ("output", 1, 0, 1 / 3),
        ("output", 3, 0, 1 / 3),
        # Of the output D, port A gets one turn of 1 + weight, and sends as many frames to C: of half the load each.
        ("input", 1, 0, 1 / 3),
        ("input", 2, 1 / 3, 1 / 3),
        ("input", 3, 1 / 2, 1 / 3),
        ("input", 5, 2 / 3, 1 / 3),
    ],
)
def test_what_is_lost_where_is_known(queues, weight, free, congested):
    assert congest(queues, weight) == pytest.approx([free, congested], abs=0.02)


def test_a_full_input_that_holds_is_not_read():
    crossbar = Crossbar(4, "hold", RATE, 2, 1)
    crossbar.arrive(0.0, A, C, b"1")
    assert crossbar.room(A) == 1
    crossbar.arrive(0.0, A, C, b"2")
    assert (crossbar.room(A), crossbar.room(B)) == (0, 2)
    crossbar.leave()
    assert crossbar.room(A) == 1


ARRIVALS = some.lists(some.tuples(some.integers(0, 40), some.integers(0, 3), some.integers(0, 3)), max_size=120)


@given(arrivals=ARRIVALS, queues=some.sampled_from(["output", "input"]), frames=some.integers(1, 8))
def test_frames_leave_once_in_order_and_no_faster_than_outputs_are(arrivals, queues, frames):
    crossbar, left = Crossbar(4, queues, 1.0, frames, 2), []
    for number, (at_s, port, output) in enumerate(sorted(arrivals)):
        while crossbar.due_s() <= at_s:
            left.append(crossbar.leave())
        crossbar.arrive(at_s, port, output, number.to_bytes(2))
    while crossbar.due_s() < math.inf:
        left.append(crossbar.leave())
    given_ = sorted(arrivals)
    numbers = [int.from_bytes(frame) for _, _, frame in left]
    assert len(set(numbers)) == len(numbers)
    assert [output for _, output, _ in left] == [given_[number][2] for number in numbers]
    assert [at_s for at_s, _, _ in left] == sorted(at_s for at_s, _, _ in left)
    for output in range(4):
        times = [at_s for at_s, to, _ in left if to == output]
        assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(times))
        for port in range(4):
            same = [number for number in numbers if given_[number][1:] == (port, output)]
            assert same == sorted(same)


@pytest.mark.usefixtures("labs_permitted")
def test_frames_cross_a_crossbar():
    with open_lab("crossbar,rate=10000") as lab:
        assert cross(lab) == {port: {"in_order": True, "hops": [64]} for port in ("ta", "tb")}


@pytest.mark.usefixtures("labs_permitted")
@pytest.mark.parametrize(
    ("queues", "said"),
    [
        pytest.param("output", "not seen, not excluded no", marks=pytest.mark.slow),
        pytest.param("input,weight=3", "yes no", marks=pytest.mark.slow),
        ("hold", "not seen, not excluded yes, senders were held"),
    ],
)
def test_the_suite_says_what_a_switch_does_about_congestion(tmp_path, queues, said):
    device = f"lab:crossbar,ports=4,queues={queues}"
    options = ("--tests", "control,congestion", "--sizes", "64", "--max-load", "1kpps", "--quick", "--quiet")
    retries = ("--on-invalid", "retry:2" if queues == "hold" else "retry:20")
    done = brimful("rfc2889", "-m", device, *options, *retries, "--out", "s", cwd=tmp_path, check=0)
    (row,) = re.findall(r"^ +64 +[0-9.]+ %.*", done.stdout, re.MULTILINE)
    assert " ".join(row.split()).endswith(f"0 % {said}")
    assert "2 of 2 tests ended; the suite finished" in done.stdout
    assert queues != "hold" or "were invalid" not in done.stdout
    brimful("verify", "s", cwd=tmp_path, check=0)
