"""Tables that anyone wrote, whatever is in them: a line for each kind of trouble, and no false regression."""

import random

import pytest
from bad_input import one_line
from brimful.errors import UsageError
from brimful.trend import tables
from brimful.trend.checking import check
from brimful.trend.judgement import Settings
from brimful.trend.store import Store
from histories import levels
from hypothesis import given
from hypothesis import strategies as st

NOW = 1.8e9
COLUMNS = {"series": "s", "version": "v", "value": "x", "worse": "higher"}


def read(tmp_path, text, **columns):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return tables.read(path, tables.Columns(**{**COLUMNS, **columns}), now=NOW)


def judged(tmp_path, text, **columns):
    """Put a table into a store; give the notes and the judgement."""
    table = read(tmp_path, text, **columns)
    with Store.create(tmp_path / "store") as store:
        store.add(table.runs, now=NOW)
        (row,) = check(store, Settings(), now=NOW, today="2026-01-01").rows
    return table.notes, row.judgement


def rows(values, head="v,x", first=0):
    return "\n".join([head, *(f"{first + number},{value}" for number, value in enumerate(values)), ""])


def test_rows_are_values(tmp_path):
    table = read(tmp_path, "t,v,x\n2026-01-01,a,1.5\n2026-01-01,a,2.5\n1767312000000,b,3\n", time="t")
    assert table.notes == []
    assert [(run.version, [point.value for point in run.points]) for run in table.runs] == [
        ("a", [1.5, 2.5]),
        ("b", [3]),
    ]
    assert [run.at for run in table.runs] == [1767225600.0, 1767312000.0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("v;x\na;1,5\nb;1.205,25\nc;1e3\n", [1.5, 1205.25, 1000.0]),
        ("v\tx\na\t1.5\n", [1.5]),
        ("x, v\n 1.5, a\n", [1.5]),
        ('v,x\na,"1,205,000"\nb,"1,205.5"\nc,"1,5"\n', [1205000.0, 1205.5, None]),
        ('note,"v",x\n"a;b",a,2\n', [2.0]),
    ],
)
def test_tables_may_be_as_spreadsheets_write_them(tmp_path, text, values):
    assert [point.value for run in read(tmp_path, text).runs for point in run.points] == values


@pytest.mark.parametrize(
    "time",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02 04:04:05 +0100",
        "2026-01-02 03:04:05 UTC",
        "2026/01/02 03:04:05",
        "Fri, 2 Jan 2026 04:04:05 +0100",
        "Fri Jan 2 04:04:05 2026 +0100",
        "1767323045",
        "1767323045000",
        "1767323045000000",
        "1767323045000000000",
    ],
)
def test_times_may_be_as_programs_write_them(tmp_path, time):
    table = read(tmp_path, f't,v,x\n"{time}",a,1.5\n', time="t")
    assert table.notes == []
    assert table.runs[0].at == 1767323045.0


@pytest.mark.parametrize("time", ["", "yesterday", "5", "13", "2026-13-01", "Jan 2", "1e999", "nan", "-1"])
def test_what_is_no_time_is_noted(tmp_path, time):
    table = read(tmp_path, f"t,v,x\n{time},a,1.5\n", time="t")
    assert table.runs[0].at is None
    assert len(table.notes) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v,x\na,10 ms\nb,11 ms\n", "column 'x' has no numbers, the last is '11 ms'"),
        ("v,x,x\na,1,2\n", "has 2 columns 'x'"),
    ],
)
def test_a_column_that_is_not_the_one_is_refused(tmp_path, text, said):
    with pytest.raises(UsageError, match=said) as refused:
        read(tmp_path, text)
    one_line(refused.value)


@pytest.mark.parametrize("odd", ["nan", "", "inf", "-1", "0", "1,5", "one", "1e999", "NaN", "\x00"])
def test_what_is_no_number_above_0_counts_as_failed(tmp_path, odd):
    values = levels((100, 30))
    values[10] = odd if "," not in odd else f'"{odd}"'
    notes, judgement = judged(tmp_path, rows(values))
    assert notes == [f"{tmp_path}/t.csv: 1 rows have no number above 0 and count as failed (first: line 12, {odd!r})"]
    assert (judgement.state, judgement.changes) == ("normal", [])


def test_a_newest_value_that_is_none_has_no_value(tmp_path):
    _, judgement = judged(tmp_path, rows([*levels((100, 30)), "nan"]))
    assert (judgement.state, judgement.text) == ("no value", "30 has no value: the value 'nan' is no number above 0")


def test_rows_out_of_order_are_put_in_order(tmp_path):
    lines = rows(levels((100, 30), (105, 20))).splitlines()
    shuffled = [lines[0], *random.Random(1).sample(lines[1:], 50)]
    _, judgement = judged(tmp_path, "\n".join(shuffled))
    assert (judgement.state, judgement.changes[0].first_bad) == ("regression", "30")


