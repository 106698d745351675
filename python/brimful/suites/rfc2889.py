"""The tests of RFC 2889, each as a run of its own subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.measurers.base import Description, Measurer
from brimful.measurers.stations import Stations, port_count
from brimful.records import End, SwitchingPlan, SwitchingResult, read_run
from brimful.records.experiment import fingerprint_of
from brimful.session import DONE
from brimful.suites import forwarding
from brimful.suites.manager import SUBJECT, Suite
from brimful.switching.addresses import RANDOM, SEQUENTIAL
from brimful.switching.manager import SwitchingRequest, run_switching
from brimful.throughput.manager import SearchRequest
from brimful.units import parse_load

ONCE = ("caching", "learning", "ageing", "errored")
"""Made at the first frame size only."""
_OF_MANY_PORTS = (*forwarding.THROUGHPUTS, forwarding.FORWARDING, forwarding.CONTROL, *forwarding.CONGESTIONS)
TESTS = (*_OF_MANY_PORTS, "broadcast", *ONCE)
_FIRST_ADDRESSES, _FIRST_RATE = 64, 1000
_SIZES = [40, 63, 1519, 1522, 1523, 2000]
"""Of errored frames: below 64 bytes, and above 1518, which a tag may make 1522."""
_LONGEST_USUAL = 1518
_QUICKER = ["--quick: trials are shorter and fewer than RFC 2889 asks for"]
_NONE_LEARNED = "no address is known to be learned, so there is no rate of learning"
_ATTEMPTS = 3
"""Trials at a rate of learning that fail before the rate does."""
_SET_UP_S, _OVERHEAD_S = 2.0, 0.6


class Extents(msgspec.Struct, frozen=True, kw_only=True):
    """How far the tests go. The sections are those of RFC 2889."""

    rate: float = 1000.0
    """Of frames to known addresses, and of learning in section 5.7, in frames/s."""
    most_addresses: int = 8192
    patterns: int = 4
    """Of addresses: one after the other, and random ones, which a table that hashes may keep fewer of."""
    most_rate: int = 50_000
    width: float = 0.01
    learned: int = 1000
    """Addresses of the test of the learning rate."""
    ageing_rounds: int = 3
    ageing_limit_s: float = 600.0
    trial_s: float = 30.0
    """Of errored and of broadcast frames."""
    load_trial_s: float = 30.0
    """Of sections 5.1 to 5.6."""
    settle_s: float = 2.0


FULL = Extents()
QUICK = Extents(
    rate=5000.0,
    most_addresses=1024,
    patterns=1,
    most_rate=20_000,
    width=0.02,
    learned=200,
    ageing_rounds=1,
    ageing_limit_s=5.0,
    trial_s=0.2,
    load_trial_s=1.0,
    settle_s=0.2,
)


class SwitchSuiteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """Its measurer, max load, policies and labels are those of every test; sizes and patterns are added."""
    sizes: list[str]
    tests: list[str]
    is_quick: bool = False
    rate: float | None = None
    most_addresses: int | None = None
    rest_s: float = 310.0
    """Before each trial in which addresses are learned, where nothing makes the device forget."""
    flush_command: str | None = None

    @property
    def extents(self) -> Extents:
        """How far the tests go."""
        given = {"rate": self.rate, "most_addresses": self.most_addresses}
        known = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(QUICK if self.is_quick else FULL, **known)

    def fingerprint(self) -> str:
        """Digest what makes two suites the same."""
        return fingerprint_of(self, subject=SUBJECT, standard="RFC 2889", search=self.search.fingerprint())

    def of_pattern(self, test: str, size: str) -> SearchRequest:
        """Give the request of a test that has a pattern of traffic, at one size."""
        pattern = forwarding.pattern_of(test, port_count(self.search.measurer))
        arguments = [f"--frame-size={size}", f"--pattern={pattern}"]
        return msgspec.structs.replace(self.search, traffic={"arguments": arguments, "ip": 4})


def suite_of(
    request: SwitchSuiteRequest,
    open_stations: Callable[[int], Stations],
    open_measurer: Callable[[SearchRequest], Measurer],
    *,
    note: Callable[[str], None] = lambda text: None,
) -> Suite:
    """Give the suite that a user asked for.

    Parameters
    ----------
    request
        What to measure.
    open_stations, open_measurer
        Open the ports for sequences of frames of a size, and for trials of a load.
    note
        Gets what to say once.
    """

    def describe() -> Description:
        stations = open_stations(int(request.sizes[0]))
        try:
            return stations.describe()
        finally:
            stations.close()

    def why_not(_description: Description) -> dict[str, str]:
        ports, knows_rate = port_count(request.search.measurer), request.search.max_load is not None
        found = {test: forwarding.why_not(test, ports, knows_rate=knows_rate) for test in request.tests}
        return {test: why for test, why in found.items() if why}

    def make(size: str, test: str, directory: Path, needed: Path) -> End:
        if test in _OF_MANY_PORTS:
            trials = forwarding.Trials(
                search=request.of_pattern(test, size),
                open_measurer=open_measurer,
                trial_s=request.extents.load_trial_s,
                rest_s=request.extents.settle_s,
                note=note,
            )
            return forwarding.measure(test, trials, directory)
        capacity = _capacity(needed) if test == "learning" else None
        if capacity == 0:
            return End(reason=DONE, trials=0, search_s=0.0, text=_NONE_LEARNED)
        # Which frames are errored depends on what the device takes, so that it takes the usual ones then.
        stations = open_stations(_LONGEST_USUAL if test == "errored" else int(size))
        try:
            asked = SwitchingRequest(
                measurer=request.search.measurer,
                plan=_plan(request, stations, test, int(size), capacity),
                on_invalid=request.search.on_invalid,
                on_error=request.search.on_error,
                deviations=_deviations(request, stations, test),
                labels=request.search.labels,
            )
            return run_switching(asked, stations, out=directory, resume=directory.exists(), note=note).outcome.end
        finally:
            stations.close()

    return Suite(
        standard="RFC 2889",
        measurer=request.search.measurer,
        sizes=request.sizes,
        tests=request.tests,
        known=TESTS,
        needs={"learning": "caching", **dict.fromkeys(forwarding.CONGESTIONS, forwarding.CONTROL)},
        once=frozenset(ONCE),
        is_quick=request.is_quick,
        on_invalid=request.search.on_invalid,
        on_error=request.search.on_error,
        labels=request.search.labels,
        deviations=lambda tests: _QUICKER if request.is_quick else [],
        fingerprint=request.fingerprint(),
        describe=describe,
        why_not=why_not,
        make=make,
    )


def expected_s(request: SwitchSuiteRequest, tests: Sequence[str]) -> float:
    """Forecast how long tests take, in seconds, where a command makes the device forget."""
    extents = request.extents
    trials = extents.most_addresses.bit_length() + 2
    load_s = extents.load_trial_s + _OVERHEAD_S
    each_s = {
        **dict.fromkeys(forwarding.THROUGHPUTS, 12 * load_s),
        forwarding.FORWARDING: 11 * (load_s + extents.settle_s),
        **dict.fromkeys((forwarding.CONTROL, *forwarding.CONGESTIONS), load_s),
        "broadcast": 10 * (extents.trial_s + extents.settle_s + _OVERHEAD_S),
        "caching": extents.patterns
        * trials
        * (extents.settle_s + _OVERHEAD_S + extents.most_addresses / extents.rate / 2),
        "learning": 24 * (extents.settle_s + _OVERHEAD_S + extents.learned / extents.rate),
        "ageing": extents.ageing_rounds * extents.ageing_limit_s,
        "errored": len(_SIZES) * (extents.trial_s + extents.settle_s + _OVERHEAD_S),
    }
    number = {test: 1 if test in ONCE else len(request.sizes) for test in tests}
    return sum(number[test] * (_SET_UP_S + each_s.get(test, 0.0)) for test in tests)


def _plan(request: SwitchSuiteRequest, stations: Stations, test: str, size: int, capacity: int | None) -> SwitchingPlan:
    extents = request.extents
    patterns = [SEQUENTIAL, *(f"{RANDOM} {seed}" for seed in range(1, extents.patterns))]
    common = SwitchingPlan(
        test=test,
        ports=list(stations.ports),
        frame_size=size,
        rate=extents.rate,
        patterns=patterns,
        rest_s=0.0 if stations.forgets else request.rest_s,
        settle_s=extents.settle_s,
        forgets=stations.forgets,
    )
    facts: dict[str, dict[str, Any]] = {
        "broadcast": {
            "trial_s": extents.trial_s,
            "most": _most_broadcasts(request, size),
            "width": extents.width,
            "attempts": _ATTEMPTS,
        },
        "caching": {"first": _FIRST_ADDRESSES, "most": extents.most_addresses},
        "learning": {
            "first": _FIRST_RATE,
            "most": extents.most_rate,
            "width": extents.width,
            "attempts": _ATTEMPTS,
            "addresses": extents.learned if capacity is None else min(capacity, extents.learned),
        },
        "ageing": {"rounds": extents.ageing_rounds, "limit_s": extents.ageing_limit_s},
        "errored": {"sizes": _SIZES, "frames": max(1, round(extents.trial_s * extents.rate))},
    }
    return msgspec.structs.replace(common, **facts[test])


def _most_broadcasts(request: SwitchSuiteRequest, size: int) -> int:
    """Give the highest rate of broadcasts that is tried, in frames/s: that of the ports, if stations send as fast."""
    most, asked = request.extents.most_rate, str(request.search.max_load or "100%")
    return max(1, min(most, int(parse_load(asked, frame_size=size, max_load=most))))


def _capacity(caching: Path) -> int:
    """Give how many addresses are learned of any pattern; 0 also where there is no verdict."""
    values = [one.value for one in read_run(caching).latest(SwitchingResult, "name") if one.value is not None]
    return round(min(values, default=0))


def _deviations(request: SwitchSuiteRequest, stations: Stations, test: str) -> list[str]:
    found = [*_QUICKER] if request.is_quick else []
    if stations.forgets and test in ("caching", "learning", "ageing"):
        found.append(
            f"between trials {stations.forgets} makes the device forget its addresses: no wait for their ageing"
        )
    return found
