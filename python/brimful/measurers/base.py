"""The one seam to the outside world: whatever can offer a load and count what was lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any, Protocol, runtime_checkable

import msgspec

from brimful.errors import MeasureError, one_line, shown
from brimful.records import is_rate_of_units


class TrialOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in one trial (MLRsearch-15 Trial Output). Counts are sums over all interfaces."""

    sent: int
    lost: int
    intended: int | None = None
    """Units that the whole trial should have offered; ``intended - sent`` counts as loss. Default: what the load asks
    for, see `with_intended`."""
    effective_duration_s: float | None = None
    """What the trial weighs in the sums of the search. Default: its intended duration."""
    stopped_early: bool = False
    delay_p99_s: float | None = None
    """99th percentile of the delay, the largest of all directions; none where nothing arrived or it is not measured."""
    duplicated: int | None = None
    reordered: int | None = None
    late: int | None = None
    directions: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a measurer says of itself; see ``docs/reference/measurer-protocol.md``."""

    name: str = "measurer"
    load_unit: str = "frames/s"
    load_scope: str = "per interface and direction"
    conversion_factor: float = 1.0
    contract: str = ""
    max_load: float | None = None
    min_duration_s: float | None = None
    """A search that asks for a larger load, or a shorter trial, is refused."""
    overload: float | None = None
    """A load above what the device takes, as a quick try showed: where a search begins unless a load is given."""
    can_stop_early: bool = False
    can_calibrate: bool = False
    tells_delay: bool = False
    """Every trial in which something arrived comes with `TrialOutput.delay_p99_s`: goals may limit it."""
    on_this_machine: bool = False
    """The processors of this machine send the frames, so that how quiet it is matters."""
    virtual_time: bool = False
    """Trials take no time of anybody's: the clock of the measurer is not the wall's."""
    traffic: dict[str, Any] = {}
    device: dict[str, Any] = {}


_LARGEST = 1e15
"""Of loads, factors and their inverses: what products of them leave far from the ends of a float."""
_LONGEST_NAME = 200


def checked_description(description: Description, *, where: str) -> Description:
    """Refuse a description that nothing can be measured by, and give its texts as they can be shown.

    Raises
    ------
    MeasureError
        Naming the field that cannot be.
    """
    needed = {
        "conversion_factor": (1e-9, 1e9),
        "max_load": (1 / _LARGEST, _LARGEST),
        "overload": (1 / _LARGEST, _LARGEST),
        "min_duration_s": (0.0, 1e9),
    }
    for field, (least, most) in needed.items():
        number = getattr(description, field)
        if number is not None and not least <= number <= most:
            message = f"{where}: {field} is {number:g}; it must be from {least:g} to {most:g}"
            raise MeasureError(message)
    texts = {
        field: one_line(getattr(description, field), longest=_LONGEST_NAME)
        for field in ("name", "load_unit", "load_scope", "contract")
    }
    places = {field: kept(getattr(description, field), f"{where}: {field}") for field in ("traffic", "device")}
    return msgspec.structs.replace(description, **texts, **places)


def kept(value: Any, where: str) -> Any:  # noqa: ANN401 - whatever somebody answered
    """Give a value as a record can hold it: numbers of any library as plain ones.

    Raises
    ------
    TrialFailedError
        When no record can: half of a surrogate pair, or an object of no JSON type.

    Examples
    --------
    >>> kept({"queue": 7, "hosts": ("a", "b")}, "extra")
    {'queue': 7, 'hosts': ('a', 'b')}
    """
    try:
        try:
            msgspec.json.encode(value)
        except TypeError:
            return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_builtin))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = f"{where}: cannot be kept in a record: {one_line(error)}"
        raise TrialFailedError(message) from error
    return value


def _builtin(value: Any) -> Any:  # noqa: ANN401 - whatever somebody answered
    """Give what stands for a value of a library in a record."""
    if isinstance(value, PurePath):
        return str(value)
    if callable(plain := getattr(value, "tolist", None)):
        return plain()
    message = f"an object of type {type(value).__name__} is no JSON value"
    raise TypeError(message)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a measurer is opened; each takes what it can use."""

    timeout_s: float
    """How much longer than a trial a program's reply may take."""
    tester_arguments: list[str] = []
    """Traffic options, as our own tester takes them."""
    ip: int = 4
    """Internet protocol version of the test traffic: what a lab's router routes."""
    detail: bool = False
    """Whether programs are asked for all that they know of the delay in each trial: batches and histograms."""


