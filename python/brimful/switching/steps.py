"""What a test does next, and what it found: pure functions of its plan and of the trials that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from brimful.records import SwitchingPlan, SwitchingResult, Trial
from brimful.units import format_delay, format_load


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A trial to make."""

    name: str
    """As in `Trial.step`."""
    load: float
    """In frames/s: of the frames that the trial is about."""
    frames: int
    frame_size: int
    addresses: int = 0
    """Learned in it."""
    round: int = 0


Results = list[SwitchingResult]
Next = Callable[[SwitchingPlan, Sequence[Trial]], Step | Results]
"""Gives the next trial, or when none is left the results."""
FOUND, AT_LEAST, NOTHING, PASS, FAIL = "found", "at-least", "none", "pass", "fail"


class Search(msgspec.Struct):
    """The binary search of RFC 2889 sections 5.7 and 5.8, on whole numbers."""

    first: int
    most: int
    width: float = 0.0
    """It ends when the bounds are this share of the upper one apart, or 1."""
    least: float = 1.0
    """It ends when this has failed."""
    low: int = 0
    high: int | None = None
    """Null: nothing has failed yet."""

    def next(self) -> int | None:
        """Give the number to try; none at the end.

        >>> Search(first=4, most=8).next()
        4
        """
        if self.high is None:
            if self.low == 0:
                return min(self.first, self.most)
            # The RFC halves the way to the most; the most itself is tried last.
            return None if self.low == self.most else -(-(self.low + self.most) // 2)
        if self.high - self.low <= max(1.0, self.width * self.high) or self.high <= self.least:
            return None
        return self.low + (self.high - self.low) // 2

    def note(self, number: int, *, passed: bool) -> None:
        """Take what a number came to."""
        if passed:
            self.low = number
        else:
            self.high = number


def of_step(trials: Sequence[Trial], name: str) -> list[Trial]:
    """Give the trials of a step that count."""
    return [trial for trial in trials if trial.step == name and trial.invalid is None]


def next_of(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    """Give the next trial of a test, or its results."""
    return TESTS[plan.test](plan, trials)


def blind(trial: Trial) -> str:
    """Give why a trial shows nothing of what is known; empty where it does."""
    return str(trial.extra.get("blind", ""))


def _caching(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    results = []
    for pattern in plan.patterns:
        search = Search(first=plan.first, most=plan.most)
        found = None
        for trial in of_step(trials, pattern):
            if blind(trial):
                found = SwitchingResult(name=pattern, verdict=NOTHING, text=blind(trial))
                break
            search.note(_addresses(trial), passed=is_known(trial))
        if found is None:
            number = search.next()
            if number is not None:
                return Step(name=pattern, load=plan.rate, frames=number, frame_size=plan.frame_size, addresses=number)
            found = _capacity(plan, pattern, search, of_step(trials, pattern))
        results.append(found)
    return results


def _capacity(plan: SwitchingPlan, pattern: str, search: Search, trials: Sequence[Trial]) -> SwitchingResult:
    verdict = AT_LEAST if search.high is None else FOUND
    more = "one more, for the sender" if verdict == FOUND else "at least one more, for the sender"
    text = f"learned at {format_load(plan.rate)}; the table has room for {more}"
    if search.low == 0:
        text = "not one address is learned, or a port that watches gets copies of all frames"
    foreign = sum(int(trial.extra.get("foreign", 0)) for trial in trials)
    if foreign:
        text += f"; {foreign} foreign frames arrived, whose senders have entries, too"
    return SwitchingResult(name=pattern, verdict=verdict, value=float(search.low), text=text)


def _learning(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    made = of_step(trials, "learning")
    for trial in made:
        if blind(trial):
            return [SwitchingResult(name="", verdict=NOTHING, text=blind(trial))]
    search = Search(first=plan.first, most=plan.most, width=plan.width)
    too_slow = _note_rates(search, plan, made, is_known)
    number = search.next()
    if number is not None:
        return Step(
            name="learning",
            load=float(number),
            frames=plan.addresses,
            frame_size=plan.frame_size,
            addresses=plan.addresses,
        )
    verdict = AT_LEAST if search.high is None or too_slow else FOUND
    text = f"of {plan.addresses} addresses" + (f"; {too_slow}" if too_slow else "")
    return [SwitchingResult(name="", verdict=verdict, value=_reached(search, made), text=text)]


def _note_rates(search: Search, plan: SwitchingPlan, made: Sequence[Trial], passes: Callable[[Trial], bool]) -> str:
    """Have a search take the rates of trials; give what limits it but the device.

    A trial that passes is proof. One that fails while the device, or the machine, stood still is made again more often.
    """
    too_slow, failures, disturbed = "", 0, 0
    for trial in made:
        if trial.extra.get("too_slow"):
            too_slow = "the tester sends no faster"
            search.note(round(trial.load), passed=False)
            continue
        has_passed = passes(trial)
        failures, disturbed = failures + (not has_passed), disturbed + (not has_passed and _is_disturbed(trial))
        if has_passed or failures - disturbed >= plan.attempts or failures >= _PATIENCE * plan.attempts:
            search.note(round(trial.load), passed=has_passed)
            failures, disturbed = 0, 0
    return too_slow


_PATIENCE, _STALL = 3, 0.01
"""How much more often a disturbed trial is made again; and the share of its time that makes it one."""


def _is_disturbed(trial: Trial) -> bool:
    """Say whether a frame of a trial waited so long that its rate shows nothing of the device."""
    most_s = float(trial.extra.get("most_stalled_s", math.inf))
    return float(trial.extra.get("stalled_s", 0.0)) > min(most_s, _STALL * trial.intended / trial.load)


def _reached(search: Search, made: Sequence[Trial]) -> float:
    """Give the rate at which the greatest trial that passed was really sent."""
    rates = [float(trial.extra.get("reached", search.low)) for trial in made if round(trial.load) == search.low]
    return min(float(search.low), *rates[-1:])


def _ageing(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    made = of_step(trials, "ageing")
    for trial in made:
        if blind(trial):
            return [SwitchingResult(name="", verdict=NOTHING, text=blind(trial))]
    if len(made) < plan.rounds and not any(trial.extra.get("flooded_from_s") is None for trial in made):
        return Step(name="ageing", load=plan.rate, frames=1, frame_size=plan.frame_size, addresses=1, round=len(made))
    known = [float(trial.extra["known_until_s"]) for trial in made]
    flooded = [trial.extra.get("flooded_from_s") for trial in made]
    if None in flooded:
        return [SwitchingResult(name="", verdict=AT_LEAST, value=min(known), text="watched no longer")]
    least, most = min(known), max(float(time_s or 0.0) for time_s in flooded)
    known_until, flooded_at = format_delay(least), format_delay(most)
    text = f"from {known_until}, when all were known, to {flooded_at}, when none was; {len(made)} rounds"
    return [SwitchingResult(name="", verdict=FOUND, value=(least + most) / 2, text=text)]


def _errored(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    results = []
    for size in plan.sizes:
        name = f"{size} bytes"
        made = of_step(trials, name)
        if not made:
            return Step(name=name, load=plan.rate, frames=plan.frames, frame_size=size, addresses=1)
        results.append(_filtered(size, made[-1]))
    return results


LEAST_SIZE = 64


def _filtered(size: int, trial: Trial) -> SwitchingResult:
    """Judge frames of a size that none may have: too short ones are to be filtered, too long ones may be."""
    name = f"{size} bytes"
    if trial.extra.get("refused"):
        return SwitchingResult(name=name, verdict=NOTHING, text=f"not sent: {trial.extra['refused']}")
    forwarded, shortest = trial.sent - trial.lost, int(trial.extra.get("shortest", 0)) + 4
    value = float(forwarded)
    if size < LEAST_SIZE and forwarded and shortest >= LEAST_SIZE:
        text = f"arrived with {shortest} bytes: padded by the sender or the device"
        return SwitchingResult(name=name, verdict=NOTHING, value=value, text=text)
    if size < LEAST_SIZE:
        verdict, text = (FAIL, "forwarded") if forwarded else (PASS, "filtered")
        return SwitchingResult(name=name, verdict=verdict, value=value, text=text)
    if forwarded not in (0, trial.sent):
        text = f"{forwarded} of {trial.sent} arrived: neither filtered nor forwarded; try a lower --rate"
        return SwitchingResult(name=name, verdict=NOTHING, value=value, text=text)
    return SwitchingResult(name=name, verdict=PASS, value=value, text="forwarded" if forwarded else "filtered")


def _broadcast(plan: SwitchingPlan, trials: Sequence[Trial]) -> Step | Results:
    made = of_step(trials, "forwarding")
    search = Search(first=plan.most, most=plan.most, width=plan.width, least=_LEAST_SHARE * plan.rate)
    too_slow = _note_rates(search, plan, made, comes_to_all)
    dead = [
        plan.ports[number] for number in range(1, len(plan.ports)) if made and not made[0].extra["received"][number]
    ]
    rate = None if dead else search.next()
    if rate is not None:
        frames = max(1, round(rate * plan.trial_s))
        return Step(name="forwarding", load=float(rate), frames=frames, frame_size=plan.frame_size)
    latency = of_step(trials, "latency")
    if not latency:
        return Step(name="latency", load=plan.rate, frames=1, frame_size=plan.frame_size)
    shown = next((trial for trial in reversed(made) if round(trial.load) == search.low), made[-1])
    verdict = AT_LEAST if search.high is None or too_slow else FOUND
    text = f"{', '.join(dead)} gets none" if dead else too_slow or "at every port but the sender's, each frame once"
    return [
        SwitchingResult(name="throughput", verdict=verdict, value=float(search.low), text=text),
        *(_copies(plan, shown, number) for number in range(len(plan.ports))),
        *(_latency(plan, latency[0], number) for number in range(1, len(plan.ports))),
    ]


_LEAST_SHARE = 1 / 16
"""Of the rate of a test: where broadcasts are lost at this, the port or the way to it is at fault, and not the rate."""


def comes_to_all(trial: Trial) -> bool:
    """Say whether broadcasts of a trial came to every port once, and not back to their sender."""
    return trial.lost == 0 and trial.extra["received"][0] == 0 and not any(trial.extra["copies"])


def _copies(plan: SwitchingPlan, trial: Trial, number: int) -> SwitchingResult:
    got, copies = trial.extra["received"][number], trial.extra["copies"][number]
    due = 0 if number == 0 else trial.sent
    text = f"{got} of {due} broadcast frames at {format_load(trial.load)}" + (f", {copies} twice" if copies else "")
    verdict = PASS if got == due and not copies else FAIL
    return SwitchingResult(name=plan.ports[number], verdict=verdict, value=float(got), text=text)


def _latency(plan: SwitchingPlan, trial: Trial, number: int) -> SwitchingResult:
    delay_s = trial.extra["delays_s"][number]
    verdict = NOTHING if delay_s is None else FOUND
    return SwitchingResult(name=f"latency at {plan.ports[number]}", verdict=verdict, value=delay_s, text="of one frame")


TESTS: Mapping[str, Next] = {
    "caching": _caching,
    "learning": _learning,
    "ageing": _ageing,
    "errored": _errored,
    "broadcast": _broadcast,
}
"""Each test, and what gives its next trial."""


def is_known(trial: Trial) -> bool:
    """Say whether a device knew all addresses of a trial: each frame came, and none was flooded."""
    return trial.lost == 0 and trial.sent == trial.intended and trial.extra.get("flooded") == 0


def _addresses(trial: Trial) -> int:
    return int(trial.extra.get("addresses", 0))
