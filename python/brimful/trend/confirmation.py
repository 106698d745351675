"""A suspicion measured again: the last good version against the suspected one, live."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from brimful.errors import UsageError
from brimful.trend.judgement import (
    NORMAL,
    PROGRESSION,
    REGRESSION,
    SUSPECTED_PROGRESSION,
    SUSPECTED_REGRESSION,
    Judgement,
    Settings,
)
from brimful.trend.series import LOWER, Series

SHOWN, EXCLUDED, UNDECIDED = "shown", "excluded", "undecided"
_VERDICTS = {"regression": SHOWN, "no-regression": EXCLUDED}
_STATES = {SUSPECTED_REGRESSION: REGRESSION, SUSPECTED_PROGRESSION: PROGRESSION}


class Confirmation(msgspec.Struct, frozen=True):
    """What a live comparison said."""

    verdict: str
    """``shown``, ``excluded`` or ``undecided``."""
    text: str
    """With the ratio and its interval."""


class Suspicion(msgspec.Struct, frozen=True):
    """A value that is far from its level: whether one version forwards less than another is to be measured."""

    fast: str
    slow: str
    """The last good version and the newest, or, of a suspected progression, the newest and the one before."""


Confirm = Callable[[Suspicion, Settings], Confirmation]


def suspicion_of(series: Series, judgement: Judgement) -> Suspicion | None:
    """Give what is to be measured again; null: nothing, or nothing that a comparison of throughputs could say."""
    if judgement.state not in _STATES or series.worse != LOWER:
        return None
    valued = [version for version, value in zip(series.versions, series.values, strict=True) if value is not None]
    before, newest = valued[-2:]
    return Suspicion(before, newest) if judgement.state == SUSPECTED_REGRESSION else Suspicion(newest, before)


def opener(measurer: str | None) -> Confirm:
    """Give what compares the versions of a suspicion live.

    Parameters
    ----------
    measurer
        A measurer in which ``{version}`` stands for the version to measure.

    Raises
    ------
    UsageError
        When no measurer is given, or it names no version.
    """
    if measurer is None:
        message = "--confirm: name the device with --measurer; {version} in it stands for the version to measure"
        raise UsageError(message)
    if "{version}" not in measurer:
        message = f"--measurer {measurer}: has no {{version}} in it, which stands for the version to measure"
        raise UsageError(message)
    template = measurer

    def confirm(suspicion: Suspicion, settings: Settings) -> Confirmation:
        from brimful.paired.compare import compare

        fast, slow = (template.replace("{version}", version) for version in (suspicion.fast, suspicion.slow))
        (ratio,) = compare(fast, slow, tolerance=settings.tolerance, precision=settings.tolerance / 2).ratios
        text = ratio.verdict
        if ratio.ratio is not None and ratio.low is not None and ratio.high is not None:
            text = (
                f"{suspicion.slow} forwards {ratio.ratio:.3f} ({ratio.low:.3f} to {ratio.high:.3f}) of {suspicion.fast}"
            )
        return Confirmation(_VERDICTS.get(ratio.verdict, UNDECIDED), text)

    return confirm


def with_verdict(judgement: Judgement, confirmation: Confirmation) -> Judgement:
    """Let the verdict of a live comparison count: what it shows is a change, what it excludes is none."""
    states = {SHOWN: _STATES[judgement.state], EXCLUDED: NORMAL}
    return msgspec.structs.replace(
        judgement,
        state=states.get(confirmation.verdict, judgement.state),
        text=f"{judgement.text}; live: {confirmation.text}",
        confirmation=confirmation.text,
    )
