"""What is true of each test and of each day, computed on the grid of bins and by no code of the analysis."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from brimful.discards.synthetic.config import BINS_PER_DAY, Config
from brimful.discards.synthetic.faults import faults
from brimful.discards.synthetic.speed_tests import BIN_US
from brimful.discards.synthetic.tables import test_ids
from brimful.discards.synthetic.telemetry import DISCARDS, OCTETS, PACKETS, deliver, increments
from brimful.discards.synthetic.world import SiteDay

TRUE_TESTS = pa.schema(
    [
        ("test_id", pa.string()),
        ("bins", pa.int64()),
        ("covered_bins", pa.int64()),
        ("bins_with_discards", pa.int64()),
        ("discards", pa.float64()),
        ("worst_discards", pa.float64()),
        ("overlap", pa.string()),
        ("true_discards", pa.int64()),
    ]
)
"""``true_discards`` is what happened; all else is what can be known from the telemetry that arrived."""

TRUE_DAYS = pa.schema(
    [
        ("site", pa.string()),
        ("day", pa.date32()),
        ("machine", pa.string()),
        ("discards", pa.float64()),
        ("packets", pa.float64()),
        ("octets", pa.float64()),
        ("bins", pa.int64()),
        ("bins_with_discards", pa.int64()),
    ]
)
"""Sums over usable bins, how many bins there are telemetry of, and how many of them report discards."""


def true_tests(config: Config, world: SiteDay, following: SiteDay) -> pa.Table:
    """Give what the tests that start on a day overlap; ``following`` is the day after.

    Of the machines with a collector, that which knows most of the time of a test counts: of equals the test's own, then
    the first by name.
    """
    tests = world.tests
    first, last = tests.bins
    values, covered = _telemetry(config, [world, following])
    shape = (len(values), len(first))
    known_us, discards, covered_bins, with_discards, worst = (np.zeros(shape) for _ in range(5))
    for offset in range(int((last - first).max(initial=-1)) + 1):
        bins = np.minimum(first + offset, last)
        within = (first + offset <= last) & covered[:, bins]
        value = np.where(within, values[:, bins], 0.0)
        shared_us = np.minimum(tests.start_us + tests.duration_us, (bins + 1) * BIN_US)
        shared_us -= np.maximum(tests.start_us, bins * BIN_US)
        known_us += within * shared_us
        discards += value
        worst = np.maximum(worst, value)
        with_discards += value > 0
        covered_bins += within
    own = np.arange(1, len(values) + 1)[:, None] == tests.machine
    chosen = np.argmax(2 * known_us + own, axis=0)
    discards, covered_bins, with_discards, worst = (
        table[chosen, np.arange(len(first))] for table in (discards, covered_bins, with_discards, worst)
    )
    total = np.concatenate([[0], np.cumsum(np.concatenate([world.discards, following.discards]))])
    bins = last - first + 1
    overlap = np.where(discards > 0, "non-zero", np.where(covered_bins == bins, "zero", "unknown"))
    columns = [
        test_ids(world),
        bins,
        covered_bins.astype(np.int64),
        with_discards.astype(np.int64),
        discards,
        worst,
        overlap,
        total[last + 1] - total[first],
    ]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=TRUE_TESTS)


def _telemetry(config: Config, days: list[SiteDay]) -> tuple[np.ndarray, np.ndarray]:
    """Give discards by machine with a collector and bin, and which of them are known."""
    values = np.zeros((config.machines, BINS_PER_DAY * len(days)))
    covered = np.zeros(values.shape, bool)
    for index, world in enumerate(days):
        if world.day > config.last_day:
            continue
        here = slice(index * BINS_PER_DAY, (index + 1) * BINS_PER_DAY)
        for row, machine in enumerate(config.machine_names):
            found = faults(config, world.site, machine, world.day)
            bins = deliver(increments(config, world, machine, DISCARDS), found, DISCARDS)
            values[row, here], covered[row, here] = bins.values, bins.usable
    return values, covered


def true_days(config: Config, world: SiteDay) -> pa.Table:
    """Give the sums of a day, a row for each machine."""
    rows = []
    for machine in config.machine_names:
        found = faults(config, world.site, machine, world.day)
        known = []
        for metric in (DISCARDS, PACKETS, OCTETS):
            bins = deliver(increments(config, world, machine, metric), found, metric)
            known.append(bins.values[bins.usable])
        sums = [float(values.sum()) for values in known]
        rows.append((world.site, world.day, machine, *sums, int(found.present.sum()), int((known[0] > 0).sum())))
    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, TRUE_DAYS, strict=True)], schema=TRUE_DAYS
    )


def true_changes(config: Config) -> dict[str, dict[str, str | None]]:
    """Give when discards begin and stop at each site: first days with and without, in so far as they are asked for."""
    return {site: _changes(config, site) for site in config.chosen_sites}


def _changes(config: Config, site: str) -> dict[str, str | None]:
    place = config.sites[site]
    begin = place.discards[0][0] if place.discards else None
    stop = place.flow_control_from if begin else None
    return {
        "sparse_from": _within(config, place.sparse_from),
        "begin": _within(config, begin),
        "stop": _within(config, stop),
        "flow_control_from": _within(config, place.flow_control_from),
    }


def _within(config: Config, day: datetime.date | None) -> str | None:
    return day.isoformat() if day and config.first_day <= day <= config.last_day else None
