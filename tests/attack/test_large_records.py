"""Records of many trials: each is looked at a few times, however many loads there are, and pages stay short."""

import shutil

import pytest
from attacking import outcome
from brimful.records import read_run
from brimful.report.throughput import figures
from brimful.report.throughput.model import build
from brimful.throughput.verify import TrialLog
from large_record import SEARCH, write_record

TRIALS = 900


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "run" / "run.jsonl"
    write_record(path, trials=TRIALS, loads=TRIALS)
    return path


class Counted(list):
    """A list that counts how often somebody goes through it."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_delays_of_a_load_are_found_without_a_walk_over_all_trials(record):
    file = read_run(record)
    trials = Counted(file.trials)
    log = TrialLog(file.run.goals, trials, (file.run.min_load, file.run.max_load))
    assert len(log.loads()) == TRIALS
    for load in log.loads():
        assert log.delays_s(load) == []
    assert trials.walks == 1


def test_the_record_holds_and_is_explained(record):
    code, output, errors = outcome("verify", record)
    assert (code, errors) == (0, ""), output[-500:]
    assert f"{TRIALS} trials at {TRIALS} loads" in output
    assert len(outcome("explain", record)[1].splitlines()) == 2 * TRIALS


def test_the_record_is_gone_on_with(record, tmp_path):
    shutil.copytree(record.parent, tmp_path / "run")
    code, _, errors = outcome(*SEARCH, "--budget", "1s", "--quiet", "--out", tmp_path / "run", "--resume")
    assert code in (0, 1), errors
    file = read_run(tmp_path / "run")
    assert len(file.trials) == TRIALS
    assert file.is_ended()


def test_many_marks_are_drawn_as_pixels(record, monkeypatch):
    report = build(read_run(record))
    drawn = figures.draw_load_loss(report)
    monkeypatch.setattr(figures, "MOST_MARKS", TRIALS - 1)
    pixels = figures.draw_load_loss(report)
    assert "data:image/png" not in drawn
    assert "data:image/png" in pixels
    assert len(pixels) < len(drawn)
