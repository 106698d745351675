"""The columns of the days of a world: flat tables of the time of the report, and the partitions of a store."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.schema import SAMPLES, TESTS, Flag
from brimful.discards.synthetic.clients import addresses
from brimful.discards.synthetic.config import BIN_S, BINS_PER_DAY, BINS_PER_HOUR, Config
from brimful.discards.synthetic.faults import Faults, faults
from brimful.discards.synthetic.streams import stream
from brimful.discards.synthetic.telemetry import Bins, deliver, first_delivery, increments
from brimful.discards.synthetic.world import SiteDay

SWITCH = pa.schema(
    [
        ("hostname", pa.string()),
        ("experiment", pa.string()),
        ("metric", pa.string()),
        ("timestamp", pa.int64()),
        ("value", pa.float64()),
    ]
)
"""The unnested table of 2018; the timestamp is the start of a bin in Unix seconds."""

FLAT_TESTS = pa.schema(
    [
        ("test_id", pa.string()),
        ("log_time", pa.timestamp("us", tz="UTC")),
        ("server_hostname", pa.string()),
        ("remote_ip", pa.string()),
        ("remote_port", pa.int64()),
        ("local_ip", pa.string()),
        ("local_port", pa.int64()),
        ("data_direction", pa.int64()),
        ("StartTimeStamp", pa.int64()),
        ("HCThruOctetsAcked", pa.int64()),
        ("SndLimTimeRwin", pa.int64()),
        ("SndLimTimeCwnd", pa.int64()),
        ("SndLimTimeSnd", pa.int64()),
        ("SegsRetrans", pa.int64()),
        ("SegsOut", pa.int64()),
    ]
)
"""The columns that the report reads; ``StartTimeStamp`` and ``SndLimTime*`` are in microseconds."""


def midnight_s(day: datetime.date) -> int:
    """Give the beginning of a UTC day in Unix seconds."""
    return int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp())


def switch_table(config: Config, world: SiteDay) -> pa.Table:
    """Give the telemetry of a day of a site as the table of 2018 had it, with what was delivered twice."""
    stamps = midnight_s(world.day) + BIN_S * np.arange(BINS_PER_DAY)
    parts = []
    for machine in config.machine_names:
        found = faults(config, world.site, machine, world.day)
        for metric in config.metrics:
            series = increments(config, world, machine, metric)
            bins = deliver(series, found, metric)
            first = _first_values(series, bins, found, metric)
            repeated = np.repeat(np.isin(np.arange(24), found.repeated), BINS_PER_HOUR)
            timestamp = np.concatenate([stamps[bins.present], stamps[repeated]])
            value = np.concatenate([first[bins.present], bins.values[repeated]])
            names = (f"{machine}.{world.site}", f"s1.{world.site}")
            texts = [f"{name}.measurement-lab.org" for name in names] + [metric]
            columns = [_constant(text, len(value), pa.int32()) for text in texts]
            parts.append(pa.table([*columns, timestamp, value], names=SWITCH.names))
    return pa.concat_tables(parts).unify_dictionaries()


def _first_values(series: np.ndarray, bins: Bins, found: Faults, metric: str) -> np.ndarray:
    """Give the values as they are delivered at first."""
    if not found.conflicts:
        return bins.values
    first = bins.values.copy()
    for hour in found.conflicts:
        here = slice(hour * BINS_PER_HOUR, (hour + 1) * BINS_PER_HOUR)
        first[here] = deliver(first_delivery(series, found, metric, hour), found, metric).values[here]
    return first


def samples_table(config: Config, world: SiteDay, machine: str) -> pa.Table:
    """Give the rows of a partition of a store: what is left of the first generation's telemetry once it is cleaned."""
    found = faults(config, world.site, machine, world.day)
    metrics = sorted(config.metrics)
    series = [increments(config, world, machine, metric) for metric in metrics]
    delivered = [deliver(one, found, metric) for one, metric in zip(series, metrics, strict=True)]
    first = [
        _first_values(one, bins, found, metric) for one, bins, metric in zip(series, delivered, metrics, strict=True)
    ]
    present = found.present
    rows = int(present.sum())
    stamps = (midnight_s(world.day) + BIN_S * np.flatnonzero(present)) * 1_000_000
    start = np.tile(stamps, len(metrics))
    usable = np.concatenate([bins.usable[present] for bins in delivered])
    value = np.concatenate([bins.values[present] for bins in delivered])
    conflict = np.concatenate([one[present] for one in first]) != value
    codes = np.repeat(np.arange(len(metrics), dtype=np.int16), rows)
    columns = [
        _constant(machine, len(start), pa.int16()),
        pa.DictionaryArray.from_arrays(codes, pa.array(metrics, pa.string())),
        pa.array(start).view(pa.timestamp("us")),
        pa.array(start + BIN_S * 1_000_000).view(pa.timestamp("us")),
        np.full(len(start), float(BIN_S)),
        value,
        pa.nulls(len(start), pa.uint64()),
        pa.nulls(len(start), pa.uint64()),
        (Flag.CEILING * ~usable + Flag.CONFLICT * conflict).astype(np.int16),
        usable,
    ]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=SAMPLES)


