"""Records of analyses: series, lines through them, solutions and findings."""

from __future__ import annotations

from typing import Any

from brimful.records.record import Record


class Series(Record, frozen=True, omit_defaults=True, tag="series"):
    """Values of one metric against what was set, as measured."""

    name: str
    """Such as ``MOF``, ``isol`` or ``rlat-99-mean``."""
    points: list[tuple[float, float]]
    """(x, y), sorted."""
    x_name: str = "vrate"
    """What was set."""
    x_unit: str = "%"
    """Its unit."""
    y_unit: str = ""
    """``s`` for times; empty for factors and ratios."""


class Fit(Record, frozen=True, omit_defaults=True, tag="fit"):
    """A line through a series."""

    series: str
    """Its name."""
    method: str
    """``compatible`` or ``exact``."""
    shape: str
    """``any``, ``non-decreasing``, ``non-increasing`` or ``single-peak``."""
    vertices: list[tuple[float, float]]
    """(x, y) from left to right; between them the line is straight. Empty: there is no line."""
    error: float
    """Root of the sum of the squared distances of all points, divided by their number; in the unit of y."""
    rejected: list[tuple[float, float]] = []
    """The points of the series that the line does not rest on."""


class Solution(Record, frozen=True, omit_defaults=True, tag="solution"):
    """Parameters to set, or why there are none."""

    name: str
    """Of the rule."""
    target: str
    """The rule that it answers, as text."""
    scale_factor: float | None = None
    """Of the base model; 1 is as measured. Null: unsolved."""
    interval: tuple[float, float] | None = None
    """In which the scale factor lies with 95 % confidence (bootstrap over the runs); of a measurement of our own, the
    bounds of its search."""
    model: dict[str, int] = {}
    """``rbps``, ``rseqiops``, ``rrandiops``, ``wbps``, ``wseqiops``, ``wrandiops``: bytes/s and IO/s."""
    qos: dict[str, float] = {}
    """``rpct``, ``rlat``, ``wpct``, ``wlat``, ``min``, ``max``: per cent and microseconds, as the kernel takes them."""
    info: dict[str, Any] = {}
    """What is expected under it: ``MOF``, ``aMOF``, ``aMOF_delta``, ``isol`` (0..1), ``mem_profile`` (GiB), ``rlat``
    and ``wlat``: objects of latency percentile, then time percentile, in seconds."""
    unsolved: str | None = None
    """The reason why there is no solution."""


class Done(Record, frozen=True, omit_defaults=True, tag="done"):
    """A step of a measurement that is done: what it came to."""

    name: str
    """Of the step."""
    start_s: float
    """Since the measurement began."""
    elapsed_s: float
    """How long it took."""
    result: dict[str, Any] = {}
    """Depends on the step."""


class Finding(Record, frozen=True, omit_defaults=True, tag="finding"):
    """Something that the analysis says; ``code`` is stable."""

    code: str
    """A stable word: ``remark`` (about the device), ``measure-next``, or one of discards."""
    text: str
    """The same for people."""
    subject: str | None = None
    """The solution or series that it is about."""
    data: dict[str, Any] = {}
    """Its numbers; of ``measure-next``: ``vrates`` that are worth measuring, and ``job_spec`` as the benchmark takes
    it."""
