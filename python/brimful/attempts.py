"""One trial, whatever became of it, and how often it is made when nothing came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.errors import MeasureError, UsageError, one_line
from brimful.measurers.base import InvalidTrialError, TrialFailedError, TrialOutput
from brimful.records import Record, Trial, Warning

ON_INVALID, ON_ERROR = "retry:10", "fail"
"""What is done about trials that give nothing to count unless the user says otherwise: decision 3."""


class FailurePolicy(msgspec.Struct, frozen=True):
    """What to do about a trial that gave nothing to count: fail, repeat it, or count it as total loss."""

    retries: int = 0
    count_as_loss: bool = False

    @classmethod
    def parse(cls, text: str) -> FailurePolicy:
        """Read ``fail``, ``retry:N`` or ``loss``.

        >>> FailurePolicy.parse("retry:3").retries
        3
        """
        if text == "fail":
            return cls()
        if text == "loss":
            return cls(count_as_loss=True)
        kind, _, number = text.partition(":")
        if kind == "retry" and number.isdecimal() and 1 <= int(number) <= 1000:
            return cls(retries=int(number))
        message = f"policy {text!r} is not fail, retry:N (N from 1 to 1000) or loss"
        raise UsageError(message)


class Policies(msgspec.Struct, frozen=True):
    """What to do about trials that gave nothing to count."""

    on_invalid: FailurePolicy = FailurePolicy.parse(ON_INVALID)
    """That the tester spoiled."""
    on_error: FailurePolicy = FailurePolicy.parse(ON_ERROR)
    """That gave no usable reply."""

    @classmethod
    def read(cls, on_invalid: str, on_error: str) -> Policies:
        """Read both, each ``fail``, ``retry:N`` or ``loss``."""
        return cls(FailurePolicy.parse(on_invalid), FailurePolicy.parse(on_error))

    @classmethod
    def without_loss(cls, on_invalid: str, on_error: str, *, reason: str) -> Policies:
        """Read both where a trial that gave nothing cannot count as one that lost all, for this reason.

        Raises
        ------
        UsageError
            When one is ``loss``, or none of the policies.
        """
        policies = cls.read(on_invalid, on_error)
        if policies.on_invalid.count_as_loss or policies.on_error.count_as_loss:
            message = f"policy 'loss': {reason}; use fail or retry:N"
            raise UsageError(message)
        return policies


class Made(msgspec.Struct, frozen=True):
    """What a trial came to."""

    output: TrialOutput
    policy: FailurePolicy | None = None
    """What to do about it when it gave nothing to count."""
    problem: str = ""
    """Why it gave nothing."""


def make_trial(
    measure: Callable[[], TrialOutput],
    policies: Policies,
    *,
    where: str,
    of_failure: Callable[[dict[str, Any]], TrialOutput],
) -> Made:
    """Perform a trial, whatever becomes of it.

    Parameters
    ----------
    measure
        Performs it.
    policies
        What is to be done where nothing comes of it.
    where
        Names the trial.
    of_failure
        Gives what is kept of one that came to nothing, from the reply that spoiled it.

    Raises
    ------
    MeasureError
        Nothing more can be measured.
    """
    try:
        return Made(measure())
    except InvalidTrialError as error:
        return Made(of_failure(error.reply), policies.on_invalid, f"invalid {where}: {error}")
    except TrialFailedError as error:
        return Made(of_failure({}), policies.on_error, str(error))


class Attempt(msgspec.Struct, frozen=True):
    """A trial that was made, and is in the record."""

    trial: Trial
    policy: FailurePolicy | None = None
    """What to do about it when it gave nothing to count."""
    problem: str = ""
    """Why it gave nothing."""


def save_attempt(
    made: Made,
    trials: list[Trial],
    sink: Callable[[Record], None],
    *,
    purpose: str | None = None,
    **facts: Any,  # noqa: ANN401 - those of `trial_of`
) -> Attempt:
    """Save a trial, whatever became of it, as the next one of a run.

    Parameters
    ----------
    made, trials
        The trial, and those before it; it is added to them.
    sink
        Is given its record; returns when it is safe.
    purpose
        Why it does not count although it could, if so.
    facts
        What was asked for and when: see `trial_of`.
    """
    invalid = purpose if made.policy is None else made.problem
    trial = trial_of(made.output, seq=len(trials), invalid=invalid, **facts)
    with undisturbed():
        sink(trial)
        trials.append(trial)
    return Attempt(trial, made.policy, made.problem)


class SpoiledTooOftenError(MeasureError):
    """A trial was tried as often as allowed, and gave nothing to count; ``trial`` is the last of them."""

    def __init__(self, message: str, trial: Trial) -> None:
        super().__init__(message)
        self.trial = trial


def spoiled_warnings(trials: Sequence[Trial], one: str, *, but: str | None = None) -> list[Warning]:
    """Say how many trials were invalid, if any was; those of the purpose ``but`` were not meant to count."""
    spoiled = sum(trial.invalid not in (None, but) for trial in trials)
    if not spoiled:
        return []
    return [Warning(code="invalid-trials", text=f"{spoiled} of {len(trials)} {one}s were invalid and not counted")]


def repeat_as_allowed(attempt: Callable[[], Attempt]) -> Trial:
    """Make a trial as often as its policy allows, and give the one that counts.

    Raises
    ------
    SpoiledTooOftenError
        When the last one allowed gave nothing to count either; with the hint of the tester, if it had one.
    """
    failures = 0
    while True:
        made = attempt()
        if made.policy is None or made.policy.count_as_loss:
            return made.trial
        failures += 1
        if failures > made.policy.retries:
            again = f" ({failures} times in a row)" if failures > 1 else ""
            hint = made.trial.extra.get("hint")
            message = f"{made.problem}{again}{f'; {one_line(hint)}' if isinstance(hint, str) else ''}"
            raise SpoiledTooOftenError(message, made.trial)


def trial_of(
    output: TrialOutput,
    *,
    seq: int,
    load: float,
    duration_s: float,
    start_s: float,
    end_s: float,
    invalid: str | None,
    **more: Any,  # noqa: ANN401 - fields of Trial
) -> Trial:
    """Give the record of a trial.

    Parameters
    ----------
    output
        What happened in it.
    seq, load, duration_s
        Its number, and what was asked for.
    start_s, end_s
        When it began and ended, in seconds since the start of the run.
    invalid
        Why it does not count, if it does not.
    more
        Fields that only some kinds of run have.
    """
    return Trial(
        seq=seq,
        load=load,
        duration_s=duration_s,
        intended=output.sent if output.intended is None else output.intended,
        sent=output.sent,
        lost=output.lost,
        effective_duration_s=output.effective_duration_s,
        start_s=round(start_s, 9),
        elapsed_s=round(end_s - start_s, 9),
        stopped_early=output.stopped_early,
        delay_p99_s=output.delay_p99_s,
        invalid=invalid,
        duplicated=output.duplicated,
        reordered=output.reordered,
        late=output.late,
        directions=output.directions,
        warnings=output.warnings,
        extra=output.extra,
        **more,
    )
