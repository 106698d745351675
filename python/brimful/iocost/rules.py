"""What a solution is to reach: the kinds of rule, and how job specs and options spell them."""

from __future__ import annotations

import re

import msgspec

from brimful.errors import UsageError
from brimful.iocost import selectors
from brimful.iocost.selectors import Selector

QUARTERS = {"q1": (0.75, 1.0), "q2": (0.5, 0.75), "q3": (0.25, 0.5), "q4": (0.0, 0.25)}
DEFAULT_PERCENTILE = "99"


class VrateRange(msgspec.Struct, frozen=True):
    """Between two vrates, throttled by latency percentiles; a side without percentile does not throttle."""

    low: float
    high: float
    read_percentile: str | None = DEFAULT_PERCENTILE
    write_percentile: str | None = DEFAULT_PERCENTILE

    @property
    def text(self) -> str:
        """As people and job specs write it."""
        parts = [f"vrate={_short(self.low)}-{_short(self.high)}"]
        if self.read_percentile is not None:
            parts.append(f"rpct={self.read_percentile}")
        if self.write_percentile is not None:
            parts.append(f"wpct={self.write_percentile}")
        return ", ".join(parts)

    @property
    def needs(self) -> list[Selector]:
        """The series that it is solved on."""
        sides = (("r", self.read_percentile), ("w", self.write_percentile))
        return [selectors.latency(direction, percentile) for direction, percentile in sides if percentile is not None]


class OffloadMaximum(msgspec.Struct, frozen=True):
    """The least vrate at which MOF or aMOF is greatest."""

    selector: Selector

    @property
    def text(self) -> str:
        """As people and job specs write it."""
        return f"{self.selector.name}=max"

    @property
    def needs(self) -> list[Selector]:
        """The series that it is solved on."""
        return [self.selector, selectors.LATENCY_IMPACT]


class Named(msgspec.Struct, frozen=True):
    """A rule without parameters."""

    text: str
    needs: list[Selector]


BANDWIDTH = Named("aMOF=max-vrate", [selectors.AMOF])
"""The greatest vrate at which the workload can be protected."""
ISOLATION = Named("aMOF-delta=min", [selectors.AMOF_DELTA])
"""The greatest vrate at which the protected size is as near to the supportable one as it gets."""
ISOLATED_BANDWIDTH = Named("(aMOF=right-max).clamp(isolation, bandwidth)", [selectors.AMOF, selectors.AMOF_DELTA])
"""The greatest vrate at which the protected size is greatest, between the other two."""


class LatencyRange(msgspec.Struct, frozen=True):
    """The vrates that a part of the slope of a latency stands for; 0 is its foot, 1 its top."""

    direction: str
    percentile: str
    low: float
    high: float

    @property
    def text(self) -> str:
        """As people and job specs write it."""
        return f"{self.direction}lat-{self.percentile}={_short(self.low)}-{_short(self.high)}"

    @property
    def needs(self) -> list[Selector]:
        """The series that it is solved on."""
        return [selectors.latency(self.direction, self.percentile)]


Target = VrateRange | OffloadMaximum | Named | LatencyRange
NAIVE = VrateRange(75.0, 100.0)


class Rule(msgspec.Struct, frozen=True):
    """A target with the name of its solution."""

    name: str
    target: Target


DEFAULT = (
    Rule("naive", NAIVE),
    Rule("bandwidth", BANDWIDTH),
    Rule("isolated-bandwidth", ISOLATED_BANDWIDTH),
    Rule("isolation", ISOLATION),
    *(Rule(f"rlat-99-{quarter}", LatencyRange("r", "99", *part)) for quarter, part in QUARTERS.items()),
)
_KEYWORDS: dict[str, OffloadMaximum | Named] = {
    "mof=max": OffloadMaximum(selectors.MOF),
    "amof=max": OffloadMaximum(selectors.AMOF),
    "amof=max-vrate": BANDWIDTH,
    "amof-delta=min": ISOLATION,
    "isolation": ISOLATION,
    "isolated-bandwidth": ISOLATED_BANDWIDTH,
}


class Task(msgspec.Struct, frozen=True):
    """What to analyse: limits of scale factors, further metrics, rules."""

    scale_min: float = 0.01
    scale_max: float = 1.0
    selectors: tuple[Selector, ...] = ()
    rules: tuple[Rule, ...] = DEFAULT

    @property
    def wanted(self) -> list[Selector]:
        """All series that it takes, in the order in which they are shown."""
        names = {*selectors.DEFAULT, *self.selectors, *(need for rule in self.rules for need in rule.target.needs)}
        return sorted(names, key=lambda selector: selector.order)


def check(task: Task) -> Task:
    """Refuse limits and names that contradict each other."""
    if not 0 < task.scale_min < task.scale_max:
        message = (
            f"scale-min {_short(task.scale_min)} must lie above 0 and below scale-max {_short(task.scale_max)}; "
            "write them like 1% and 100%"
        )
        raise UsageError(message)
    names = [rule.name for rule in task.rules]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        message = f"two rules are named {double!r}; give each its own name"
        raise UsageError(message)
    return task


