"""Tables as people put them together and spreadsheets save them: headers again, rounded numbers, units."""

import json
import os

import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.schema import Flag
from brimful.discards.speed_tests import loading
from brimful.discards.store import Store
from brimful.discards.table_texts import OTHER_HEADER
from brimful.discards.telemetry import sources
from brimful.discards.telemetry.ingest import judge_again
from brimful.discards.telemetry.source import Reading
from brimful.errors import UsageError
from telemetry import MIDNIGHT, put
from test_chains import total
from test_prometheus import answer, rows_of, series

COUNTED = [10**12 + 1_234_567 * n + n * n for n in range(60)]
DISCARDS = [n // 7 for n in range(60)]
GENERIC = "timestamp,device,port,direction,octets,packets,discards"
PIVOTED = "time,agent_host,ifName,ifHCOutOctets,ifHCOutUcastPkts,ifOutDiscards"
HEADERS = {"generic": GENERIC, "pivoted": PIVOTED}


def rows(kind, places=range(60), swapped=False):
    for n in places:
        counts = [COUNTED[n], 7 * n, DISCARDS[n]]
        where = ["edge", "1", "tx"] if kind == "generic" else ["edge", "1"]
        yield ",".join(map(str, [MIDNIGHT + 60 * n, *where, *(counts[::-1] if swapped else counts)]))


def swapped(header):
    *first, octets, packets, discards = header.split(",")
    return ",".join([*first, discards, packets, octets])


def put_lines(tmp_path, *lines):
    (tmp_path / "a.csv").write_text("\n".join([*lines, ""]))
    return put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))


def totals(tmp_path):
    return [total(tmp_path / "store", f"{kind}.uplink.tx") for kind in ("octets", "discards")]


ALL = [COUNTED[-1] - COUNTED[0], DISCARDS[-1]]


@pytest.mark.parametrize(
    ("kind", "form"), [("generic", str), ("generic", str.upper), ("generic", "\ufeff{}".format), ("pivoted", str)]
)
def test_the_header_again_is_no_row(tmp_path, kind, form):
    header = HEADERS[kind]
    parts = [list(rows(kind, range(begin, begin + 20))) for begin in (0, 20, 40)]
    summary = put_lines(tmp_path, header, *parts[0], form(header), *parts[1], form(header), *parts[2])
    assert (summary.bad_lines, summary.left_out, totals(tmp_path)) == (0, {}, ALL)


def test_what_is_behind_another_header_is_refused(tmp_path):
    summary = put_lines(
        tmp_path, GENERIC, *rows("generic", range(30)), swapped(GENERIC), *rows("generic", range(30, 60), swapped=True)
    )
    assert summary.refused == {OTHER_HEADER: 31}
    assert totals(tmp_path) == [COUNTED[29] - COUNTED[0], DISCARDS[29]]


def test_another_header_behind_a_large_table_is_found(tmp_path):
    """It is in another block than the first one, and what follows it in a third."""
    many = [f"{MIDNIGHT + n},edge,1,tx,{5 * n},{n},0" for n in range(80_000)]
    more = [f"{MIDNIGHT + n},edge,1,tx,0,{n},{5 * n}" for n in range(80_000, 240_000)]
    summary = put_lines(tmp_path, GENERIC, *many, swapped(GENERIC), *more)
    assert summary.refused == {OTHER_HEADER: 160_001}
    assert totals(tmp_path) == [5 * (len(many) - 1), 0]


def test_columns_of_agents_follow_each_header(tmp_path):
    summary = put_lines(
        tmp_path, PIVOTED, *rows("pivoted", range(30)), swapped(PIVOTED), *rows("pivoted", range(30, 60), swapped=True)
    )
    assert (summary.bad_lines, totals(tmp_path)) == (0, ALL)


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("form", ["{:.5E}", "{:.6g}", "{:.6e}"])
def test_rounded_counters_are_refused(tmp_path, kind, form):
    """A spreadsheet and awk write 1.23457E+12 for what has more digits."""
    lines = [",".join([*line.split(",")[:-3], form.format(COUNTED[n]), "1", "0"]) for n, line in enumerate(rows(kind))]
    summary = put_lines(tmp_path, HEADERS[kind], *lines)
    assert any(
        reason in {"octets is no count", "holds rounded numbers, like 1.23457E+12: save all their digits"}
        for reason in summary.refused
    )
    assert totals(tmp_path) == [0, 0]


@pytest.mark.parametrize("kind", HEADERS)
def test_exponents_with_all_digits_are_counters(tmp_path, kind):
    lines = [
        ",".join([*line.split(",")[:-3], f"{COUNTED[n]:.12e}", "1", str(DISCARDS[n])])
        for n, line in enumerate(rows(kind))
    ]
    put_lines(tmp_path, HEADERS[kind], *lines)
    assert totals(tmp_path) == ALL


@pytest.mark.parametrize(("kind", "name"), [("generic", "octets"), ("pivoted", "ifHCOutOctets")])
@pytest.mark.parametrize("unit", [" (Mbps)", "[B]", " (bytes)"])
def test_units_in_the_header_are_asked_about(tmp_path, kind, name, unit):
    summary = put_lines(tmp_path, HEADERS[kind].replace(name, name + unit), *rows(kind))
    (place,) = summary.unreadable_places
    assert f"column {name}{unit} has a unit: call it {name} if" in place
    assert summary.rows_new == 0


