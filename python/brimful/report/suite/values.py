"""The figures and verdicts of the tests of suites: one table, for requirements, comparisons, JUnit and JSON alike.

Each has the name of its test, or TEST.FIGURE.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import msgspec

from brimful import units
from brimful.errors import UsageError
from brimful.records import Burst, Delay, RunFile, SwitchingResult, Trial
from brimful.records.stated import losses, recoveries
from brimful.report.burst.model import NO_RESULT, overflows_nothing, why_no_burst
from brimful.report.loss.model import greatest_without_loss
from brimful.report.suite import congestion, forwarding
from brimful.report.suite.results import Result
from brimful.report.suite.sections import MODIFIED, THROUGHPUTS
from brimful.report.words import share

LEAST_SIZE = 64
"""Of frames, in bytes."""


class Need(msgspec.Struct, frozen=True):
    """What a requirement of a value means."""

    words: str
    holds: Callable[[float, float], bool]
    """Whether what was found is what is required."""


AT_LEAST, AT_MOST, IS = Need("at least", operator.ge), Need("at most", operator.le), Need("is", operator.eq)


class Kind(msgspec.Struct, frozen=True):
    """How a figure is read, compared and shown."""

    read: Callable[[str], float]
    show: Callable[[float], str]
    need: Need


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a test says of a figure."""

    value: float | None = None
    """In SI units; verdicts are 1 for yes and 0 for no; null where nothing can be said."""
    is_least: bool = False
    """Whether more is possible: with no value, any that is."""
    below: float | None = None
    """What it is less than, where the value is what is known at least; null: the value is known."""
    why: str = "not found"
    """Why there is no value."""


class Figure(msgspec.Struct, frozen=True):
    """One of what a test finds."""

    kind: Kind
    find: Callable[[Result], Found]

    def of(self, result: Result) -> Found:
        """Give what a test found of it."""
        if result.file is None:
            return Found(why=result.text or Found().why)
        found = self.find(result)
        is_unexplained = found.value is None and found == Found()
        return Found(why=result.text) if is_unexplained and result.text else found

    def shown(self, found: Found) -> str:
        """Write it, or why there is none."""
        if found.value is None:
            return found.why
        if found.below is not None:
            return f"< {self.kind.show(found.below)}"
        return f"{'at least ' if found.is_least else ''}{self.kind.show(found.value)}"

    def holds(self, found: Found, compare: Callable[[float, float], bool], limit: float) -> bool:
        """Say whether a condition on it is met; what may be more than it is, is not at most a limit."""
        if found.is_least and compare in (operator.le, operator.lt):
            return False
        if found.value is None:
            return found.is_least
        is_upper_limit = compare in (operator.le, operator.lt)
        return compare(found.below if is_upper_limit and found.below is not None else found.value, limit)


def main_value(result: Result) -> float | None:
    """Give the first figure of a test, in SI units; null where it found none."""
    return FIGURES[result.test].of(result).value if result.test in FIGURES else None


def test_of(name: str) -> str:
    """Give the test that a figure is of.

    >>> test_of("latency.p99")
    'latency'
    """
    return name.partition(".")[0]


def names_of(test: str) -> list[str]:
    """Give the names of all figures of a test.

    >>> names_of("forwarding")
    ['forwarding', 'forwarding.load']
    """
    return [name for name in FIGURES if test_of(name) == test]


def _of_file(find: Callable[[RunFile], float | None]) -> Callable[[Result], Found]:
    return lambda result: Found() if result.file is None else Found(value=find(result.file))


def throughput_of(file: RunFile) -> float | None:
    """Give the greatest load without loss: 0 where no frame passes, null where some are lost at every load."""
    if file.passes_nothing:
        return 0.0
    return file.goal_results[0].conditional_throughput if file.goal_results else None


def _share(file: RunFile) -> float | None:
    throughput = throughput_of(file)
    return throughput / file.max_load if throughput is not None and file.max_load else None


