"""Runs of brimful as values of series."""

import shutil

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.records import collect, read_run
from brimful.records.measurer import MeasurerFacts
from brimful.trend.runs import measured
from brimful.trend.series import name_of
from brimful.trend.store import Store
from paired.comparing import compare_simulated
from support import ROOT, brimful

SCHEMA_1 = ROOT / "tests" / "schema_1"


def names(run):
    return {name_of(point.key): point for point in run.points}


def test_a_search_is_a_value_for_each_goal():
    run = measured(read_run(SCHEMA_1 / "search"))
    found = names(run)
    assert list(found) == [
        f"sim:soft-knee,capacity=1Mpps,seed=7 {goal} on 2 x an example #{point.key['settings']}"
        for goal, point in zip(("ndr 0 %", "pdr 0.5 %"), run.points, strict=True)
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
    assert [name.partition(" on ")[0] for name in found] == [
        f"stand-in 64 delay at 5000 frames/s{way}" for way in ("", " to", " from")
    ]
    point = next(iter(found.values()))
    assert (point.worse, point.unit, point.value) == ("higher", "s", pytest.approx(50.5e-6, rel=1e-2))
    assert point.error == pytest.approx(0.028, abs=0.001)


def test_a_block_device_is_a_value_for_each_rate_of_each_solution():
    found = {name.partition(" #")[0]: point for name, point in names(measured(read_run(SCHEMA_1 / "device"))).items()}
    assert found["sdz naive rbps"].value == 571000000.0
    assert found["sdz bandwidth wrandiops"].error > 0
    assert found["sdz rlat-99-q1"].problem == "the line of rlat-99-mean is flat"


def settings_of(file, **changes):
    run = msgspec.structs.replace(file.run, **changes)
    return [point.key["settings"] for point in measured(msgspec.structs.replace(file, run=run)).points]


def test_what_was_set_makes_another_series_and_what_took_part_does_not():
    file = read_run(SCHEMA_1 / "search")
    ndr, pdr = settings_of(file)
    assert settings_of(file, host={"kernel": "9"}, seed=9, tool={"version": "9"}, hint=1e6) == [ndr, pdr]
    assert settings_of(file, traffic={"frame_size": 512, "ports": 2}) == [ndr, pdr]
    assert settings_of(file, traffic={"direction": "uni"})[0] != ndr
    assert settings_of(file, strategy="bisect")[0] != ndr
    longer = msgspec.structs.replace(file.run.goals[1], duration_sum_s=60.0)
    changed = settings_of(file, goals=[file.run.goals[0], longer])
    assert changed[0] == ndr
    assert changed[1] != pdr


def test_a_device_with_a_label_is_known_by_it_alone():
    file = read_run(SCHEMA_1 / "search")
    of_builds = [
        settings_of(file, labels={"device": "d"}, measurer=MeasurerFacts(spec=f"cmd:./build-{build}/tester", name="t"))
        for build in (1, 2)
    ]
    assert of_builds[0] == of_builds[1]


def compared(directory, number, *capacities, **options):
    """A live comparison of simulated systems of such capacities, in Mpps."""
    specs = [f"noisy,capacity={capacity}Mpps,seed={number}" for capacity in capacities]
    return read_run(compare_simulated(directory / str(number), *specs, seed=number, **options).path)


def test_a_comparison_is_a_ratio_to_its_anchor_and_an_absolute_value(tmp_path):
    file = compared(tmp_path, 1, 1.0, 0.9, labels={"device": "d", "version": "2", "anchor": "1"})
    run = measured(file)
    assert run.version == "2"
    ratio, absolute = run.points
    assert (ratio.anchor, ratio.unit, ratio.worse) == ("1", "", "lower")
    assert ratio.value == pytest.approx(0.9, rel=0.02)
    assert 0 < ratio.error < 0.02
    assert (absolute.anchor, absolute.unit) == (None, "frames/s")
    assert absolute.value == pytest.approx(0.9e6, rel=0.05)


def test_comparisons_go_on_when_the_anchor_changes(tmp_path):
    nights = [("1", "2", 1.0, 0.9), ("2", "3", 0.9, 0.99), ("2", "4", 0.9, 0.45)]
    with Store.create(tmp_path / "store") as store:
        for number, (anchor, version, *capacities) in enumerate(nights):
            labels = {"device": "d", "version": version, "anchor": anchor}
            store.add([measured(compared(tmp_path, number, *capacities, labels=labels))], now=1.8e9)
        ratios, absolute = (reading.series for reading in store.read())
    assert ratios.key["anchor"] == "1"
    assert ratios.is_ratio
    assert ratios.versions == absolute.versions == ["2", "3", "4"]
    assert ratios.values == pytest.approx([0.9, 0.99, 0.45], rel=0.03)


def test_builds_without_labels_are_named_by_what_was_measured(tmp_path):
    run = measured(compared(tmp_path, 1, 1.0, 0.9, 1.0, control=True))
    assert run.version == "sim:noisy,capacity=0.9Mpps,seed=1"
    assert run.points[0].anchor == "sim:noisy,capacity=1.0Mpps,seed=1"
    assert run.points[0].key["device"] == "sim"


def test_a_comparison_of_many_devices_is_refused(tmp_path):
    with pytest.raises(UsageError, match="compares more than two devices; compare each with the anchor by itself"):
        measured(compared(tmp_path, 1, 1.0, 0.9, 0.8))


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