@pytest.mark.parametrize("kind", HEADERS)
def test_rows_of_other_lengths_are_refused(tmp_path, kind):
    """As of digits in groups without quotes: 1,234."""
    lines = list(rows(kind))
    lines[7] = lines[7].replace(str(COUNTED[7]), f"{COUNTED[7]:,}")
    summary = put_lines(tmp_path, HEADERS[kind], *lines)
    (reason,) = summary.refused
    assert reason.startswith("has 1")
    assert totals(tmp_path) == ALL


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "time,agent_host,ifName,ifOutDiscards\n28/02/2026 00:00,e,1,5\n", "cannot be read: 28/02/2026 00:00"),
        ("a.lp", "interface,agent_host=e,ifName=1 ifOutDiscards=5i\n", "has no times"),
        ("a.json", '{"fields": {"ifOutDiscards": 5}, "tags": {"agent_host": "e", "ifName": "1"}}\n', "has no times"),
        ("a.prom", 'ifOutDiscards{instance="e",ifName="1"} 5\n', "has no times"),
    ],
)
def test_samples_without_a_time_are_not_passed_over(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content)
    summary = put(tmp_path / "store", tmp_path / name)
    (place,) = summary.unreadable_places
    assert reason in place
    assert place.endswith("write it like 2026-03-01 00:01:00, or in Unix time")


def test_the_age_of_the_agent_goes_before_that_of_its_host(tmp_path):
    polls = [[MIDNIGHT + 60 * n, str(5 * n)] for n in range(40)]
    ages = [
        {
            "metric": {"__name__": name, "instance": "edge-1:161"},
            "values": [[at, str(100 * (60 * n + up))] for n, (at, _) in enumerate(polls) if n % every],
        }
        for name, up, every in (("hrSystemUptime", 10**6, 3), ("sysUpTime", 5000, 60))
    ]
    (tmp_path / "a.json").write_text(json.dumps(answer(series("ifOutDiscards", polls), *ages)))
    put(tmp_path / "store", tmp_path / "a.json")
    assert not any(row["flags"] & (Flag.STEPPED | Flag.CONFLICT) for row in rows_of(tmp_path / "store"))
    assert total(tmp_path / "store", "discards.uplink.tx") == 5 * 39


@pytest.mark.parametrize("kind", ["telemetry", "tests"])
def test_a_pipe_is_no_file(tmp_path, kind):
    os.mkfifo(tmp_path / "a.csv")
    find = {"telemetry": sources, "tests": loading}[kind].find_sources
    with pytest.raises(UsageError, match=r"a\.csv: is no file, which is read more than once"):
        find([tmp_path / "a.csv"])


@pytest.mark.parametrize("kind", ["rows", "Telegraf"])
def test_nan_of_python_costs_no_row(tmp_path, kind):
    def document(n):
        discards = float("nan") if n % 5 == 1 else DISCARDS[n]
        if kind == "rows":
            where = {"timestamp": MIDNIGHT + 60 * n, "device": "edge", "port": "1", "direction": "tx"}
            return where | {"octets": COUNTED[n], "discards": discards}
        tags = {"agent_host": "edge", "ifName": "1"}
        counters = {"ifHCOutOctets": COUNTED[n], "ifOutDiscards": discards}
        return {"fields": counters, "tags": tags, "timestamp": MIDNIGHT + 60 * n}

    (tmp_path / "a.jsonl").write_text("".join(json.dumps(document(n)) + "\n" for n in range(60)))
    summary = put(tmp_path / "store", tmp_path / "a.jsonl", reading=Reading(counters=True))
    assert (summary.bad_lines, totals(tmp_path)) == (0, ALL)


LINES = [f"{MIDNIGHT + 300 * n},edge,1,tx,3000000,5,0" for n in range(12)]


@pytest.mark.parametrize(
    "parts", [[LINES], [LINES[:1], LINES[1:]], [LINES[1:], LINES[:1]], [LINES[1:4], LINES[:1], LINES[4:]]]
)
def test_the_first_difference_at_midnight_is_as_long_as_those_of_the_next_day(tmp_path, parts):
    """It is alone in its day; in whatever order they come."""
    for number, lines in enumerate(parts):
        (tmp_path / f"{number}.csv").write_text("\n".join([GENERIC, *lines, ""]))
        put(tmp_path / "store", tmp_path / f"{number}.csv", reading=Reading(counters=False))
    first, *others = (row for row in rows_of(tmp_path / "store") if ".octets." in row["metric"])
    assert (first["value"], first["span_s"], first["flags"]) == (3_000_000, 300, Flag.UNANCHORED)
    assert {(row["value"], row["span_s"]) for row in others} == {(3_000_000, 300)}
    assert judge_again(Store.open(tmp_path / "store"), Capacities(), 1) == 0


def test_a_difference_of_which_nothing_says_how_long_it_took(tmp_path):
    """A device that ran for one interval: it is named, and has a value where its length is given."""
    (tmp_path / "a.csv").write_text(f"{GENERIC}\n{LINES[3]}\n")
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=False))
    assert (summary.values, summary.without_value) == (0, {"no_interval": 3})
    text = "\n".join([f"{GENERIC},span_s", *(f"{LINES[3]},{span}" for span in ("300", "", "0", "x", "1e300")), ""])
    (tmp_path / "b.csv").write_text(text)
    summary = put(tmp_path / "new", tmp_path / "b.csv", reading=Reading(counters=False))
    assert (summary.values, summary.without_value, summary.refused_samples) == (3, {}, 12)
    assert summary.refused == {"span_s is no length of an interval": 4}
    (row,) = [row for row in rows_of(tmp_path / "new") if ".octets." in row["metric"]]
    assert (row["value"], row["span_s"], row["flags"]) == (3_000_000, 300, 0)