def _kept(result: Result) -> Found:
    """Give the share that a modifier leaves of the plain throughput."""
    plain = result.beside.get("throughput")
    before, value = None if plain is None else throughput_of(plain), main_value(result)
    if not before:
        return Found(why="there is no plain throughput to compare with")
    return Found(value=None if value is None else value / before)


def _latency(read: Callable[[Delay], float | None]) -> Callable[[Result], Found]:
    def find(file: RunFile) -> float | None:
        both = next((delay for delay in file.delays if delay.direction == "all"), None)
        return None if both is None else read(both)

    return _of_file(find)


def _loss(file: RunFile) -> float | None:
    found = losses(file)
    return found[0].ratio if found else None


def _lossless(result: Result) -> Found:
    """Give the greatest load without loss: where there is none, it is below the least one that was measured."""
    found = [] if result.file is None else losses(result.file)
    if not found:
        return Found()
    clean = greatest_without_loss(found)
    return Found(value=0.0, below=found[-1].load) if clean is None else Found(value=clean)


def _burst(read: Callable[[Burst], float | None]) -> Callable[[Result], Found]:
    def find(result: Result) -> Found:
        if result.file is None:
            return Found()
        found = result.file.latest(Burst)
        if not found:
            why = why_no_burst(result.file) or NO_RESULT
            return Found(why=why, is_least=overflows_nothing(result.file))
        return Found(value=read(found[0]), is_least=found[0].at_limit > 0)

    return find