def parse_job_spec(text: str) -> Task:
    """Read a job spec, in the benchmark's own grammar.

    >>> parse_job_spec("iocost-tune::name=test,vrate=75-100,rpct=50,wpct=0").rules[0].target.text
    'vrate=75-100, rpct=50'
    >>> parse_job_spec("iocost-tune:scale-max=0.5,isol-mean").scale_max
    0.5

    Raises
    ------
    UsageError
        Naming the part that is wrong.
    """
    kind, *groups = text.split(":")
    if kind != "iocost-tune":
        message = f"job spec {text!r}: starts with {kind!r}; write iocost-tune[:PROPERTIES][:RULE]..."
        raise UsageError(message)
    task = _first_group(_properties(groups[0])) if groups else Task()
    rules = tuple(parse_rule(group) for group in groups[1:])
    return check(msgspec.structs.replace(task, rules=rules or DEFAULT))


def parse_rule(text: str) -> Rule:
    """Read a rule: a name and at most one target.

    >>> parse_rule("name=half,rlat-99=q2").target.text
    'rlat-99=0.5-0.75'
    """
    given = _properties(text)
    name = given.pop("name", "")
    given.pop("id", None)
    given.pop("passive", None)
    if not name:
        message = f"rule {text!r}: has no name; write name=NAME,TARGET"
        raise UsageError(message)
    percentiles: dict[str, str] = {key: given.pop(key) for key in ("rpct", "wpct") if key in given}
    targets = [_target(key, value, percentiles, text) for key, value in given.items()]
    if len(targets) > 1:
        message = f"rule {text!r}: has {len(targets)} targets ({', '.join(given)}); give each its own rule"
        raise UsageError(message)
    target = targets[0] if targets else NAIVE
    if percentiles and (not targets or not isinstance(target, VrateRange)):
        message = f"rule {text!r}: {' and '.join(percentiles)} go with vrate=LOW-HIGH only"
        raise UsageError(message)
    return Rule(name, target)


def parse_fraction(text: str, what: str) -> float:
    """Read a fraction of 0 or more.

    >>> parse_fraction("50%", "scale-max"), parse_fraction("0.5", "scale-max")
    (0.5, 0.5)
    """
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", number.strip()):
        message = f"{what} {text!r} is not a fraction; write it like 0.5 or 50%"
        raise UsageError(message)
    return float(number) / 100 if percent else float(number)


def _properties(group: str) -> dict[str, str]:
    items = (item.strip() for item in group.split(","))
    return {key: value for key, _, value in (item.partition("=") for item in items if item)}


def _first_group(given: dict[str, str]) -> Task:
    limits = {"scale-min": 0.01, "scale-max": 1.0}
    wanted = []
    for key, value in given.items():
        if key in limits:
            limits[key] = parse_fraction(value, key)
        elif key not in {"id", "passive"}:
            selector = selectors.parse(key)
            if value:
                message = f"metric {key!r} takes no value, got {value!r}; is it a rule? Rules follow the second colon"
                raise UsageError(message)
            wanted.append(selector)
    return Task(limits["scale-min"], limits["scale-max"], tuple(wanted))


def _target(key: str, value: str, percentiles: dict[str, str], rule: str) -> Target:
    keyword = f"{key}={value}".lower() if value else key.lower()
    if (named := _KEYWORDS.get(keyword)) is not None:
        return named
    if key == "vrate":
        low, high = _range(value, rule)
        read, write = (_side(percentiles.get(side, DEFAULT_PERCENTILE)) for side in ("rpct", "wpct"))
        return VrateRange(low, high, read, write)
    match = re.fullmatch(r"([rw])lat-([^-]+)(-mean)?", key)
    if match:
        low, high = QUARTERS.get(value.lower()) or _range(value, rule, least=0.0)
        return LatencyRange(match[1], selectors.parse_percentile(match[2]), low, high)
    message = (
        f"rule {rule!r}: no target is called {key}{'=' if value else ''}{value}; use vrate=LOW-HIGH, "
        f"rlat-99=q1, {', '.join(_KEYWORDS)}"
    )
    raise UsageError(message)


def _side(text: str) -> str | None:
    """Read the percentile of a side; 0 turns the side off."""
    try:
        if float(text) == 0:
            return None
    except ValueError:
        pass
    return selectors.parse_percentile(text)


def _range(text: str, rule: str, least: float | None = None) -> tuple[float, float]:
    match = re.fullmatch(r"([0-9.]+%?)-([0-9.]+%?)", text.strip())
    if match is None:
        message = f"rule {rule!r}: {text!r} is no range; write it like 75-100 or 50%-75%"
        raise UsageError(message)
    # A vrate is in per cent already.
    low, high = (
        parse_fraction(part if least is not None else part.rstrip("%"), f"rule {rule!r}:") for part in match.groups()
    )
    if not (low < high if least is not None else 0 < low <= high):
        message = f"rule {rule!r}: the range {text} must rise from {'0 or more' if least is not None else 'above 0'}"
        raise UsageError(message)
    return low, high


def _short(value: float) -> str:
    return repr(value).removesuffix(".0")
