"""What is found at a frame size of which nothing comes through, while frames of others do."""

import pytest
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.loop import DelayLoop
from brimful.managed import Place
from brimful.measurers.base import TrialOutput
from brimful.paired.beds import OwnBeds
from brimful.paired.compare import ComparisonResult
from brimful.paired.manager import PairedRequest, run_comparison
from brimful.paired.verification import verify_comparison
from brimful.policies import Policies
from brimful.records import DelayPlan, Warning, read_run
from brimful.report import rendering
from brimful.testing import regressions
from brimful.throughput.run_loop import Plan, SearchLoop
from brimful.trend.runs import measured
from support import NDR_AND_PDR, Dropping, InvalidTrialError


def run(measurer):
    records = []
    plan = Plan(goals=NDR_AND_PDR, min_load=9001.0, max_load=14.88e6)
    return SearchLoop(plan, measurer, sink=records.append).run(), records


def test_that_frames_of_another_size_pass_makes_it_a_result_that_these_do_not():
    result, records = run(Dropping("sharp,capacity=1Mpps"))
    assert (result.end.reason, result.regular) == ("done", False)
    assert {(found.reason, found.lower_bound) for found in result.goal_results} == {("min-load-is-upper-bound", None)}
    (said,) = [record for record in records if isinstance(record, Warning)]
    assert said.code == "nothing-passes"
    assert said.text.startswith("no frame of this size passes: nothing ever arrived, neither at 14.88 Mpps nor at")
    assert said.text.endswith("while frames of 64 bytes come through")
    assert run(Dropping("sharp,capacity=1Mpps", is_cut=True))[0].end.reason == "measurement-failed"


def test_a_check_of_a_dead_direction_that_was_spoiled_is_made_again():
    class Spoiled(Dropping):
        calls = 0

        def measure(self, load, duration_s, *, stop_above=None):
            self.calls += 1
            if self.calls in (2, 3):
                raise InvalidTrialError("late")
            return super().measure(load, duration_s)

    result, records = run(Spoiled("sharp,capacity=1Mpps"))
    assert [record.code for record in records if isinstance(record, Warning)] == ["nothing-passes"]
    assert [trial.invalid is None for trial in result.trials[:4]] == [True, False, False, False]
    assert result.trials[3].invalid == "dead-direction check"


def compare(directory, *drops, control=True, resume=False, is_cut=False, **options):
    """Compare simulated systems, of which some drop all frames."""
    names = ["A", "B", "C"][: len(drops) - control] + ["A again"] * control
    beds = OwnBeds(
        lambda device: Dropping(f"noisy,capacity=1Mpps,seed={device}", drops=drops[device], is_cut=is_cut), len(drops)
    )
    asked = PairedRequest(devices=[(name, "sim:x") for name in names], control=control, max_load="2Mpps", **options)
    return run_comparison(asked, beds, place=Place(out=directory, resume=resume))


@pytest.mark.parametrize(
    ("drops", "verdicts", "said"),
    [
        ((False, True, False), ["regression", "same"], "Regression: B passes no frame of this size, and A does."),
        ((True, False, True), ["no-regression", "same"], "No regression: A passes no frame of this size, and B does."),
        ((True, True, True), ["cannot-tell", "same"], "Cannot tell: neither A nor B passes a frame of this size."),
        ((False, False, True), ["cannot-tell", "differs"], "one instance of A passes no frame of this size"),
    ],
)
def test_that_a_device_passes_nothing_is_a_verdict(tmp_path, drops, verdicts, said):
    done = compare(tmp_path / "run", *drops)
    ratios, end = done.outcome.ratios, done.outcome.end
    assert (end.reason, [ratio.verdict for ratio in ratios]) == ("done", verdicts)
    assert ratios[0].ratio == (0.0 if verdicts[0] == "regression" else None)
    file = read_run(done.path)
    assert said in " ".join(rendering.text(file).split())
    assert rendering.page(file)
    assert verify_comparison(file).findings == []
    assert [point.value for point in measured(file).points] == [None]
    found = ComparisonResult(ratios[:1], [], [], end)
    expected = {"regression": "B passes no", "no-regression": "", "cannot-tell": "B "}[verdicts[0]]
    assert "".join(regressions(found)).startswith(expected)


def test_the_others_are_compared_all_the_same(tmp_path):
    done = compare(tmp_path / "run", False, True, False, control=False, loss_ratio=0.0)
    assert [(ratio.verdict, ratio.pairs > 0) for ratio in done.outcome.ratios] == [
        ("regression", False),
        ("no-regression", True),
    ]
    assert [losses.device for losses in done.outcome.losses] == ["C"]
    assert verify_comparison(read_run(done.path)).findings == []


def test_a_comparison_goes_on_after_any_line_of_it(tmp_path):
    whole = compare(tmp_path / "whole", True, False, True)
    lines = whole.path.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines)):
        directory = tmp_path / str(count)
        directory.mkdir()
        (directory / "run.jsonl").write_bytes(b"".join(lines[:count]))
        done = compare(directory, True, False, True, resume=True)
        assert done.outcome.ratios == whole.outcome.ratios
        assert verify_comparison(read_run(done.path)).findings == []


def test_a_cut_cable_is_no_verdict(tmp_path):
    done = compare(tmp_path / "run", False, True, False, is_cut=True)
    assert (done.outcome.end.reason, done.outcome.ratios) == ("measurement-failed", [])
    assert done.outcome.end.text.startswith("A: it forwards nothing: nothing arrived in ")
    assert verify_comparison(read_run(done.path)).findings == []


class Silent(Dropping):
    """A system above some load, or all of them, from which nothing returns."""

    above = 0.0

    def measure(self, load, duration_s, *, stop_above=None):
        sent = round(load * duration_s)
        return TrialOutput(sent=sent, lost=sent if load > self.above else 0, directions=[{"sent": sent, "lost": sent}])


def delay_of(device):
    plan = DelayPlan(loads=[5e3], rounds=1, trial_s=1.0)
    return DelayLoop(plan, {DEVICE: device, WIRE: Silent("sharp,capacity=1Mpps")}, Policies()).run()


def test_there_is_no_delay_of_frames_that_do_not_pass():
    found = delay_of(Silent("sharp,capacity=1Mpps"))
    assert (found.end.reason, found.passes_nothing, found.delays) == ("done", True, [])
    assert [trial.invalid is None for trial in found.trials] == [False, False]
    assert found.trials[-1].invalid == "dead-direction check"
    overloaded = Silent("sharp,capacity=1Mpps")
    overloaded.above = 1e3
    for device in (overloaded, Silent("sharp,capacity=1Mpps", is_cut=True)):
        found = delay_of(device)
        assert (found.end.reason, found.passes_nothing) == ("measurement-failed", False)
        assert "no direction has a delay; 5000 of 5000 frames were lost" in found.end.text
