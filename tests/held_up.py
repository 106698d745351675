"""Tests that a busy machine spoils are run again, as brimful makes a trial again that it spoilt.

Of tests in real time, a watch tells. Of others only brimful does, which ended with the advice to try again.
"""

import os
import threading
import time

import pytest
from _pytest.runner import runtestprotocol

HELD_UP_S = 0.05
"""The switch, and a sender's bound on its burst, keep a load even over shorter waits."""
SAID = ("machine is busy", "the tester could not keep up")
"""How brimful says so."""
PAUSE_S = 20.0
"""After that, before the next attempt: what keeps a machine busy lasts for a while."""
ATTEMPTS = 3
SLEEP_S = 0.005


class Watch:
    """Sees how long each processor has let a thread of its own wait."""

    def __init__(self):
        self.longest_s = 0.0
        for processor in os.sched_getaffinity(0):
            threading.Thread(target=self._watch, args=(processor,), daemon=True).start()

    def _watch(self, processor):
        os.sched_setaffinity(threading.get_native_id(), {processor})
        while True:
            before = time.monotonic()
            time.sleep(SLEEP_S)
            self.longest_s = max(self.longest_s, time.monotonic() - before - SLEEP_S)


def run_until_undisturbed(attempt, watch=None, pause_s=PAUSE_S):
    """Give the result of the last attempt, and of each before what failed and what spoilt it."""
    spoilt = []
    while True:
        if watch:
            watch.longest_s = 0.0
        failure, result = attempt()
        cause = None if failure is None else cause_of(failure, watch.longest_s if watch else 0.0)
        if cause is None or len(spoilt) + 1 == ATTEMPTS:
            return result, spoilt
        spoilt.append(f"{cause}: {failure.strip()[-400:]}")
        if cause in SAID:
            time.sleep(pause_s)


def cause_of(failure, longest_s):
    """Say what spoilt a test that failed, if the machine did."""
    if longest_s >= HELD_UP_S:
        return f"{longest_s:.2f} s"
    return next((said for said in SAID if said in failure), None)


def failure_of(reports):
    """Give the text of the first failure; None where nothing failed."""
    return next((report.longreprtext for report in reports if report.failed), None)


class Plugin:
    """Runs all tests; what was run again stands in the properties of the last report."""

    def __init__(self):
        self.watch = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Log the reports of the last attempt alone."""
        watch = None
        if item.get_closest_marker("real_time") is not None:
            watch = self.watch = self.watch or Watch()

        def attempt():
            item._initrequest()
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            return failure_of(reports), reports

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports, spoilt = run_until_undisturbed(attempt, watch)
        for report in reports:
            report.user_properties.extend(("held_up", each) for each in spoilt)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
