"""Lines of both generations: the fast reader against the strict one, real samples, and everything that is refused."""

import gzip
import io
import json

import hypothesis.strategies as st
import numpy as np
import pytest
from brimful.discards import archives
from brimful.discards.archives import Piece
from brimful.discards.telemetry import columns, disco, regular
from brimful.discards.telemetry.rows import DELTA, FIXED, METRICS, UNKNOWN_DIRECTION
from hypothesis import given, settings
from support import ROOT
from telemetry import MIDNIGHT, SHARED, content, line1, line2, needs_samples

NOW_S = MIDNIGHT + 10 * 86_400
UNICAST = "switch.unicast.uplink.tx"


def decode(*lines, name="x-switch.jsonl", latest_s=NOW_S):
    data = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
    return disco.decode([Piece("source", "member", name, 1, data)], latest_s)


def decode1(*lines):
    return decode(*lines, name="x-switch.json")


def reasons(decoded):
    return [(refused.line, refused.reason) for refused in decoded.refused]


def good2(at=MIDNIGHT, metric=UNICAST):
    return line2(metric, [(at + 10, 5, 105), (at + 20, 6, 111)])


def all_rows(decoded):
    return {key: [tuple(row.item()) for row in rows] for key, rows in decoded.rows.items()}


def test_the_second_generation_is_labelled_by_the_end_of_its_bins():
    decoded = decode(good2())
    ((place, rows),) = decoded.rows.items()
    assert place == ("dfw02", "mlab1", MIDNIGHT // 86_400)
    assert (rows["end_us"] // 10**6).tolist() == [MIDNIGHT + 10, MIDNIGHT + 20]
    assert rows["delivered"].tolist() == [5, 6]
    assert rows["counter"].tolist() == [105, 111]
    assert {METRICS[code] for code in rows["metric"]} == {UNICAST}
    assert set(rows["kind"]) == {DELTA}


def test_the_first_generation_is_labelled_by_their_start_and_repeats_its_last():
    decoded = decode1(line1(UNICAST, [(MIDNIGHT, 1.5), (MIDNIGHT + 10, 2.0), (MIDNIGHT + 20, 3.0)]))
    ((_, rows),) = decoded.rows.items()
    assert (rows["start_us"] // 10**6).tolist() == [MIDNIGHT, MIDNIGHT + 10]
    assert (rows["end_us"] // 10**6).tolist() == [MIDNIGHT + 10, MIDNIGHT + 20]
    assert rows["value"].tolist() == [1.5, 2.0]
    assert set(rows["kind"]) == {FIXED}
    assert (decoded.samples, decoded.repeated, decoded.refused) == (3, 1, [])


@pytest.mark.parametrize(("range_end", "bins"), [("00:00:20", 2), ("01:00:00", 3), ("24:61:00", 2)])
def test_the_last_sample_stays_where_polls_failed_before_the_end_of_the_file(range_end, bins):
    samples = [(MIDNIGHT, 1.0), (MIDNIGHT + 10, 2.0), (MIDNIGHT + 20, 3.0)]
    name = f"20220102T00:00:00-to-20220102T{range_end}-switch.json"
    decoded = decode(line1(UNICAST, samples), line1("switch.octets.uplink.tx", samples), name=name)
    assert [len(rows) for rows in decoded.rows.values()] == [2 * bins]
    assert decoded.repeated == 2 * (3 - bins)


def test_a_line_of_the_repeated_sample_alone_has_nothing_and_is_not_bad():
    decoded = decode1(line1(UNICAST, [(MIDNIGHT, 1.0)]))
    assert (decoded.rows, decoded.repeated, decoded.refused) == ({}, 1, [])


def test_a_bin_that_ends_at_midnight_belongs_to_the_day_before():
    decoded = decode(line2(UNICAST, [(MIDNIGHT, 1, 1), (MIDNIGHT + 10, 1, 2)]))
    assert [day for _, _, day in decoded.rows] == [MIDNIGHT // 86_400 - 1, MIDNIGHT // 86_400]


def test_integers_above_floats_are_exact():
    counter = 2**64 - 1
    (rows,) = decode(line2("switch.octets.uplink.tx", [(MIDNIGHT + 10, 2**53 + 1, counter)])).rows.values()
    assert int(rows["counter"][0]) == counter
    assert int(rows["delivered"][0]) == 2**53 + 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("", "is empty"),
        ("{", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        (b'{"metric":"\xff"}', "is not UTF-8"),
        (good2().replace('"value":5', '"value":"5"'), "Expected `int`, got `str` - at `$.sample[...].value`"),
        (good2().replace('"value":5', '"value":null'), "Expected `int`, got `null` - at `$.sample[...].value`"),
        (good2().replace('"value":5', '"value":-5'), "Expected `int` >= 0 - at `$.sample[...].value`"),
        (good2().replace('"value":5', '"value":5.5'), "Expected `int`, got `float` - at `$.sample[...].value`"),
        (good2().replace('"value":5,', ""), "Object missing required field `value` - at `$.sample[...]`"),
        (good2().replace('"counter":105', f'"counter":{2**64}'), "a value or counter has more than 64 bits"),
        (line2(UNICAST, []), "has no samples"),
        (good2(metric="switch.voltage.uplink.tx"), "has no metric of a switch"),
        (good2(metric="octets"), "has no metric of a switch"),
        (good2().replace(f"{MIDNIGHT + 20},", f"{(MIDNIGHT + 20) * 1000},"), "timestamps are in milliseconds, not in"),
        (good2().replace(f"{MIDNIGHT + 20},", f"{(MIDNIGHT + 20) * 10**6},"), "timestamps are in microseconds, not in"),
        (good2().replace(f"{MIDNIGHT + 20},", f"{(MIDNIGHT + 20) * 10**9},"), "timestamps are in nanoseconds, not in"),
        (good2(at=1_200_000_000), "a timestamp is before 2009"),
        (good2(at=-5_000), "a timestamp is before 2009"),
        (good2(at=NOW_S), "a timestamp is in the future"),
        (line2(UNICAST, [(MIDNIGHT, 1, 1)], switch="s1-lga02.measurement-lab.org"), "is of another switch: s1-lga02"),
        (line2(UNICAST, [(MIDNIGHT, 1, 1)], switch="router"), "experiment 'router' is no switch of a site"),
        (line2(UNICAST, [(MIDNIGHT, 1, 1)], host="mlab9-dfw02.x"), "hostname 'mlab9-dfw02.x' is no machine of a site"),
        (line2(UNICAST, [(MIDNIGHT, 1, 1)], host="mlab1-dfw0t.x"), "hostname 'mlab1-dfw0t.x' is no machine of a site"),
    ],
)
def test_a_bad_line_is_refused_and_the_others_are_taken(bad, reason):
    decoded = decode(good2(), bad, good2(at=MIDNIGHT + 20))
    ((line, found),) = reasons(decoded)
    assert line == 2
    assert found.startswith(reason)
    (refused,) = decoded.refused
    assert refused.text == (bad if isinstance(bad, str) else bad.decode(errors="replace"))[:1000]
    assert (refused.source, refused.member) == ("source", "member")
    (rows,) = decoded.rows.values()
    assert len(rows) == 4
    assert decoded.lines == 3


@pytest.mark.parametrize("value", ["-1.0", "1e999", '"1"', "null"])
def test_a_value_of_the_first_generation_must_be_a_count(value):
    line = line1(UNICAST, [(MIDNIGHT, 1.25), (MIDNIGHT + 10, 2.0)]).replace("1.25", value)
    decoded = decode1(line, line1(UNICAST, [(MIDNIGHT, 1.0), (MIDNIGHT + 10, 2.0)]))
    assert [line for line, _ in reasons(decoded)] == [1]
    assert sum(map(len, decoded.rows.values())) == 1


def test_a_value_that_is_not_a_number_says_nothing():
    line = line1(UNICAST, [(MIDNIGHT, 1.25), (MIDNIGHT + 10, 2.0), (MIDNIGHT + 20, 3.0)]).replace("1.25", "NaN")
    decoded = decode1(line)
    assert (decoded.refused, dict(decoded.left_out)) == ([], {"are NaN, null or stale": 1})
    assert sum(map(len, decoded.rows.values())) == 1


def test_one_value_that_is_no_count_leaves_the_others_of_its_hour():
    samples = [(MIDNIGHT + 10 * n, n + 1.25) for n in range(5)]
    decoded = decode1(line1(UNICAST, samples).replace("3.25", "-1.0"))
    assert reasons(decoded) == [(1, "a value is not a count: this sample is left out")]
    (rows,) = decoded.rows.values()
    assert rows["value"].tolist() == [1.25, 2.25, 4.25]


def test_both_spellings_of_hosts_are_known():
    samples = [(MIDNIGHT + 10, 1, 1)]
    hosts = [
        line2(UNICAST, samples, "mlab3.svg01.measurement-lab.org", "s1.svg01.measurement-lab.org"),
        line2(UNICAST, samples, "mlab3-svg01.mlab-oti.measurement-lab.org", "s1-svg01.measurement-lab.org"),
        line2(UNICAST, samples, "mlab4-svg01t.mlab-oti.measurement-lab.org", "s1-svg01t.measurement-lab.org"),
    ]
    decoded = decode(*hosts)
    assert [place[:2] for place in decoded.rows] == [("svg01", "mlab3"), ("svg01t", "mlab4")]


def octets(at, *names):
    return [line2(f"switch.octets.local.{name}", [(at + 10, 5, 105)]) for name in names]


LATER = 1_650_000_000


@pytest.mark.parametrize(
    ("at", "names", "unknown"),
    [
        (MIDNIGHT, ["tx", "tx"], 2),
        (MIDNIGHT, ["tx"], 1),
        (MIDNIGHT, ["tx", "rx"], 0),
        (MIDNIGHT, ["rx"], 0),
        (LATER, ["tx", "tx"], 2),
        (LATER, ["tx"], 0),
    ],
)
def test_local_octets_have_no_direction_where_both_have_one_name(at, names, unknown):
    decoded = decode(*octets(at, *names), latest_s=2e9)
    (rows,) = decoded.rows.values()
    assert np.count_nonzero(rows["metric"] == UNKNOWN_DIRECTION) == unknown


def test_one_file_does_not_label_another():
    pieces = [
        Piece("a", "", "switch.jsonl", 1, "\n".join(octets(LATER, "tx", "tx")).encode()),
        Piece("b", "", "switch.jsonl", 1, "\n".join(octets(LATER + 10, "tx", "rx")).encode()),
    ]
    (rows,) = disco.decode(pieces, 2e9).rows.values()
    assert (rows["metric"] == UNKNOWN_DIRECTION).tolist() == [True, True, False, False]


def test_lines_are_numbered_within_their_file():
    pieces = [
        Piece("a", "m", "switch.jsonl", 1, f"{good2()}\n{good2()}".encode()),
        Piece("b", "n", "switch.jsonl", 7, f"{good2()}\nbad\n{good2()}".encode()),
    ]
    (refused,) = disco.decode(pieces, NOW_S).refused
    assert (refused.source, refused.member, refused.line, refused.text) == ("b", "n", 8, "bad")


NUMBERS = st.sampled_from([0, 1, 10**6, 2**53 + 1, 2**64 - 1, 2**64, -1, 1.5, 1e3, "7", None, True, [], 1e400])


@st.composite
def odd_lines(draw):
    """Lines that are good but for some of their parts."""
    samples = []
    for place in range(draw(st.integers(0, 3))):
        sample = {"timestamp": MIDNIGHT + 10 * place, "collectstart": 1, "value": 3, "counter": 9}
        for _ in range(draw(st.sampled_from([0, 0, 0, 1]))):
            sample[draw(st.sampled_from(list(sample)))] = draw(NUMBERS)
        if draw(st.integers(0, 9)) == 0:
            del sample[draw(st.sampled_from(list(sample)))]
        samples.append(sample)
    line = {
        "experiment": draw(st.sampled_from(["s1-dfw02.x", "s1-dfw02.x", "s1-lga01.x"])),
        "hostname": draw(st.sampled_from(["mlab1-dfw02.x", "mlab1-dfw02.x", "mlab2-dfw02.x"])),
        "metric": draw(st.sampled_from([*METRICS[:3], "switch.octets.local.tx", "nonsense"])),
        "sample": samples,
    }
    if draw(st.integers(0, 9)) == 0:
        line[draw(st.sampled_from(list(line)))] = draw(st.sampled_from([None, 1, "x", {}]))
    return draw(st.sampled_from([json.dumps(line)] * 8 + ["", " ", json.dumps(line)[:-1], json.dumps(line) * 2]))


@given(st.lists(odd_lines(), min_size=1, max_size=4), st.sampled_from(["x-switch.json", "x-switch.jsonl"]))
def test_the_fast_reader_takes_nothing_that_the_strict_one_does_not(lines, name):
    piece = Piece("source", "member", name, 1, "\n".join(lines).encode())
    fast = disco.decode([piece], NOW_S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disco, "_columns_at_once", lambda *_: None)
        strict = disco.decode([piece], NOW_S)
    assert all_rows(fast) == all_rows(strict)
    assert fast.refused == strict.refused
    assert (fast.lines, fast.samples) == (strict.lines, strict.samples)


@st.composite
def nearly_regular(draw):
    """Lines as the collector writes them, of which some bytes may be others."""
    numbers = st.sampled_from(
        [0, 7, 10**7, 10**8 - 1, 10**8, 10**16 - 1, 10**16, 2**53 + 1, 10**19 - 1, 10**19, 2**64 - 1]
    )
    lines = [
        line2(draw(st.sampled_from(METRICS)), [(MIDNIGHT + 10 * n, draw(numbers), draw(numbers)) for n in range(size)])
        for size in draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    ]
    data = bytearray("\n".join(lines).encode())
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(data) - 1))
        with_what = draw(
            st.sampled_from([b"", b"0", b"9", b":", b"/", b",", b"{", b"}", b"]", b"\n", b'"', b" ", b"-", b"\xff"])
        )
        data[place : place + draw(st.integers(0, 1))] = with_what
    return bytes(data)


@given(nearly_regular())
@settings(max_examples=400)
def test_the_regular_reader_takes_nothing_that_the_strict_one_does_not(data):
    piece = Piece("source", "member", "x-switch.jsonl", 1, data)
    fast = disco.decode([piece], NOW_S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disco, "_columns_at_once", lambda *_: None)
        strict = disco.decode([piece], NOW_S)
    assert all_rows(fast) == all_rows(strict)
    assert fast.refused == strict.refused


def test_what_the_collector_writes_is_read_the_fast_way():
    samples = [(MIDNIGHT + 10 * n, 10**n, 10**n - 1) for n in range(19)]
    lines = content(line2("switch.octets.uplink.tx", samples), line2(UNICAST, samples[:3]))
    read = regular.read_regular(lines.splitlines())
    assert read is not None
    assert read.length.tolist() == [19, 3]
    assert list(zip(*(read.samples[name].tolist() for name in read.samples), strict=True)) == samples + samples[:3]
    assert regular.read_regular(lines.replace(b'"value":1,', b'"value":01,').splitlines()) is None


@needs_samples
def test_the_real_sample_is_read_the_fast_way():
    assert regular.read_regular((SHARED / "discov2-switch.jsonl").read_bytes().splitlines()) is not None


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_one_line_each(data):
    decoded = decode(data)
    assert decoded.rows == {}
    assert len(decoded.refused) == decoded.lines == data.count(b"\n") + 1
    assert not any("\n" in refused.reason for refused in decoded.refused)


@needs_samples
def test_the_real_sample_of_the_first_generation():
    text = gzip.decompress((SHARED / "discov1-switch.json.gz").read_bytes()).removesuffix(b"\n")
    decoded = decode1(text)
    assert (decoded.lines, decoded.samples, decoded.repeated, decoded.refused) == (24, 24 * 361, 24, [])
    ((place, rows),) = decoded.rows.items()
    assert place == ("svg01", "mlab3", 1_463_072_400 // 86_400)
    expected = {}
    for line in map(json.loads, text.splitlines()):
        expected[line["metric"]] = sum(sample["value"] for sample in line["sample"][:-1])
    for code, name in enumerate(METRICS):
        chosen = rows[rows["metric"] == code]
        assert len(chosen) == (360 if name in expected else 0)
        assert chosen["value"].sum() == expected.get(name, 0)


@needs_samples
def test_the_real_sample_of_the_second_generation():
    text = (SHARED / "discov2-switch.jsonl").read_bytes().removesuffix(b"\n")
    decoded = decode(text)
    assert (decoded.lines, decoded.samples, decoded.refused) == (16, 480, [])
    (rows,) = decoded.rows.values()
    delivered = {
        (sample["value"], sample["counter"]) for line in map(json.loads, text.splitlines()) for sample in line["sample"]
    }
    assert set(zip(rows["delivered"].tolist(), rows["counter"].tolist(), strict=True)) == delivered
    assert np.count_nonzero(rows["metric"] == UNKNOWN_DIRECTION) == 60


def test_nothing_is_after_2100():
    far = line2(UNICAST, [(5_000_000_000, 1, 1)])
    assert reasons(decode(far, latest_s=float("inf"))) == [(1, "a timestamp is in the future")]


def test_2009_is_2009():
    assert np.datetime64(columns.EARLIEST_S, "s") == np.datetime64("2009-01-01T00:00:00")


@pytest.mark.parametrize("path", sorted((ROOT / "fuzz" / "corpus" / "disco").iterdir()), ids=lambda path: path.name)
def test_what_the_fuzzer_begins_with_is_read(path):
    data = path.read_bytes()
    name = ("x-switch.json", "x-switch.jsonl", "x.tar")[data[0]]
    decoded = [disco.decode([piece], NOW_S) for piece in archives.pieces(path.with_name(name), io.BytesIO(data[1:]))]
    assert decoded
    assert all(one.rows and not one.refused for one in decoded)
