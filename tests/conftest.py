"""Settings of the test suite."""

import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# Programs that tests run in a process or an environment of their own: there, all but `test_*.py`.
collect_ignore_glob = ["switch/cases/*", "switch/clients/*", "switch/[!t]*.py"]
sys.path.insert(0, str(Path(__file__).parent))
import held_up  # noqa: E402

settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("default")

# A shell has what it starts in the background ignore interrupts, and nohup hang-ups; programs under test inherit that.
# What is handled here has its usual meaning there.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


TESTS = Path(__file__).parent
REAL_TIME = (
    *("lab", "disk", "iocost/test_measure.py", "testers/test_examples.py", "testers/test_iperf3.py"),
    *("switch/test_busy_controllers.py", "switch/test_conformance.py", "switch/test_queues.py"),
)
"""Tests that measure machines, networks and disks: `make test` runs them apart, two at a time."""
SLOW_AS = 50
"""How many others a test that is marked `slow` takes as long as."""


def pytest_configure(config):
    """Have tests in real time run again where the machine held them up."""
    config.pluginmanager.register(held_up.Plugin())


def pytest_collection_modifyitems(items):
    """Mark what another test beside it would disturb; begin with the files that take longest."""
    taken = Counter()
    for item in items:
        taken[item.path] += 1 if item.get_closest_marker("slow") is None else SLOW_AS
        if any(item.path.is_relative_to(TESTS / place) for place in REAL_TIME):
            item.add_marker(pytest.mark.real_time)
    items.sort(key=lambda item: -taken[item.path])


@pytest.fixture
def python_interrupts():
    """Ctrl-C as Python has it: Spark, in other tests, takes it for itself."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)
