"""One port in two sources: pollers that agree are one series, and what does not agree is refused in one line."""

import json
import random

import pytest
from brimful.discards.telemetry.interleaved import BETWEEN
from brimful.discards.telemetry.source import Reading
from telemetry import MIDNIGHT, put
from test_chains import polls, total, values
from test_prometheus import answer, ingest_answer, rows_of, series

COUNTED = [3 * n * n for n in range(60)]
SECONDS = [7 * n for n in range(3700)]


def polled(offset, *, lost=(), every=60, begin=0):
    """Give what a poller saw of a counter that rises by 7 a second."""
    return [
        [MIDNIGHT + begin + every * n + offset, str(SECONDS[begin + every * n + offset])]
        for n in range((3600 - begin) // every)
        if n not in lost
    ]


def two(tmp_path, first, second):
    return [
        ingest_answer(tmp_path, answer(*one) if isinstance(one, list) else one, f"{name}.json")
        for name, one in (("1", first), ("2", second))
    ]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({"replica": "b"}, '{replica="a"} and {replica="b"}'),
        (
            {"prometheus_replica": "p-1"},
            '{prometheus_replica="", replica="a"} and {prometheus_replica="p-1", replica=""}',
        ),
        ({"host": "poller-2"}, '{host="", replica="a"} and {host="poller-2", replica=""}'),
        ({"replica": "a"}, "from two pollers with the same labels"),
    ],
)
@pytest.mark.parametrize("together", [True, False], ids=["one run", "two runs"])
def test_pollers_that_agree_are_one_series(tmp_path, labels, told, together):
    """Each value is what was counted between two polls of one poller, and gaps are filled."""
    first = answer(series("ifOutDiscards", polled(0, lost=range(20, 30)), replica="a"))
    second = answer(series("ifOutDiscards", polled(25), **labels))
    if together:
        for name, content in (("1", first), ("2", second)):
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        summary = put(tmp_path / "store", tmp_path / "1.json", tmp_path / "2.json")
    else:
        _, summary = two(tmp_path, first, second)
    assert (summary.bad_lines, summary.repeated_samples) == (0, 50)
    assert any(told in note and "agree" in note for note in summary.notes)
    _, *rows = rows_of(tmp_path / "store")
    assert [row["value"] for row in rows] == [7 * row["span_s"] for row in rows]
    assert max(row["span_s"] for row in rows) < 120
    assert sum(row["span_s"] for row in rows) == 59 * 60


def test_which_file_comes_first_does_not_change_what_was_counted(tmp_path):
    found = [[series("ifOutDiscards", polled(offset), replica=name)] for name, offset in (("a", 0), ("b", 25))]
    two(tmp_path, *found)
    two(tmp_path / "other" if (tmp_path / "other").mkdir() is None else None, *found[::-1])
    for store in (tmp_path / "store", tmp_path / "other" / "store"):
        assert total(store, "discards.uplink.tx") == 7 * 59 * 60


@pytest.mark.parametrize(
    ("labels", "counted", "told"),
    [
        (
            {"replica": "b", "ifIndex": "1"},
            [9_000_000 + n for n in range(60)],
            '{replica="a"} and {replica="b"}',
        ),
        ({"ifIndex": "2"}, SECONDS[25::60], '{ifIndex="1", replica="a"} and {ifIndex="2", replica=""}'),
        ({"replica": "a", "ifIndex": "1"}, [9_000_000 + n for n in range(60)], "with which they do not agree"),
    ],
)
def test_what_does_not_agree_is_refused_in_one_line(tmp_path, labels, counted, told):
    first = [series("ifOutDiscards", polled(0), replica="a", ifIndex="1")]
    _, summary = two(tmp_path, first, [series("ifOutDiscards", polls(*counted, begin=MIDNIGHT + 25), **labels)])
    (reason,) = summary.refused
    assert told in reason
    assert (summary.rows_new, total(tmp_path / "store", "discards.uplink.tx")) == (0, 7 * 59 * 60)


