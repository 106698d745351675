"""What the report on a campaign says, and that its page is one that people can read anywhere."""

import json
import re

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.records import End, GoalResult, Member
from brimful.report import rendering, styles
from brimful.report.campaign import comparison, figures, model, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_campaign import IMIX, RESULTS, campaign, member_run
from support import NDR_AND_PDR

BROKEN = campaign(
    ends=[End(reason="interrupted", trials=130, search_s=130.0)], members=campaign().members[:2], goal_results=[]
)
ONE_SIZE = campaign({key: found for key, found in RESULTS.items() if key[1] == "64"})
EMPTY = campaign(members=[], ends=[])
CASES = {"whole": campaign(), "interrupted": BROKEN, "one-size": ONE_SIZE, "empty": EMPTY}
PAGES = {name: rendering.page(file) for name, file in CASES.items()}


def cell(report, measurer, size):
    return next(each for each in report.cells if (each.measurer, each.frame_size) == (measurer, size))


@pytest.mark.parametrize("name", CASES)
def test_text(name, snapshot):
    assert rendering.text(CASES[name]) == snapshot


def test_summary_is_a_part_of_the_report_and_colour_is_for_terminals():
    plain, coloured = rendering.text(campaign()), rendering.text(campaign(), style=styles.coloured)
    assert rendering.summary(campaign()).rstrip() in plain
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_the_numbers_of_a_cell():
    ndr = cell(model.build(campaign()), "lab:bridge", "64").goals[0]
    assert ndr.spread.mean == pytest.approx(812e3)
    assert ndr.spread.deviation == pytest.approx(3e3)
    # t with two degrees of freedom is 4.3027; each upper bound is 0.4 % above.
    margin = 4.3027 * 3e3 / 812e3 / 3**0.5
    assert ndr.spread.interval == pytest.approx((812e3 / (1 + margin), 812e3 * 1.004 * (1 + margin)), rel=1e-4)
    assert ndr.total == pytest.approx(2 * 812e3)
    assert ndr.bits_l2 == pytest.approx(812e3 * 512)
    assert ndr.bits_l1 == pytest.approx(812e3 * 672)
    assert ndr.link_share == pytest.approx(812e3 * 672 / 1e9)
    assert ndr.range_in_widths == pytest.approx(6 / 815 / 0.005)


def test_words_as_frame_sizes_have_bits_where_the_mean_size_is_known():
    report = model.build(campaign())
    assert cell(report, "lab:bridge", "imix").goals[0].bits_l2 == pytest.approx(8 * sum(IMIX) / 12 * 929e3 / 3)
    without = [
        msgspec.structs.replace(
            each, run=each.run and msgspec.structs.replace(each.run, traffic={"frame_size": "imix"})
        )
        for each in campaign().members
    ]
    assert cell(model.build(campaign(members=without)), "lab:bridge", "imix").goals[0].bits_l2 is None


def test_least_values_are_in_no_mean():
    report = model.build(campaign())
    mixed = cell(report, "lab:router", "64").goals[0]
    assert mixed.values == [512e3, 515e3]
    assert [found.member for found in mixed.irregular] == ["010-lab-router-64"]
    assert mixed.at_least is None
    limited = cell(report, "lab:router", "1518").goals[0]
    assert limited.spread is None
    assert limited.at_least == 81e3


def test_what_goals_ask_of_the_delay_is_shown_where_one_asks():
    assert "p99 delay" not in tables.goals(model.build(campaign())).names
    ndr, pdr = NDR_AND_PDR
    limited = msgspec.structs.replace(campaign().run, goals=[ndr, msgspec.structs.replace(pdr, delay_limit_s=1e-3)])
    made = tables.goals(model.build(campaign(run=limited)))
    place = made.names.index("p99 delay")
    assert [row[place] for row in made.rows] == ["any", "1 ms"]


def test_failed_searches_are_counted_apart():
    found = cell(model.build(campaign()), "lab:router", "imix")
    assert (found.runs, found.failed, found.goals[0].spread.runs) == (3, 1, 2)


def test_json_is_what_the_model_says():
    facts = json.loads(rendering.to_json(campaign()))
    assert facts["kind"] == "campaign"
    assert facts["planned"] == 18
    assert len(facts["members"]) == 18
    assert facts["cells"][0]["goals"][0]["spread"]["runs"] == 3


