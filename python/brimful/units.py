"""Numbers with units, as people write them: ``10Mpps``, ``9.5Gbps``, ``10kiops``, ``500ms``, ``0.5%``, and back.

One place reads them and one place writes them.
"""

from __future__ import annotations

import math
import re

from brimful.errors import UsageError

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_DURATIONS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "": 1.0}
_RATIOS = {"": 1.0, "%": 1e-2, "ppm": 1e-6}
_LARGEST_LOAD = 1e15
"""A load that nothing reaches for centuries; beyond it counts would lose exactness."""
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*")

ETHERNET_OVERHEAD_BYTES = 20
"""Preamble, start delimiter and gap between frames: what a frame takes on the wire beyond its own bytes."""


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    if text.strip().startswith("-") and _NUMBER.fullmatch(text.strip()[1:]):
        message = f"{what} {text!r} is below 0"
        raise UsageError(message)
    match = _NUMBER.fullmatch(text)
    if match is None:
        message = f"{what} {text!r} is not a number with a unit; write it like {example}"
        raise UsageError(message)
    value = float(match[1])
    if not math.isfinite(value):
        message = f"{what} {text!r} is too large"
        raise UsageError(message)
    return value, match[2]


def parse_load(
    text: str, *, frame_size: int | None = None, io_size: float | None = None, max_load: float | None = None
) -> float:
    """Read a load in units per second.

    ``1Mpps``, ``1M`` and ``1e6`` are rates of frames; ``9.5Gbps`` is a rate of bits on the wire (gaps included) and
    ``9.5GbpsL2`` of bits of frames, both only where the frame size in bytes is known; ``10kiops`` is a rate of IOs, and
    ``1.2GB/s`` of their bytes, where their size is known; ``50%`` is of the max load.

    >>> parse_load("1.5Mpps")
    1500000.0
    >>> parse_load("10Gbps", frame_size=64)
    14880952.38095238
    >>> parse_load("10kiops"), parse_load("1.2GB/s", io_size=4096)
    (10000.0, 292968.75)
    """
    value, unit = _split(text, "load", "1.2Mpps, 9.5Gbps or 50%")
    if unit == "%":
        if max_load is None:
            message = f"load {text!r} is a share of the max load, which is not known here; give a rate like 1.2Mpps"
            raise UsageError(message)
        return _checked_load(value / 100 * max_load, text)
    match = re.fullmatch(r"([kKMGT]?)(pps|fps|iops|IO/s|/s|bps|bpsL1|bpsL2|B/s|)", unit)
    if match is None:
        message = f"load {text!r} has the unknown unit {unit!r}; use pps, bps, iops, B/s or % with k, M or G before it"
        raise UsageError(message)
    per_second = value * _PREFIXES[match[1]]
    if match[2].startswith("bps"):
        if frame_size is None:
            message = f"load {text!r} is in bits per second, but the frame size is not fixed; give it in pps"
            raise UsageError(message)
        overhead = 0 if match[2].endswith("L2") else ETHERNET_OVERHEAD_BYTES
        per_second /= 8 * (frame_size + overhead)
    if match[2] == "B/s":
        if io_size is None:
            message = f"load {text!r} is in bytes per second, but the size of an IO is not known; give it in iops"
            raise UsageError(message)
        per_second /= io_size
    return _checked_load(per_second, text)


def _checked_load(per_second: float, text: str) -> float:
    if per_second <= 0:
        message = f"load {text!r} is not above 0"
        raise UsageError(message)
    if per_second > _LARGEST_LOAD:
        message = f"load {text!r} is above {_LARGEST_LOAD:g}/s, more than anything can be offered"
        raise UsageError(message)
    return per_second


_LONGEST_S = 1e9
"""More than any test takes: clocks and timers can still count it."""


def parse_duration(text: str) -> float:
    """Read a time in seconds.

    >>> parse_duration("500ms"), parse_duration("5m"), parse_duration("21")
    (0.5, 300.0, 21.0)
    """
    value, unit = _split(text, "duration", "500ms, 60s or 5m")
    if unit not in _DURATIONS:
        message = f"duration {text!r} has the unknown unit {unit!r}; use ms, s, m or h"
        raise UsageError(message)
    seconds = value * _DURATIONS[unit]
    if seconds <= 0:
        message = f"duration {text!r} is not above 0"
        raise UsageError(message)
    if seconds > _LONGEST_S:
        message = f"duration {text!r} is above {_LONGEST_S:g} s"
        raise UsageError(message)
    return round(seconds, 9)


def parse_ratio(text: str) -> float:
    """Read a ratio between 0 and 1.

    >>> parse_ratio("0.5%"), parse_ratio("0.005"), parse_ratio("100ppm"), parse_ratio("1/3")
    (0.005, 0.005, 0.0001, 0.3333333333333333)
    """
    fraction = re.fullmatch(r"\s*([0-9]+)\s*/\s*([1-9][0-9]*)\s*", text)
    if fraction is not None:
        ratio = int(fraction[1]) / int(fraction[2])
    else:
        value, unit = _split(text, "ratio", "0.5% or 0.005")
        if unit not in _RATIOS:
            message = f"ratio {text!r} has the unknown unit {unit!r}; use %, ppm or none"
            raise UsageError(message)
        # Decimal digits are kept: 0.5 % is 0.005, not 0.5 x 0.01.
        ratio = {"%": value / 100, "ppm": value / 1e6}.get(unit, value)
    if not 0 <= ratio <= 1:
        meant = f"; did you mean {text.strip()}%?" if 1 < ratio <= 100 and _is_bare(text) else ""
        message = f"ratio {text!r} is not between 0 and 1 (0 % and 100 %){meant}"
        raise UsageError(message)
    return ratio


