"""What a report says about the examples and about small changes to them."""

import json
import re

import msgspec
import pytest
from brimful.records import GoalResult, Machine, MeasurerFacts, Trial
from brimful.report import rendering, scales, words
from brimful.report.figures import NARROW, WIDE, figure_of
from brimful.report.throughput import (
    comparison,
    figures,
    items,
    model,
    ranges,
    strips,
    trials,
)
from brimful.report.throughput.statements import MISSING, make_statements
from cases import EXAMPLES, SCHEMAS, example, with_run
from support import brimful, goal

MLRSEARCH_ROWS = {1, 2, 6, 7, 10, 12, 14, 20, 27, 28, 29, 30, 31, 32, 33, 34, 35}


def trial(seq=0, load=1000.0, **fields):
    return Trial(seq=seq, load=load, duration_s=1.0, **{"intended": 1000, "sent": 1000, "lost": 0, **fields})


def said(report, item_id):
    return next(statement for statement in make_statements(report) if statement.item.id == item_id)


@pytest.mark.parametrize("name", EXAMPLES)
def test_text(name, snapshot):
    assert rendering.text(example(name)) == snapshot


def test_summary(snapshot):
    assert rendering.summary(example("irregular")) == snapshot


@pytest.mark.parametrize("name", EXAMPLES)
def test_json_has_the_results_and_every_statement(name):
    report = json.loads(rendering.to_json(example(name)))
    assert report["kind"] == "report"
    assert [goal["goal"]["name"] for goal in report["goals"]] == ["ndr", "pdr"]
    assert [statement["id"] for statement in report["statements"]] == [item.id for item in items.ITEMS]


@pytest.mark.parametrize("name", EXAMPLES)
def test_html_states_every_item(name):
    page = rendering.page(example(name))
    assert all(f"<th>{item.id}</th>" in page for item in items.ITEMS)
    assert "(draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be) and RFC 2544 ask for, and where it is" in page


def test_every_row_that_a_report_must_state_has_an_item():
    assert {item.row for item in items.ITEMS if item.row is not None} == MLRSEARCH_ROWS
    assert len({item.id for item in items.ITEMS}) == len(items.ITEMS)
    assert items.item("units").row == 1
    with pytest.raises(KeyError):
        items.item("nothing")


def test_figures_are_the_same_every_time():
    report = model.build(example("regular"))
    for draw in (figures.draw_search_time, figures.draw_load_loss):
        for size in (WIDE, NARROW):
            first = draw(report, size)
            assert first == draw(report, size)
            assert "viewBox" in first
            assert "http" not in first


def test_long_names_of_goals_leave_room_for_the_graph():
    file = example("regular")
    name = "a-very-long-goal-name-for-testing"
    goals = [msgspec.structs.replace(file.run.goals[0], name=name), file.run.goals[1]]
    results = [msgspec.structs.replace(file.goal_results[0], goal=name), file.goal_results[1]]
    long = msgspec.structs.replace(with_run(file, goals=goals), goal_results=results)
    report, side = model.build(long), comparison.build([long], [long])
    for size, shown in ((NARROW, "a-very…testing"), (WIDE, "a-very-long…-for-testing")):
        for drawn in (
            figures.draw_search_time(report, size),
            figures.draw_load_loss(report, size),
            strips.draw_strips(side, size),
        ):
            assert shown in drawn
            assert name not in drawn
    assert name in rendering.page(long)


@pytest.mark.parametrize("end", [0.4, 57.0, 750.0, 20_000.0])
def test_times_of_a_narrow_axis_are_few(end):
    with figure_of(NARROW, "times", 1.0) as figure:
        axis = figure.subplots().xaxis
        scales.scale_times(axis, end, NARROW.times)
        assert len(axis.get_majorticklocs()) <= NARROW.times + 1


