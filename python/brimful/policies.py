"""What ends a run before its result: trials that gave nothing to count, and a budget of time."""

from __future__ import annotations

import msgspec

from brimful.errors import UsageError

ON_INVALID, ON_ERROR = "retry:10", "fail"
"""What is done about trials that give nothing to count unless the user says otherwise: decision 3."""


_LONGEST_BUDGET_S = 1e9


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


def check_budget(budget_s: float | None) -> None:
    """Require 0 < budget <= 1e9 s.

    Raises
    ------
    UsageError
        Naming what is allowed.
    """
    if budget_s is not None and not 0 < budget_s <= _LONGEST_BUDGET_S:
        message = f"time budget of {budget_s:g} s: it must be above 0 s and at most {_LONGEST_BUDGET_S:g} s"
        raise UsageError(message)
