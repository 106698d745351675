"""Alarms beside those of the program around."""

import signal
import time

import pytest
from brimful.alarm import alarm


class OuterError(Exception):
    pass


class InnerError(Exception):
    pass


@pytest.fixture
def _outer_alarm():
    def ring(_number, _frame):
        raise OuterError

    of_the_tests_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    previous = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, previous)
    signal.setitimer(signal.ITIMER_REAL, of_the_tests_s)


@pytest.mark.usefixtures("_outer_alarm")
def test_an_alarm_that_rings_later_is_set_again():
    signal.setitimer(signal.ITIMER_REAL, 500)
    with pytest.raises(InnerError), alarm(0.01, InnerError):
        time.sleep(60)
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 500


@pytest.mark.usefixtures("_outer_alarm")
def test_an_alarm_that_rings_earlier_does():
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    with pytest.raises(OuterError), alarm(500, InnerError):
        time.sleep(60)


@pytest.mark.usefixtures("_outer_alarm")
def test_no_alarm_is_left_where_there_was_none():
    with alarm(500, InnerError):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