def flat_tests_table(config: Config, world: SiteDay) -> pa.Table:
    """Give the tests of a day of a site with the columns that the report reads."""
    tests = world.tests
    numbers = stream(config.seed, "connections", world.site, world.day)
    count = len(tests.start_us)
    start = midnight_s(world.day) * 1_000_000 + tests.start_us
    # Of the sending time, how much the receiver, the network and the sender bounded; only their sum is used.
    rwin = (tests.duration_us * numbers.random(count) * 0.1).astype(np.int64)
    snd = (tests.duration_us * numbers.random(count) * 0.1).astype(np.int64)
    columns = [
        test_ids(world),
        pa.array(start // 1_000_000 * 1_000_000).view(pa.timestamp("us", tz="UTC")),
        _server_names(config, world, numbers),
        addresses(config, world.site, world.day, tests.client),
        numbers.integers(1024, 65_536, size=count),
        _server_addresses(config, world),
        numbers.integers(32_768, 61_000, size=count),
        np.ones(count, np.int64),
        start,
        tests.octets,
        rwin,
        tests.duration_us - rwin - snd,
        snd,
        world.retransmitted,
        tests.segments + world.retransmitted,
    ]
    return pa.table([pa.array(column) for column in columns], names=FLAT_TESTS.names)


def tests_table(config: Config, world: SiteDay) -> pa.Table:
    """Give the rows of a partition of a store: the same tests."""
    flat = flat_tests_table(config, world)
    count = flat.num_rows
    tests = world.tests
    start = flat["StartTimeStamp"].combine_chunks()
    machines = [f"mlab{number}" for number in range(1, config.tests.spread_machines + 1)]
    columns = [
        flat["test_id"],
        _constant("web100", count, pa.int16()),
        _constant("download", count, pa.int16()),
        pa.DictionaryArray.from_arrays((tests.machine - 1).astype(np.int16), pa.array(machines)),
        flat["server_hostname"],
        start.view(pa.timestamp("us")),
        pc.add(start, pa.array(tests.duration_us)).view(pa.timestamp("us")),
        flat["log_time"].cast(pa.timestamp("us")),
        flat["remote_ip"].cast(pa.string()),
        flat["remote_port"].cast(pa.int32()),
        flat["local_ip"].cast(pa.string()),
        flat["local_port"].cast(pa.int32()),
        flat["HCThruOctetsAcked"],
        tests.duration_us / 1e6,
        tests.octets * 8e6 / tests.duration_us,
        flat["SegsRetrans"],
        flat["SegsOut"],
        _constant("segments", count, pa.int16()),
        _constant("reno", count, pa.int16()),
    ]
    columns = [
        column.cast(field.type) if isinstance(column, pa.ChunkedArray) else pa.array(column)
        for column, field in zip(columns, TESTS, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=TESTS)


def test_ids(world: SiteDay) -> pa.Array:
    """Give the names of the tests of a day."""
    numbers = pc.utf8_lpad(pa.array(np.arange(len(world.tests.start_us))).cast(pa.string()), 6, "0")
    return pc.binary_join_element_wise(f"{world.day:%Y%m%d}-{world.site}", numbers, "-")


def _server_names(config: Config, world: SiteDay, numbers: np.random.Generator) -> pa.DictionaryArray:
    short = numbers.random(len(world.tests.machine)) < config.tests.short_name_share
    machines = range(1, config.tests.spread_machines + 1)
    names = [
        f"{prefix}mlab{number}.{world.site}.measurement-lab.org" for prefix in ("ndt.iupui.", "") for number in machines
    ]
    codes = world.tests.machine - 1 + len(machines) * short
    return pa.DictionaryArray.from_arrays(codes.astype(np.int16), pa.array(names))


def _server_addresses(config: Config, world: SiteDay) -> pa.DictionaryArray:
    # 198.18.0.0/15 is for benchmarks (RFC 2544).
    place = sorted(config.sites).index(world.site)
    names = [f"198.18.{place % 256}.{number}" for number in range(1, config.tests.spread_machines + 1)]
    return pa.DictionaryArray.from_arrays((world.tests.machine - 1).astype(np.int16), pa.array(names))


def _constant(text: str, count: int, codes: pa.DataType) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, codes.to_pandas_dtype())), pa.array([text]))
