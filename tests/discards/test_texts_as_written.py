"""Compressed files, tables in text and JSON, as people and programs write them, against the same written plainly."""

import bz2
import csv
import datetime
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards import json_texts, table_texts
from brimful.discards.archives import WholeLines
from brimful.discards.compression import AsFile, bare_name, uncompressed
from brimful.discards.telemetry.source import Reading
from brimful.discards.times import EPOCH, parse_time, times, unix_parts
from hypothesis import given, settings
from hypothesis import strategies as st
from telemetry import MIDNIGHT, put
from test_chains import total

COMPRESSED = {
    "a.csv": bytes,
    "a.csv.gz": gzip.compress,
    "a.csv.bz2": bz2.compress,
    "a.CSV.xz": lzma.compress,
    "a.csv.zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
HEAD = "timestamp,device,port,direction,discards\n"
TABLE = HEAD + "".join(f"{MIDNIGHT + 60 * n},edge-1,xe-0,tx,{n}\n" for n in range(8))


@pytest.mark.parametrize("name", COMPRESSED)
def test_what_is_compressed_is_the_same_table(tmp_path, name):
    (tmp_path / name).write_bytes(COMPRESSED[name](TABLE.encode()))
    summary = put(tmp_path / "store", tmp_path / name, reading=Reading(counters=True))
    assert (summary.bad_lines, total(tmp_path / "store", "discards.uplink.tx")) == (0, 7)


NUMBERS = "".join(f"{n * 7919 % 10_007}\n" for n in range(3_000)).encode()
WHOLE = {name: compress(NUMBERS) for name, compress in COMPRESSED.items() if name != "a.csv"}


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_before_a_cut_is_read(name, data):
    cut = WHOLE[name][: data.draw(st.integers(6, len(WHOLE[name]) - 1))]
    lines = WholeLines(uncompressed(io.BytesIO(cut)))
    read = lines.readall()
    assert NUMBERS.startswith(read)
    assert read.endswith(b"\n") or not read
    assert str(lines.damage) == "the compressed data are cut off"


@pytest.mark.parametrize("magic", [b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"])
def test_what_only_begins_like_compressed_data_is_damaged(magic):
    lines = WholeLines(uncompressed(io.BytesIO(magic + b"no such data" * 50)))
    assert lines.readall() == b""
    assert str(lines.damage).startswith("the compressed data are ")


def test_members_that_follow_each_other_are_one():
    for compress in (gzip.compress, bz2.compress, lzma.compress, COMPRESSED["a.csv.zst"]):
        assert (
            io.BufferedReader(AsFile(uncompressed(io.BytesIO(compress(b"a\n") + compress(b"b\n"))))).read() == b"a\nb\n"
        )


def test_names_show_what_is_in_a_file():
    assert [bare_name(name) for name in ("A.JSON", "a.csv.zst", "a.tar.xz", "a.gz.csv")] == [
        "a.json",
        "a.csv",
        "a.tar",
        "a.gz.csv",
    ]


NAMES = st.lists(st.text("abcXYZ.-_ 019", min_size=1, max_size=8).map(str.strip).filter(bool), min_size=2, unique=True)


@given(NAMES, st.sampled_from(table_texts.DELIMITERS), st.sampled_from(["", "# made by\n", "\n\r\n", "\n# a;b\n\n"]))
def test_headers_are_found_however_they_are_written(names, delimiter, before):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL if len(before) > 2 else csv.QUOTE_MINIMAL).writerow(
        names
    )
    file = io.BytesIO((before + out.getvalue() + "1\n").encode())
    layout = table_texts.read_layout(file)
    assert (layout.names, layout.delimiter, layout.lines) == (names, delimiter, before.count("\n") + 1)
    assert file.read() == b"1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_ends_of_lines(tmp_path, encoding, end):
    (tmp_path / "a.csv").write_bytes(TABLE.replace("\n", end).encode(encoding))
    put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "discards.uplink.tx") == 7


def test_ports_whose_names_are_not_utf_8_stay_apart(tmp_path):
    rows = "".join(f"{MIDNIGHT + 60 * n},edge-1,{port},tx,{n}\n" for port in "äö" for n in range(3))
    (tmp_path / "a.csv").write_bytes((HEAD + rows).encode("latin-1"))
    put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "discards.uplink.tx") == 4
    assert sorted(path.stem for path in (tmp_path / "store" / "samples").rglob("*.parquet")) == [
        f"%C3%{octet}" for octet in ("A4", "A4", "B6", "B6")
    ]


