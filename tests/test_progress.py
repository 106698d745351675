"""What people see while a search runs."""

import io

import msgspec
import pytest
from brimful.cli.progress import Standing
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
    assert finished.stderr.splitlines()[0].startswith("      0 s  trial   1 ")
