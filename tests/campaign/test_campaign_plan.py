"""Which searches a campaign is made of, and where each begins."""

import msgspec
import pytest
from brimful.campaign.guesses import first_guess
from brimful.campaign.plan import Campaign, parse_sizes
from brimful.errors import UsageError
from brimful.records import End, GoalResult, Member
from brimful.throughput.manager import SearchRequest
from hypothesis import given
from hypothesis import strategies as st
from support import NDR_AND_PDR

SEARCH = SearchRequest(measurer="", goals=NDR_AND_PDR, strategy="straddle", traffic={"arguments": ["--flows=2"]})


def campaign(measurers=("sim:sharp",), sizes=("64", "512"), repeats=2, **more):
    return Campaign(search=SEARCH, measurers=list(measurers), frame_sizes=list(sizes), repeats=repeats, **more)


def member(load, size="64", measurer="sim:sharp", reason="done", **more):
    result = GoalResult("ndr", True, "regular", lower_bound=load and load * 0.99, upper_bound=load)
    return Member(
        name=f"{measurer}-{size}-{load}",
        measurer=measurer,
        repeat=1,
        path="x",
        end=End(reason=reason, trials=1, search_s=1.0),
        frame_size=size,
        goal_results=[result],
        **more,
    )


def guess(size, ended, measurer="sim:sharp"):
    planned = campaign([measurer], [size], 1).members()[0]
    return first_guess(planned, ended)


def test_repeats_are_the_outermost_loop():
    members = campaign(["sim:a", "lab:bridge"], ["64", "imix"], 2).members()
    assert [(each.measurer, each.frame_size, each.repeat) for each in members] == [
        (measurer, size, repeat) for repeat in (1, 2) for measurer in ("sim:a", "lab:bridge") for size in ("64", "imix")
    ]
    assert [each.name for each in members][:4] == [
        "001-sim-a-64",
        "002-sim-a-imix",
        "003-lab-bridge-64",
        "004-lab-bridge-imix",
    ]


def test_each_search_is_told_its_frame_size():
    first, second = campaign().members()[:2]
    assert first.request.traffic["arguments"] == ["--flows=2", "--frame-size=64"]
    assert second.request.traffic["arguments"] == ["--flows=2", "--frame-size=512"]
    (alone,) = campaign(sizes=[None], repeats=1).members()
    assert alone.request.traffic["arguments"] == ["--flows=2"]
    assert alone.name == "001-sim-sharp"


def test_a_measurer_may_name_the_size_and_the_repeat():
    members = campaign(["cmd:./run {size} {repeat}"]).members()
    assert [each.request.measurer for each in members] == [
        "cmd:./run 64 1",
        "cmd:./run 512 1",
        "cmd:./run 64 2",
        "cmd:./run 512 2",
    ]
    assert {each.measurer for each in members} == {"cmd:./run {size} {repeat}"}


@given(
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["64", "1518", "imix"]), min_size=1, max_size=3, unique=True),
    st.integers(1, 4),
)
def test_names_are_directories_and_no_two_are_alike(measurers, sizes, repeats):
    members = campaign([f"sim:{text}" for text in measurers], sizes, repeats).members()
    names = [each.name for each in members]
    assert len(set(names)) == len(names) == len(measurers) * len(sizes) * repeats
    assert names == sorted(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 100 for name in names)


@pytest.mark.parametrize(
    ("given_campaign", "complaint"),
    [
        (campaign(["sim:a", "sim:a"]), "measurer 'sim:a' is given twice"),
        (campaign(sizes=["64", "64"]), "frame size '64' is given twice"),
        (campaign(["cmd:./run"]), "would not be told the frame size"),
        (campaign(["replay:x"]), "would not be told the frame size"),
        (campaign(repeats=5001), "10002 searches"),
    ],
)
def test_what_cannot_be_planned_is_refused(given_campaign, complaint):
    with pytest.raises(UsageError, match=complaint):
        given_campaign.members()


@pytest.mark.parametrize("text", ["", "64,", "64;128", "-64", "64.5", "0", "9999999", "../x"])
def test_sizes_that_are_none(text):
    with pytest.raises(UsageError, match="no frame size"):
        parse_sizes(text)


def test_everything_that_makes_another_campaign_changes_the_fingerprint():
    prints = {
        each.fingerprint()
        for each in (
            campaign(),
            campaign(["sim:b"]),
            campaign(sizes=["64"]),
            campaign(repeats=3),
            campaign(share_guesses=False),
        )
    }
    assert len(prints) == 5
    assert campaign().fingerprint() == campaign().fingerprint()


def test_nothing_is_known_at_first():
    assert guess("64", []) is None
    assert guess("64", [member(1e6, measurer="sim:other")]) is None
    assert guess("64", [member(None)]) is None
    assert guess("64", [member(1e6, reason="measurement-failed")]) is None


def test_a_search_without_an_upper_bound_still_says_something():
    limited = msgspec.structs.replace(
        member(1e6), goal_results=[GoalResult("ndr", False, "max-load-is-lower-bound", lower_bound=2e6)]
    )
    assert guess("64", [limited]) == 2e6


def test_a_repeat_begins_at_the_mean_of_the_same_search():
    ended = [member(1.0e6), member(5e5, "512"), member(1.2e6)]
    assert guess("64", ended) == pytest.approx(1.1e6)


def test_a_new_size_begins_at_the_frames_of_the_nearest():
    ended = [member(1.0e6, "64"), member(0.99e6, "512")]
    assert guess("1518", ended) == 0.99e6
    assert guess("128", ended) == 1.0e6


def test_a_new_size_begins_at_the_bits_of_the_nearest_where_two_agree_in_bits():
    ended = [member(8e8 / (8 * (size + 20)), str(size)) for size in (64, 512, 1024)]
    assert guess("1518", ended) == pytest.approx(8e8 / (8 * 1538))


def test_a_size_in_words_begins_where_the_last_search_ended():
    assert guess("imix", [member(1.0e6, "64"), member(2e5, "1518")]) == 2e5
    assert guess("64", [member(3e5, "imix")]) == 3e5
    assert guess(None, [member(3e5, "imix")]) == 3e5


def test_every_repeat_of_a_disk_draws_its_places_anew():
    given = ["disk:/dev/sda", "disk:/dev/sdb,seed=7,pattern=randrw", "lab:disk,seed={repeat}", "sim:sharp,seed=3"]
    members = campaign(given, [None], 3).members()
    assert [each.request.measurer for each in members] == [
        "disk:/dev/sda",
        "disk:/dev/sdb,seed=7,pattern=randrw",
        "lab:disk,seed=1",
        "sim:sharp,seed=3",
        "disk:/dev/sda,seed=2",
        "disk:/dev/sdb,seed=8,pattern=randrw",
        "lab:disk,seed=2",
        "sim:sharp,seed=3",
        "disk:/dev/sda,seed=3",
        "disk:/dev/sdb,seed=9,pattern=randrw",
        "lab:disk,seed=3",
        "sim:sharp,seed=3",
    ]
    # They are repeats of one another all the same.
    assert {each.cell for each in members} == {(measurer, None) for measurer in given}
