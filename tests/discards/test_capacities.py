"""What uplinks carry, and since when."""

import datetime

import pytest
from brimful.discards.capacities import CEILING_BPS, Capacities
from brimful.discards.store import Store
from brimful.errors import UsageError

DAY = datetime.date(2018, 6, 1)
BEFORE = DAY - datetime.timedelta(days=1)
TABLE = "site,since,capacity\ndfw02,2018-06-01,10Gbps\ndfw02,2016-01-01,1Gbps\n\n*,2017-01-01,2.5 Gbit/s\n"


def test_a_table_says_since_when(tmp_path):
    (tmp_path / "sites.csv").write_text(TABLE)
    given = Capacities.parse(str(tmp_path / "sites.csv"))
    assert [given.given("dfw02", day) for day in (BEFORE, DAY)] == [1e9, 10e9]
    assert given.given("lga01", DAY) == 2.5e9
    assert given.given("lga01", datetime.date(2016, 6, 1)) is None
    assert given.at("lga01", datetime.date(2016, 6, 1)) == CEILING_BPS


def test_nothing_given_is_a_ceiling_and_no_capacity():
    assert Capacities().given("dfw02", DAY) is None
    assert Capacities().at("dfw02", DAY) == 10e9


def test_a_store_keeps_them(tmp_path):
    store = Store.create(tmp_path / "store")
    assert Capacities.of_store(store).entries == []
    (tmp_path / "sites.csv").write_text(TABLE)
    for given in (Capacities.parse("400Mbps"), Capacities.read(tmp_path / "sites.csv")):
        given.keep(store)
        assert Capacities.of_store(store).entries == given.entries


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the first line must be site,since,capacity"),
        ("site,capacity\n", "the first line must be site,since,capacity"),
        ("site,since,capacity\ndfw02,2018-06-01\n", "line 2: 'dfw02,2018-06-01' is not like"),
        ("site,since,capacity\ndfw02,June,1Gbps\n", "line 2: 'dfw02,June,1Gbps' is not like"),
        ("site,since,capacity\ndfw02,2018-06-01,fast\n", "line 2: 'fast' is not a capacity; write it like 10Gbps"),
        ("site,since,capacity\ndfw02,2018-06-01,0Gbps\n", "line 2: '0Gbps' is not a capacity"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path, text, problem):
    (tmp_path / "sites.csv").write_text(text)
    with pytest.raises(UsageError, match=problem):
        Capacities.read(tmp_path / "sites.csv")


def test_what_is_neither_says_so(tmp_path):
    with pytest.raises(UsageError, match="is neither a capacity like 10Gbps nor a table that can be read"):
        Capacities.parse(str(tmp_path / "none.csv"))
