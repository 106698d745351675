"""Connections of SideStream: streams that a client opened to one socket together are one test of several streams."""

import random

import pytest
from brimful.discards.speed_tests.rows import parse_server
from test_speed_tests import loaded, stored

NAMES = (
    "cid PollTime LocalAddress LocalPort RemAddress RemPort StartTimeSec StartTimeUsec Duration ThruBytesAcked "
    "ThruBytesReceived PktsRetrans PktsOut"
)
CLIENT = "198.51.100.7"
NOON = 1_486_123_200
SERVER = parse_server("mlab1-dfw02")


def connection(port=50_000, *, after_s=0.0, client=CLIENT, socket=3010, acked=5_000_000, received=100, duration_s=10.0):
    start, part = divmod(round((NOON + after_s) * 1e6), 10**6)
    return (
        f"C: 7 2017-02-03-12:00:03Z 192.0.2.1 {socket} {client} {port} {start} {part} {round(duration_s * 1e6)} "
        f"{acked} {received} 3 4000"
    )


def write(tmp_path, *lines):
    path = tmp_path / "20170203T00:00:00Z_ALL0.web100"
    path.write_text("".join(f"{line}\n" for line in (f"K: {NAMES}", *lines)))
    return path


def test_streams_that_begin_together_are_one_test(tmp_path):
    lines = [connection(50_000 + number, after_s=0.2 * number) for number in range(4)]
    random.Random(1).shuffle(lines)
    store, summary = loaded(tmp_path, write(tmp_path, *lines), server=SERVER)
    assert (summary.results, summary.observed, summary.tests, summary.bad) == (1, 0, 1, {})
    (row,) = stored(store)
    assert (row["protocol"], row["direction"], row["site"]) == ("sidestream -P 4", "download", "dfw02")
    assert (row["bytes"], row["sending_s"]) == (20_000_000, 10.6)
    assert row["rate_bps"] == pytest.approx(8 * 20_000_000 / 10.6)
    assert (row["retransmitted"], row["sent"], row["retransmission_unit"]) == (12, 16_000, "segments")
    assert (row["client"], row["client_port"], row["server_port"]) == (CLIENT, 50_000, 3010)


def test_an_upload_counts_what_was_received(tmp_path):
    lines = [connection(50_000 + number, acked=100, received=3_000_000) for number in range(2)]
    store, _ = loaded(tmp_path, write(tmp_path, *lines), server=SERVER)
    (row,) = stored(store)
    assert (row["direction"], row["bytes"], row["retransmitted"]) == ("upload", 6_000_000, None)


@pytest.mark.parametrize(
    "other",
    [
        {"after_s": 1.1},
        {"after_s": -1.1},
        {"client": "198.51.100.8"},
        {"socket": 3011},
        {"acked": 100, "received": 5_000_000},
        # That of a control connection.
        {"acked": 500},
        # Clocks in another unit.
        {"after_s": 1e12},
        {"duration_s": 1e6},
        {"acked": 2**62},
        {"acked": "9" * 5000},
        {"acked": "x"},
        {"acked": "-5"},
    ],
)
def test_other_connections_are_no_streams_of_a_test(tmp_path, other):
    _, summary = loaded(tmp_path, write(tmp_path, connection(), connection(50_001, **other)), server=SERVER)
    assert (summary.results, summary.observed, summary.tests, summary.bad) == (2, 2, 0, {})


def test_each_test_has_its_streams(tmp_path):
    """Two tests of one client, one after the other, another client at the same time, and a test of one stream."""
    lines = [
        connection(50_000 + 10 * test + number, after_s=20 * test) for test in range(2) for number in range(2 + test)
    ]
    lines += [connection(50_000 + number, client="198.51.100.8") for number in range(2)]
    lines.append(connection(60_000, client="198.51.100.9"))
    store, summary = loaded(tmp_path, write(tmp_path, *lines), server=SERVER)
    assert (summary.results, summary.observed, summary.tests) == (4, 1, 3)
    assert sorted((row["protocol"], row["client"]) for row in stored(store)) == [
        ("sidestream -P 2", CLIENT),
        ("sidestream -P 2", "198.51.100.8"),
        ("sidestream -P 3", CLIENT),
    ]


def test_a_test_needs_its_server(tmp_path):
    _, summary = loaded(tmp_path, write(tmp_path, connection(), connection(50_001), connection(socket=1)))
    assert (summary.results, summary.observed, summary.tests, summary.bad.total()) == (2, 1, 0, 1)


def test_any_cut_of_a_file_is_read(tmp_path):
    content = write(tmp_path, *(connection(50_000 + number) for number in range(3))).read_bytes()
    for cut in range(0, len(content), 7):
        (tmp_path / "a.web100").write_bytes(content[:cut])
        _, summary = loaded(tmp_path, tmp_path / "a.web100", store=f"store-{cut}", server=SERVER)
        assert summary.tests <= 1
