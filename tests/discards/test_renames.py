"""Ports that are renamed between two scrapes: one port where the ifIndex says so, told where nothing does."""

import json

import pytest
from telemetry import MIDNIGHT, put
from test_prometheus import answer, ingest_answer, rows_of, series

OTHERS = {"ifName": "Gi0/2", "ifIndex": "8"}


def polls(*counted, first=0):
    return [[MIDNIGHT + 60 * (first + place), str(one)] for place, one in enumerate(counted)]


def discards(*counted, first=0, **labels):
    return series("ifOutDiscards", polls(*counted, first=first), **labels)


BEFORE = discards(5, 6, 8, ifName="Gi0/1", ifIndex="7")
AFTER = discards(11, 15, first=3, ifName="uplink A", ifIndex="7")
BESIDE = discards(1, 1, 1, 1, 1, **OTHERS)


def values(store):
    found = {}
    for row in rows_of(store):
        found.setdefault(row["machine"], []).append(row["value"])
    return found


def test_a_port_that_is_renamed_goes_on(tmp_path):
    summary = ingest_answer(tmp_path, answer(AFTER, BESIDE, BEFORE))
    assert values(tmp_path / "store")["Gi0/1"] == [None, 1, 2, 3, 4]
    assert set(values(tmp_path / "store")) == {"Gi0/1", "Gi0/2"}
    assert summary.notes == [
        "edge-1: port Gi0/1 is called uplink A from 2022-01-02 00:03:00 on (its ifIndex is the same): both are Gi0/1 "
        "in the store"
    ]


@pytest.mark.parametrize(("first", "second", "name"), [(BEFORE, AFTER, "Gi0/1"), (AFTER, BEFORE, "uplink A")])
def test_a_port_that_is_renamed_between_two_files_goes_on(tmp_path, first, second, name):
    ingest_answer(tmp_path, answer(first, BESIDE), "1.json")
    assert ingest_answer(tmp_path, answer(second), "2.json").notes[0].endswith(f"both are {name} in the store")
    later = discards(16, 18, first=5, ifName="uplink A", ifIndex="7")
    assert ingest_answer(tmp_path, answer(later), "3.json").notes == []
    assert values(tmp_path / "store")[name] == [None, 1, 2, 3, 4, 1, 2]
    assert set(values(tmp_path / "store")) == {name, "Gi0/2"}


def test_a_port_that_is_renamed_twice_keeps_its_first_name(tmp_path):
    last = discards(20, first=5, ifName="core", ifIndex="7")
    assert len(ingest_answer(tmp_path, answer(last, AFTER, BEFORE)).notes) == 2
    assert values(tmp_path / "store") == {"Gi0/1": [None, 1, 2, 3, 4, 5]}


def test_all_counters_of_a_port_are_followed(tmp_path):
    labels = ({"ifName": "Gi0/1", "ifIndex": "7"}, {"ifName": "uplink A", "ifIndex": "7"})
    octets = [
        series("ifHCOutOctets", polls(*one, first=first), **names)
        for one, first, names in (([100, 200], 0, labels[0]), ([300, 400], 2, labels[1]))
    ]
    errors = series("ifOutErrors", polls(1, 2, first=2), **labels[1])
    summary = ingest_answer(tmp_path, answer(*octets, errors))
    assert len(summary.notes) == 1
    assert values(tmp_path / "store") == {"Gi0/1": [None, None, 1, 100, 100, 100]}


def test_indices_that_are_given_anew_are_no_names(tmp_path):
    # The device was started again: Gi0/1 is the eighth now, and Gi0/2 the seventh.
    after = [discards(0, 2, first=3, ifName=name, ifIndex=index) for name, index in (("Gi0/1", "8"), ("Gi0/2", "7"))]
    before = [discards(5, 6, 8, ifName=name, ifIndex=index) for name, index in (("Gi0/1", "7"), ("Gi0/2", "8"))]
    summary = ingest_answer(tmp_path, answer(*before, *after))
    assert summary.notes == []
    assert values(tmp_path / "store") == {port: [None, 1, 2, None, 2] for port in ("Gi0/1", "Gi0/2")}


def test_another_name_after_a_while_is_told(tmp_path):
    later = discards(11, 15, first=30, ifName="uplink A", ifIndex="7")
    (note,) = ingest_answer(tmp_path, answer(BEFORE, BESIDE, later)).notes
    assert note.startswith(
        "edge-1: port Gi0/1 is called uplink A from 2022-01-02 00:30:00 on (its ifIndex is the same, "
    )
    assert "these are two ports in the store" in note
    assert values(tmp_path / "store")["uplink A"] == [None, 4]


def test_two_names_of_one_index_at_one_time_are_two_ports(tmp_path):
    twin = discards(5, 5, 6, ifName="uplink A", ifIndex="7")
    assert ingest_answer(tmp_path, answer(BEFORE, twin)).notes == []
    assert values(tmp_path / "store") == {"Gi0/1": [None, 1, 2], "uplink A": [None, 0, 1]}


def test_without_an_index_it_is_told(tmp_path):
    after = discards(11, 15, first=3, ifName="uplink A")
    (note,) = ingest_answer(tmp_path, answer(discards(5, 6, 8), after, discards(1, 1, 1, 1, 1, ifName="b"))).notes
    assert note == (
        "edge-1: port xe-0/0/1 ends and port uplink A begins at the next sample, 2022-01-02 00:03:00: these are two "
        "ports in the store; if one was renamed, save the label ifIndex, too, or give them one name in the file"
    )
    assert values(tmp_path / "store")["uplink A"] == [None, 4]


@pytest.mark.parametrize("index", ["7", ""])
@pytest.mark.parametrize("labels", [{"instance": "edge-1:9116"}, {"job": "snmp-new"}, {"ifAlias": "to the core"}])
def test_other_labels_of_a_port_are_the_same_port(tmp_path, labels, index):
    first, second = discards(5, 6, 8, ifIndex=index), discards(11, 15, first=3, ifIndex=index, **labels)
    summary = ingest_answer(tmp_path, answer(first, second))
    assert (summary.notes, values(tmp_path / "store")) == ([], {"xe-0/0/1": [None, 1, 2, 3, 4]})


def test_a_port_gets_the_label_that_names_it(tmp_path):
    ingest_answer(tmp_path, answer(discards(5, 6, 8, ifName="", ifIndex="7"), AFTER))
    assert values(tmp_path / "store") == {"7": [None, 1, 2, 3, 4]}


def test_what_telegraf_writes_is_followed_too(tmp_path):
    lines = [
        {
            "fields": {"ifOutDiscards": count},
            "timestamp": MIDNIGHT + 60 * place,
            "tags": {"agent_host": "edge-1"} | tags,
        }
        for place, (count, tags) in enumerate(
            [
                (5, {"ifName": "a", "ifIndex": "7"}),
                (6, {"ifName": "a", "ifIndex": "7"}),
                (9, {"ifName": "b", "ifIndex": "7"}),
            ]
        )
    ]
    (tmp_path / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    put(tmp_path / "store", tmp_path / "a.json")
    assert values(tmp_path / "store") == {"a": [None, 1, 3]}
