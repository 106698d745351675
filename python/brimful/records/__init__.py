"""The record of a run: append-only JSON Lines, one object a line, distinguished by ``kind``.

Values are in SI base units, counts are whole numbers, ratios lie between 0 and 1. A file starts with a `Run`.
Files are only ever appended to, so fields that a reader does not know stay in them; what a measurer says beyond the
known fields is kept under ``extra``. A field never changes its meaning: `SCHEMA` goes up instead.

Everybody imports from here; the modules are by subject.
"""

from __future__ import annotations

from brimful.records.analysis import Done, Finding, Fit, Series, Solution
from brimful.records.bisection import Bisected, BisectionPlan, Build, Version, Visit
from brimful.records.burst import NO_OVERFLOW, Burst, BurstPlan, BurstTest
from brimful.records.campaign import Member, planned_members
from brimful.records.delay import Delay, DelayDistribution, DelayInterval, DelayPlan
from brimful.records.format import check_trial, decode_line, encode, json_schema
from brimful.records.loss import Loss, LossPlan
from brimful.records.measurer import MeasurerFacts
from brimful.records.paired import Activation, LossPairs, Pair, PairedDevice, PairedPlan, Ratio
from brimful.records.reading import RunFile, collect, iterate_records, read_run, read_unchanged
from brimful.records.record import Record
from brimful.records.recovery import Recovery, RecoveryPlan
from brimful.records.run import (
    NONE_PASSES,
    NOTHING_PASSES,
    SCHEMA,
    TESTER_CEILING,
    End,
    Machine,
    Run,
    Trial,
    Warning,
    is_rate_of_units,
)
from brimful.records.suite import SuitePlan, SuiteTest
from brimful.records.switching import SwitchingPlan, SwitchingResult
from brimful.records.throughput import SPECIFICATION, Bound, Goal, GoalResult, Sums
from brimful.records.writing import RecordWriter

__all__ = [
    "NONE_PASSES",
    "NOTHING_PASSES",
    "NO_OVERFLOW",
    "SCHEMA",
    "SPECIFICATION",
    "TESTER_CEILING",
    "Activation",
    "Bisected",
    "BisectionPlan",
    "Bound",
    "Build",
    "Burst",
    "BurstPlan",
    "BurstTest",
    "Delay",
    "DelayDistribution",
    "DelayInterval",
    "DelayPlan",
    "Done",
    "End",
    "Finding",
    "Fit",
    "Goal",
    "GoalResult",
    "Loss",
    "LossPairs",
    "LossPlan",
    "Machine",
    "MeasurerFacts",
    "Member",
    "Pair",
    "PairedDevice",
    "PairedPlan",
    "Ratio",
    "Record",
    "RecordWriter",
    "Recovery",
    "RecoveryPlan",
    "Run",
    "RunFile",
    "Series",
    "Solution",
    "SuitePlan",
    "SuiteTest",
    "Sums",
    "SwitchingPlan",
    "SwitchingResult",
    "Trial",
    "Version",
    "Visit",
    "Warning",
    "check_trial",
    "collect",
    "decode_line",
    "encode",
    "is_rate_of_units",
    "iterate_records",
    "json_schema",
    "planned_members",
    "read_run",
    "read_unchanged",
]