def test_one_version_with_other_values_is_one_value(tmp_path):
    text = rows(levels((100, 30))) + "".join(f"29,{value}\n" for value in (130, 140, 101, 100, 99, 100))
    notes, judgement = judged(tmp_path, text)
    assert notes == []
    assert (judgement.state, judgement.value, judgement.changes) == ("normal", pytest.approx(100.2, abs=0.1), [])


def test_a_clock_that_goes_back_is_noted_and_moves_no_numbered_version(tmp_path):
    times = [1.7e9 + 86400 * number for number in range(40)]
    times[20:] = [time - 30 * 86400 for time in times[20:]]
    lines = [
        f"{number},{value},{time}" for number, (value, time) in enumerate(zip(levels((100, 40)), times, strict=True))
    ]
    notes, judgement = judged(tmp_path, "\n".join(["v,x,t", *lines]), time="t")
    assert notes == [
        f"{tmp_path}/t.csv: 1 times are before that of the row above; versions without numbers go by time"
        f" (first: line 22, '{times[20]}')"
    ]
    assert (judgement.state, judgement.version) == ("normal", "39")


@pytest.mark.parametrize("time", ["", "soon", "0", "-1e9", "1989-12-31", "9e9", "2999-01-01", "nan", "inf", "1e300"])
def test_times_that_cannot_be_are_unknown_and_noted(tmp_path, time):
    table = read(tmp_path, f"t,v,x\n2026-01-01,a,1\n{time},b,1\n", time="t")
    assert [run.at for run in table.runs] == [1767225600.0, None]
    assert "1 times are none, before 1990 or in the future, and count as unknown (first: line 3," in table.notes[0]


def test_a_unit_that_changes_is_asked_about(tmp_path):
    _, judgement = judged(tmp_path, rows(levels((0.1, 30), (100, 20))))
    assert judgement.state == "no value"
    assert "has the unit changed?" in judgement.text


def test_rows_without_a_version_are_left_out_and_noted(tmp_path):
    table = read(tmp_path, "v,x\n,1\na,2\n  ,3\n")
    assert [run.version for run in table.runs] == ["a"]
    assert table.notes == [f"{tmp_path}/t.csv: 2 rows have no version and were left out (first: line 2, '')"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column 'v'; its columns are none: it is empty"),
        ("a,b\n1,2\n", "has no column 'v'; its columns are a, b"),
        ("v,x\n", "has no rows with a version; nothing was added"),
        ("v,x\n,1\n", "has no rows with a version; nothing was added"),
        ("v,x\na," + "1" * 200_000, "cannot read: field larger than field limit"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_line(tmp_path, text, said):
    with pytest.raises(UsageError, match=said) as caught:
        read(tmp_path, text)
    assert len(str(caught.value).splitlines()) == 1


def test_rows_that_are_short_or_long_and_odd_bytes_are_read(tmp_path):
    table = read(tmp_path, b"\xef\xbb\xbfv,x\na\nb,2,3,4\n\xff,5\n")
    assert [(run.version, run.points[0].value) for run in table.runs] == [("a", None), ("b", 2.0), ("\ufffd", 5.0)]


def test_a_table_that_has_grown_adds_its_new_rows(tmp_path):
    with Store.create(tmp_path / "store") as store:
        assert store.add(read(tmp_path, rows([1, 2])).runs, now=NOW).values == 2
        added = store.add(read(tmp_path, rows([1, 2, 3]) + "1,2\n1,4\n").runs, now=NOW)
        assert (added.values, added.known) == (3, 2)
        assert next(store.read()).series.counts == [1, 3, 1]


def test_many_rows_are_one_series(tmp_path):
    notes, judgement = judged(tmp_path, rows(levels((100, 20_000), (105, 20_000))))
    opened = [change.first_bad for change in judgement.changes if change.standing == "open"]
    assert (notes, judgement.state, opened) == ([], "regression", ["20000"])


@pytest.mark.slow  # its quick twin is the test above
@pytest.mark.timeout(900)
def test_a_million_rows_are_one_series(tmp_path):
    _, judgement = judged(tmp_path, rows(levels((100, 1_000_000))))
    assert (judgement.state, judgement.version) == ("normal", "999999")


CELLS = st.one_of(
    st.floats(), st.integers(), st.text(max_size=8), st.sampled_from(["nan", "1e999", "2026-01-01", "-0"])
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=20), st.binary(max_size=30))
def test_whatever_is_in_a_table_is_read_or_refused(tmp_path_factory, cells, tail):
    directory = tmp_path_factory.mktemp("table")
    lines = ["v,x,t", *(",".join(map(str, row)) for row in cells)]
    try:
        table = read(directory, "\n".join(lines).encode(errors="replace") + b"\n" + tail, time="t")
    except UsageError as error:
        one_line(error)
        return
    for run in table.runs:
        assert run.version
        assert run.at is None or 0 < run.at < 2e9
        assert all((point.value is None) == (point.problem is not None) for point in run.points)
    with Store.create(directory / "store") as store:
        store.add(table.runs, now=NOW)
        assert len(check(store, Settings(), now=NOW, today="2026-01-01").rows) == 1
