"""Files, archives and archives in archives: every line once, what is damaged named, nothing unpacked."""

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import hypothesis.strategies as st
import pytest
from brimful.discards import archives
from brimful.discards.archives import Piece, Unread
from hypothesis import given
from telemetry import tar

LEAF = "x-switch.jsonl"
TEXT = b"one\ntwo\nthree\n"


def read(name, data):
    return list(archives.pieces(Path(name), io.BytesIO(data)))


def lines(found):
    """Give (member, line number, line) of all pieces."""
    return [
        (piece.member, piece.first_line + place, line)
        for piece in found
        if isinstance(piece, Piece)
        for place, line in enumerate(piece.content.split(b"\n"))
    ]


def unread(found):
    return [(item.member, item.reason) for item in found if isinstance(item, Unread)]


EXPECTED = [(1, b"one"), (2, b"two"), (3, b"three")]


@pytest.mark.parametrize("text", [TEXT, TEXT[:-1]], ids=["ended", "not ended"])
@pytest.mark.parametrize("name", ["a-switch.json", "b-switch.jsonl", "a-switch.json.gz", "b-switch.jsonl.gz"])
def test_loose_files(name, text):
    found = read(name, gzip.compress(text) if name.endswith(".gz") else text)
    assert lines(found) == [("", number, line) for number, line in EXPECTED]
    assert found[0].name == name.removesuffix(".gz")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("compress", [False, True])
def test_archives_of_every_form(form, compress):
    deep = "switch/2018/02/01/mlab1.dfw02.measurement-lab.org/" + "long/" * (10 if form == tarfile.USTAR_FORMAT else 40)
    members = [(f"{deep}é{number}-{LEAF}", TEXT) for number in range(3)]
    members += [(f"{deep}{number}-switch.json.gz", gzip.compress(TEXT)) for number in range(2)]
    members += [("other.txt", b"not telemetry\n" * 100)]
    found = read("a.tgz" if compress else "a.tar", tar(members, compress=compress, format=form))
    assert lines(found) == [(name, number, line) for name, _ in members[:-1] for number, line in EXPECTED]
    assert unread(found) == []


def test_archives_in_archives():
    inner = tar([(LEAF, TEXT)], compress=True)
    middle = tar([("in.tgz", inner), ("b-switch.json", TEXT)])
    found = read("out.tar.gz", tar([("mid.tar", middle), (LEAF, b"last\n")], compress=True))
    places = [member for member, _, _ in lines(found)]
    assert places == [f"mid.tar/in.tgz/{LEAF}"] * 3 + ["mid.tar/b-switch.json"] * 3 + [LEAF]


def test_archives_are_not_followed_for_ever():
    data = tar([(LEAF, TEXT)])
    for _ in range(archives.MAX_DEPTH + 1):
        data = tar([("in.tar", data)])
    assert [reason for _, reason in unread(read("a.tar", data))] == ["is an archive in 8 others"]


def test_other_members_are_passed_over():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("dir-switch.json", tarfile.DIRTYPE), ("link-switch.json", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            archive.addfile(info)
    assert unread(read("a.tar", out.getvalue())) == [("", "has no file of telemetry in it")]


def test_an_empty_member_is_named_and_the_others_are_read():
    found = read("a.tar", tar([("e-switch.json", b""), ("g-switch.json.gz", gzip.compress(b"")), (LEAF, TEXT)]))
    assert unread(found) == [("e-switch.json", "is empty"), ("g-switch.json.gz", "is empty")]
    assert len(lines(found)) == 3


def test_a_damaged_member_is_named_and_the_others_are_read():
    whole = gzip.compress(b"".join(b"line %d\n" % number for number in range(5000)))
    data = tar([("bad-switch.json.gz", whole[: len(whole) // 2]), (LEAF, TEXT)], compress=True)
    found = read("a.tgz", data)
    assert unread(found) == [("bad-switch.json.gz", "the compressed data are cut off")]
    assert [member for member, _, _ in lines(found)].count(LEAF) == 3
    first = [line for member, _, line in lines(found) if member != LEAF]
    # The lines before the damage are taken, but not the one within.
    assert first == [b"line %d" % number for number in range(len(first))]
    assert 100 < len(first) < 5000


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.75])
def test_a_cut_off_archive_is_named_once_and_its_begin_is_read(cut):
    inner = tar([(f"{number}-{LEAF}", TEXT * 50) for number in range(20)])
    data = tar([("in.tar", inner)])
    found = read("a.tar", data[: int(len(data) * cut)])
    assert unread(found) == [("", "is cut off")]
    assert len(lines(found)) > 10


def test_a_flipped_bit_of_compressed_data_does_not_pass():
    data = bytearray(tar([(LEAF, TEXT * 1000)], compress=True))
    data[-6] ^= 1
    (problem,) = unread(read("a.tgz", bytes(data)))
    assert problem[0] == ""
    assert problem[1].startswith("the compressed data are damaged")


def test_a_damaged_header_is_not_taken_for_the_end():
    data = bytearray(tar([(LEAF, TEXT), ("b" + LEAF, TEXT)]))
    data[1024 + 10] ^= 1
    found = read("a.tar", bytes(data))
    assert len(lines(found)) == 3
    assert unread(found) == [("", "is no archive, or damaged: bad checksum")]


def test_what_is_no_archive_says_so():
    assert "is no archive" in unread(read("a.tar", b"hello" * 300))[0][1]
    assert unread(read("a.tgz", gzip.compress(b"hello" * 300)))[0][0] == ""
    assert unread(read("a.tgz", b"")) == [("", "is empty")]


def test_long_files_come_in_pieces_of_whole_lines(monkeypatch):
    monkeypatch.setattr(archives, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(archives, "BLOCK_BYTES", 300)
    text = b"".join(b"line %d %s\n" % (number, b"x" * (number % 97)) for number in range(400))
    found = read(LEAF, text)
    assert len(found) > 10
    assert lines(found) == [("", number + 1, line) for number, line in enumerate(text.splitlines())]


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(archives, "MAX_LINE_BYTES", 1 << 20)
    found = read(LEAF, b"short\n" + b"x" * (3 << 20))
    assert unread(found) == [("", "line 2 is longer than 1 MiB")]


def test_memory_does_not_grow_with_the_archive():
    line = b"x" * 999 + b"\n"
    data = tar([(f"{number}-{LEAF}", line * 20_000) for number in range(6)], compress=True)
    tracemalloc.start()
    count = sum(piece.content.count(b"\n") + 1 for piece in archives.pieces(Path("a.tgz"), io.BytesIO(data)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 120_000
    assert peak < 5 * archives.PIECE_BYTES


@given(st.binary(max_size=3000), st.sampled_from(["a.tar", "a.tgz", LEAF, "a-switch.json.gz"]))
def test_any_bytes_are_read_or_named(data, name):
    read(name, data)


@given(st.data())
def test_any_damage_is_survived(data):
    whole = tar([(LEAF, TEXT * 5), ("b-switch.json.gz", gzip.compress(TEXT, mtime=0))], format=tarfile.PAX_FORMAT)
    whole = bytearray(gzip.compress(whole, mtime=0) if data.draw(st.booleans()) else whole)
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    found = read("a.tar", bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    assert len(unread(found)) <= 3
