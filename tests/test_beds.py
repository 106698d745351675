"""Test beds by name: what `brimful.toml` says stands for what one would type."""

import pytest
from brimful.records import read_run
from support import brimful

BEDS = """
[bed.one]
measurer = "sim:sharp,capacity=1Mpps"
preset = "quick"
max-load = "5Mpps"
label = { dut = "switch 1", rack = 4 }

[bed.two]
measurer = "sim:sharp,capacity=2Mpps"
goal = ["loss=0,trial=0.25s", "loss=1%,trial=0.25s"]
early-termination = true
"""


@pytest.fixture
def beds(tmp_path):
    (tmp_path / "brimful.toml").write_text(BEDS)
    return tmp_path


def test_a_bed_stands_for_its_options(beds):
    brimful("search", "-m", "@one", "-q", "--out", "out", cwd=beds, check=0)
    run = read_run(beds / "out").run
    assert (run.measurer.spec, run.preset, run.max_load) == ("sim:sharp,capacity=1Mpps", "quick", 5e6)
    assert run.labels == {"dut": "switch 1", "rack": "4"}


def test_the_command_line_overrides_a_bed(beds):
    brimful("search", "--measurer=@one", "--max-load", "3Mpps", "-q", "--out", "out", cwd=beds, check=0)
    assert read_run(beds / "out").run.max_load == 3e6


def test_lists_and_flags_of_a_bed(beds):
    brimful("search", "-m", "@two", "-q", "--out", "out", cwd=beds, check=0)
    run = read_run(beds / "out").run
    assert [goal.loss_ratio for goal in run.goals] == [0, 0.01]
    assert run.early_termination


@pytest.mark.parametrize(
    ("content", "measurers", "said"),
    [
        (BEDS, ["@three"], "no bed of that name; it has: one, two"),
        (None, ["@one"], "no such file in this directory"),
        ("[bed", ["@one"], "brimful.toml: cannot read"),
        ("[beds.one]\n", ["@one"], "beds: beds are tables [bed.NAME]"),
        ("[bed.one]\n", ["@one"], "bed 'one' has no measurer"),
        ('[bed.one]\nmeasurer = "sim:sharp"\nspeed = 1\n', ["@one"], "'speed' is no option of this command"),
        ('[bed.one]\nmeasurer = "sim:sharp"\nresume = 1\n', ["@one"], "resume is true or false"),
        ('[bed.one]\nmeasurer = "sim:sharp"\nhint = [1, 2]\n', ["@one"], "hint takes one value"),
        (BEDS, ["@one", "@two"], "the beds one, two do not have the same options"),
    ],
)
def test_what_a_bed_cannot_be_is_said_in_one_line(tmp_path, content, measurers, said):
    if content is not None:
        (tmp_path / "brimful.toml").write_text(content)
    words = [word for measurer in measurers for word in ("-m", measurer)]
    finished = brimful("search", *words, "-q", cwd=tmp_path, check=2)
    assert said in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()
