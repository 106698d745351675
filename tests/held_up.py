"""Tests in real time that a busy machine spoils are run again, as brimful makes a trial again that it spoilt."""

import os
import threading
import time

import pytest
from _pytest.runner import runtestprotocol

HELD_UP_S = 0.05
"""The switch, and a sender's bound on its burst, keep a load even over shorter waits."""
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


def run_until_undisturbed(attempt, watch):
    """Give the result of the last attempt, and of each before what failed and the wait that spoilt it."""
    spoilt = []
    while True:
        watch.longest_s = 0.0
        failure, result = attempt()
        if failure is None or watch.longest_s < HELD_UP_S or len(spoilt) + 1 == ATTEMPTS:
            return result, spoilt
        spoilt.append(f"{watch.longest_s:.2f} s: {failure}")


def failure_of(reports):
    """Give the place and the last lines of the first failure, short; None where nothing failed."""
    return next((report.longreprtext.strip()[-400:] for report in reports if report.failed), None)


class Plugin:
    """Runs tests marked `real_time`; what was run again stands in the properties of the last report."""

    def __init__(self):
        self.watch = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Log the reports of the last attempt alone."""
        if item.get_closest_marker("real_time") is None:
            return None
        self.watch = self.watch or Watch()

        def attempt():
            item._initrequest()
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            return failure_of(reports), reports

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports, spoilt = run_until_undisturbed(attempt, self.watch)
        for report in reports:
            report.user_properties.extend(("held_up", each) for each in spoilt)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
