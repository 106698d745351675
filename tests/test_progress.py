"""What people see while a search runs."""

import io
import json
import re

import msgspec
import pytest
from brimful.cli.progress import Standing, _Lines
from brimful.records import read_run
from brimful.throughput.run_loop import Progress
from rich.console import Console
from support import ROOT, brimful, goal


def standing(columns, passed_s=0.0, names=("ndr", "pdr")):
    """What a terminal of so many columns shows, so long after a trial began."""
    run = msgspec.structs.replace(
        read_run(ROOT / "schemas" / "examples" / "regular.jsonl").run, goals=[goal(name) for name in names]
    )
    state = Progress(
        bounds=[(950e3, 1.01e6), (None, 1.01e6)],
        next_trial=(980e3, 60.0),
        elapsed_s=3700.0,
        remaining_s=240.0,
        trials=11,
    )
    moments = iter([100.0, 100.0 + passed_s])
    console = Console(width=columns, file=io.StringIO(), force_terminal=False)
    console.print(Standing(run, state, lambda: next(moments)), end="")
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("columns", [120, 80, 60, 40])
def test_the_live_picture_fits_the_terminal(columns, snapshot):
    lines = standing(columns)
    assert max(map(len, lines)) <= columns
    assert lines == snapshot


def test_a_long_name_of_a_goal_leaves_room_for_the_scale():
    lines = standing(40, names=("a-very-long-goal-name-for-testing", "pdr"))
    assert max(map(len, lines)) <= 40
    assert any(line.startswith("  a-very-lo… [---") for line in lines)


@pytest.mark.parametrize("columns", [1, 7, 20])
def test_no_terminal_is_too_narrow_to_draw_on(columns):
    assert max(map(len, standing(columns))) <= columns


def test_times_go_on_while_a_trial_runs():
    first, *_ = standing(120, passed_s=120.0)
    assert first.split("  ")[0].strip() == "1 h 4 min"
    assert first.endswith("about 2 min left")
    assert standing(120, passed_s=999.0)[0].endswith("about 0 s left")


def test_a_search_begins_at_zero(tmp_path):
    finished = brimful("search", "-m", "sim:sharp", "--preset", "quick", cwd=tmp_path, check=0)
    assert finished.stderr.splitlines()[0].startswith("      0 s  trial   0 ")


def test_a_log_has_a_line_every_ten_seconds_at_most(capsys):
    now_s = 0.0
    view = _Lines(each_trial=False, clock=lambda: now_s)
    for now_s in (0.0, 1.0, 9.9, 10.0, 12.0, 31.0):
        view.line(f"at {now_s:g} s")
    assert capsys.readouterr().err.splitlines() == ["at 0 s", "at 10 s", "at 31 s"]


def test_a_campaign_says_how_long_it_may_still_take_and_ends_at_zero(tmp_path):
    arguments = ("-m", "sim:sharp", "-m", "sim:soft-knee", "--repeat", "3", "--preset", "quick", "--verbose")
    finished = brimful("search", *arguments, cwd=tmp_path, check=0)
    lefts = [seconds(said) for said in re.findall(r" left  (.+?) in all", finished.stderr)]
    (record,) = (tmp_path / "runs").glob("*/run.jsonl")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    whole_s = sum(line["end"]["search_s"] for line in lines if line["kind"] == "member")
    assert len(lefts) > 30
    # A search takes about as long as its repeats: half-way the forecast is near.
    assert lefts[len(lefts) // 2] == pytest.approx(whole_s / 2, rel=0.4)
    assert lefts[-1] <= 2


def seconds(said):
    """The seconds that a duration in words stands for."""
    number, unit, *rest = said.split()
    return float(number) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[unit] + (seconds(" ".join(rest)) if rest else 0.0)
