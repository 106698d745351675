"""Whether a table holds counters is read from its numbers, and asked where these can be either."""

import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.store import Store
from brimful.discards.telemetry.source import Reading
from brimful.errors import UsageError
from telemetry import MIDNIGHT, put
from test_prometheus import rows_of
from test_tables import HOST, SWITCH, as_csv

COLUMNS = "timestamp,device,port,direction"
CARRIED = "{} holds more than the port can carry from row to row, so these seem to be counters"
RISING = "{} rises row after row and does not fall, so these seem to be counters"
EITHER = "no number falls, so these can be counters"
HOW = (
    "say --counters, or --differences if each number is what was counted since the row before",
    "give it the values instead of the counters, or say --differences if these are differences",
)


def written(tmp_path, ports, names="octets"):
    """Write a row a minute for each port; ``ports`` has the cells of the rows of each."""
    rows = [
        f"{MIDNIGHT + 60 * (place + 1)},edge,{port},tx,{cells}\n"
        for port, of_port in enumerate(ports)
        for place, cells in enumerate(of_port)
    ]
    (tmp_path / "a.csv").write_text(f"{COLUMNS},{names}\n" + "".join(rows))
    return tmp_path / "a.csv"


def asked(path, **options):
    """Give why a table was refused; nothing where it was read."""
    try:
        put(path.parent / "store", path, **{"reading": Reading()} | options)
    except UsageError as error:
        (line,) = str(error).splitlines()
        why, _, how = line.removeprefix(f"{path}: ").partition("; ")
        assert how in HOW
        return why
    return None


@pytest.mark.parametrize(
    ("ports", "why"),
    [
        # Few rows: nothing shows what they are.
        ([[10**6, 2 * 10**6]], EITHER),
        ([[10, 20, 30, 40]], EITHER),
        ([[7]], EITHER),
        # Ports at rest: counters stand still, differences of exactly the same load are rare.
        ([[500, 500, 500]], EITHER),
        # Each port rises twice or thrice, all of them never fall.
        ([[port, port + 5, port + 9] for port in range(1, 5)], RISING.format("octets")),
        ([[port, port + 5] for port in range(1, 4)], EITHER),
        # 75 GB a minute are what 10 Gbit/s carries.
        ([[10**12, 10**12 + 5]], CARRIED.format("octets")),
        # A counter that was set back falls once.
        ([[10**12, 10**12 + 5, 10**12 + 7, 3]], CARRIED.format("octets")),
        # Differences fall.
        ([[1000, 3000, 2000]], None),
        ([[port, port + 5] for port in range(1, 9)] + [[9, 3], [5, 2]], None),
        # Nothing, and nothing but the last: the same as counters.
        ([[0, 0, 0]], None),
        ([[0, 0, 9], [0, 4]], None),
        # One difference is not possible: the others are believed.
        ([[1000, 3000, 10**13, 2000, 4000]], None),
    ],
)
def test_few_rows(tmp_path, ports, why):
    assert asked(written(tmp_path, ports)) == why


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        # What one column leaves open, another one shows.
        (["1000,0", "3000,1", "2000,1"], None),
        (["1000,5", "3000,9", "4000,3"], None),
        # No traffic since the row before, but discards: the load is even.
        (["1000,0", "1000,4", "1000,9"], None),
        # A port at rest that was asked twice.
        (["1000,4", "1000,4", "1000,4"], EITHER),
        # Below zero there are differences only.
        (["1000,-3", "3000,8", "4000,9"], None),
        (["1000,5", "3000,5", "4000,6"], EITHER),
    ],
)
def test_columns_are_looked_at_together(tmp_path, rows, why):
    assert asked(written(tmp_path, [rows], "octets,discards")) == why


def test_what_a_port_can_carry_is_its_capacity(tmp_path):
    path = written(tmp_path, [[9 * 10**8, 9 * 10**8 + 5, 8 * 10**8]])
    assert asked(path, ceilings=Capacities.parse("100Mbps")) == CARRIED.format("octets")
    assert asked(path, ceilings=Capacities.parse("1Gbps")) is None


@pytest.mark.parametrize("counters", [True, False])
def test_what_was_said_is_not_asked(tmp_path, counters):
    path = written(tmp_path, [[10, 20, 35]])
    assert asked(path, reading=Reading(counters=counters)) is None
    expected = [None, 10, 15] if counters else [10, 20, 35]
    assert [row["value"] for row in rows_of(tmp_path / "store")] == expected


def test_nothing_is_written_before_it_is_said(tmp_path):
    good, doubtful = tmp_path / "good.csv", written(tmp_path, [[10, 20, 35]])
    good.write_text(f"{COLUMNS},octets\n{MIDNIGHT},edge,1,tx,9\n{MIDNIGHT + 60},edge,1,tx,5\n")
    with pytest.raises(UsageError, match="can be counters"):
        put(tmp_path / "store", good, doubtful, reading=Reading())
    assert Store.open(tmp_path / "store").partitions("samples") == []


def test_counters_in_the_flat_table_of_differences(tmp_path):
    rows = [(HOST, SWITCH, "switch.octets.uplink.tx", MIDNIGHT + 10 * place, 977 * place) for place in range(20)]
    (tmp_path / "a.csv").write_text(as_csv(rows))
    assert asked(tmp_path / "a.csv").startswith("value rises row after row and does not fall")
    (tmp_path / "a.csv").write_text(as_csv(rows[:4]))
    assert asked(tmp_path / "a.csv") is None


def test_the_flat_table_is_never_read_as_counters(tmp_path):
    rows = [(HOST, SWITCH, "switch.octets.uplink.tx", MIDNIGHT + 10 * place, 977 * place) for place in range(4)]
    (tmp_path / "a.csv").write_text(as_csv(rows))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    (problem,) = summary.unreadable_places
    assert problem.endswith("is M-Lab's flat table, which holds differences: ingest it without --counters")
    assert summary.rows_new == 0
