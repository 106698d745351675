"""A store keeps every line: what is added twice is there once, and a writer that is killed loses nothing."""

import sqlite3

import msgspec
import pytest
from brimful.errors import BrimfulError, RecordError, UsageError
from brimful.trend.checking import check
from brimful.trend.judgement import Settings, Word
from brimful.trend.measured import Measured, Point
from brimful.trend.store import Store
from killed_writers import kill_writers


def run(version, value, *, source=None, name="s", unit="s", **more):
    point = Point(key={"name": name}, worse="higher", unit=unit, value=value, problem=None if value else "failed")
    return Measured(source=source or f"{version} {value}", version=version, points=[point], **more)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "store") as store:
        yield store


def values(store):
    return {reading.series.name: reading.series.values for reading in store.read()}


def test_a_run_added_twice_changes_nothing(store):
    runs = [run("1", 5.0, labels={"kernel": "6.1"}, at=1.7e9, report="r"), run("2", None)]
    first, second = store.add(runs, now=1.8e9), store.add(runs, now=1.8e9)
    assert (first.runs, first.values, first.missing, first.new_series) == (2, 2, 1, 1)
    assert (second.runs, second.values, second.known, second.new_series) == (0, 0, 2, 0)
    (reading,) = store.read()
    assert reading.series.values == [5.0, None]
    assert (reading.series[0].labels, reading.series[0].at, reading.series[0].report) == ({"kernel": "6.1"}, 1.7e9, "r")
    assert reading.series.problems == [None, "failed"]


@pytest.mark.parametrize("at", [0.0, -1e300, 3e9, float("inf"), float("nan")])
def test_a_clock_that_is_wrong_says_nothing(store, at):
    added = store.add([run("a", 1.0, at=1.7e9), run("b", 1.0, at=at), run("c", 1.0, at=1.6e9)], now=1.8e9)
    assert added.odd_times == 1
    (reading,) = store.read()
    assert (reading.series.versions, reading.series.times) == (["c", "a", "b"], [1.6e9, 1.7e9, None])


def test_a_source_that_has_grown_adds_what_is_new(store):
    point = Point(key={"name": "s"}, worse="higher", value=1.0)
    store.add([Measured(source="x", version="1", points=[point])], now=1.8e9)
    added = store.add([Measured(source="x", version="1", points=[point, point])], now=1.8e9)
    assert (added.values, added.known) == (1, 1)
    assert next(store.read()).series.counts == [2]


def test_a_value_in_another_unit_is_refused_with_all_that_came_with_it(store):
    store.add([run("1", 5.0)], now=1.8e9)
    with pytest.raises(UsageError, match="'s' is in s, higher is worse; now it came in ms"):
        store.add([run("2", 5.0), run("3", 5000.0, unit="ms")], now=1.8e9)
    assert values(store) == {"s": [5.0]}


