"""Numbers with units, both ways."""

import contextlib

import pytest
from brimful import units
from brimful.errors import UsageError
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10Mpps", 10e6),
        ("1.2 Mpps", 1.2e6),
        ("9001", 9001.0),
        ("1e6", 1e6),
        ("500k", 500e3),
        ("10kfps", 10e3),
        ("50%", 7.44e6),
        ("1Gbps", 1e9 / 8 / 84),
        ("1GbpsL2", 1e9 / 8 / 64),
    ],
)
def test_loads(text, expected):
    assert units.parse_load(text, frame_size=64, max_load=14.88e6) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", ["", "fast", "-1Mpps", "0", "10 Mpss", "1e999", "nan", "inf", "10Mpps 5", "½Mpps"])
def test_no_loads(text):
    with pytest.raises(UsageError, match="load"):
        units.parse_load(text)


def test_a_load_in_bits_needs_a_frame_size():
    with pytest.raises(UsageError, match="frame size is not fixed"):
        units.parse_load("1Gbps")


def test_a_share_needs_a_max_load():
    with pytest.raises(UsageError, match="max load"):
        units.parse_load("50%")


@pytest.mark.parametrize("text", ["0s", "-1s", "5 parsecs", "soon", "1e400s"])
def test_no_durations(text):
    with pytest.raises(UsageError, match="duration"):
        units.parse_duration(text)


@pytest.mark.parametrize("text", ["101%", "1.5", "-1%", "half", "2/1", "1/0"])
def test_no_ratios(text):
    with pytest.raises(UsageError, match="ratio"):
        units.parse_ratio(text)


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_one_line(text):
    for parse in (units.parse_load, units.parse_duration, units.parse_ratio):
        with contextlib.suppress(UsageError):
            assert parse(text) >= 0


@given(st.floats(min_value=1e-3, max_value=1e14))
def test_written_loads_read_back_nearly_equal(load):
    written = units.format_load(load, digits=6).replace(" ", "")
    assert units.parse_load(written) == pytest.approx(load, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (999.96, "1.000 kpps"),
        (999_940.0, "999.9 kpps"),
        (999_950.0, "1.000 Mpps"),
        (1e6, "1.000 Mpps"),
        (14_880_952.0, "14.88 Mpps"),
        (5.0, "5.000 pps"),
    ],
)
def test_formatted_loads(load, text):
    assert units.format_load(load) == text


def test_what_is_below_0_or_beyond_anything_is_called_so():
    with pytest.raises(UsageError, match=r"^load '-1Mpps' is below 0$"):
        units.parse_load("-1Mpps")
    with pytest.raises(UsageError, match=r"^load '1e300pps' is above 1e\+15/s"):
        units.parse_load("1e300pps")
    with pytest.raises(UsageError, match=r"^load '0%' is not above 0$"):
        units.parse_load("0%", max_load=1e6)


def test_a_ratio_just_below_1_is_not_written_as_1():
    assert units.format_ratio(0.999999999) == "99.9999999 %"
    assert units.format_ratio(1 - 1e-15) == "almost 100 %"
    assert units.format_ratio(1.0) == "100 %"
    assert units.format_ratio(0.9999) == "99.99 %"
