"""What one trial says of the delay: decoded histograms, both directions together, replies that cannot be."""

import base64
import contextlib
import json
import zlib

import pytest
from brimful.delay.histograms import DelayHistogram
from brimful.delay.observed import distribution, observe
from brimful.errors import RecordError
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

nanoseconds = st.lists(st.integers(1, 10**10), min_size=1, max_size=40)


def packed(times):
    histogram = HdrHistogram(1, 1 << 40, 3)
    for time in times:
        histogram.record_value(time)
    return histogram.encode().decode()


def plain(times):
    """As the tester writes it: not compressed."""
    return base64.b64encode(zlib.decompress(base64.b64decode(packed(times))[8:])).decode()


def direction(times, *, sent=None, encode=plain, **changes):
    seconds = [time / 1e9 for time in times]
    delay = {
        "frames": len(times),
        "min_s": min(seconds),
        "mean_s": sum(seconds) / len(seconds),
        "max_s": max(seconds),
        "jitter_s": 1e-9,
        "p50_s": sorted(seconds)[len(seconds) // 2],
        "batches": [[1, time] for time in seconds] + [[0, None]],
        "histogram": encode(times),
        "polls": [[10, 1e-6], [1, 2e-6]],
    }
    sent = len(times) if sent is None else sent
    return {"from": "a", "to": "b", "sent": sent, "lost": sent - len(times), "delay": {**delay, **changes}}


@settings(max_examples=25)
@given(nanoseconds, nanoseconds)
def test_histograms_merge_to_that_of_all_frames_however_they_are_encoded(one, other):
    found = DelayHistogram.merged([DelayHistogram.decode(text, where="here") for text in (plain(one), packed(other))])
    ordered = sorted(one + other)
    assert found.total() == len(ordered)
    for thousandths in (500, 900, 990, 999, 1000):
        exact = ordered[-(-len(ordered) * thousandths // 1000) - 1]
        assert found.percentile_s(thousandths) * 1e9 == pytest.approx(exact, rel=1e-3, abs=1)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.integers(0, 10**6))
def test_waits_are_those_of_every_frame_up_to_the_longest(times, longest):
    waits = [min(longest, time - min(times)) / 1e9 for time in times]
    found = DelayHistogram.decode(plain(times), where="here").mean_wait_s(min(times) / 1e9, longest / 1e9)
    # A thousandth of the longest delay.
    assert found == pytest.approx(sum(waits) / len(waits), abs=1e-6)


def test_histograms_of_different_ranges_merge():
    small = HdrHistogram(1, 1000, 3)
    small.record_value(7)
    parts = [DelayHistogram.decode(text, where="here") for text in (small.encode().decode(), plain([10**9]))]
    assert DelayHistogram.merged(parts).percentile_s(1000) == pytest.approx(1.0, rel=1e-3)


@settings(max_examples=25)
@given(nanoseconds, nanoseconds)
def test_both_directions_together_are_all_their_frames(to, back):
    seen = observe([direction(to), direction(back, sent=len(back) + 2)], where="here")
    every = to + back
    assert (seen["all"].frames, seen["all"].sent, seen["all"].lost) == (len(every), len(every) + 2, 2)
    assert seen["all"].mean_s == pytest.approx(sum(every) / len(every) / 1e9)
    assert (seen["all"].min_s, seen["all"].max_s) == (min(every) / 1e9, max(every) / 1e9)
    assert seen["to"].mean_s == pytest.approx(sum(to) / len(to) / 1e9)
    assert seen["from"].mean_s == pytest.approx(sum(back) / len(back) / 1e9)


def test_one_direction_is_all_there_is():
    seen = observe([direction([1000, 2000])], where="here")
    assert set(seen) == {"all", "to"}
    assert seen["all"] == seen["to"]


def test_a_direction_in_which_nothing_arrived_is_left_out():
    silent = {"from": "a", "to": "b", "sent": 10, "lost": 10}
    assert observe([silent], where="here") == {}
    assert set(observe([silent, direction([5000])], where="here")) == {"all", "from"}


def test_a_batch_in_which_nothing_arrived_has_no_mean():
    seen = observe([direction([1000, 3000]), direction([2000, 4000])], where="here")
    assert seen["to"].batches == [1e-6, 3e-6, None]
    assert seen["all"].batches == pytest.approx([1.5e-6, 3.5e-6, None])


def test_trials_without_histograms_have_no_percentiles():
    seen = observe([direction([1000, 3000], histogram=None)], where="here")
    found = distribution([seen["all"]])
    assert (found.p50_s, found.mean_s) == (None, 2e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"frames": 0},
        {"frames": "many"},
        {"mean_s": None},
        {"mean_s": 1.0},
        {"min_s": -1.0, "mean_s": -2.0},
        {"max_s": 1e999},
        {"batches": [[1]]},
        {"batches": [[-1, 1.0]]},
        {"batches": 3},
        {"polls": [[1, -1e999]]},
        {"polls": [[1, -1e-6]]},
        {"histogram": plain([1000])},
        {"histogram": HdrHistogram(1, 1000, 3).encode().decode()},
    ],
)
def test_what_cannot_be_is_named(changes):
    # Through JSON, as a measurer sends it.
    told = json.loads(json.dumps([direction([1000, 2000], **changes)]))
    with pytest.raises(RecordError, match="trial 3: direction 'to'"):
        observe(told, where="trial 3")


@given(st.binary(max_size=60))
def test_a_histogram_that_is_none_is_one_line(content):
    texts = [base64.b64encode(content).decode(), base64.b64encode(b"\x1c\x84\x93\x13" + content).decode(), "no base64"]
    for text in texts:
        with pytest.raises(RecordError, match="cannot be decoded"):
            DelayHistogram.decode(text, where="here")


@given(nanoseconds, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_spoiled_histogram_is_one_line_or_another_one(times, changes):
    content = bytearray(base64.b64decode(plain(times)))
    for at, byte in changes:
        content[at % len(content)] = byte
    with contextlib.suppress(RecordError):
        DelayHistogram.decode(base64.b64encode(content).decode(), where="here")


@pytest.mark.parametrize("length", [9, 0xFFFFFFFF])
def test_a_histogram_of_numbers_that_cannot_be_is_one_line(length):
    header = base64.b64decode(plain([1000]))[:40]
    content = header[:4] + length.to_bytes(4, "big") + header[8:] + b"\xff" * 9
    for text in (content, b"\x1c\x84\x93\x14" + bytes(4) + zlib.compress(content)):
        with pytest.raises(RecordError, match="cut short, or its numbers cannot be"):
            DelayHistogram.decode(base64.b64encode(text).decode(), where="here")
