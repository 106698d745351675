"""The list of tainted tests, as the command makes it."""

import datetime
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import questions
import twins
import written
from brimful.cli.discards.affected import affected
from brimful.discards.affected import affected_tests
from brimful.discards.engine import connect_duckdb
from brimful.discards.modes import Mode
from brimful.discards.store import Partition, Store
from brimful.errors import UsageError
from click.testing import CliRunner


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return written.write_store(
        tmp_path_factory.mktemp("affected") / "store", sites=("dfw01", "lga02"), days=3, bins=8640, tests=40
    )


@pytest.fixture(scope="module")
def rows(store):
    """All downloads, by the naive twin."""
    duckdb = connect_duckdb(store)
    read = duckdb.samples().filter(duckdb.samples().metric == "switch.discards.uplink.tx"), duckdb.tests()
    samples, tests = (duckdb.rows(table).to_pylist() for table in read)
    by_hour = twins.grouped(
        [row | {"hour": row["bin_start"].replace(minute=0, second=0)} for row in samples], "site", "hour"
    )
    hour = datetime.timedelta(hours=1)
    found = []
    for test in tests:
        at = test["start"].replace(minute=0, second=0, microsecond=0)
        near = [row for offset in (-hour, 0 * hour, hour) for row in by_hour[test["site"], at + offset]]
        found += twins.test_overlap([test], near, Mode.CORRECT)
    return found


def run(*arguments):
    return CliRunner().invoke(affected, [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_list_is_that_of_the_twin(store, rows):
    listed, counts = affected_tests(connect_duckdb(store), "non-zero")
    questions.assert_same("test_overlap", listed.to_pylist(), [row for row in rows if row["overlap"] == "non-zero"])
    order = [(row["site"], row["start"], row["test_id"]) for row in listed.to_pylist()]
    assert order == sorted(order)
    for site, of_site in counts.items():
        for kind, number in of_site.items():
            assert number == sum(row["site"] == site and row["overlap"] == kind for row in rows)


@pytest.mark.parametrize("overlap", ["unknown", "all"])
def test_other_classes_can_be_listed(store, rows, overlap):
    listed, _ = affected_tests(connect_duckdb(store), overlap)
    expected = [row for row in rows if overlap in ("all", row["overlap"])]
    assert expected
    questions.assert_same("test_overlap", listed.to_pylist(), expected)


def test_days_and_sites_can_be_chosen_and_change_no_row(store, rows):
    day = written.FIRST_DAY + questions.DAY
    listed, counts = affected_tests(connect_duckdb(store), "all", sites=["lga02"], days=(day, day))
    expected = [row for row in rows if row["site"] == "lga02" and row["day"] == day]
    assert expected
    questions.assert_same("test_overlap", listed.to_pylist(), expected)
    assert list(counts) == ["lga02"]


def test_a_test_across_midnight_finds_the_next_day(tmp_path):
    store = written.write_store(tmp_path / "store", days=2, tests=1)
    day = written.FIRST_DAY
    partition = Partition("tests", "dfw01", day, "tests")
    test = pq.ParquetFile(store.path / store.file(partition)).read().to_pylist()[0]
    midnight = datetime.datetime(2018, 2, 2)
    test |= {"direction": "download", "start": midnight - datetime.timedelta(seconds=15)}
    test |= {"end": midnight + datetime.timedelta(seconds=25)}
    store.write(partition, pa.Table.from_pylist([test], schema=written.schema.TESTS))
    duckdb = connect_duckdb(store)
    (row,) = affected_tests(duckdb, "all", days=(day, day))[0].to_pylist()
    samples = duckdb.rows(duckdb.samples()).to_pylist()
    (expected,) = twins.test_overlap([test | {"site": "dfw01", "day": day}], samples, Mode.CORRECT)
    assert expected["intervals"] > 3
    questions.assert_same("test_overlap", [row], [expected])


@pytest.mark.parametrize("name", ["list.csv", "list.parquet"])
def test_the_file_holds_the_list(store, tmp_path, name):
    listed, _ = affected_tests(connect_duckdb(store), "non-zero")
    path = tmp_path / name
    result = run("--store", store.path, "--out", path)
    assert result.exit_code == 0
    assert result.stderr == f"wrote {path}: {listed.num_rows} tests\n"
    read = pq.read_table(path) if name.endswith(".parquet") else pyarrow.csv.read_csv(path)
    assert read.column_names == listed.column_names
    assert read["test_id"].to_pylist() == listed["test_id"].to_pylist()
    assert read["discards"].to_pylist() == listed["discards"].to_pylist()


def test_the_summary_is_as_it_was(store, snapshot):
    result = run("--store", store.path)
    assert result.exit_code == 0
    assert result.output == snapshot


def test_the_summary_of_unknown_ones_is_as_it_was(store, snapshot):
    assert run("--store", store.path, "--overlap", "unknown", "--site", "dfw01").output == snapshot


def test_counts_come_as_json(store):
    listed, counts = affected_tests(connect_duckdb(store), "unknown")
    result = run("--store", store.path, "--overlap", "unknown", "--json")
    assert json.loads(result.output) == {"listed": listed.num_rows, "sites": counts}


def test_an_empty_store_has_no_downloads(tmp_path):
    Store.create(tmp_path / "store")
    assert run("--store", tmp_path / "store").output == "there are no downloads\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "list.txt"], "--out list.txt: the name must end in .csv or .parquet"),
        (["--site", "nuq02"], "there is no site nuq02; there are: dfw01, lga02"),
    ],
)
def test_what_cannot_be_done_is_said(store, arguments, message):
    with pytest.raises(UsageError, match=message):
        run("--store", store.path, *arguments)


def test_a_directory_that_is_no_store_is_said(tmp_path):
    with pytest.raises(UsageError, match="is no store of discards"):
        run("--store", tmp_path)