def parse_small_ratio(text: str) -> float:
    """Read a ratio that is seldom large: what is large without a unit was likely meant in per cent.

    >>> parse_small_ratio("0.005"), parse_small_ratio("0.5%"), parse_small_ratio("50%")
    (0.005, 0.005, 0.5)
    >>> parse_small_ratio("0.5")
    Traceback (most recent call last):
    ...
    brimful.errors.UsageError: ratio '0.5' is 50 %: did you mean 0.5%? Write 50% if you mean it
    """
    ratio = parse_ratio(text)
    if ratio > _LARGEST_BARE_RATIO and _is_bare(text):
        percent = f"{100 * ratio:.10g}"
        message = f"ratio {text!r} is {percent} %: did you mean {text.strip()}%? Write {percent}% if you mean it"
        raise UsageError(message)
    return ratio


def _is_bare(text: str) -> bool:
    """Say whether a ratio is a number without a unit."""
    return re.fullmatch(r"[0-9.]+", text.strip()) is not None


_LARGEST_BARE_RATIO = 0.05

_ALL_DIGITS = 10
"""Of a load: more would be those of its binary form."""
_LONGEST_UNIT = 24
"""A unit is a text from outside; what is longer is no unit to be read."""


def format_load(per_second: float, unit: str = "frames/s", *, digits: int = 4) -> str:
    """Write a load with a prefix and the digits that matter.

    >>> format_load(1234567.0), format_load(950.0, "IO/s"), format_load(0.0)
    ('1.235 Mpps', '950.0 IO/s', '0 pps')
    """
    name = "pps" if unit in {"frames/s", "packets/s", "pps"} else unit
    name = name if len(name) <= _LONGEST_UNIT else f"{name[: _LONGEST_UNIT - 1]}…"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= factor * (1 - 0.5 * 10**-digits):
            return f"{_significant(per_second / factor, digits)} {prefix}{name}"
    return f"{_significant(per_second, digits) if per_second else 0} {name}"


def stated_load(per_second: float, unit: str = "frames/s") -> str:
    """Write a load as it may be typed: a limit with all its digits, which a rounded one could exceed.

    >>> stated_load(14880952.38095238), stated_load(2e6), stated_load(950.0, "IO/s")
    ('14.88095238 Mpps', '2 Mpps', '950 IO/s')
    """
    number, _, prefixed = format_load(per_second, unit, digits=_ALL_DIGITS).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {prefixed}"


def format_duration(seconds: float) -> str:
    """Write a time for people.

    >>> format_duration(0.0123), format_duration(61.0), format_duration(21.0), format_duration(7260.0)
    ('12 ms', '1 min 1 s', '21 s', '2 h 1 min')
    >>> format_duration(0.0), format_duration(0.0003)
    ('0 s', '0.3 ms')
    """
    if seconds == 0:
        return "0 s"
    if seconds < 0.0095:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10 and abs(seconds - round(seconds)) > 0.05:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def format_delay(seconds: float) -> str:
    """Write a delay for people, to four digits.

    >>> format_delay(0.001), format_delay(0.00125), format_delay(20.4e-6), format_delay(8.5e-7), format_delay(0.0)
    ('1 ms', '1.25 ms', '20.4 us', '850 ns', '0 ns')
    >>> format_delay(7260.0)
    '2 h 1 min'
    """
    if seconds >= 1000:
        return format_duration(seconds)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def nanoseconds(seconds: float) -> int:
    """Round seconds to whole nanoseconds, as the engine does: there no rounding decides a comparison.

    >>> nanoseconds(0.001), nanoseconds(1.5e-9)
    (1000000, 2)
    """
    return math.floor(seconds * 1e9 + 0.5)


def format_ratio(ratio: float, *, digits: int | None = None) -> str:
    """Write a ratio in per cent; of what was estimated only the digits that matter.

    >>> format_ratio(0.005), format_ratio(0.0), format_ratio(1 / 3), format_ratio(1e-7), format_ratio(1e-10)
    ('0.5 %', '0 %', '33.33 %', '0.00001 %', '1.0e-08 %')
    >>> format_ratio(0.12491, digits=3)
    '12.5 %'
    """
    percent = (ratio if digits is None else float(f"{ratio:.{digits}g}")) * 100
    if 0 < percent < 1e-6:
        return f"{percent:.1e} %"
    if 99.995 <= percent < 100:
        text = f"{percent:.9f}"
        return f"{text.rstrip('0')} %" if not text.startswith("100") else "almost 100 %"
    text = f"{percent:.2f}" if percent >= 0.01 or percent == 0 else f"{percent:.7f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def _significant(value: float, digits: int) -> str:
    whole_digits = len(str(int(abs(value)))) if abs(value) >= 1 else 1
    return f"{value:.{max(0, digits - whole_digits)}f}"