@pytest.mark.parametrize("reason", words.REASONS)
def test_irregular_results_are_marked_and_explained(reason):
    file = example("regular")
    results = [
        msgspec.structs.replace(result, regular=reason == "regular", reason=reason) for result in file.goal_results
    ]
    changed = msgspec.structs.replace(file, goal_results=results)
    shown, page = rendering.text(changed), rendering.page(changed)
    irregular = reason != "regular"
    assert ("IRREGULAR" in shown) == irregular
    assert ("irregular (" in page) == irregular
    assert (words.REASONS[reason] in page) == irregular


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (GoalResult("g", True, "regular", 1e6, 1.005e6, 0.999e6), "999.0 kpps"),
        (GoalResult("g", False, "max-load-is-lower-bound", 14.88e6, None, 14.88e6), "≥ 14.88 Mpps"),
        (GoalResult("g", False, "min-load-is-upper-bound", None, 1e4), "< 10.00 kpps"),
        (GoalResult("g", False, "time-budget", 1e6, 2e6, 1e6), "1.000 Mpps … 2.000 Mpps"),
        (GoalResult("g", False, "interrupted", 1e6, None, 1e6), "≥ 1.000 Mpps"),
        (GoalResult("g", False, "measurement-failed"), "no bounds"),
        (None, "no result"),
    ],
)
def test_headline(result, expected):
    assert words.headline(result, "frames/s") == expected


def test_loss_is_compared_by_whole_numbers():
    assert not trials.exceeds(trial(lost=5), goal(loss=0.005))
    assert trials.exceeds(trial(lost=6), goal(loss=0.005))
    assert trials.exceeds(trial(sent=990, lost=0), goal(loss=0.005))
    assert not trials.exceeds(trial(intended=10**18, sent=10**18, lost=3 * 10**17), goal(loss=0.3))
    assert trials.exceeds(trial(intended=10**18, sent=10**18, lost=3 * 10**17 + 1), goal(loss=0.3))


def test_what_a_stopped_trial_did_not_send_is_no_loss():
    assert trials.loss_counts(trial(sent=100, lost=6, stopped_early=True)) == (6, 1000)
    assert trials.loss_counts(trial(sent=100, lost=6)) == (906, 1000)


def test_long_pauses_are_cut_out_of_the_time_axis():
    made = [trial(seq, start_s=start, elapsed_s=1.5) for seq, start in enumerate((10.0, 11.5, 7211.5, 7213.0))]
    views, pauses = trials.view_trials(made, [])
    assert [view.start_s for view in views] == pytest.approx([0.0, 1.5, 3.0, 4.5])
    assert [(pause.at_s, pause.length_s) for pause in pauses] == [(3.0, pytest.approx(7198.5))]


def test_a_clock_that_starts_afresh_goes_on():
    made = [trial(seq, start_s=start, elapsed_s=1.0) for seq, start in enumerate((100.0, 101.0, 0.0, 1.0))]
    views, pauses = trials.view_trials(made, [])
    assert [view.start_s for view in views] == pytest.approx([0.0, 1.0, 2.0, 3.0])
    assert len(pauses) == 1


def test_invalid_and_warm_up_trials_are_told_apart():
    report = model.build(example("invalid"))
    assert (report.statistics.invalid, report.statistics.warm_up) == (3, 1)
    assert report.statistics.invalid_reasons == {"fell 12 ms behind schedule": 3}
    assert said(report, "warm-up").text.startswith("2 s at max load")


def test_warnings_that_differ_only_in_their_count_are_one():
    late = "frames of earlier trials arrived"
    texts = [f"12 {late}", f"3 {late}", f"104 {late}", "10GbE renegotiated", "10GbE renegotiated", "40GbE renegotiated"]
    noted = [trial(seq, warnings=[{"code": "note", "text": text}]) for seq, text in enumerate(texts)]
    report = model.build(msgspec.structs.replace(example("regular"), trials=noted, warnings=[]))
    assert [(note.text, note.times) for note in report.warnings] == [
        ("3 to 104 frames of earlier trials arrived", 3),
        ("10GbE renegotiated", 2),
        ("40GbE renegotiated", 1),
    ]


