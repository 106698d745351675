"""Runs of brimful as values of series."""

import shutil

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.records import collect, read_run
from brimful.trend.runs import measured
from brimful.trend.series import name_of
from support import ROOT, brimful

SCHEMA_1 = ROOT / "tests" / "schema_1"


def names(run):
    return {name_of(point.key): point for point in run.points}


def test_a_search_is_a_value_for_each_goal():
    run = measured(read_run(SCHEMA_1 / "search"))
    found = names(run)
    assert list(found) == [
        f"sim:soft-knee,capacity=1Mpps,seed=7 {goal} on 2 x an example" for goal in ("ndr 0 %", "pdr 0.5 %")
    ]
    (ndr, _) = found.values()
    assert (ndr.worse, ndr.unit, ndr.problem) == ("lower", "frames/s", None)
    assert 0 < ndr.error < 0.01
    assert run.version == "2026-11-24T00:59:12+00:00"
    assert run.labels == {"brimful": "0.1.0", "kernel": "6.1.0", "rack": "4"}
    assert run.report == str(SCHEMA_1 / "search" / "run.jsonl")


def test_a_version_is_what_was_given_or_what_the_run_says():
    file = read_run(SCHEMA_1 / "search")
    labelled = msgspec.structs.replace(
        file, run=msgspec.structs.replace(file.run, labels={"version": "7", "rack": "4"})
    )
    assert measured(labelled).version == "7"
    assert "version" not in measured(labelled).labels
    assert measured(labelled, "8").version == "8"
    firmware = msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, device={"version": "1.2"}))
    assert measured(firmware).version == "1.2"


def test_a_goal_that_was_not_reached_has_no_value():
    run = measured(read_run(ROOT / "schemas" / "examples" / "irregular.jsonl"))
    assert [(point.value, point.problem) for point in run.points] == [
        (971000.0, None),
        (None, "irregular: max-load-is-lower-bound"),
    ]


def test_a_campaign_is_a_value_for_each_member_and_goal():
    run = measured(read_run(SCHEMA_1 / "campaign"))
    assert len(names(run)) == 12
    assert len(run.points) == 34  # one of the 18 searches never began
    ndr = [point.value for point in run.points if name_of(point.key).startswith("lab:bridge 64 ndr")]
    assert ndr == [812000.0, 815000.0, pytest.approx(812000, rel=0.01)]
    assert any(point.problem == "irregular: max-load-is-lower-bound" for point in run.points)


def test_a_delay_run_is_a_value_for_each_load_and_direction():
    found = names(measured(read_run(SCHEMA_1 / "delay")))
    assert list(found) == [f"stand-in 64 delay at 5000 frames/s{way} on 2 x an example" for way in ("", " to", " from")]
    point = next(iter(found.values()))
    assert (point.worse, point.unit, point.value) == ("higher", "s", pytest.approx(50.5e-6, rel=1e-2))
    assert point.error == pytest.approx(0.028, abs=0.001)


def test_a_block_device_is_a_value_for_each_rate_of_each_solution():
    found = names(measured(read_run(SCHEMA_1 / "device")))
    assert found["sdz naive rbps"].value == 571000000.0
    assert found["sdz bandwidth wrandiops"].error > 0
    assert found["sdz rlat-99-q1"].problem == "the line of rlat-99-mean is flat"


def test_profiles_are_series_of_their_own():
    file = read_run(SCHEMA_1 / "search")
    keys = []
    for traffic in ({"frame_size": 64, "direction": "bi"}, {"frame_size": 64, "direction": "uni"}, {"vlans": 2}):
        run = msgspec.structs.replace(file.run, traffic=traffic)
        keys.append(measured(msgspec.structs.replace(file, run=run)).points[0].key)
    assert [bool(key.get("profile")) for key in keys] == [False, True, True]
    assert len({key.get("profile") for key in keys}) == 3


@pytest.mark.parametrize(
    ("name", "said"), [("burst-campaign", "runs of the subject burst-campaign are not followed, only search, campaign")]
)
def test_what_is_not_followed_is_refused(name, said):
    with pytest.raises(UsageError, match=said):
        measured(read_run(SCHEMA_1 / name))


def test_a_run_that_has_not_ended_is_refused():
    file = read_run(SCHEMA_1 / "search")
    begun = collect(file.path, [file.run, *file.trials])
    with pytest.raises(UsageError, match="has not come to its end; finish it with --resume and add it then"):
        measured(begun)


def test_nights_of_searches_become_series(tmp_path):
    for night in range(2):
        options = ("--preset", "quick", "--quiet", "--label", f"version={night}", "--out", f"night-{night}")
        brimful("search", "-m", f"sim:sharp,capacity={night + 1}Mpps", "--label", "device=d", *options, cwd=tmp_path)
    (tmp_path / "night-1" / "report.html").write_text("a report")
    first = brimful("trend", "add", "store", "night-0", "night-1", cwd=tmp_path, check=0)
    assert first.stdout.splitlines() == [
        "night-0: added 2 values, 2 new series",
        "night-1: added 2 values",
    ]
    again = brimful("trend", "add", "store", "night-1", "no-such-run", cwd=tmp_path)
    assert again.returncode == 2
    again = brimful("trend", "add", "store", "night-1", cwd=tmp_path, check=0)
    assert again.stdout == "night-1: added 0 values, 2 were there already\n"
    shutil.copytree(tmp_path / "night-1", tmp_path / "torn")
    (tmp_path / "torn" / "run.jsonl").write_text('{"kind":"run"')
    mixed = brimful("trend", "add", "store", "torn", "night-0", cwd=tmp_path, check=2)
    assert len(mixed.stderr.splitlines()) == 1
    assert "night-0: added 0 values" in mixed.stdout
