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
    """Give the result of the last attempt, and the wait that spoilt each before: only a failure is tried again."""
    waits_s = []
    while True:
        watch.longest_s = 0.0
        failed, result = attempt()
        if not failed or watch.longest_s < HELD_UP_S or len(waits_s) + 1 == ATTEMPTS:
            return result, waits_s
        waits_s.append(watch.longest_s)


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
            return any(report.failed for report in reports), reports

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports, waits_s = run_until_undisturbed(attempt, self.watch)
        for report in reports:
            report.user_properties.extend(("held_up_s", round(wait_s, 3)) for wait_s in waits_s)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