def test_lines_cannot_be_changed(store):
    store.add([run("1", 5.0)], now=1.8e9)
    store.say([Word(series=1, kind="reset", version="1", reason="r", who="w", said="2026-01-01")], now=1.8e9)
    check(store, Settings(), now=1.8e9, today="2026-01-01")
    with sqlite3.connect(store.path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert len(tables) == 6
        for table in tables:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
            column = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchone()[0]
            for change in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = {column}"):
                with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                    connection.execute(change)
    connection.close()


def test_a_judgement_is_kept_as_it_was_made_and_once(store):
    store.add([run(str(each), 5.0 + each % 3) for each in range(12)], now=1.8e9)
    for settings in (Settings(), Settings(), Settings(tolerance=0.5)):
        check(store, settings, now=1.8e9, today="2026-01-01")
    store.add([run("12", 5.0)], now=1.8e9)
    check(store, Settings(), now=1.8e9, today="2026-01-01")
    kept = store.judgements(1)
    assert [(each.version, each.settings.tolerance) for each in kept] == [("11", 0.01), ("11", 0.5), ("12", 0.01)]
    assert next(store.read()).judgement == kept[-1]


def test_a_writer_waits_for_another(store, tmp_path):
    with Store.open(tmp_path / "store") as other:
        other._connection.execute("PRAGMA busy_timeout = 50")
        with store.writing(), pytest.raises(BrimfulError, match=r"cannot use the store: database is locked") as caught:
            other.add([run("1", 1.0)], now=1.8e9)
        assert caught.value.exit_code == 3
        assert other.add([run("1", 1.0)], now=1.8e9).values == 1


@pytest.mark.parametrize("content", [b"text\n" * 500, b"SQLite format 3\0" + b"\xff" * 2000])
def test_a_file_that_is_something_else_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    for make in (Store.open, Store.create):
        with pytest.raises(RecordError, match="is no store of histories, or damaged"):
            make(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == content


def test_a_database_of_another_program_is_refused_and_untouched(tmp_path):
    with sqlite3.connect(tmp_path / "file") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = (tmp_path / "file").read_bytes()
    with pytest.raises(UsageError, match="is no store of histories; choose another file"):
        Store.create(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == before


def test_a_later_layout_is_refused(store):
    store._connection.execute("PRAGMA user_version = 9")
    with pytest.raises(UsageError, match="layout 9 is not the one that this brimful knows"):
        Store.open(store.path)


def test_places_where_no_store_can_be_are_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no store; make one with"):
        Store.open(tmp_path / "none")
    with pytest.raises(UsageError, match="there is no directory"):
        Store.create(tmp_path / "no" / "store")
    with pytest.raises(UsageError, match="is a directory"):
        Store.create(tmp_path)


def test_writers_that_are_killed_lose_nothing(tmp_path):
    found, acknowledged = kill_writers(tmp_path, 3, 1)
    assert found == []
    assert acknowledged > 3


@pytest.mark.slow  # its quick twin is the test above
def test_writers_that_are_killed_at_many_points_lose_nothing(tmp_path):
    found, _ = kill_writers(tmp_path, 30, 2)
    assert found == []


def ratio(version, value, anchor, error=0.0):
    point = Point(key={"device": "d"}, worse="lower", value=value, anchor=anchor, error=error)
    return Measured(source=f"{version}/{anchor}", version=version, points=[point])


def test_ratios_to_a_new_anchor_are_chained(store):
    store.add([ratio("2", 0.9, "1", 0.03), ratio("3", 0.8, "2", 0.04), ratio("4", 0.5, "3")], now=1.8e9)
    (reading,) = store.read()
    assert reading.series.key == {"device": "d", "anchor": "1"}
    assert reading.series.values == pytest.approx([0.9, 0.72, 0.36])
    assert reading.series.errors == pytest.approx([0.03, 0.05, 0.05])
    assert store.add([ratio("3", 0.8, "2", 0.04)], now=1.8e9).values == 0


def test_a_chained_ratio_added_again_is_known_though_its_anchor_was_measured_again(store):
    store.add([ratio("2", 0.9, "1"), ratio("3", 0.8, "2")], now=1.8e9)
    again = msgspec.structs.replace(ratio("2", 0.7, "1"), source="another night")
    added = store.add([again, ratio("3", 0.8, "2")], now=1.8e9)
    assert (added.runs, added.values, added.known) == (1, 1, 1)
    (reading,) = store.read()
    assert reading.series.values == pytest.approx([0.8, 0.72])


def test_ratios_to_an_anchor_that_was_never_measured_are_a_series_of_their_own(store):
    store.add([ratio("2", 0.9, "1"), ratio("9", 0.8, "7"), ratio("7", 0.5, "1"), ratio("10", 0.7, "7")], now=1.8e9)
    found = {reading.series.key["anchor"]: reading.series.versions for reading in store.read()}
    assert found == {"1": ["2", "7"], "7": ["9", "10"]}