def test_units_that_are_not_frames_have_no_bits_and_do_not_share_an_axis():
    mixed = [
        each
        if each.measurer == "lab:bridge" or each.run is None
        else msgspec.structs.replace(each, run=msgspec.structs.replace(each.run, load_unit="requests/s"))
        for each in campaign().members
    ]
    file = campaign(members=mixed)
    report = model.build(file)
    assert cell(report, "lab:router", "64").goals[0].bits_l2 is None
    assert cell(report, "lab:router", "64").link_rate is None
    assert "<svg" not in rendering.page(file)
    assert "requests/s" in str(tables.throughput(report).rows)


@pytest.mark.parametrize("quantity", [figures.FRAMES, figures.BITS])
def test_a_line_for_each_goal_and_measurer(quantity):
    drawn = {line.label: line for line in figures.lines(model.build(campaign()), quantity)}
    assert set(drawn) == {f"lab:{device}: {goal}" for device in ("bridge", "router") for goal in ("ndr", "pdr")}
    assert [point.place for point in drawn["lab:bridge: ndr"].points] == [0, 1, 2]
    assert [point.bound for point in drawn["lab:router: ndr"].points] == [False, True, False]
    factor = 1.0 if quantity == figures.FRAMES else 8 * 84
    assert drawn["lab:bridge: ndr"].points[0].value == pytest.approx(812e3 * factor)
    # 812, 815 and 809 kpps, and upper bounds 0.4 % above: Student's margin is 7,452 frames/s, or 0.918 %.
    low, high = drawn["lab:bridge: ndr"].points[0].interval
    assert (low, high) == pytest.approx((812e3 * 0.99086 * factor, 812e3 * 1.004 * 1.00922 * factor), rel=1e-4)


def test_repeats_that_agree_are_known_as_well_as_their_bounds():
    same = {("lab:bridge", "64"): [(997.2e3, 1e6)] * 3}
    file = campaign(same)
    report = model.build(file)
    ndr = report.cells[0].goals[0]
    assert ndr.spread.deviation == 0
    # One frame in a trial of a second, on two interfaces.
    assert ndr.spread.interval == pytest.approx((997.2e3 - 0.5, 997.2e3 * 1.004 + 0.5), rel=1e-12)
    (row, _) = tables.throughput(report).rows
    assert "997.2 kpps to 1.001 Mpps" in row
    assert "997.2 kpps to 1.001 Mpps" in rendering.text(file)
    assert "997.2 kpps to 1.001 Mpps" in " ".join(rendering.page(file).replace("&nbsp;", " ").split())


def test_an_interval_has_its_unit_once_where_both_ends_have_the_same():
    report = model.build(campaign({("lab:bridge", "64"): [(812e3, 840e3), (815e3, 842e3), (809e3, 838e3)]}))
    assert "804.6 to 822.8 kpps" in tables.throughput(report).rows[0]


def test_one_frame_size_is_drawn_over_measurers():
    report = model.build(ONE_SIZE)
    assert figures.places(report) == ["lab:bridge", "lab:router"]
    assert [line.label for line in figures.lines(report, figures.FRAMES)] == ["ndr", "pdr"]
    assert "Throughput over measurer" in PAGES["one-size"]


def test_figures_are_the_same_every_time():
    report = model.build(campaign())
    assert figures.draw(report, figures.FRAMES) == figures.draw(report, figures.FRAMES)
    assert "http" not in figures.draw(report, figures.BITS)


NAMES = st.sampled_from(["sim:a", "lab:<b>&", "cmd:" + "x" * 200, "$x$"])
SIZES = st.sampled_from([None, "64", "1518", "imix", "<i>"])
LOADS = st.none() | st.just(0.0) | st.floats(1e-3, 1e13)
RESULT = st.builds(
    GoalResult,
    goal=st.sampled_from([goal.name for goal in NDR_AND_PDR] + ["another"]),
    regular=st.booleans(),
    reason=st.sampled_from(["regular", "max-load-is-lower-bound", "no-progress", "new"]),
    lower_bound=LOADS,
    upper_bound=LOADS,
    conditional_throughput=LOADS,
)
MEMBER = st.builds(
    Member,
    name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9),
    measurer=NAMES,
    repeat=st.integers(0, 9),
    path=st.just("x"),
    end=st.builds(
        End,
        reason=st.sampled_from(["done", "time-budget", "measurement-failed"]),
        trials=st.integers(0, 99),
        search_s=st.floats(0, 1e6),
        text=st.sampled_from(["", "<script>"]),
    ),
    frame_size=SIZES,
    run=st.none() | st.just(member_run("lab:bridge", "64", 1)) | st.just(member_run("lab:router", "imix", 2)),
    goal_results=st.lists(RESULT, max_size=3),
)
SOURCES = st.sampled_from([{}, {"measurers": ["sim:a"], "repeats": "x"}, campaign().run.source])


