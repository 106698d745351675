"""Engines read a store as it is, and give the same answers."""

import json

import pytest
import questions
import written
from brimful.discards import analysis, engine
from brimful.discards.modes import Mode
from brimful.discards.store import Store
from brimful.errors import BrimfulError, UsageError

QUESTIONS = questions.all_questions(written.FIRST_DAY + questions.DAY, 3, ["198.51.100.7"])
CASES = [pytest.param(name, mode, id=f"{name}-{mode.value}") for name in QUESTIONS for mode in Mode]


@pytest.fixture
def store(tmp_path):
    return written.write_store(tmp_path / "store", sites=("01", "a/b 1"), bins=100, tests=20)


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_sites_one_by_one_are_as_all_at_once(store, name, mode):
    duckdb = engine.connect_duckdb(store)

    def question(samples, tests):
        return QUESTIONS[name](samples, tests, mode)

    at_once = duckdb.rows(question(duckdb.samples(), duckdb.tests()))
    questions.assert_same(name, duckdb.per_site(question).to_pylist(), at_once.to_pylist())


def test_names_of_sites_are_text_as_they_were(store):
    duckdb = engine.connect_duckdb(store)
    for table in (duckdb.samples(), duckdb.tests()):
        found = duckdb.rows(table.group_by("site", "day").agg(rows=table.count()))
        assert set(found["site"].to_pylist()) == {"01", "a/b 1"}
        assert min(found["day"].to_pylist()) == written.FIRST_DAY
    assert set(duckdb.rows(duckdb.samples("a/b 1").select("site").distinct())["site"].to_pylist()) == {"a/b 1"}


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_an_empty_store_has_empty_answers(tmp_path, name, mode):
    duckdb = engine.connect_duckdb(Store.create(tmp_path / "store"))
    assert duckdb.per_site(lambda samples, tests: QUESTIONS[name](samples, tests, mode)).num_rows == 0


def test_utilisation_is_of_the_capacity_that_holds_on_the_day(store):
    import pyarrow as pa

    duckdb = engine.connect_duckdb(store)
    first, second = written.FIRST_DAY, written.FIRST_DAY + questions.DAY
    capacities = duckdb.table(
        pa.table(
            {
                "site": ["01", "01", "01"],
                "since": [first - 9 * questions.DAY, first, second],
                "capacity_bps": [1e3, 1e9, 1e10],
            }
        )
    )
    found = duckdb.rows(analysis.daily_uplink_rate(duckdb.samples(), capacities)).to_pylist()
    assert len(found) == 4
    expected = {("01", first): 1e9, ("01", second): 1e10}
    for row in found:
        capacity = expected.get((row["site"], row["day"]))
        assert row["utilisation"] == (None if capacity is None else row["rate_bps"] / capacity)


def test_a_site_that_is_not_there_is_named(store):
    duckdb = engine.connect_duckdb(store)
    with pytest.raises(UsageError, match="there is no site nuq02; there are: 01, a/b 1"):
        list(duckdb.each_site(lambda samples, tests: samples, ["nuq02"]))


def test_a_damaged_file_is_an_error_of_one_line(store):
    next(store.path.glob("samples/*/*/*.parquet")).write_bytes(b"no Parquet")
    with pytest.raises(BrimfulError, match="DuckDB cannot compute this: ") as failed:
        engine.connect_duckdb(store).per_site(lambda samples, tests: analysis.daily_uplink_rate(samples))
    assert "\n" not in str(failed.value)


def test_addresses_of_the_monitoring_come_from_the_store(store):
    assert engine.connect_duckdb(store).monitoring_clients is None
    path = store.path / "monitoring_clients.json"
    path.write_text(json.dumps(["a", "b"]))
    assert engine.connect_duckdb(store).monitoring_clients == ["a", "b"]
    for content in ("{}", "[1]", "not JSON"):
        path.write_text(content)
        with pytest.raises(BrimfulError, match="ingest the tests again"):
            engine.connect_duckdb(store)


def test_a_memory_limit_that_cannot_be_read_is_an_error_of_one_line(store):
    with pytest.raises(BrimfulError, match="DuckDB"):
        engine.connect_duckdb(store, memory_limit="much")
