"""Rows into partitions: the same whatever their order, their number, and where they are kept meanwhile."""

import datetime
import tempfile
from pathlib import Path

import pyarrow as pa
from brimful.discards.schema import TESTS
from brimful.discards.speed_tests.merging import Collector, Merged, keep_latest
from brimful.discards.speed_tests.rows import EPOCH, ROWS, SpeedTest, to_table
from brimful.discards.store import Store
from discards.test_speed_tests import stored
from hypothesis import given
from hypothesis import strategies as st

DAY_US = 86_400_000_000
FIRST_US = (datetime.datetime(2018, 1, 31, tzinfo=datetime.UTC) - EPOCH) // datetime.timedelta(microseconds=1)


def row_of(number, site, start_us, rate):
    start = FIRST_US + start_us
    return SpeedTest(
        *(site, f"t{number}", "ndt7", "download", "mlab1", f"mlab1-{site}", start, start + 1, start),
        client=None if number % 2 else "192.0.2.1",
        rate_bps=rate,
    )


# An id lies on one site and day, as real ones do; the rest of its row may differ.
ROWS_OF_TESTS = st.lists(
    st.builds(
        lambda number, rate: row_of(number, f"dfw0{number % 3}", (number % 4) * DAY_US // 2 + number % 5, rate),
        st.integers(0, 20),
        st.sampled_from([None, 1.0, 2.0]),
    ),
    max_size=60,
)


def quiet(done, total):
    """Show nothing."""


def twin(tests):
    """Keep the last row of each id, the slow and obvious way."""
    kept, conflicts = {}, 0
    last = {test.test_id: test for test in tests}
    for place, test in enumerate(tests):
        later = any(other.test_id == test.test_id for other in tests[place + 1 :])
        conflicts += later and test != last[test.test_id]
        kept[test.test_id] = test
    return kept, conflicts


@given(ROWS_OF_TESTS)
def test_the_latest_row_of_each_id_is_kept(tests):
    kept, conflicts = keep_latest(to_table(tests))
    wanted, wanted_conflicts = twin(tests)
    assert {row["test_id"]: row["rate_bps"] for row in kept.to_pylist()} == {
        name: test.rate_bps for name, test in wanted.items()
    }
    assert kept.num_rows == len(wanted)
    assert conflicts == wanted_conflicts


@given(ROWS_OF_TESTS, st.integers(1, 30), st.integers(1, 9))
def test_what_is_put_aside_comes_back(tests, run_rows, batch):
    with tempfile.TemporaryDirectory() as directory:
        store = Store.create(Path(directory))
        collector = Collector(store, run_rows=run_rows)
        merged = Merged()
        for first in range(0, len(tests), batch):
            collector.add(to_table(tests[first : first + batch]))
        collector.merge(merged, quiet)
        wanted, conflicts = twin(tests)
        assert (merged.added, merged.conflicts) == (len(wanted), conflicts)
        assert merged.added + merged.repeated + merged.conflicts == len(tests)
        found = {row["test_id"]: (row["site"], row["client"], row["rate_bps"]) for row in stored(store)}
        assert found == {name: (test.site, test.client, test.rate_bps) for name, test in wanted.items()}
        assert not (store.path / ".runs").exists()
        again = Merged()
        collector.add(to_table(list(wanted.values())))
        collector.merge(again, quiet)
        assert (again.added, again.conflicts, again.partitions) == (0, 0, 0)


def test_what_a_killed_program_put_aside_is_removed(tmp_path):
    store = Store.create(tmp_path)
    first = Collector(store, run_rows=1)
    first.add(to_table([row_of(1, "dfw01", 0, 1.0)]))
    assert list((tmp_path / ".runs").iterdir())
    Collector(store).merge(Merged(), quiet)
    assert not (tmp_path / ".runs").exists()
    assert store.sites("tests") == []


def test_rows_are_the_columns_of_the_store():
    assert ROWS.names == ["site", *TESTS.names]
    assert ROWS.names == list(SpeedTest._fields)
    assert not any(pa.types.is_dictionary(one.type) for one in ROWS)
