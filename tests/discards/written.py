"""A store that is written in no time: random telemetry and speed tests of any size."""

import datetime

import numpy as np
import pyarrow as pa
from brimful.discards import analysis, schema
from brimful.discards.store import Partition, Store

FIRST_DAY = datetime.date(2018, 2, 1)
METRICS = [analysis.DISCARDS, analysis.OCTETS, analysis.UNICAST]


def write_store(path, *, sites=("dfw01",), machines=1, days=2, tests=200, bins=8640, seed=1, inbound=False):
    """Give a store with ``bins`` bins a day of three metrics (four with ``inbound``), and ``tests`` downloads a day, of
    each site.
    """
    store = Store.create(path)
    random = np.random.default_rng(seed)
    for site in sites:
        for day in (FIRST_DAY + datetime.timedelta(days=number) for number in range(days)):
            for number in range(1, machines + 1):
                rows = _samples(random, day, f"mlab{number}", bins, inbound)
                store.write(Partition("samples", site, day, f"mlab{number}"), rows)
            store.write(Partition("tests", site, day, "tests"), _tests(random, site, day, machines, tests))
    return store


def _samples(random, day, machine, bins, inbound):
    polled = random.random(bins) > 0.005
    starts = (np.datetime64(day, "us") + np.arange(bins) * np.timedelta64(10, "s"))[polled]
    missed = np.where(random.random(len(starts)) < 1e-3, random.integers(2, 40, len(starts)), 1)
    packets = random.lognormal(11, 1.2, len(starts)).round()
    discards = np.where(random.random(len(starts)) < 0.05, (packets * 2e-3).round(), 0)
    metrics = [*METRICS, analysis.INBOUND] if inbound else METRICS
    values = np.concatenate([discards, packets * 1340.5, packets, discards[::-1]][: len(metrics)])
    rows = len(values)
    spans = np.tile(missed * 10.0, len(metrics))
    starts = np.tile(starts, len(metrics))
    columns = {
        "machine": [machine] * rows,
        "metric": np.repeat(metrics, rows // len(metrics)),
        "bin_start": starts,
        "bin_end": starts + (spans * 1e6).astype("timedelta64[us]"),
        "span_s": spans,
        "value": values,
        "counter": pa.nulls(rows, pa.uint64()),
        "reported": pa.array(random.integers(0, 9, rows), pa.uint64(), mask=random.random(rows) > 1e-3),
        "flags": np.zeros(rows, np.int16),
        "usable": random.random(rows) > 1e-3,
    }
    return pa.table(columns).cast(schema.SAMPLES)


def _tests(random, site, day, machines, tests):
    starts = np.datetime64(day, "us") + np.sort(random.integers(0, 86_400_000_000, tests)).astype("timedelta64[us]")
    lengths = np.where(random.random(tests) < 0.1, random.uniform(0.1, 600, tests), random.normal(10, 0.1, tests))
    rates = random.lognormal(17, 1, tests)
    served_by = [f"mlab{number}" for number in random.integers(1, machines + 1, tests)]
    columns = {
        "test_id": [f"{site}-{day}-{number}" for number in range(tests)],
        "protocol": ["web100"] * tests,
        "direction": random.choice(["download", "download", "upload"], tests),
        "machine": served_by,
        "server_name": [f"{machine}.{site}" for machine in served_by],
        "start": starts,
        "end": starts + (lengths * 1e6).astype("timedelta64[us]"),
        "logged": starts,
        "client": [f"198.51.100.{number}" for number in random.integers(0, 40, tests)],
        "client_port": np.ones(tests, np.int32),
        "server": ["203.0.113.1"] * tests,
        "server_port": np.ones(tests, np.int32),
        "bytes": (rates * lengths / 8).astype(np.int64),
        "sending_s": lengths,
        "rate_bps": rates,
        "retransmitted": random.integers(0, 50, tests),
        "sent": random.integers(0, 50_000, tests),
        "retransmission_unit": ["segments"] * tests,
        "congestion_control": ["reno"] * tests,
    }
    return pa.table(columns).cast(schema.TESTS)
