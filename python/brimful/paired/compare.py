"""Comparisons from Python: what `brimful compare -m A -m B` does, as one function."""

from __future__ import annotations

import contextlib
import string
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful import units
from brimful.errors import MeasureError
from brimful.managed import Place
from brimful.measurers.base import Measurer
from brimful.measurers.function import MeasureFunction, measurer_of
from brimful.measurers.opening import open_measurer
from brimful.paired.beds import OwnBeds, share_a_place
from brimful.paired.loop import PairedOutcome, PairedProgress
from brimful.paired.manager import CONTROL, RENEW_S, PairedRequest, check_request, run_comparison
from brimful.policies import ON_ERROR, ON_INVALID
from brimful.records import End, LossPairs, Ratio, Warning

Device = str | Measurer | MeasureFunction


class ComparisonResult(msgspec.Struct, frozen=True):
    """What a live comparison found."""

    ratios: list[Ratio]
    """For each device beside the first; the control, if there is one, is the last."""
    losses: list[LossPairs]
    """Answers to the second question, if it was asked."""
    warnings: list[Warning]
    end: End

    @property
    def regressed(self) -> bool:
        """Whether a device is slower than the first by more than the tolerance, or loses units more often."""
        verdicts = [ratio.verdict for ratio in self.ratios] + [losses.verdict for losses in self.losses]
        return "regression" in verdicts


def compare(
    first: Device,
    *others: Device,
    tolerance: float | str = "2%",
    precision: float | str = "1%",
    budget_s: float = 600.0,
    seed: int = 1,
    trial_s: float = 0.5,
    control: bool = False,
    loss_ratio: float | str | None = None,
    max_load: float | str | None = None,
    renew_s: float | None = None,
    on_invalid: str = ON_INVALID,
    on_error: str = ON_ERROR,
    traffic: Sequence[str] = (),
    ip: int = 4,
    timeout_s: float = 30.0,
    record: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[PairedProgress], None] | None = None,
) -> ComparisonResult:
    """Compare devices: whether one is slower than the first, and by how much.

    Parameters
    ----------
    first, others
        What `brimful compare` takes after ``--measurer``; a `Measurer`; or a function
        ``measure(load, duration) -> (sent, lost)``.
    tolerance
        A loss of more than this share is a regression.
    precision
        The comparison ends when the ratio is known to this, plus or minus.
    budget_s
        Longest time for each question, in seconds.
    seed
        What the order of trials is drawn from.
    trial_s
        Length of each trial.
    control
        Whether a second instance of the first device is measured too, which is then to be given as text.
    loss_ratio
        Asks which device exceeds this loss ratio more often below its capacity.
    max_load
        Offer no more than this.
    renew_s
        Devices that were given as text are made anew after this time in seconds. Default: 120 where all are labs.
    on_invalid, on_error
        What to do about a trial that was spoiled, and about one whose answer cannot be: ``fail`` or ``retry:N``.
    traffic, ip, timeout_s
        As of `brimful.search`.
    record, resume
        Directory of the record, and whether to go on with the run there.
    progress
        Is called before each trial with where the comparison stands.

    Raises
    ------
    UsageError
        When the devices cannot be compared.
    MeasureError
        When measuring failed; ``result`` has what was found.

    Examples
    --------
    >>> compare("sim:sharp,capacity=1Mpps", "sim:sharp,capacity=0.9Mpps", tolerance="2%").ratios[0].verdict
    'regression'
    """
    devices = [first, *others]
    request = PairedRequest(
        devices=_named(devices, control=control),
        tolerance=_ratio(tolerance),
        precision=_ratio(precision),
        budget_s=budget_s,
        seed=seed,
        trial_s=trial_s,
        control=control,
        renew_s=_renew_s(devices, renew_s),
        loss_ratio=None if loss_ratio is None else _ratio(loss_ratio),
        max_load=max_load,
        on_invalid=on_invalid,
        on_error=on_error,
        traffic={"arguments": list(traffic), "ip": ip},
    )
    check_request(request)

    def opened(number: int) -> Measurer:
        device = devices[number] if number < len(devices) else first
        if isinstance(device, str):
            return open_measurer(device, timeout_s=timeout_s, tester_arguments=list(traffic), ip=ip)
        return _Borrowed(measurer_of(device))

    with contextlib.ExitStack() as stack:
        out = Path(record if record is not None else stack.enter_context(tempfile.TemporaryDirectory()))
        texts = [device for device in (*devices, first) if isinstance(device, str)][: len(request.devices)]
        beds = OwnBeds(opened, len(request.devices), one_at_a_time=share_a_place(texts))
        stack.callback(beds.close)
        done = run_comparison(
            request,
            beds,
            place=Place(out=out, resume=resume),
            progress=lambda run, state: progress(state) if progress is not None else None,
        ).outcome
    return _result(done)


def _result(done: PairedOutcome) -> ComparisonResult:
    """Give what was found, or raise why it is not all."""
    result = ComparisonResult(done.ratios, done.losses, done.warnings, done.end)
    if done.end.reason not in ("measurement-failed", "interrupted"):
        return result
    failure = KeyboardInterrupt() if done.end.reason == "interrupted" else MeasureError(done.end.text)
    failure.result = result  # type: ignore[union-attr]
    raise failure


class _Borrowed:
    """A measurer of the caller, which is not closed here."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer

    def close(self) -> None:
        """Nothing to do: the measurer belongs to the caller."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the measurer has
        return getattr(self._measurer, name)


def _named(devices: Sequence[Device], *, control: bool) -> list[tuple[str, str]]:
    names = [*string.ascii_uppercase[: len(devices)], *([CONTROL] if control else [])]
    given = [*devices, *(devices[:1] if control else [])]
    return [
        (name, device if isinstance(device, str) else getattr(device, "__qualname__", type(device).__name__))
        for name, device in zip(names, given, strict=True)
    ]


def _renew_s(devices: Sequence[Device], renew_s: float | None) -> float | None:
    is_lab = all(isinstance(device, str) and device.startswith("lab:") for device in devices)
    return renew_s or (RENEW_S if is_lab else None)


def _ratio(value: float | str) -> float:
    return units.parse_ratio(value) if isinstance(value, str) else float(value)