def test_the_wide_counter_of_another_source_counts(tmp_path):
    wide, narrow = series("ifHCOutOctets", polled(0)), series("ifOutOctets", polls(*range(60), begin=MIDNIGHT + 25))
    _, summary = two(tmp_path, [wide], [narrow])
    assert (summary.bad_lines, summary.repeated_samples, summary.rows_new) == (0, 60, 0)
    (tmp_path / "other").mkdir()
    _, summary = two(tmp_path / "other", [narrow], [wide])
    (reason,) = summary.refused
    assert "counts better what ifOutOctets does" in reason
    assert {row["counter"] for row in rows_of(tmp_path / "other" / "store")} == set(range(60))


def test_a_longer_file_of_the_same_poller_goes_on(tmp_path):
    _, summary = two(tmp_path, [series("ifOutDiscards", polled(0)[:30])], [series("ifOutDiscards", polled(0)[20:])])
    assert (summary.notes, summary.repeated_samples, summary.rows_known, summary.rows_new) == ([], 0, 10, 30)


@pytest.mark.parametrize("seed", range(8))
def test_some_samples_of_a_poller_in_each_file_are_all_kept(tmp_path, seed):
    chance = random.Random(seed)
    side = [chance.random() < 0.5 for _ in range(60)]
    parts = [[poll for poll, other in zip(polled(0), side, strict=True) if other == which] for which in (True, False)]
    two(tmp_path, *([series("ifOutDiscards", part)] for part in parts))
    assert values(tmp_path / "store", "discards.uplink.tx") == [None] + [420] * 59


HEAD = "timestamp,device,port,direction,discards\n"


def table(offset, counted, every=60):
    return HEAD + "".join(f"{MIDNIGHT + every * n + offset},edge,1,tx,{one}\n" for n, one in enumerate(counted))


@pytest.mark.parametrize("together", [True, False])
def test_differences_of_two_pollers_are_named(tmp_path, together):
    """They may be rows of one table in two files, too, so that nothing is left out."""
    (tmp_path / "a.csv").write_text(table(0, [5] * 20 + [6] * 40))
    (tmp_path / "b.csv").write_text(table(25, [5] * 20 + [6] * 40))
    sources = [[tmp_path / "a.csv", tmp_path / "b.csv"]] if together else [[tmp_path / "a.csv"], [tmp_path / "b.csv"]]
    summaries = [put(tmp_path / "store", *one) for one in sources]
    (note,) = (note for summary in summaries for note in summary.notes)
    assert note.startswith("edge: differences of 1 in one source lie evenly between those of another: if these are of")


def test_differences_that_are_surely_of_another_poller_count_once(tmp_path):
    """Each day begins and ends with some, too."""
    for name, offset in (("a", 20), ("b", 13)):
        (tmp_path / f"{name}.csv").write_text(table(offset, [5, 5, 6, 6] * 105, every=300))
        summary = put(tmp_path / "store", tmp_path / f"{name}.csv")
    assert (summary.left_out, summary.rows_new) == ({BETWEEN: 420}, 0)
    assert values(tmp_path / "store", "discards.uplink.tx") == [5, 5, 6, 6] * 105
    assert {row["span_s"] for row in rows_of(tmp_path / "store")} == {300}


def test_differences_of_two_pollers_in_one_file_are_refused(tmp_path):
    both = table(0, [5, 6] * 30) + table(25, [5, 6] * 30).removeprefix(HEAD)
    (tmp_path / "a.csv").write_text(both)
    summary = put(tmp_path / "store", tmp_path / "a.csv")
    (reason,) = summary.refused
    assert "two pollers" in reason
    assert summary.rows_new <= 2


def test_counters_of_two_pollers_in_two_tables_are_one_series(tmp_path):
    for name, offset in (("a", 0), ("b", 25)):
        (tmp_path / f"{name}.csv").write_text(table(offset, SECONDS[offset : offset + 3600 : 60]))
    put(tmp_path / "store", tmp_path / "a.csv", tmp_path / "b.csv", reading=Reading(counters=True))
    _, *rows = rows_of(tmp_path / "store")
    assert all(row["value"] == 7 * row["span_s"] for row in rows)