@st.composite
def campaigns(draw):
    run = msgspec.structs.replace(campaign().run, source=draw(SOURCES))
    ends = draw(st.sampled_from([[], campaign().ends]))
    return campaign(run=run, ends=ends, members=draw(st.lists(MEMBER, max_size=6)))


@given(campaigns())
def test_text_and_json_take_any_campaign(file):
    assert rendering.text(file)
    assert json.loads(rendering.to_json(file))["kind"] == "campaign"


@given(campaigns())
@settings(max_examples=10)
def test_pages_take_any_campaign(file):
    page = rendering.page(file)
    assert page.endswith("</html>\n")
    assert "<script" not in page
    assert "<b>&" not in page


def test_a_comparison_says_what_changed_where():
    slower = {
        key: [found if isinstance(found, str) else tuple(value and value * 0.9 for value in found) for found in results]
        for key, results in RESULTS.items()
    }
    found = comparison.build([campaign(slower)], [campaign()], tolerance=0.02)
    assert found.regressed
    shown = rendering.text_of(comparison.document(found))
    assert "lab:bridge, 64, ndr: A regression." in shown
    same = comparison.build([campaign()], [campaign()], tolerance=0.02)
    assert not same.regressed
    assert json.loads(rendering.facts_as_json(comparison.document(same)))["regressed"] is False


def failed(member):
    end = End(reason="measurement-failed", trials=1, search_s=1.0, text="gone")
    return msgspec.structs.replace(member, end=end, goal_results=[])


def out_of_time(member):
    results = [
        msgspec.structs.replace(
            found, regular=False, reason="time-budget", lower_bound=None, conditional_throughput=None
        )
        for found in member.goal_results
    ]
    return msgspec.structs.replace(member, goal_results=results)


def spoiled(how, names):
    """The campaign with what became of some of its searches."""
    members = campaign().members
    return campaign(members=[how(member) if member.name in names else member for member in members])


@pytest.mark.parametrize(
    ("how", "reason"),
    [(failed, "measuring failed"), (out_of_time, "it has no value for goal ndr (time-budget)")],
)
def test_searches_without_a_value_are_left_out_of_a_comparison_and_named(how, reason):
    cell = [
        member.name for member in campaign().members if (member.measurer, member.frame_size) == ("lab:bridge", "64")
    ]
    whole, some, none = campaign(), spoiled(how, cell[:1]), spoiled(how, cell)
    named = [f"runs/invented/{name}: {reason}" for name in cell]

    found = comparison.build([some], [whole])
    assert found.not_compared == found.lost == []
    assert found.left_out[0] == named[0]
    assert [goal.comparison.runs for goal in found.cells[0].comparison.goals] == [2, 2]

    found = comparison.build([none], [whole])
    assert found.not_compared == ["lab:bridge, 64: no value in the new ones"]
    assert found.lost == ["lab:bridge, 64"]
    assert set(named) <= set(found.left_out)
    assert "lab:bridge, 64" not in [cell.title for cell in found.cells]
    assert f"  - {named[0]}" in rendering.text_of(comparison.document(found))
    assert json.loads(rendering.facts_as_json(comparison.document(found)))["lost"] == ["lab:bridge, 64"]

    for new in ([none, whole], [whole, none]):
        assert comparison.build(new, [whole]).lost == []

    for new, where in ((whole, "in the baseline"), (none, "on either side")):
        found = comparison.build([new], [none])
        assert found.not_compared == [f"lab:bridge, 64: no value {where}"]
        assert found.lost == []


def test_what_an_interrupted_campaign_did_not_come_to_is_lost():
    found = comparison.build([BROKEN], [campaign()])
    assert [cell.title for cell in found.cells] == ["lab:bridge, 64", "lab:bridge, 1518"]
    assert found.lost[0] == "lab:bridge, imix"
    assert found.only_baseline == []


def test_campaigns_without_a_value_in_common_are_refused():
    names = [member.name for member in campaign().members]
    with pytest.raises(UsageError, match=rf"no measurer .* on both sides; .*/{re.escape(names[0])}: .* \(and 18 more"):
        comparison.build([spoiled(failed, names)], [campaign()])
