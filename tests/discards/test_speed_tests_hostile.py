"""Whatever is in a source: every result is a test, no transfer, empty or bad, and nothing ends the load."""

import csv
import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
from brimful.discards.speed_tests.clients import name_clients
from brimful.discards.speed_tests.reading import Settings, read_source
from brimful.discards.speed_tests.rows import FIRST_US, LAST_US, ROWS, Tally, parse_server, to_table
from discards.test_speed_tests import bigquery, iperf3, ndt5
from discards.test_speed_tests_tables import web100
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = [
    *(None, "", 0, -1, 1.5, 1e308, 10**30, 2**63, True, [], {}, [None], "x", "1e5", "\0", "2020-01-01", "nan"),
    *("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:00"),
]
DOCUMENTS = [ndt5(), iperf3(), iperf3(reverse=1), bigquery()]


def changed(document, random):
    """Replace one value, however deep."""
    if isinstance(document, dict) and document and random.random() < 0.95:
        key = random.choice(list(document))
        return document | {key: changed(document[key], random)}
    if isinstance(document, list) and document and random.random() < 0.8:
        place = random.randrange(len(document))
        return [*document[:place], changed(document[place], random), *document[place + 1 :]]
    return random.choice(HOSTILE)


def read(name, content):
    """Read a source; its tests must fit the store."""
    tally = Tally(name)
    found = list(read_source(Path(name), io.BytesIO(content), Settings(server=parse_server("m-s")), tally))
    single = to_table([item for item in found if not isinstance(item, pa.Table)])
    rows = name_clients(pa.concat_tables([single, *(item for item in found if isinstance(item, pa.Table))]), None)
    assert rows.schema == ROWS
    rows.validate(full=True)
    for row in rows.to_pylist():
        assert all(row[one.name] is not None for one in ROWS if not one.nullable)
        assert row["test_id"]
        assert row["site"]
    starts = rows["start"].cast(pa.int64()).to_pylist()
    assert all(FIRST_US <= start < LAST_US for start in starts)
    return tally, rows


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=6))
def test_documents(random, documents):
    lines = [json.dumps(changed(changed(document, random), random)).encode() for document in documents]
    tally, rows = read("a.jsonl", b"\n".join(lines))
    assert tally.results == tally.bad.total() + tally.without_transfer + tally.empty + rows.num_rows == len(lines)
    assert read("a.json", b"[%s]" % b", ".join(lines))[1].equals(rows)


@given(st.data())
def test_tables(data):
    rows = [web100(number) for number in range(4)]
    for _ in range(data.draw(st.integers(1, 4))):
        data.draw(st.sampled_from(rows))[data.draw(st.sampled_from(list(rows[0])))] = data.draw(
            st.sampled_from(HOSTILE)
        )
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    tally, found = read("a.csv", text.getvalue().encode())
    assert tally.results == 4
    assert tally.bad.total() + found.num_rows == 4


@given(st.binary(max_size=200), st.sampled_from(["a.json", "a.jsonl", "a.csv", "a.parquet", "a.tgz", "a.json.gz"]))
def test_octets(content, name):
    tally, rows = read(name, content)
    assert rows.num_rows == 0
    assert tally.bad.total() <= tally.results


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=20), st.floats(0, 1))
def test_archives(changes, kept):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for number in range(4):
            content = json.dumps(ndt5(uuid=f"u{number}")).encode()
            entry = tarfile.TarInfo(f"{number}.json")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    damaged = bytearray(plain.getvalue())
    for place, octet in changes:
        damaged[place % len(damaged)] = octet
    tally, rows = read("x-mlab1-bcn01.tar", bytes(damaged[: int(kept * len(damaged))]))
    assert rows.num_rows <= 4
    assert rows.num_rows == 4 or changes or kept < 1
    assert tally.bad.total() <= tally.results
