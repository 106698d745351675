"""Tests in tables of any columns, by a mapping."""

import re
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards.speed_tests.mapping import WEB100 as WEB100_MAPPING
from brimful.discards.speed_tests.mapping import read_mappings
from brimful.discards.speed_tests.rows import Tally, parse_server
from brimful.discards.speed_tests.tables import read_table
from brimful.errors import UsageError
from discards.test_speed_tests import loaded, quarantined, stored
from discards.test_speed_tests_tables import START_US, web100
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

OOKLA = """
protocol = {value = "ookla"}
start = {column = "DATE", format = "%m/%d/%Y %H:%M", zone = "America/Chicago"}
duration = {value = 15, unit = "s"}
client = "EXTERNAL_IP"
[[test]]
direction = {value = "download"}
rate = {column = "DOWNLOAD", unit = "kbit/s"}
bytes = "DOWNLOAD_BYTES"
[[test]]
direction = {value = "upload"}
rate = {column = "UPLOAD", unit = "kbit/s"}
bytes = "UPLOAD_BYTES"
"""


def mapping(tmp_path, text):
    path = tmp_path / "columns.toml"
    path.write_text(text)
    return read_mappings(path)


def test_a_row_may_tell_two_tests(tmp_path):
    source = tmp_path / "ookla.csv"
    source.write_text(
        "DATE,DOWNLOAD,DOWNLOAD_BYTES,UPLOAD,UPLOAD_BYTES,EXTERNAL_IP\n"
        "02/15/2018 20:05,94012,105000000,11890,13000000,198.51.100.23\n"
        "07/15/2018 20:05,94012,105000000,much,13000000,198.51.100.23\n"
    )
    settings = {"mappings": mapping(tmp_path, OOKLA), "server": parse_server("ookla-dallas")}
    store, summary = loaded(tmp_path, source, **settings)
    assert (summary.results, summary.tests, summary.bad.total()) == (2, 2, 1)
    down, up = sorted(stored(store), key=lambda row: row["direction"])
    assert (down["rate_bps"], down["bytes"], up["rate_bps"], up["bytes"]) == (
        94.012e6,
        105_000_000,
        11.89e6,
        13_000_000,
    )
    # 20:05 in Chicago in winter.
    assert down["start"] == up["start"] == datetime(2018, 2, 16, 2, 5)
    assert (down["site"], down["machine"], down["protocol"]) == ("dallas", "ookla", "ookla")
    assert down["test_id"] != up["test_id"]
    # What is told of them stays the same, so their ids do.
    again, _ = loaded(tmp_path, source, store="other", **settings)
    assert stored(again) == stored(store)


def test_parts_are_derived_from_what_there_is(tmp_path):
    text = """
    protocol = {value = "x"}
    direction = {column = "way", values = {down = "download", up = "upload"}}
    test_id = "id"
    site = "where"
    machine = {value = "m1"}
    start = {column = "at", unit = "ms"}
    end = {column = "until", unit = "ms"}
    bytes = {column = "mib", unit = "MiB"}
    """
    source = tmp_path / "x.csv"
    source.write_text("id,way,where,at,until,mib\na,down,fra,1517515200000,1517515208000,2.5\n")
    store, _ = loaded(tmp_path, source, mappings=mapping(tmp_path, text))
    (row,) = stored(store)
    assert (row["bytes"], row["sending_s"], row["rate_bps"]) == (2_621_440, 8.0, 2_621_440.0)
    assert (row["server_name"], row["direction"], row["retransmission_unit"]) == ("m1-fra", "download", None)


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3))
def test_parts_of_the_sending_time_are_added_up_exactly(parts):
    names = [f"SndLimTime{part}" for part in ("Rwin", "Cwnd", "Snd")]
    row = web100(**dict(zip(names, parts, strict=True)))
    table = pa.table({column: [str(value)] for column, value in row.items()})
    tally = Tally("x")
    (read,) = read_table(table, np.array([2]), (WEB100_MAPPING,), None, tally, member="")
    assert read["sending_s"].to_pylist() == [sum(parts) / 1e6]
    assert read["end"].cast(pa.int64()).to_pylist() == [START_US + sum(parts)]
    assert read["rate_bps"].to_pylist() == [8 * row["HCThruOctetsAcked"] / (sum(parts) / 1e6) if sum(parts) else None]


def test_a_column_names_servers_as_the_option_does(tmp_path):
    text = """
    protocol = {value = "other"}
    direction = {value = "download"}
    server_name = "host"
    start = {column = "at", unit = "s"}
    duration = {value = 10, unit = "s"}
    """
    source = tmp_path / "x.csv"
    source.write_text(
        "host,at\nprobe3-fra,1517515200\nmlab1.dfw02.measurement-lab.org,1517515210\nnameless,1517515220\n"
    )
    store, summary = loaded(tmp_path, source, mappings=mapping(tmp_path, text))
    assert {(row["machine"], row["site"]) for row in stored(store)} == {("probe3", "fra"), ("mlab1", "dfw02")}
    assert summary.bad.total() == 1


def test_a_mapped_table_without_the_column(tmp_path):
    source = tmp_path / "x.csv"
    source.write_text("a,b\n1,2\n")
    store, summary = loaded(tmp_path, source, mappings=mapping(tmp_path, OOKLA))
    assert summary.bad.total() == 1
    assert quarantined(store)[0].startswith("has no column DATE, DOWNLOAD")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protocol = ", "is not TOML"),
        ("speed = 'x'", "there is no such part of a test"),
        ("rate = {column = 'a', unit = 'furlong'}", "unit 'furlong' must be one of bit/s"),
        ("client = {column = 'a', unit = 's'}", "unit 's' must be left out here"),
        ("rate = {unit = 'bit/s'}", "give one of column, columns and value"),
        ("rate = {column = 'a', value = 1}", "give one of column, columns and value"),
        ("client = {columns = ['a', 'b']}", "cannot be the sum of columns"),
        ("rate = {colum = 'a'}", "unknown field `colum`"),
        ("rate = 3", "rate: Expected"),
        ("rate = {column = 'a', format = '%Y'}", "format and zone are for times in words"),
        ("protocol = 'a'\ndirection = 'b'\nstart = 'c'", "end or duration or sending is missing"),
        ("test = 3", "write \\[\\[test\\]\\]"),
        (OOKLA.replace("America/Chicago", "Chicago/America"), "there is no time zone"),
    ],
)
def test_mappings_that_cannot_be(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        mapping(tmp_path, text)


def test_the_mappings_in_the_documentation_are_right(tmp_path):
    page = (ROOT / "docs" / "reference" / "discards-tests.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        assert mapping(tmp_path, block)
