"""Results of speed tests as iperf3 of all versions and spreadsheets write them."""

import csv
import io
import json
from datetime import datetime

import pytest
from brimful.discards.speed_tests import rows
from invented_results import iperf3
from test_speed_tests import loaded, quarantined, stored
from test_speed_tests_tables import by_id, full_name, web100

SERVER = rows.parse_server("probe-fra")


def logged(tmp_path, text, name="a.json"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return loaded(tmp_path, tmp_path / name, server=SERVER)


def stream(document, **more):
    """Write a result as ``--json-stream`` does."""
    interval = {"event": "interval", "data": {"streams": []}}
    parts = [{"event": name, "data": document[name]} for name in ("start", "end") if name in document]
    parts += [{"event": name, "data": data} for name, data in more.items()]
    return "".join(json.dumps(part) + "\n" for part in [*parts[:1], interval, *parts[1:]])


def with_plan(**plan):
    document = iperf3(reverse=1)
    start = document["start"] | {"test_start": document["start"]["test_start"] | plan}
    return document | {"start": start}


def other(number):
    document = iperf3()
    return document | {"start": document["start"] | {"cookie": f"c{number}"}}


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_events_are_put_together(tmp_path, name):
    failed = {"start": iperf3()["start"]}
    text = stream(other(1)) + stream(failed, error="error - the server has terminated") + stream(other(2))
    store, summary = logged(tmp_path, text, name)
    assert (summary.tests, summary.without_transfer, summary.bad.total()) == (2, 1, 0)
    assert sorted(row["test_id"] for row in stored(store)) == ["iperf3-c1", "iperf3-c2"]
    assert {row["bytes"] for row in stored(store)} == {1_447_000}


def test_omitted_seconds_are_before_the_transfer(tmp_path):
    store, _ = logged(tmp_path, json.dumps(with_plan(omit=3)))
    (row,) = stored(store)
    assert (row["start"], row["end"]) == (datetime(2018, 2, 1, 20, 0, 3), datetime(2018, 2, 1, 20, 0, 13, 10000))


@pytest.mark.parametrize(
    "end",
    [
        {"sum_sent_bidir_reverse": {"seconds": 10.0, "bytes": 1}},
        {"streams": [{"sender": {"sender": True}}, {"sender": {"sender": False}}]},
    ],
)
def test_both_ways_at_once_are_refused_in_versions_that_do_not_say_so(tmp_path, end):
    document = iperf3()
    store, summary = logged(tmp_path, json.dumps(document | {"end": document["end"] | end}))
    assert summary.tests == 0
    assert quarantined(store) == [
        "is a result of iperf3 in both directions at once: test one after the other, with --reverse"
    ]


def test_streams_of_one_direction_are_one_test(tmp_path):
    document = iperf3()
    end = document["end"] | {"streams": [{"sender": {"sender": True}}, {"sender": {"sender": True}}, {}]}
    assert logged(tmp_path, json.dumps(document | {"end": end}))[1].tests == 1


@pytest.mark.parametrize(
    "end", [{}, {"sum_sent": {"seconds": 0, "bytes": 0}, "sum_received": {"seconds": 0, "bytes": 0}}]
)
def test_what_ended_before_anything_was_counted_is_no_test(tmp_path, end):
    _, summary = logged(tmp_path, json.dumps(iperf3(end=end, error="control socket has closed unexpectedly")))
    assert (summary.tests, summary.without_transfer, summary.bad.total()) == (0, 1, 0)


@pytest.mark.parametrize("number", ["nan", "-nan", "inf"])
def test_numbers_of_c_cost_no_test(tmp_path, number):
    text = json.dumps(iperf3(), indent="\t").replace('"retransmits": 3', f'"lost_percent": {number}')
    store, summary = logged(tmp_path, text)
    (row,) = stored(store)
    assert (summary.bad.total(), row["bytes"], row["retransmitted"]) == (0, 1_447_000, None)


def test_a_log_that_is_cut_keeps_what_is_before(tmp_path):
    whole = json.dumps(other(1), indent=1) + "\n" + json.dumps(other(2), indent=1)
    _, summary = logged(tmp_path, whole[:-40])
    assert (summary.tests, summary.bad.total()) == (1, 1)
    _, summary = logged(tmp_path, json.dumps(other(3)) + json.dumps(other(4)), "b.json")
    assert summary.tests == 2


def test_names_that_say_nothing_are_refused(tmp_path):
    store, summary = logged(tmp_path, json.dumps(iperf3()), "a.log")
    assert (summary.tests, summary.bad.total()) == (0, 1)
    assert quarantined(store)[0].startswith("cannot tell what it holds; the name must end in .json, ")


def as_text(delimiter=",", before="", name=str, **changes):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    tests = [web100(number, **changes) for number in range(2)]
    writer.writerow([name(full_name(column, ".")) for column in tests[0]])
    writer.writerows([test.values() for test in tests])
    return before + out.getvalue()


WRITTEN = {
    "semicolons": (";", "sep=;\n", str, "utf-8"),
    "tabs": ("\t", "", str, "utf-8"),
    "comments": (",", "# SELECT *\n\n", str, "utf-8"),
    "capitals": (",", "", str.upper, "utf-8"),
    "UTF-16": (",", "", str, "utf-16"),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_tables_are_the_same_however_they_are_written(tmp_path, form):
    *options, encoding = WRITTEN[form]
    store, summary = logged(tmp_path, as_text(*options).encode(encoding), "a.csv")
    assert (summary.tests, summary.bad.total()) == (2, 0)
    (tmp_path / "plain").mkdir()
    plain, _ = logged(tmp_path / "plain", as_text(), "a.csv")
    assert by_id(store) == by_id(plain)


@pytest.mark.parametrize("nothing", ["NULL", "\\N", "None"])
def test_what_databases_write_for_nothing_is_no_client(tmp_path, nothing):
    store, summary = logged(tmp_path, as_text(remote_ip=nothing, SegsRetrans=nothing), "a.csv")
    assert summary.bad.total() == 0
    assert {(row["client"], row["retransmitted"]) for row in stored(store)} == {(None, None)}


def test_two_columns_of_one_name_count_where_they_are_needed(tmp_path):
    lines = as_text().splitlines()
    noted = "\n".join([f"{lines[0]},note,note", *(f"{line},x,y" for line in lines[1:]), ""])
    assert logged(tmp_path, noted, "a.csv")[1].tests == 2
    doubled = "\n".join([f"{lines[0]},test_id", *(f"{line},x" for line in lines[1:]), ""])
    store, summary = logged(tmp_path, doubled, "b.csv")
    assert summary.bad.total() == 2
    assert set(quarantined(store)) == {"has two columns called test_id"}


def test_the_header_again_is_no_test_and_another_one_ends_the_table(tmp_path):
    header, *lines = as_text().splitlines()
    names = header.split(",")
    swapped = ",".join([*names[:-2], names[-1], names[-2]])
    store, summary = logged(tmp_path, "\n".join([header, lines[0], header, lines[1], ""]), "a.csv")
    assert (summary.tests, summary.bad.total()) == (2, 0)
    store, summary = logged(tmp_path, "\n".join([header, lines[0], swapped, lines[1], ""]), "b.csv")
    assert (summary.bad.total(), len(quarantined(store))) == (2, 1)
    assert quarantined(store)[0].startswith("is behind another header")
