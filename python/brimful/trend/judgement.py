"""What is said of a series, by the detector and by people. Kept in the store as it was said. Pure."""

from __future__ import annotations

import msgspec

NORMAL = "normal"
SUSPECTED_REGRESSION = "suspected regression"
SUSPECTED_PROGRESSION = "suspected progression"
REGRESSION = "regression"
PROGRESSION = "progression"
ACCEPTED = "accepted"
NO_VALUE = "no value"
STATES = (REGRESSION, NO_VALUE, SUSPECTED_REGRESSION, SUSPECTED_PROGRESSION, PROGRESSION, ACCEPTED, NORMAL)
"""The states of a series, the worst first."""
EXIT_CODES = {REGRESSION: 1, NO_VALUE: 3, SUSPECTED_REGRESSION: 4, SUSPECTED_PROGRESSION: 4}
"""Of states that are not 0."""

OPEN, UNDONE, WITHIN, ANOTHER_UNIT = "open", "undone", "within tolerance", "another unit"
"""What became of a change, beside `ACCEPTED`: see `ChangeLine.standing`."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How series are judged."""

    tolerance: float = 0.01
    """Relative change that does not matter."""
    false_alarms: float = 0.05
    """How many changes a check of all series may report falsely, on average."""
    penalty: float = 16.0
    """What a level costs in units of the variance of the noise, for few series; see `detection.penalty_for`."""
    cap: float = 9.0
    """What a value costs at most, likewise."""
    suspected_at: float = 3.0
    """Standard deviations from its level beyond which a value is suspected, for few series."""
    fewest: int = 12
    """Versions with values that a series needs to be judged."""


class ChangeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A change of level."""

    kind: str
    """``regression`` or ``progression``."""
    standing: str
    """``open``; ``accepted`` by a person; ``undone``: the newest level is as that before it, or beyond;
    ``within tolerance``: its interval is not clear of it; ``another unit``: the ratio is that of two units."""
    index: int
    """Of the first version of the new level, in the columns of the series as it was then."""
    earliest: int
    """Index of the first version that may be it, with 95 % of the relative likelihood."""
    latest: int
    last_good: str
    """The version before ``earliest``."""
    first_bad: str
    """The likeliest version."""
    earliest_version: str
    latest_version: str
    earliest_at: float | None
    """When ``earliest`` was measured, in seconds since 1970."""
    latest_at: float | None
    ratio: float
    """New level / old level."""
    ratio_low: float
    """Ends of the 95 % interval of the ratio."""
    ratio_high: float
    changed_labels: dict[str, tuple[str, str]] = {}
    """Labels that changed with it: before and after."""


class LevelLine(msgspec.Struct, frozen=True):
    """A level: versions from one index to before another."""

    start: int
    end: int
    value: float


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a series after its newest version."""

    series: int
    version: str
    """The newest; empty: it has none."""
    value: float | None
    """Of the newest version."""
    state: str
    """One of `STATES`."""
    text: str
    """In a sentence."""
    method: str
    """Name and version of the detector."""
    settings: Settings
    all_series: int
    """How many series were judged together."""
    penalty: float
    """That was used for this number."""
    deviation: float
    """Relative standard deviation of the noise."""
    correlation: float
    """Of the noise of neighbours."""
    levels: list[LevelLine] = []
    changes: list[ChangeLine] = []
    confirmation: str | None = None
    """What a live comparison said of a suspicion; null: there was none."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says of a series."""

    series: int
    kind: str
    """``accept`` or ``reset``."""
    version: str
    """Accept: the first bad version, as it was known. Reset: the first version that counts."""
    versions: list[str] = []
    """Accept: the versions of the interval, as it was known."""
    reason: str
    who: str
    said: str
    """Date, as in ISO 8601."""
    until: str | None = None
    """The last date on which an acceptance holds; null: for good."""
