"""Names of metrics, and what is known of each: its place among the others, its shape, how it is fitted."""

from __future__ import annotations

import difflib

import msgspec

from brimful.errors import UsageError

LATENCY_PERCENTILES = ("00", "01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9", "99.99", "99.999", "100")
"""Of the latencies of a second."""
TIME_PERCENTILES = ("mean", "00", "01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9", "100", "stdev", "cum")
"""Of the seconds of a run; ``cum`` is the percentile over the whole run."""
ISOLATION_PERCENTILES = ("mean", "00", "01", "05", "10", "25", "50", "75", "90", "95", "99", "100", "stdev")

_PLAIN = ("MOF", "isol", "aMOF", "aMOF-delta", "isol-PCT", "isol-mean", "lat-imp", "work-csv", "missing")
"""In the order in which they are shown; ``isol-PCT`` stands for all of its kind."""
_SHAPES = {
    "MOF": "non-decreasing",
    "isol": "non-increasing",
    "aMOF": "single-peak",
    "aMOF-delta": "non-decreasing",
    "lat-imp": "non-decreasing",
    "work-csv": "any",
    "missing": "non-decreasing",
}


class Selector(msgspec.Struct, frozen=True):
    """A metric. ``percentile`` is of latencies or of isolation, ``time`` of the seconds of a run."""

    family: str
    percentile: str | None = None
    time: str | None = None

    @property
    def name(self) -> str:
        """Its name: ``MOF``, ``isol-01``, ``rlat-99-mean``."""
        return "-".join(part for part in (self.family, self.percentile, self.time) if part is not None)

    @property
    def is_latency(self) -> bool:
        """Whether it is a latency of reads or writes, in seconds."""
        return self.family in {"rlat", "wlat"}

    @property
    def shape(self) -> str:
        """What its line looks like against vrate."""
        return "non-decreasing" if self.is_latency else _SHAPES[self.family]

    @property
    def needs_protection(self) -> bool:
        """Whether it means nothing beyond the vrate where isolation breaks down."""
        return self.family in {"aMOF", "aMOF-delta"}

    @property
    def order(self) -> tuple[int, int, int]:
        """Place among others: latencies last, by time percentile first."""
        if self.is_latency:
            place = len(_PLAIN) + (self.family == "wlat")
            return place, TIME_PERCENTILES.index(self.time or "mean"), LATENCY_PERCENTILES.index(self.percentile or "")
        if self.family == "isol" and self.percentile is not None:
            if self.percentile == "mean":
                return _PLAIN.index("isol-mean"), 0, 0
            return _PLAIN.index("isol-PCT"), ISOLATION_PERCENTILES.index(self.percentile), 0
        return _PLAIN.index(self.family), 0, 0


def latency(direction: str, percentile: str, time: str = "mean") -> Selector:
    """Give the selector of a latency; ``direction`` is ``r`` or ``w``."""
    return Selector(f"{direction}lat", percentile, time)


MOF = Selector("MOF")
AMOF = Selector("aMOF")
AMOF_DELTA = Selector("aMOF-delta")
ISOLATION = Selector("isol")
LATENCY_IMPACT = Selector("lat-imp")
INFO_LATENCIES = (("50", "mean"), ("50", "99"), ("50", "100"), ("99", "mean"), ("99", "99"), ("100", "100"))
"""The latencies that a solution states: percentile and time percentile."""
DEFAULT = (
    MOF,
    ISOLATION,
    AMOF,
    AMOF_DELTA,
    LATENCY_IMPACT,
    Selector("work-csv"),
    *(
        latency(direction, percentile, time)
        for direction in "rw"
        for time in ("mean", "99", "100")
        for percentile in (("50", "100") if time == "100" else ("50", "99"))
    ),
)
"""What is analysed always."""


def parse(text: str) -> Selector:
    """Read the name of a metric.

    >>> parse("mof").name, parse("rlat-99").name, parse("wlat-max-99.9").name, parse("isol-1").name
    ('MOF', 'rlat-99-mean', 'wlat-100-99.9', 'isol-01')

    Raises
    ------
    UsageError
        For a name that is none; the nearest is suggested.
    """
    for family in _SHAPES:
        if text.lower() == family.lower():
            return Selector(family)
    family, _, rest = text.partition("-")
    if family == "isol" and (percentile := _percentile(rest, ISOLATION_PERCENTILES)):
        return Selector("isol", percentile)
    if family in {"rlat", "wlat"}:
        first, _, second = rest.partition("-")
        percentile, time = _percentile(first, LATENCY_PERCENTILES), _percentile(second or "mean", TIME_PERCENTILES)
        if percentile and time:
            return Selector(family, percentile, time)
    message = f"no metric is called {text!r}; {_nearest(text)}"
    raise UsageError(message)


def parse_percentile(text: str) -> str:
    """Read a percentile of latencies as the tables name it.

    >>> parse_percentile("5"), parse_percentile("max"), parse_percentile("99.90")
    ('05', '100', '99.9')
    """
    percentile = _percentile(text, LATENCY_PERCENTILES)
    if percentile is None:
        message = f"results hold no latency percentile {text!r}; use one of {' '.join(LATENCY_PERCENTILES)} or max"
        raise UsageError(message)
    return percentile


def _percentile(text: str, known: tuple[str, ...]) -> str | None:
    if text in known:
        return text
    if text == "max":
        return "100"
    try:
        value = float(text)
    except ValueError:
        return None
    return next((name for name in known if name[0].isdigit() and float(name) == value), None)


def _nearest(text: str) -> str:
    names = [selector.name for selector in DEFAULT] + ["missing", "isol-mean"]
    names += [f"isol-{percentile}" for percentile in ISOLATION_PERCENTILES]
    names += [
        f"{direction}lat-{percentile}-{time}"
        for direction in "rw"
        for percentile in LATENCY_PERCENTILES
        for time in TIME_PERCENTILES
    ]
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(text.lower(), lower, n=1, cutoff=0.5)
    return f"did you mean {lower[close[0]]}?" if close else "try MOF, isol-01 or rlat-99-mean"
