"""Reports on delay, from records that were made up."""

import msgspec
import pytest
from brimful.errors import RecordError
from brimful.records import (
    SCHEMA,
    Delay,
    DelayDistribution,
    DelayInterval,
    DelayPlan,
    End,
    Machine,
    MeasurerFacts,
    Run,
    Warning,
    collect,
)
from brimful.report import rendering
from brimful.report.delay import model
from brimful.report.delay.figures import draw_means, draw_percentiles
from brimful.report.figures import NARROW, WIDE


def delay(load, direction, microseconds, *, lost=0, wire=True):
    value = microseconds * 1e-6
    device = DelayDistribution(
        sent=10_000,
        lost=lost,
        frames=10_000 - lost,
        mean_s=value + 2e-6,
        min_s=value,
        max_s=value * 40,
        jitter_s=value / 10,
        p50_s=value + 1e-6,
        p90_s=value * 1.5,
        p99_s=value * 3,
        p999_s=value * 20,
    )
    own = msgspec.structs.replace(device, mean_s=2e-6, min_s=1e-6, max_s=9e-6, p50_s=1.9e-6, p90_s=2.2e-6, p99_s=3e-6)
    return Delay(
        load=load,
        direction=direction,
        of="device" if wire else "total",
        mean=DelayInterval(value, value - 0.38e-6, value + 0.38e-6, 0.1e-6, "paired" if wire else "total", 10, 9.0),
        device=device,
        median=DelayInterval(value - 1e-7, value - 4e-7, value + 3e-7, 0.1e-6, "sign", 10),
        wire=own if wire else None,
    )


def run_file(tmp_path, *records, **changes):
    plan = DelayPlan(loads=[10e3, 100e3], rounds=10, trial_s=1.0, wire="lab:wire")
    run = Run(
        schema=SCHEMA,
        run_id="20140206T0756",
        started="2014-02-06T07:56:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful"],
        host={"cpu_model": "i7-4770", "kernel": "3.14"},
        subject="delay",
        measurer=MeasurerFacts("lab:bridge"),
        delay=plan,
        device={"device": "bridge"},
        traffic={"frame_size": 64},
    )
    return collect(tmp_path, [msgspec.structs.replace(run, **changes), *records])


@pytest.fixture
def file(tmp_path):
    every = [
        delay(load, direction, value)
        for load, values in ((10e3, (3.52, 3.16, 3.88)), (100e3, (6.27, 5.3, 7.23)))
        for direction, value in zip(("all", "to", "from"), values, strict=True)
    ]
    return run_file(tmp_path, *every, End("done", 40, 52.0))


def test_the_text_is_as_it_was(file, snapshot):
    assert rendering.text(file) == snapshot


def test_how_quiet_the_machine_was_is_said(tmp_path):
    seen = Machine(others_share=0.2, speed_spread=0.01, quiet=False)
    run = run_file(tmp_path, End("done", 40, 52.0, machine=seen))
    assert "Machine: not quiet: " in rendering.text(run)
    assert "Machine: not quiet: " in rendering.page(run)


def test_a_run_without_results_says_so(tmp_path):
    empty = run_file(tmp_path, End("interrupted", 1, 0.5))
    assert "There is no result: too few trials were made." in rendering.text(empty)
    page = rendering.page(empty)
    assert "There is no result" in page
    assert "<svg" not in page


def test_a_record_without_a_plan_is_one_line(tmp_path):
    with pytest.raises(RecordError, match="does not say what was measured"):
        rendering.text(run_file(tmp_path, delay=None))


def test_a_resumed_run_shows_its_last_results(tmp_path):
    twice = run_file(tmp_path, delay(10e3, "all", 9.0), End("interrupted", 1, 1.0), delay(10e3, "all", 3.0))
    assert [row[2] for row in model.build(twice).blocks[2].rows] == ["3.00 ± 0.38 us"]


def test_loss_is_marked_on_the_page(tmp_path):
    page = rendering.page(
        run_file(tmp_path, delay(10e3, "all", 3.0, lost=500), Warning("delay-under-loss", "it lost <frames>"))
    )
    assert "under loss" in page
    assert "it lost &lt;frames&gt;" in page


def test_figures_are_the_same_each_time_and_for_every_number_of_loads(file, tmp_path):
    for draw in (draw_means, draw_percentiles):
        for size in (WIDE, NARROW):
            assert draw(file, size) == draw(file, size)
    single = run_file(tmp_path, delay(10e3, "all", 3.0, wire=False))
    assert "<svg" in draw_means(single)
    many = [delay(1e3 * 1.3**step, "all", 3.0 + step) for step in range(30)]
    names = draw_means(run_file(tmp_path, *many), NARROW)
    assert names.count("<text") < 40