def test_phases_begin_where_trials_get_longer():
    file = example("regular")
    longer = [msgspec.structs.replace(made, duration_s=1.0 if made.seq < 9 else 4.0) for made in file.trials]
    report = model.build(msgspec.structs.replace(file, trials=longer))
    assert [mark.label for mark in report.phases] == ["1 s trials", "4 s trials"]


def test_frame_size_link_and_aggregate():
    file = with_run(
        example("regular"),
        traffic={"frame_size": "64", "direction": "bi", "transport": "udp", "ip_version": 4},
        device={"name": "br0", "link_bps": 10e9, "isolated": True},
        measurer=MeasurerFacts(name="a tester"),
        conversion_factor=2.0,
    )
    report = model.build(file)
    assert report.theoretical_rate == pytest.approx(14_880_952.38)
    assert report.goals[0].aggregate_throughput == pytest.approx(2 * report.goals[0].conditional_throughput)
    assert said(report, "directions").text == "Traffic ran in both directions at once."
    assert said(report, "protocol").text.startswith("protocol: UDP over IPv4")
    assert said(report, "isolation").text == "Isolated."
    assert "2 times" in said(report, "load-scope").text


def test_what_the_record_does_not_say_is_missing():
    report = model.build(with_run(example("regular"), traffic={}, device={}, measurer=MeasurerFacts()))
    missing = {statement.item.id for statement in make_statements(report) if statement.state == MISSING}
    assert {"traffic-profile", "configuration", "isolation", "frame-size"} <= missing


def test_what_rfc_2544_wants_stands_in_one_table_of_every_report():
    file = with_run(
        example("regular"),
        traffic={"frame_size": 64, "transport": "udp", "ip_version": 4},
        device={"name": "br0", "link_bps": 10e9},
        measurer=MeasurerFacts(name="a tester"),
    )
    heads, *rows = rendering.text(file).split("\nRFC 2544\n")[1].split("\n\n")[0].splitlines()
    names = ["goal", "protocol", "rate", "bits of frames", "frame size", "limit of the medium", "share", "trials"]
    assert re.split(r"\s{2,}", heads.strip()) == names
    cells = ["ndr", "UDP over IPv4", "973.9 kpps", "498.6 Mbps", "64 bytes", "14.88 Mpps", "6.54 %", "1 s"]
    assert re.split(r"\s{2,}", rows[0].strip()) == cells
    assert [row.split(":")[0].split()[0] for row in rows] == ["ndr", "pdr", "ndr", "pdr"]
    assert 'data-label="protocol">UDP over IPv4</td>' in rendering.page(file)
    assert said(model.build(file), "rfc2544-format").state != MISSING


def test_what_is_not_in_the_table_of_rfc_2544_is_not_said_to_be():
    file = with_run(example("regular"), traffic={"frame_size": 64}, device={}, measurer=MeasurerFacts(name="a tester"))
    statement = said(model.build(file), "rfc2544-format")
    assert statement.state == MISSING
    assert statement.text.endswith("the record does not say the limit of the medium and the protocol.")
    simulated = said(model.build(example("regular")), "rfc2544-format")
    assert simulated.state != MISSING
    assert "no frames were made" in simulated.text


def test_the_set_up_has_units_a_labelled_command_and_no_line_beyond_the_edge():
    port = {"interface": "ta", "line_rate_fps": None, "mac": "02:62:72:69:00:0a", "source_ip": "198.18.0.2"}
    file = with_run(
        example("regular"),
        command=["brimful", "search", "-m", "lab:bridge"],
        device={"work": 10000},
        measurer=MeasurerFacts("lab:bridge", ceiling=352000.00000000006),
        traffic={"ports": [port, port]},
    )
    set_up = rendering.text(file).split("\nSet-up\n")[1].split("\n\n")[0].splitlines()
    assert max(map(len, set_up)) <= 100
    assert "  Device    work              10000 multiplications a frame" in set_up
    assert "            ceiling           352.0 kpps" in set_up
    assert "            port 2.source ip  198.18.0.2" in set_up
    assert not any("{" in line or "none" in line for line in set_up)
    assert "  Command                     brimful search -m lab:bridge" in set_up
    assert "<th>ceiling</th><td>352.0" in rendering.page(file)
    narrow = [line for line in rendering.text(file, columns=60).splitlines() if len(line) > 60]
    assert not [line for line in narrow if "  " not in line.strip()], "only tables are wider"


