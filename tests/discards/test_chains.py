"""What counters do that is no counting, as every source may write it: widths, wraps, resets, reboots, dips."""

import json

import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.schema import Flag
from brimful.discards.telemetry.source import Reading
from telemetry import MIDNIGHT, content, line2, put
from test_prometheus import answer, ingest_answer, rows_of, series

TWO32, TWO64 = 2**32, 2**64
HEAD = "timestamp,device,port,direction,octets,packets,discards\n"


def polls(*counters, every=60, begin=MIDNIGHT + 60):
    return [[begin + every * place, str(counter)] for place, counter in enumerate(counters) if counter is not None]


def values(store, metric):
    return [row["value"] for row in rows_of(store) if row["metric"] == f"switch.{metric}"]


def total(store, metric):
    return sum(row["value"] for row in rows_of(store) if row["metric"] == f"switch.{metric}" and row["usable"])


def by_prometheus(tmp_path, **counters):
    ingest_answer(tmp_path, answer(*(series(name, polls(*found)) for name, found in counters.items())))
    return tmp_path / "store"


def by_table(tmp_path, **counters):
    """Write the same as a table of bare counters."""
    names = {"ifHCOutOctets": "octets", "ifHCOutUcastPkts": "packets", "ifOutDiscards": "discards"}
    head = ",".join(["timestamp,device,port,direction", *(names[name] for name in counters)])
    lines = [
        f"{MIDNIGHT + 60 * (place + 1)},edge-1,xe-0,tx," + ",".join("" if one is None else str(one) for one in row)
        for place, row in enumerate(zip(*counters.values(), strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join([head, *lines, ""]))
    put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    return tmp_path / "store"


def by_collector(tmp_path, **counters):
    """Write the same as M-Lab's collector does: with differences modulo 2^64."""
    names = {"ifHCOutOctets": "octets", "ifHCOutUcastPkts": "unicast", "ifOutDiscards": "discards"}
    lines = []
    for name, found in counters.items():
        samples = [
            (MIDNIGHT + 60 * place, (one - found[place - 1]) % TWO64, one) for place, one in enumerate(found) if place
        ]
        lines.append(line2(f"switch.{names[name]}.uplink.tx", samples))
    (tmp_path / "a-switch.jsonl").write_bytes(content(*lines))
    put(tmp_path / "store", tmp_path / "a-switch.jsonl")
    return tmp_path / "store"


every_source = pytest.mark.parametrize("source", [by_prometheus, by_table, by_collector])


@every_source
def test_a_counter_that_starts_again_counts_nothing_known(tmp_path, source):
    store = source(tmp_path, ifHCOutUcastPkts=[3_400_000_000, 3_400_000_100, 40, 140])
    assert values(store, "unicast.uplink.tx")[-2:] == [None, 100]


@every_source
def test_what_was_ever_above_32_bits_never_wraps_there(tmp_path, source):
    store = source(tmp_path, ifOutDiscards=[TWO32 + 5, TWO32 + 6, TWO32 - 9, 3, 4])
    assert total(store, "discards.uplink.tx") == 2
    assert not any(row["flags"] & Flag.WRAPPED for row in rows_of(store))


@every_source
@pytest.mark.parametrize(
    ("read", "discards"),
    [
        ([529, 530, 0, 531, 532], 3),
        ([529, 530, 0, 0, 0, 531], 2),
        ([529, 530, 527, 531], 2),
        ([529, 530, 0, 530, 0, 530, 531], 2),
        ([529, 530, 528, 0, 529, 531], 2),
        ([7, 8, 0, 8, 9], 2),
        ([529, 530, 0, 1, 2, 3], 4),
        ([529, 530, 0, 0, 0, 0, 0, 0, 0, 1], 2),
        ([529, 530, 12, 13, 14], 3),
    ],
)
def test_a_counter_that_goes_on_after_a_dip_was_not_set_back(tmp_path, source, read, discards):
    store = source(tmp_path, ifOutDiscards=read)
    # The first difference of a collector is to a poll that it does not write.
    assert total(store, "discards.uplink.tx") == discards


def test_what_cannot_have_been_climbed_was_a_dip(tmp_path):
    store = by_prometheus(tmp_path, ifHCOutOctets=[10**15, 10**15 + 5, 3 * 10**11, 10**15 + 9, 10**15 + 10])
    assert values(store, "octets.uplink.tx") == [None, 5, 4, None, 1]


def test_a_dip_over_midnight_is_bridged_whatever_comes_first(tmp_path):
    late = 86_400 - 130
    found = [[MIDNIGHT + late + 60 * place, str(one)] for place, one in enumerate([529, 530, 0, 0, 531, 532])]
    expected = None
    for name, parts in {"at once": [found], "in order": [found[:3], found[3:]], "late": [found[3:], found[:3]]}.items():
        directory = tmp_path / name
        directory.mkdir()
        for number, part in enumerate(parts):
            ingest_answer(directory, answer(series("ifOutDiscards", part)), f"{number}.json")
        assert total(directory / "store", "discards.uplink.tx") == 3
        rows = [(row["bin_start"], row["bin_end"], row["value"]) for row in rows_of(directory / "store")]
        expected = expected or rows
        assert rows == expected


@every_source
def test_counters_that_fall_together_are_a_reboot(tmp_path, source):
    store = source(tmp_path, ifOutDiscards=[TWO32 - 9, TWO32 - 8, 4, 5], ifHCOutUcastPkts=[900, 1000, 30, 40])
    assert values(store, "discards.uplink.tx")[-2:] == [None, 1]
    assert values(store, "unicast.uplink.tx")[-2:] == [None, 10]


@every_source
def test_what_reads_nothing_after_a_reboot_is_no_dip(tmp_path, source):
    store = source(tmp_path, ifOutDiscards=[1, 2, 0, 3], ifHCOutUcastPkts=[900, 1000, 30, 40])
    assert values(store, "discards.uplink.tx")[-2:] == [None, 3]


def test_the_age_of_the_device_decides(tmp_path):
    age = {"__name__": "sysUpTime", "instance": "edge-1:161"}
    counters = [
        series("ifOutDiscards", polls(TWO32 - 9, TWO32 - 8, 4, 5)),
        series("ifOutErrors", polls(TWO32 - 9, TWO32 - 8, 4, 5)),
        # A small counter may soon be above what it was.
        series("ifInErrors", polls(1, 2, 9, 9)),
    ]
    up = {"metric": age, "values": polls(500_000, 506_000, 512_000, 518_000)}
    ingest_answer(tmp_path, answer(*counters, up))
    assert values(tmp_path / "store", "discards.uplink.tx") == [None, 1, 12, 1]
    again = tmp_path / "again"
    again.mkdir()
    started = {"metric": age, "values": polls(500_000, 506_000, 3_000, 9_000)}
    ingest_answer(again, answer(*counters, started))
    assert values(again / "store", "discards.uplink.tx") == [None, 1, None, 1]
    assert values(again / "store", "errors.uplink.rx") == [None, 1, None, 0]


def test_the_age_of_a_device_wraps_after_497_days(tmp_path):
    up = {"metric": {"__name__": "sysUpTime", "instance": "edge-1"}, "values": polls(TWO32 - 9000, TWO32 - 3000, 3000)}
    ingest_answer(tmp_path, answer(series("ifOutDiscards", polls(1, 2, 9)), up))
    assert values(tmp_path / "store", "discards.uplink.tx") == [None, 1, 7]


def test_a_step_across_the_wrap_must_be_like_the_others(tmp_path):
    store = by_prometheus(tmp_path, ifOutDiscards=[3_400_000_000, 3_400_000_100, 40, 140])
    assert values(store, "discards.uplink.tx") == [None, 100, None, 100]
    other = tmp_path / "other"
    other.mkdir()
    store = by_prometheus(other, ifOutDiscards=[TWO32 - 300_000_000, TWO32 - 200_000_000, 5, 100_000_000])
    assert values(store, "discards.uplink.tx") == [None, 100_000_000, 200_000_005, 99_999_995]


@pytest.mark.parametrize(
    ("name", "read", "expected"),
    [
        ("ifHCOutOctets", [5 * 10**9, 5 * 10**9 + 10, 0, 10], [None, 10, None, 10]),
        ("ifHCOutOctets", [5 * 10**9, 5 * 10**9 + 60, None, None, 5 * 10**9 + 240], [None, 60, 180]),
        ("ifHCOutOctets", [2**53 - 1000, 2**53 - 500, 100, 600], [None, 500, None, 500]),
        ("ifHCOutOctets", [2**50, 2**50 + 1000, -5, 2**50 + 3000], [None, 1000, 2000]),
        ("ifOutDiscards", [5, 6, TWO64 - 3000, TWO64 - 2048], [None, 1, None, 952]),
        ("ifOutDiscards", [1000, 5] * 6, [None] * 12),
    ],
    ids=["down and up", "gap", "exporter wraps at 2^53", "signed field", "underflow", "two in one"],
)
def test_situations_of_others(tmp_path, name, read, expected):
    ingest_answer(tmp_path, answer(series(name, polls(*read))))
    assert [row["value"] if row["usable"] else None for row in rows_of(tmp_path / "store")] == expected


def octets_that_wrap(count, step, every):
    return [step * place % TWO32 for place in range(count)]


@pytest.mark.parametrize(
    ("capacity", "every", "known"), [("10Gbps", 300, False), ("100Mbps", 300, True), ("1Gbps", 300, False)]
)
def test_counters_of_32_bits_that_may_wrap_twice_are_unknown(tmp_path, capacity, every, known):
    found = polls(*octets_that_wrap(6, 2_816_406_272 if not known else 900_000_000, every), every=every)
    (tmp_path / "a.json").write_text(json.dumps(answer(series("ifOutOctets", found))))
    summary = put(tmp_path / "store", tmp_path / "a.json", ceilings=Capacities.parse(capacity))
    assert total(tmp_path / "store", "octets.uplink.tx") == (5 * 900_000_000 if known else 0)
    assert summary.flags.get("wraps", 0) == (0 if known else 5)


@pytest.mark.parametrize("step", [2_000_000_000, 2_816_406_272])
def test_a_table_of_counters_that_wrap_twice_is_unknown(tmp_path, step):
    lines = [
        f"{MIDNIGHT + 300 * place},edge,1,tx,{one},,\n" for place, one in enumerate(octets_that_wrap(8, step, 300))
    ]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "octets.uplink.tx") == 0
    assert summary.flags["wraps"] >= 6


def test_differences_that_are_read_as_counters_count_nothing(tmp_path):
    lines = [f"{MIDNIGHT + 60 * place},edge,1,tx,{(place * 7919) % 1000},,\n" for place in range(60)]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "octets.uplink.tx") == 0
    assert summary.flags["sawtooth"] > 0


def test_the_wide_counter_of_a_port_is_taken_and_not_the_narrow_one(tmp_path):
    wide = [TWO32 * 3 + 10**9 * place for place in range(6)]
    store = by_prometheus(tmp_path, ifHCOutOctets=wide, ifOutOctets=[one % TWO32 for one in wide])
    assert values(store, "octets.uplink.tx") == [None] + [10**9] * 5