def _recovery(file: RunFile) -> float | None:
    found = recoveries(file)
    known = [one.high_s for one in found if one.high_s is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _forwarding(read: Callable[[Trial], float]) -> Callable[[Result], Found]:
    def find(file: RunFile) -> float | None:
        best = forwarding.best_trial(file)
        return None if best is None else read(best)

    return _of_file(find)


def _lost(read: Callable[[congestion.Shares], Sequence[float]]) -> Callable[[Result], Found]:
    def find(result: Result) -> Found:
        if result.file is None or result.test not in result.beside:
            return Found()
        return Found(value=max(read(congestion.Shares(result.file)), default=None))

    return find


def _verdict(judge: Callable[[Result], congestion.Verdict]) -> Callable[[Result], Found]:
    def find(result: Result) -> Found:
        found = judge(result)
        value = None if found.holds is None else float(found.holds)
        return Found(value=value, why=f"no verdict: {found.text}" + (f" ({found.why})" if found.why else ""))

    return find


def _switched(
    choose: Callable[[SwitchingResult], bool], join: Callable[[list[float]], float]
) -> Callable[[Result], Found]:
    """Join some results of a test of a switch; one of them without a verdict leaves none for all."""

    def find(result: Result) -> Found:
        every = [] if result.file is None else result.file.latest(SwitchingResult, "name")
        chosen = [one for one in every if choose(one)]
        for one in chosen:
            if one.verdict == NO_VERDICT or one.value is None:
                name = f"{one.name}: " if one.name else ""
                return Found(why=f"no verdict: {name}{one.text or 'no frame arrived'}")
        values = [float(one.verdict == "fail") if one.verdict in JUDGED else one.value or 0.0 for one in chosen]
        is_least = any(one.verdict == "at-least" for one in chosen)
        return Found(value=join(values), is_least=is_least) if values else Found()

    return find


NO_VERDICT = "none"
JUDGED = ("pass", "fail")


def _is_port(one: SwitchingResult) -> bool:
    return one.name != "throughput" and not one.name.startswith("latency")


def _size_of(one: SwitchingResult) -> int:
    """Give the size of frames that none may have, of a result like ``63 bytes``."""
    return int(one.name.split()[0])


def _whole(text: str) -> float:
    if not text.isdecimal():
        message = f"{text!r} is no whole number"
        raise UsageError(message)
    return float(text)


_ANSWERS = {"yes": 1.0, "no": 0.0}


def _answer(text: str) -> float:
    if text not in _ANSWERS:
        message = f"{text!r} is neither yes nor no"
        raise UsageError(message)
    return _ANSWERS[text]


_RATE = Kind(units.parse_load, units.format_load, AT_LEAST)
_SHARE = Kind(units.parse_ratio, share, AT_LEAST)
_LOST = Kind(units.parse_small_ratio, share, AT_MOST)
_TIME = Kind(units.parse_duration, units.format_delay, AT_MOST)
_LASTS = Kind(units.parse_duration, units.format_delay, AT_LEAST)
_FRAMES = Kind(_whole, lambda frames: f"{frames:.0f} frames", AT_LEAST)
_ADDRESSES = Kind(_whole, lambda count: f"{count:.0f} addresses", AT_LEAST)
_FAILED = Kind(_whole, lambda count: f"{count:.0f} failed", AT_MOST)
_VERDICT = Kind(_answer, lambda value: "yes" if value else "no", IS)

FIGURES: Mapping[str, Figure] = {
    **{test: Figure(_RATE, _of_file(throughput_of)) for test in THROUGHPUTS},
    **{f"{test}.share": Figure(_SHARE, _of_file(_share)) for test in THROUGHPUTS},
    **{f"{test}.kept": Figure(_SHARE, _kept) for test in MODIFIED},
    "latency": Figure(_TIME, _latency(lambda delay: delay.mean.value_s)),
    "latency.min": Figure(_TIME, _latency(lambda delay: delay.device.min_s)),
    "latency.p50": Figure(_TIME, _latency(lambda delay: delay.device.p50_s)),
    "latency.p99": Figure(_TIME, _latency(lambda delay: delay.device.p99_s)),
    "latency.max": Figure(_TIME, _latency(lambda delay: delay.device.max_s)),
    "loss": Figure(_LOST, _of_file(_loss)),
    "loss.lossless": Figure(_RATE, _lossless),
    "bursts": Figure(_FRAMES, _burst(lambda burst: burst.mean)),
    "bursts.least": Figure(_FRAMES, _burst(lambda burst: float(burst.least))),
    "bursts.most": Figure(_FRAMES, _burst(lambda burst: float(burst.most))),
    "bursts.buffer": Figure(_LASTS, _burst(lambda burst: burst.corrected_buffer_s)),
    "recovery": Figure(_TIME, _of_file(_recovery)),
    "reset": Figure(_TIME, _of_file(_recovery)),
    "forwarding": Figure(_RATE, _forwarding(forwarding.rate_of)),
    "forwarding.load": Figure(_RATE, _forwarding(lambda trial: trial.load)),
    "control": Figure(_LOST, _lost(lambda shares: [*shares.free, *shares.congested])),
    "congestion": Figure(_LOST, _lost(lambda shares: shares.free)),
    "congestion.lost-at-d": Figure(_LOST, _lost(lambda shares: shares.congested)),
    "congestion.blocking": Figure(_VERDICT, _verdict(congestion.blocking)),
    "congestion.back-pressure": Figure(_VERDICT, _verdict(congestion.back_pressure)),
    "congestion-by-two": Figure(_LOST, _lost(lambda shares: shares.free)),
    "broadcast": Figure(_FAILED, _switched(_is_port, sum)),
    "broadcast.throughput": Figure(_RATE, _switched(lambda one: one.name == "throughput", min)),
    "broadcast.latency": Figure(_TIME, _switched(lambda one: one.name.startswith("latency"), max)),
    "caching": Figure(_ADDRESSES, _switched(lambda one: True, min)),
    "learning": Figure(_RATE, _switched(lambda one: True, min)),
    "ageing": Figure(_LASTS, _switched(lambda one: True, min)),
    "errored": Figure(_FAILED, _switched(lambda one: True, sum)),
    "errored.too-short": Figure(_FAILED, _switched(lambda one: _size_of(one) < LEAST_SIZE, sum)),
    "errored.too-long": Figure(_FAILED, _switched(lambda one: _size_of(one) >= LEAST_SIZE, sum)),
}
"""The name of a test is that of its first figure."""