DOCUMENTS = st.lists(
    st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=9), st.none()), max_size=3),
    max_size=5,
)


@given(
    DOCUMENTS,
    st.sampled_from([None, 1, "\t"]),
    st.sampled_from(["\n", "", "\r\n\n"]),
    st.sampled_from(["utf-8", "utf-16"]),
)
def test_documents_that_follow_each_other_are_parted(given_documents, indent, between, encoding):
    text = "".join(json.dumps(one, indent=indent) + between for one in given_documents)
    content = text.encode(encoding)
    found = [json.loads(one) for _, one in json_texts.documents(io.BytesIO(content))]
    assert found == given_documents
    first = json_texts.first_object(io.BytesIO(content))
    assert first == (given_documents[0] if given_documents else None)


@pytest.mark.parametrize("max_bytes", [40, 1 << 20])
def test_a_document_of_several_lines_may_follow_those_of_one(max_bytes):
    content = b'{"a": 1}\n\n{"b": 2}\n{\n "c": 3\n}\n{"d": 4}\n' + b'{"e": 5}\n' * 4
    found = list(json_texts.documents(io.BytesIO(content), max_bytes=max_bytes))
    assert found[:2] == [(1, b'{"a": 1}\n'), (3, b'{"b": 2}\n')]
    if max_bytes > len(content):
        assert found[2:4] == [(4, b'{\n "c": 3\n}'), (7, b'{"d": 4}')]
    else:
        # Too large to be parted, so that each line stands for itself.
        assert found[2:6] == [(4, b"{\n"), (5, b' "c": 3\n'), (6, b"}\n"), (7, b'{"d": 4}\n')]
    assert [json.loads(text) for _, text in found[-4:]] == [{"e": 5}] * 4
    assert found[-1][0] == 11


@given(
    st.datetimes(datetime.datetime(2009, 1, 1), datetime.datetime(2099, 1, 1)),
    st.sampled_from([1, 10**3, 10**6, 10**9]),
)
def test_unix_times_are_known_by_their_size(moment, parts):
    us = (moment.replace(tzinfo=datetime.UTC) - EPOCH) // datetime.timedelta(microseconds=1)
    number = us * parts // 10**6
    for column in (pa.array([number, None]), pa.array([str(number), None]), pa.array([float(number), None])):
        read = times(column)
        assert abs(read.us[0].as_py() - us) <= max(10**6 // parts, 256)
        assert read.us[1].as_py() is None
        assert not read.bad.any()
    assert unix_parts(np.array([float(number)]))[0] == parts


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1.3.2026 00:01", "2026-03-01T00:01:00Z"),
        ("20260301T000100Z", "2026-03-01T00:01:00Z"),
        ("2026-03-01 01:01:00 Europe/Berlin", "2026-03-01T00:01:00Z"),
        ("2026-03-01T00:01:00Z[UTC]", "2026-03-01T00:01:00Z"),
    ],
)
def test_forms_of_times(text, plain):
    assert parse_time(text) == parse_time(plain)


@pytest.mark.parametrize(
    "text", ["3/1/2026 00:01", "2026-03-01 00:01 CET", "2026-03-01 00:01 Europe/Nowhere", "20260301"]
)
def test_what_could_be_another_time_is_none(text):
    with pytest.raises(ValueError, match="is no"):
        parse_time(text)
