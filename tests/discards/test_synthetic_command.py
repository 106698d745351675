"""``brimful discards synth`` as people use it."""

import json

import pyarrow.parquet as pq
import pytest
from support import brimful

TINY = ["--site", "dfw0[12]", "--first-day", "2018-02-01", "--last-day", "2018-02-01", "--tests", "0.02"]


def synth(tmp_path, *arguments, check=0):
    return brimful("discards", "synth", *arguments, cwd=tmp_path, check=check)


def test_command_writes_a_world_and_says_how_large_it_is(tmp_path, snapshot):
    shown = synth(tmp_path, "world", *TINY, "--render", "truth", "--effect", "-10%", "--seed", "7")
    assert shown.stdout == snapshot
    assert shown.stderr == ""
    world = tmp_path / "world"
    names = sorted(file.relative_to(world).as_posix() for file in world.rglob("*") if file.is_file())
    assert names == [
        "capacities.csv",
        "synthetic.json",
        "truth/changes.json",
        "truth/days.parquet",
        "truth/tests.parquet",
    ]
    description = json.loads((world / "synthetic.json").read_text())
    assert description["complete"]
    assert description["config"]["seed"] == 7
    assert description["config"]["tests"]["effect"] == -0.1
    assert (world / "capacities.csv").read_text() == (
        "site,since,capacity\ndfw01,2018-02-01,10Gbps\ndfw02,2018-02-01,1Gbps\n"
    )


def test_command_writes_over_synthetic_data_only(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    refused = synth(tmp_path, "mine", *TINY, "--force", check=2)
    assert refused.stderr == "brimful: error: mine: is not empty; choose another directory\n"
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "synthetic.json").write_text("{}")
    (tmp_path / "world" / "flat").mkdir()
    assert "--force" in synth(tmp_path, "world", *TINY, check=2).stderr
    synth(tmp_path, "world", *TINY, "--seed", "2", "--render", "truth", "--force")
    assert not (tmp_path / "world" / "flat").exists()
    assert pq.read_table(tmp_path / "world" / "truth" / "tests.parquet").num_rows > 100


def test_command_says_in_a_line_what_is_wrong(tmp_path):
    (tmp_path / "bad.toml").write_text("seeds = 1")
    for options, message in [
        (["--site", "ber01"], "--site ber01: there is no such site"),
        (["--config", "bad.toml"], "did you mean seed?"),
        (["--first-day", "2018-03-01", "--last-day", "2018-02-01"], "the first day (2018-03-01) is after the last"),
        (["--effect", "-100%"], "tests.effect: -1 leaves no rate"),
        (["--tests", "-1"], "tests.scale: -1 is below 0"),
        (["--effect", "much"], "much"),
    ]:
        refused = synth(tmp_path, "world", *options, check=2).stderr
        assert message in refused
        assert len(refused.strip().splitlines()) == 1
    assert not (tmp_path / "world").exists()


def test_a_world_may_have_no_tests(tmp_path):
    shown = synth(tmp_path, "world", *TINY, "--tests", "0", "--render", "store", "--render", "v2")
    assert " 0 tests" in shown.stdout
    assert pq.read_table(tmp_path / "world" / "truth" / "tests.parquet").num_rows == 0


@pytest.mark.parametrize("command", [("synth", "world"), ("ingest", "x", "--store", "s"), ("report", "--store", "s")])
def test_without_its_extra_a_command_says_what_to_install(tmp_path, command):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['pyarrow'] = None\n")
    done = brimful("discards", *command, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path)}, check=2)
    assert done.stderr == "brimful: error: discards need pyarrow; install it with: pip install 'brimful[discards]'\n"