class Measurer(Protocol):
    """Anything that can offer a load and count what was lost."""

    def describe(self) -> Description:
        """Say what it is."""
        ...

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Perform one trial.

        Parameters
        ----------
        load
            Units per second to offer.
        duration_s
            Length of the sending phase.
        stop_above
            Once more than this share of the trial's intended units is lost the outcome is certain, and a measurer
            that can stop early may stop.

        Raises
        ------
        InvalidTrialError
            The tester spoiled the trial.
        TrialFailedError
            The trial gave no usable reply.
        MeasureError
            Nothing more can be measured.
        """
        ...

    def now(self) -> float:
        """Give the time in seconds that trials take place in; only differences mean something."""
        ...

    def resume_at(self, elapsed_s: float) -> None:
        """Take note that a resumed run had got this far."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


@runtime_checkable
class Calibrating(Protocol):
    """A measurer that can find the ceiling of its tester, where its `Description.can_calibrate` says so."""

    def calibrate(self) -> float:
        """Give the largest load that the tester itself reaches, its ports joined to each other.

        Raises
        ------
        MeasureError
            When it cannot be found.
        """
        ...


@runtime_checkable
class Comparing(Protocol):
    """A measurer that can offer frames of other sizes."""

    def passing_size(self) -> int | None:
        """Give a size of frames that come through every way, in bytes; null where none is known."""
        ...


