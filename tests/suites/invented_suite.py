"""A short suite of a simulated device, with the records of its tests beside it."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.suites.manager import run_suite
from brimful.suites.rfc2544 import SuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest

SYSTEM = "buffer,capacity=1Mpps,frames=1000,link=2Mpps"
REQUEST = SuiteRequest(
    search=SearchRequest(measurer=f"sim:{SYSTEM}", goals=[], strategy="straddle", traffic={"arguments": [], "ip": 4}),
    sizes=["64", "512"],
    tests=["throughput", "loss", "bursts", "recovery"],
    is_quick=True,
)


@cache
def made():
    """The record of the suite; its directory is there until the tests end."""
    directory = Path(tempfile.mkdtemp(prefix="brimful-suite-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    run_suite(suite_of(REQUEST, lambda search: lambda spec, detail: SimulatedMeasurer(SYSTEM)), out=directory / "suite")
    return read_run(directory / "suite")
