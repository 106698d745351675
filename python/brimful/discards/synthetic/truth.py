"""What is true of each test and of each day, computed on the grid of bins and by no code of the analysis."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from brimful.discards.synthetic.config import BINS_PER_DAY, Config
from brimful.discards.synthetic.faults import faults
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
"""Sums over usable bins, how many bins there are telemetry of, and how many of them tell of discards."""


def true_tests(config: Config, world: SiteDay, following: SiteDay) -> pa.Table:
    """Give what the tests that start on a day overlap; ``following`` is the day after."""
    first, last = world.tests.bins
    values, covered = _telemetry(config, [world, following])
    # The last row is for machines without a collector.
    machine = np.minimum(world.tests.machine, len(values)) - 1
    discards, covered_bins, with_discards, worst = (np.zeros(len(first)) for _ in range(4))
    for offset in range(int((last - first).max(initial=-1)) + 1):
        overlapped = first + offset <= last
        bins = np.minimum(first + offset, last)
        value = np.where(overlapped & covered[machine, bins], values[machine, bins], 0.0)
        discards += value
        worst = np.maximum(worst, value)
        with_discards += value > 0
        covered_bins += overlapped & covered[machine, bins]
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
    """Give discards by bin as each machine knows them, and as one without a collector does, and what is covered.

    Where a machine has nothing, the first one that has something stands in.
    """
    values = np.zeros((config.machines + 1, BINS_PER_DAY * len(days)))
    covered = np.zeros(values.shape, bool)
    for index, world in enumerate(days):
        if world.day > config.last_day:
            continue
        here = slice(index * BINS_PER_DAY, (index + 1) * BINS_PER_DAY)
        for row, machine in enumerate(config.machine_names):
            found = faults(config, world.site, machine, world.day)
            bins = deliver(increments(config, world, machine, DISCARDS), found, DISCARDS)
            values[row, here], covered[row, here] = bins.values, bins.usable
    for row in range(config.machines - 1, -1, -1):
        values[-1] = np.where(covered[row], values[row], values[-1])
        covered[-1] |= covered[row]
    own = covered[:-1].copy()
    values[:-1] = np.where(own, values[:-1], values[-1])
    covered[:] = covered[-1]
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