class InvalidTrialError(MeasureError):
    """The tester spoiled one trial: it counts neither as success nor as loss, and repeating it may help."""

    def __init__(self, message: str, reply: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.reply = reply or {}


class TrialFailedError(MeasureError):
    """One trial gave no usable reply: a time-out, a crash, a malformed or impossible answer."""


COUNTED_AS_LOSS = "counted-as-loss"
"""Code of the warning of a trial that gave nothing to count and is total loss by the user's policy."""
UNSENT = "unsent"
"""Code of the warning of a trial that sent less than was intended, and of a search that such trials decided."""
_MOST_UNITS = 2.0**63
_COUNTS = frozenset({"sent", "lost", "intended", "duplicated", "reordered", "late"})


def checked_output(fields: Mapping[str, Any], *, where: str) -> TrialOutput:
    """Give the fields that somebody answered as a trial output, in plain numbers.

    Raises
    ------
    TrialFailedError
        Naming the field that cannot be.
    """
    plain = {name: _plain(name, value, where=where) for name, value in fields.items()}
    for name in ("directions", "warnings", "extra"):
        if plain.get(name):
            plain[name] = kept(plain[name], f"{where}: {name}")
    try:
        output = msgspec.convert(plain, TrialOutput)
    except msgspec.ValidationError as error:
        message = f"{where}: {error}"
        raise TrialFailedError(message) from error
    if output.lost > output.sent:
        message = f"{where}: lost {output.lost} is above sent {output.sent}"
        raise TrialFailedError(message)
    for direction in output.directions:
        _check_direction(direction, where=where)
    return output


def with_intended(
    output: TrialOutput,
    load: float,
    duration_s: float,
    *,
    conversion_factor: float = 1.0,
    load_unit: str = "frames/s",
) -> TrialOutput:
    """Give a trial output with its intended count: where the measurer reports none, it is what the load asks for.

    A unit less for each interface is rounding, and no loss, unless the measurer intended it. What else was not sent
    counts as loss, and a warning says so. A load that is no rate of what is counted says nothing of a count.

    >>> with_intended(TrialOutput(sent=9_000_000, lost=0), 14_880_000.0, 1.0).intended
    14880000
    >>> with_intended(TrialOutput(sent=9_000_000, lost=0), 9.5e9, 1.0, load_unit="bit/s").intended
    9000000
    >>> with_intended(TrialOutput(sent=999, lost=0), 999.9, 1.0).intended
    999
    """
    if output.intended is None and not is_rate_of_units(load_unit):
        return msgspec.structs.replace(output, intended=output.sent)
    due = round(min(load * duration_s * conversion_factor, _MOST_UNITS)) if output.intended is None else output.intended
    unsent = due - output.sent
    if output.intended is None and unsent <= max(1, math.ceil(conversion_factor)):
        return msgspec.structs.replace(output, intended=output.sent)
    if output.stopped_early or unsent <= 0:
        return msgspec.structs.replace(output, intended=due)
    how = "load x duration" if output.intended is None else "the intended count"
    text = f"{unsent} units of {how} were not sent and count as loss"
    warnings = [*output.warnings, {"code": UNSENT, "text": text}]
    return msgspec.structs.replace(output, intended=due, warnings=warnings)


_SURPLUS = 0.01
"""No tester that works sends so much more than it was asked to."""


def check_surplus(output: TrialOutput, load: float, duration_s: float, description: Description) -> None:
    """Refuse a trial that sent more than was asked for: what it says is of a higher load.

    A load that is no rate of what is counted says nothing of a count: there the intended count does, if it is known.

    Parameters
    ----------
    output
        What happened in the trial.
    load, duration_s
        What was asked for, in the description's unit and in seconds. A trial that says that it lasted longer
        (`TrialOutput.effective_duration_s`) may have sent more in that time.
    description
        Of the measurer.

    Raises
    ------
    InvalidTrialError
        When a hundredth more was sent, and more than a unit for each interface.

    Examples
    --------
    >>> check_surplus(TrialOutput(sent=1_010_000, lost=0), 1e6, 1.0, Description())
    >>> check_surplus(TrialOutput(sent=1_200_000, lost=0), 1e6, 1.0, Description())
    Traceback (most recent call last):
    ...
    brimful.measurers.base.InvalidTrialError: 1200000 units were sent where 1000000 were due: the tester sends too much
    """
    factor = description.conversion_factor
    lasted_s = max(duration_s, output.effective_duration_s or 0.0)
    dues = [] if output.intended is None else [float(output.intended)]
    if is_rate_of_units(description.load_unit):
        dues.append(load * lasted_s * factor)
    due = min(dues, default=math.inf)
    if output.sent > (1 + _SURPLUS) * due + max(1, math.ceil(factor)):
        message = f"{output.sent} units were sent where {due:.0f} were due: the tester sends too much"
        raise InvalidTrialError(message, output.extra)


def _check_direction(direction: Mapping[str, Any], *, where: str) -> None:
    """Refuse a direction in which more was lost than was sent."""
    counts = {
        name: _plain(name, direction[name], where=f"{where}: of a direction")
        for name in ("sent", "lost")
        if direction.get(name) is not None
    }
    if len(counts) == 2 and counts["lost"] > counts["sent"]:
        message = f"{where}: of a direction, lost {counts['lost']} is above sent {counts['sent']}"
        raise TrialFailedError(message)


def _plain(name: str, value: Any, *, where: str) -> Any:  # noqa: ANN401 - whatever somebody answered
    """Give a number of any library as one of Python's, and other fields as they are."""
    if value is None:
        return None
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if name in _COUNTS:
        if 0 <= number < 2**63 and (isinstance(number, Integral) or float(number).is_integer()):
            return int(number)
        needed = "a count is a whole number, 0 or more"
    elif name == "effective_duration_s":
        if 1e-9 <= number <= 1e9:
            return float(number)
        needed = "it must be above 0, from 1e-9 to 1e9 seconds"
    elif name == "delay_p99_s":
        if 0 <= number <= 1e9:
            return float(number)
        needed = "it must be a number of seconds, 0 or more"
    else:
        return value
    message = f"{where}: {name} is {shown(value)}; {needed}"
    raise TrialFailedError(message)
