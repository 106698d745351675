"""Tables of ports: differences below zero, ports that get another name, and few rows of counters."""

import json
import random
import re

import pytest
from brimful.discards.telemetry.source import Reading
from brimful.errors import UsageError
from telemetry import MIDNIGHT, put
from test_ingest_options import ingest
from test_prometheus import rows_of

HEAD = "timestamp,device,port,direction,octets,discards\n"


def written(tmp_path, discards, *, octets=1000, head=HEAD):
    """Write a row a minute; the octets are of a counter that nothing is the matter with."""
    rows = [f"{MIDNIGHT + 60 * place + 60},edge,1,tx,{octets},{one}\n" for place, one in enumerate(discards)]
    (tmp_path / "a.csv").write_text(head + "".join(rows))
    return tmp_path


def values(tmp_path, kind="discards"):
    found = [row for row in rows_of(tmp_path / "store") if f".{kind}." in row["metric"]]
    return [(row["span_s"], row["value"]) for row in sorted(found, key=lambda row: row["bin_start"])]


@pytest.mark.parametrize(
    ("given", "expected", "told"),
    [
        # A poll read 500 too little, the next one was right again.
        ([3, 4, -500, 505, 2], [(60, 3), (60, 4), (120, 5), (60, 2)], "that the next one makes up for"),
        # Two polls read too little.
        ([3, -200, -300, 502, 2], [(60, 3), (180, 2), (60, 2)], "that the next one makes up for"),
        # The counter was set back: what it counts from then on is right.
        ([3, 4, -500, 7, 2], [(60, 3), (60, 4), (120, 7), (60, 2)], "a counter was set back"),
        # Nothing follows.
        ([3, 4, -500], [(60, 3), (60, 4)], "a counter was set back"),
    ],
)
def test_differences_below_zero_are_bridged_or_counted_and_cost_no_other_column(tmp_path, given, expected, told):
    done = ingest(written(tmp_path, given))
    assert done.exit_code == 0
    assert f"differences below zero{': ' if 'set' in told else ' '}{told}" in done.output
    assert re.search("lines, bad +0\n", done.output)
    assert values(tmp_path) == expected
    assert values(tmp_path, "octets") == [(60, 1000)] * len(given)


def test_the_order_of_rows_does_not_matter_to_the_bridge(tmp_path):
    written(tmp_path, [3, 4, -500, 505, 2])
    head, *rows = (tmp_path / "a.csv").read_text().splitlines()
    random.Random(1).shuffle(rows)
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    ingest(tmp_path)
    assert values(tmp_path) == [(60, 3), (60, 4), (120, 5), (60, 2)]


def test_a_counter_below_zero_is_none(tmp_path):
    done = ingest(written(tmp_path, [3, 4, -500, 505, 600]), "--counters", "--max-bad", "100%")
    assert "discards is no count" in done.output


@pytest.mark.parametrize("count", [8, 20, 99])
def test_few_rows_of_counters_are_asked_about(tmp_path, count):
    written(tmp_path, [10 + place // 3 for place in range(count)], octets=5)
    (tmp_path / "a.csv").write_text(
        HEAD + "".join(f"{MIDNIGHT + 60 * place},edge,1,tx,{10**6 + 977 * place},0\n" for place in range(count))
    )
    refused = ingest(tmp_path)
    assert isinstance(refused, UsageError)
    assert "octets rises row after row and does not fall" in str(refused)
    assert ingest(tmp_path, "--differences").exit_code == 0


@pytest.mark.parametrize("discards", [[0, 0, 0, 5, 9, 30], [1, 2, 3, 4, 5, 6, 7, 6, 8, 9], [0] * 50 + [1, 2, 3]])
def test_differences_that_rise_for_a_while_are_believed(tmp_path, discards):
    assert ingest(written(tmp_path, discards)).exit_code == 0


def test_a_port_that_gets_another_name_is_said_to_be_another(tmp_path):
    rows = [
        f"{MIDNIGHT + 60 * place},edge,{name},{index},tx,{1000 + 10 * place}\n"
        for place in range(10)
        for name, index in (("Gi0/1" if place < 5 else "uplink A", 7), ("Gi0/2", 8))
    ]
    (tmp_path / "a.csv").write_text("timestamp,device,port,ifIndex,direction,octets\n" + "".join(rows))
    done = ingest(tmp_path, "--counters")
    (told,) = [line for line in done.output.splitlines() if "is called" in line]
    assert told == (
        "edge: port Gi0/1 is called uplink A from 2022-01-02 00:05:00 on (its ifIndex is the same): these are two "
        "ports in the store; to join them, give them one name in the table"
    )


def test_ports_that_share_an_index_at_the_same_time_are_not_renamed(tmp_path):
    rows = [
        f"{MIDNIGHT + 60 * place},edge,{name},7,tx,{1000 + 10 * place}\n" for place in range(5) for name in ("a", "b")
    ]
    (tmp_path / "a.csv").write_text("timestamp,device,port,ifIndex,direction,octets\n" + "".join(rows))
    assert "is called" not in ingest(tmp_path, "--counters").output


@pytest.mark.parametrize("late_s", [0, 0.5])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_two_ports_under_one_name_are_never_mixed(tmp_path, late_s, ending):
    rows = [
        {"timestamp": MIDNIGHT + 60 * place + late, "device": "edge", "port": "1", "direction": "tx", "discards": one}
        for place in range(1, 5)
        for late, one in ((0, 100 + place), (late_s, 5))
    ]
    plain = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    text = "\n".join(plain if ending == "csv" else map(json.dumps, rows)) + "\n"
    (tmp_path / f"a.{ending}").write_text(text)
    summary = put(tmp_path / "store", tmp_path / f"a.{ending}", reading=Reading(counters=True))
    assert all(row["value"] is None for row in rows_of(tmp_path / "store"))
    assert summary.flags.get("sawtooth", 0) > 0 if late_s else "two ports" in next(iter(summary.refused))


def test_columns_of_one_poll_may_be_in_rows_of_their_own(tmp_path):
    rows = [
        f"{MIDNIGHT + 60 * place},edge,1,tx,{cells}\n" for place in range(5) for cells in (f"{place}000,", f",{place}")
    ]
    (tmp_path / "a.csv").write_text(HEAD + "".join(rows))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert (summary.bad_lines, summary.rows_conflicting, summary.rows_new) == (0, 0, 10)


def test_a_poll_that_is_there_twice_does_not_make_two_ports(tmp_path):
    rows = [f"{MIDNIGHT + 60 * place},edge,1,tx,1,{one}\n" for place in range(5) for one in (place, place)]
    again = f"{MIDNIGHT + 60},edge,1,tx,1,2\n"
    (tmp_path / "a.csv").write_text(HEAD + "".join(rows) + again)
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert (summary.bad_lines, summary.rows_conflicting) == (0, 1)
