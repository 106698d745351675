"""Loss is laid at the right door."""

import pytest
from brimful.measurers.attribution import attribute
from hypothesis import given
from hypothesis import strategies as st

CABLES = {"ta": "da", "tb": "db"}
PLACES = ("link_in", "device", "link_out")


def trial(lost, others=0, sent=1000):
    """What the tester and the counters say when frames from ta to tb vanish at these places."""
    path = [("ta", "tx"), ("da", "rx"), ("db", "tx"), ("tb", "rx")]
    counts = [sent]
    for place in PLACES:
        counts.append(counts[-1] - lost.get(place, 0))
    moved = {name: {f"{way}_packets": count + others} for (name, way), count in zip(path, counts, strict=True)}
    between = sum(lost.get(place, 0) for place in PLACES)
    account = {"sent": sent, "lost": {"tester_send": 1, "between": between, "tester_receive": 2}}
    return {"from": "ta", "to": "tb", "account": account}, moved


@given(st.dictionaries(st.sampled_from(PLACES), st.integers(0, 300)), st.integers(0, 20))
def test_each_place_has_its_count(lost, others):
    direction, moved = trial(lost, others)
    (found,), warnings = attribute([direction], moved, CABLES)
    expected = {place: lost.get(place, 0) for place in PLACES}
    assert found["account"]["lost"] == {**direction["account"]["lost"], **expected}
    assert found["account"]["sent"] == 1000
    links = [("ta", "da", expected["link_in"]), ("db", "tb", expected["link_out"])]
    assert [warning["text"] for warning in warnings] == [
        f"{count} frames were lost on the link from {sender} to {receiver}: not the device's loss"
        for sender, receiver, count in links
        if count
    ]


@given(
    st.integers(0, 2000),
    st.dictionaries(
        st.sampled_from(["ta", "da", "db", "tb"]),
        st.dictionaries(st.sampled_from(["rx_packets", "tx_packets"]), st.integers(-50, 5000)),
    ),
)
def test_whatever_the_counters_say_the_places_add_up(between, moved):
    direction = {"from": "ta", "to": "tb", "account": {"lost": {"between": between}}}
    (found,), _ = attribute([direction], moved, CABLES)
    lost = found["account"]["lost"]
    assert sum(lost[place] for place in PLACES) == between
    assert all(lost[place] >= 0 for place in PLACES)


@pytest.mark.parametrize(
    ("account", "cables"), [(None, CABLES), ({"lost": {"between": 3}}, {}), ({"lost": {"between": 3}}, {"ta": "da"})]
)
def test_where_nothing_more_is_known_nothing_is_added(account, cables):
    direction = {"from": "ta", "to": "tb", "account": account}
    assert attribute([direction], {}, cables) == ([direction], [])
