"""The table of subjects: what a run can be of. A subject is a folder of its own and one row here.

Functions are named, not imported: a command loads those that it calls and no others.
"""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from brimful.errors import RecordError
from brimful.records.analysis import Done, Finding, Fit, Series, Solution
from brimful.records.bisection import Bisected, Build, Visit
from brimful.records.burst import Burst, BurstTest
from brimful.records.campaign import Member
from brimful.records.delay import Delay
from brimful.records.loss import Loss
from brimful.records.paired import Activation, LossPairs, Pair, Ratio
from brimful.records.record import Record
from brimful.records.recovery import Recovery
from brimful.records.run import End, Run, Trial, Warning
from brimful.records.suite import SuiteTest
from brimful.records.switching import SwitchingResult
from brimful.records.throughput import Bound, GoalResult

COMMON_KINDS: tuple[type[Record], ...] = (Run, Trial, Warning, End)
"""Records that a run of any subject may have."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One row. Functions are written ``module:function``; null where the subject has no such thing."""

    name: str
    """As in `Run.subject`."""
    plural: str
    """What its runs are, in messages."""
    kinds: tuple[type[Record], ...]
    """Its records, beside `COMMON_KINDS`."""
    line: str
    """``(RunFile) -> str``: the result in one line, for lists of runs."""
    document: str | None = None
    """``(RunFile) -> Document``: the blocks of a report, which the three functions below render unless they are
    named."""
    text: str = "brimful.report.rendering:text"
    """``(RunFile, *, style, columns) -> str``: the report for a terminal."""
    page: str = "brimful.report.rendering:page"
    """``(RunFile) -> str``: the report as one HTML file, from which the PDF is made."""
    json: str = "brimful.report.rendering:to_json"
    """``(RunFile) -> str``: what the report is made of."""
    png: str | None = None
    """``(RunFile, directory) -> list[Path]``: each figure as a file."""
    verify: str | None = None
    """``(RunFile, goals) -> Verified``: everything that the record claims, computed again."""
    explain: str | None = None
    """``(RunFile) -> str``: why the result is what it is. None: `explain` shows loads and verdicts, or nothing."""
    compare: str | None = None
    """``(runs, baseline, *, tolerance) -> Compared``: two sets of runs put side by side."""


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        name="search",
        plural="searches",
        kinds=(Bound, GoalResult),
        line="brimful.report.throughput.document:line",
        document="brimful.report.throughput.document:build",
        verify="brimful.report.verdicts:of_search",
        compare="brimful.report.throughput.compared:compare_runs",
    ),
    Subject(
        name="block-device",
        plural="block devices",
        kinds=(Done, Series, Fit, Solution, Finding),
        line="brimful.report.iocost.text:line",
        document="brimful.report.iocost.document:build",
        text="brimful.report.iocost.text:report_run",
        json="brimful.report.iocost.export:report_run",
        verify="brimful.report.verdicts:of_lines",
        compare="brimful.report.iocost.comparison:compare_runs",
    ),
    Subject(
        name="switch-discards",
        plural="discards",
        kinds=(Series, Finding),
        line="brimful.report.discards.document:line",
        document="brimful.report.discards.document:build",
        png="brimful.report.discards.png:write",
        verify="brimful.report.verdicts:of_lines",
        compare="brimful.report.discards.comparison:compare_runs",
    ),
    Subject(
        name="campaign",
        plural="campaigns",
        kinds=(Member,),
        line="brimful.report.campaign.document:line",
        document="brimful.report.campaign.document:build",
        verify="brimful.report.verdicts:of_campaign",
        compare="brimful.report.campaign.comparison:compare_runs",
    ),
    Subject(
        name="delay",
        plural="delays",
        kinds=(Delay,),
        line="brimful.report.delay.model:line",
        document="brimful.report.delay.model:build",
        verify="brimful.report.verdicts:of_delay",
    ),
    Subject(
        name="burst",
        plural="bursts",
        kinds=(BurstTest, Burst),
        line="brimful.report.burst.model:headline",
        document="brimful.report.burst.model:build",
        verify="brimful.report.verdicts:of_burst",
        explain="brimful.report.burst.explain:explain",
        compare="brimful.report.burst.comparison:compare_runs",
    ),
    Subject(
        name="burst-campaign",
        plural="campaigns of bursts",
        kinds=(Member,),
        line="brimful.report.run_campaign.model:line",
        document="brimful.report.run_campaign.model:build",
        verify="brimful.report.verdicts:of_run_campaign",
        explain="brimful.report.run_campaign.model:explain",
        compare="brimful.report.run_campaign.comparison:compare_runs",
    ),
    Subject(
        name="loss-campaign",
        plural="campaigns of loss rates",
        kinds=(Member,),
        line="brimful.report.run_campaign.model:line",
        document="brimful.report.run_campaign.model:build",
        verify="brimful.report.verdicts:of_run_campaign",
    ),
    Subject(
        name="recovery-campaign",
        plural="campaigns of recoveries",
        kinds=(Member,),
        line="brimful.report.run_campaign.model:line",
        document="brimful.report.run_campaign.model:build",
        verify="brimful.report.verdicts:of_run_campaign",
    ),
    Subject(
        name="recovery",
        plural="recoveries",
        kinds=(Recovery,),
        line="brimful.report.recovery.model:line",
        document="brimful.report.recovery.model:build",
        verify="brimful.report.verdicts:of_recovery",
    ),
    Subject(
        name="loss",
        plural="loss rates",
        kinds=(Loss,),
        line="brimful.report.loss.model:line",
        document="brimful.report.loss.model:build",
        verify="brimful.report.verdicts:of_loss",
    ),
    Subject(
        name="suite",
        plural="suites",
        kinds=(SuiteTest,),
        line="brimful.report.suite.model:line",
        document="brimful.report.suite.model:build",
        verify="brimful.report.verdicts:of_suite",
        compare="brimful.report.suite.comparison:compare_runs",
    ),
    Subject(
        name="switching",
        plural="tests of switches",
        kinds=(SwitchingResult,),
        line="brimful.report.switching.model:line",
        document="brimful.report.switching.model:build",
        verify="brimful.report.verdicts:of_switching",
    ),
    Subject(
        name="comparison",
        plural="comparisons",
        kinds=(Pair, Activation, Ratio, LossPairs),
        line="brimful.report.paired.model:line",
        document="brimful.report.paired.model:build",
        verify="brimful.report.verdicts:of_comparison",
        explain="brimful.report.paired.model:explain",
    ),
    Subject(
        name="bisection",
        plural="bisections",
        kinds=(Build, Visit, Bisected),
        line="brimful.report.bisection.model:line",
        document="brimful.report.bisection.model:build",
        verify="brimful.report.verdicts:of_bisection",
    ),
)


def kinds() -> tuple[type[Record], ...]:
    """Give the kinds of all subjects, each once."""
    return tuple(dict.fromkeys((*COMMON_KINDS, *(kind for subject in SUBJECTS for kind in subject.kinds))))


def subject_of(run: Run, where: str) -> Subject:
    """Give the row of the subject that a run is of; ``where`` names its record in an error.

    Raises
    ------
    RecordError
        When there is no such subject.
    """
    for subject in SUBJECTS:
        if subject.name == run.subject:
            return subject
    known = ", ".join(subject.name for subject in SUBJECTS)
    message = f"{where}:1: the subject of this run is {run.subject!r}, not one of {known}; update brimful"
    raise RecordError(message)


def load(function: str) -> Any:  # noqa: ANN401 - each column of the table has a signature of its own
    """Import what a row names.

    >>> load("brimful.records.subjects:load") is load
    True
    """
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