def test_the_lossy_sides_of_a_loss_axis():
    assert ranges.loss_ticks(-3) == ([-3.8, 0, -1, -2, -3], ["0", "100 %", "10 %", "1 %", "0.1 %"])
    assert ranges.loss_decade(0.01, -3) == pytest.approx(-2)


def test_the_command(tmp_path):
    run = SCHEMAS / "examples" / "irregular.jsonl"
    shown = brimful("report", run, cwd=tmp_path, check=0)
    assert "IRREGULAR" in shown.stdout
    assert "\x1b" not in shown.stdout
    written = brimful("report", run, "--html", "r.html", cwd=tmp_path, check=0)
    assert not written.stdout
    assert (tmp_path / "r.html").read_text().endswith("</html>\n")
    assert json.loads(brimful("report", run, "--json", cwd=tmp_path, check=0).stdout)["kind"] == "report"
    assert re.search("give one of them", brimful("report", run, "--json", "--text", cwd=tmp_path, check=2).stderr)
    (tmp_path / "other.jsonl").write_text("{}\n")
    brimful("report", "other.jsonl", cwd=tmp_path, check=2)


def with_machine(*machines):
    file = example("regular")
    ends = [msgspec.structs.replace(file.ends[-1], machine=machine) for machine in machines]
    return msgspec.structs.replace(file, ends=ends)


def test_how_quiet_the_machine_was(snapshot):
    quiet = Machine(others_share=0.004, speed_spread=0.003, quiet=True)
    file = with_machine(quiet)
    line = "Machine: quiet: others took 0.4 % of the processors, CPU speed varied by 0.3 %."
    assert rendering.text(file).splitlines()[:4] == snapshot
    assert line in rendering.summary(file)
    assert words.keep_units(line) in rendering.page(file)
    assert json.loads(rendering.to_json(file))["machine"] == msgspec.to_builtins(quiet)


def test_regular_on_a_machine_that_was_not_quiet_does_not_read_as_good():
    busy = with_machine(Machine(0.25, 0.003, quiet=False))
    colours = {"good": "GREEN", "bad": "RED"}
    shown = rendering.text(busy, style=lambda words, role: colours.get(role, "") + words)
    assert "GREENregular" not in shown
    assert "regular, on a machine that was not quiet" in shown
    assert '<span class="badge ">regular, on a machine that was not quiet</span>' in rendering.page(busy)
    quiet = with_machine(Machine(0.004, 0.003, quiet=True))
    assert '<span class="badge good">regular</span>' in rendering.page(quiet)


def test_a_run_that_was_resumed_was_as_quiet_as_its_worst_part():
    quiet, busy = (Machine(0.004, 0.021, quiet=True), Machine(0.25, 0.003, quiet=False))
    seen = model.build(with_machine(quiet, None, busy)).machine
    assert seen == Machine(others_share=0.25, speed_spread=0.021, quiet=False)
    assert words.machine(seen).startswith("Machine: not quiet: others took 25 % of the processors, CPU speed varied")


def test_nothing_is_said_of_a_machine_that_nobody_watched():
    file = with_machine(None)
    assert model.build(file).machine is None
    assert "Machine:" not in rendering.text(file) + rendering.page(file)


def test_a_disk_does_not_forward():
    found = GoalResult("p99", True, "regular", 1e4, 1.01e4, 9.9e3)
    asked = goal("p99", loss=0.01)
    assert words.sentence(asked, found, "IO/s") == "It does 9.900 kIO/s with at most 1 % loss."
    assert words.sentence(asked, found, "frames/s").startswith("It forwards")
