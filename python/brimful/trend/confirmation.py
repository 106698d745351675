"""A suspicion measured again: the last good version against the suspected one, live."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from brimful.errors import UsageError
from brimful.trend.judgement import NORMAL, REGRESSION, SUSPECTED_REGRESSION, Judgement

SHOWN, EXCLUDED, UNDECIDED = "shown", "excluded", "undecided"


class Confirmation(msgspec.Struct, frozen=True):
    """What a live comparison said."""

    verdict: str
    """``shown``, ``excluded`` or ``undecided``."""
    text: str
    """With the ratio and its interval."""


class Suspicion(msgspec.Struct, frozen=True):
    """A value that is far from its level."""

    key: dict[str, str]
    """Of the series."""
    good: str
    """The last version before it that has a value."""
    bad: str


Confirm = Callable[[Suspicion], Confirmation]


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

    def compare(suspicion: Suspicion) -> Confirmation:
        message = (
            f"--confirm: this brimful has no live comparison yet; compare {measurer} of {suspicion.good}"
            f" and {suspicion.bad} by hand"
        )
        raise UsageError(message)

    return compare


def with_verdict(judgement: Judgement, confirmation: Confirmation) -> Judgement:
    """Let the verdict of a live comparison count: what it shows is a change, what it excludes is none."""
    states = {EXCLUDED: NORMAL}
    if judgement.state == SUSPECTED_REGRESSION:
        states[SHOWN] = REGRESSION
    return msgspec.structs.replace(
        judgement,
        state=states.get(confirmation.verdict, judgement.state),
        text=f"{judgement.text}; live comparison: {confirmation.text}",
        confirmation=confirmation.text,
    )
