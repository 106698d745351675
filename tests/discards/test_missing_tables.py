"""A report of every combination of sites with and without telemetry, tests and traces of connections."""

import datetime
import itertools
import shutil

import pyarrow as pa
import pytest
import written
from brimful.discards import record
from brimful.discards.capacities import Capacities
from brimful.discards.engine import connect_duckdb
from brimful.discards.modes import Mode
from brimful.discards.speed_tests.completing import TRACES
from brimful.discards.store import Partition
from brimful.records import Finding
from brimful.report import rendering

SITES = ("abc01", "abc02")
TABLES = ("samples", "tests", "traces")
KINDS = [kind for size in range(1, len(TABLES) + 1) for kind in itertools.combinations(TABLES, size)]
"""What a site can have."""
PAIRS = [pair for pair in itertools.combinations_with_replacement(KINDS, 2) if set(pair) != {("traces",)}]
"""Of two sites. A store of traces alone is refused as empty."""
CASES = [
    # A pair is quick in one mode, whose neighbours are quick in the other.
    pytest.param(kinds, mode, marks=[] if (pair + place) % 2 else [pytest.mark.slow], id=f"{named}-{mode.value}")
    for pair, kinds in enumerate(PAIRS)
    for named in [" and ".join("+".join(kind) for kind in kinds)]
    for place, mode in enumerate(Mode)
]
NOON = datetime.datetime.combine(written.FIRST_DAY, datetime.time(12))
TRACE = {
    "test_id": "a",
    "start": NOON,
    "end": NOON + datetime.timedelta(seconds=10),
    "bytes": 1_000_000,
    "sending_s": 10.0,
    "retransmitted": 0,
    "sent": 700,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    store = written.write_store(tmp_path_factory.mktemp("whole") / "store", sites=SITES, bins=100, tests=20)
    for site in SITES:
        partition = Partition("traces", site, written.FIRST_DAY, "traces")
        store.write(partition, pa.Table.from_pylist([TRACE], schema=TRACES))
    return store


@pytest.mark.parametrize(("kinds", "mode"), CASES)
def test_a_report_says_what_there_is(whole, tmp_path, kinds, mode):
    store = type(whole)(tmp_path / "store")
    shutil.copytree(whole.path, store.path)
    for site, kind in zip(SITES, kinds, strict=True):
        for missing in set(TABLES) - set(kind):
            shutil.rmtree(store.path / missing / f"site={site}")
    settings = record.Settings(
        mode=mode,
        before=(written.FIRST_DAY,) * 2,
        after=(written.FIRST_DAY + datetime.timedelta(days=1),) * 2,
        sites=(),
        capacities=Capacities.of_store(store),
        seed=1,
    )
    run = record.analyse(
        connect_duckdb(store),
        settings,
        store=str(store.path),
        command=["brimful"],
        started="2026-01-02T03:04:05+00:00",
        progress=lambda stage: None,
    )
    shown = {
        code: {line.subject for line in run.lines() if isinstance(line, Finding) and line.code == code}
        for code in ("excluded", "affected")
    }
    for code, table in (("excluded", "samples"), ("affected", "tests")):
        assert shown[code] == {site for site, kind in zip(SITES, kinds, strict=True) if table in kind}
    assert rendering.text(run)
