"""What the members of a campaign can be beside searches: runs of other subjects. A row each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from brimful.burst.manager import BurstRequest, check_bursts, run_burst
from brimful.loss.loop import LossOutcome
from brimful.loss.manager import LossRequest, check_loss, run_loss
from brimful.managed import Ended
from brimful.measurers.base import Description, Measurer, checked_description
from brimful.records import End
from brimful.recovery.manager import RecoveryRequest, check_recovery, run_recovery
from brimful.throughput.found import ThroughputNotFoundError
from brimful.throughput.manager import SearchRequest, check_search

RunRequest = BurstRequest | LossRequest | RecoveryRequest
"""What each member is asked; its search is replaced."""


class RunKind(msgspec.Struct, frozen=True):
    """One row."""

    subject: str
    """Of the record of the campaign."""
    check: Callable[[Any, Description], None]
    """Refuses what cannot be measured, as far as it is known without measuring."""
    run: Callable[..., Any]
    """Measures; its result has the `path` of the record, and an `outcome` with its `end`."""


def _run_loss(
    request: LossRequest,
    measurer: Measurer,
    *,
    search_progress: object,
    **options: Any,  # noqa: ANN401 - options of `run_loss`
) -> Ended[LossOutcome]:
    return run_loss(request, measurer, **options)  # nothing is searched for first


_KINDS: dict[type, RunKind] = {
    BurstRequest: RunKind("burst-campaign", check_bursts, run_burst),
    LossRequest: RunKind("loss-campaign", check_loss, _run_loss),
    RecoveryRequest: RunKind("recovery-campaign", check_recovery, run_recovery),
}


def subject_of(request: RunRequest) -> str:
    """Give the subject of a campaign of such runs."""
    return _KINDS[type(request)].subject


def check_run(request: RunRequest, search: SearchRequest, measurer: Measurer) -> None:
    """Refuse a run that cannot be made.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    asked = msgspec.structs.replace(request, search=search)
    description = checked_description(measurer.describe(), where="what the measurer says of itself")
    _KINDS[type(request)].check(asked, description)
    if not isinstance(request, LossRequest) and request.throughput is None:
        check_search(search, measurer)


def make_run(
    request: RunRequest,
    search: SearchRequest,
    measurer: Measurer,
    out: Path,
    **options: Any,  # noqa: ANN401 - as above
) -> tuple[End, Path | None]:
    """Make a run, or go on with it; gives how it ended, and its record, which it has none of without a throughput."""
    asked = msgspec.structs.replace(request, search=search)
    try:
        done = _KINDS[type(request)].run(asked, measurer, out=out, **options)
    except ThroughputNotFoundError as error:
        end = error.outcome.result.end
        if end.reason == "interrupted":
            return end, None
        text = f"no throughput was found: {end.text or end.reason}"
        return End(reason="measurement-failed", trials=0, search_s=0.0, text=text), None
    return done.outcome.end, done.path
