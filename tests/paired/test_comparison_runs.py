"""Live comparisons from the first trial to the verdict, on simulated devices."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import comparing
import msgspec
import numpy as np
import pytest
from brimful.errors import UsageError
from brimful.measurers.base import InvalidTrialError, TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.paired.beds import OwnBeds, share_a_place
from brimful.paired.calibration import capacity_of
from brimful.paired.loop import PairedLoop
from brimful.paired.manager import run_comparison
from brimful.paired.planner import Planner
from brimful.paired.verification import verify_comparison
from brimful.policies import Policies
from brimful.records import Activation, Pair, PairedDevice, PairedPlan, Ratio, Trial, read_run
from brimful.report import rendering
from brimful.report.exports import results_as_prometheus
from brimful.report.paired import model
from comparing import Drifting, Weather, compare_simulated, request
from support import brimful

A, B = "noisy,capacity=1Mpps,seed=3", "noisy,capacity=0.95Mpps,seed=4"


def plan(count=2, **options):
    names = ["A", "B", "C"][:count]
    facts = {"tolerance": 0.02, "precision": 0.01, "trial_s": 0.25, "seed": 1, "budget_s": 600.0, **options}
    return PairedPlan(devices=[PairedDevice(name=name, spec=f"sim:{name}") for name in names], **facts)


def looped(devices, the_plan, **options):
    """Run a plan on devices, and give the outcome with all records."""
    records = []
    beds = OwnBeds(lambda number: devices[number], len(devices))
    outcome = PairedLoop(the_plan, beds, Policies(), sink=records.append, **options).run()
    return outcome, records


@pytest.mark.parametrize(
    ("capacity", "verdict"), [(0.95e6, "regression"), (1e6, "no-regression"), (1.1e6, "no-regression")]
)
def test_a_device_is_held_against_another(tmp_path, capacity, verdict):
    done = compare_simulated(tmp_path / "run", A, f"noisy,capacity={capacity!r},seed=4")
    (ratio,) = done.outcome.ratios
    assert ratio.verdict == verdict
    assert ratio.low <= ratio.ratio <= ratio.high
    assert ratio.ratio == pytest.approx(capacity / 1e6, rel=0.01)
    assert done.outcome.end.reason == "done"


def test_the_ratio_of_a_device_that_forwards_less_under_overload_is_that_of_the_capacities(tmp_path):
    done = compare_simulated(tmp_path / "run", "livelock,capacity=1Mpps,seed=1", "livelock,capacity=0.98Mpps,seed=2")
    assert done.outcome.ratios[0].ratio == pytest.approx(0.98, abs=0.003)


def test_weather_that_all_share_cancels_out():
    weather = Weather(1, 0.05, 60)
    outcome, records = looped([Drifting(1e6, weather, seed=2), Drifting(0.95e6, weather, seed=3)], plan())
    assert outcome.ratios[0].verdict == "regression"
    assert outcome.ratios[0].low <= 0.95 <= outcome.ratios[0].high
    forwarded = [record.sent - record.lost for record in records if isinstance(record, Trial)]
    assert max(forwarded) > 1.05 * min(forwarded)


def test_a_queue_is_found_by_trials_of_two_lengths_and_subtracted():
    def devices():
        return [
            Drifting(1e5, None, seed=2, queue=8000, noise=0.001),
            Drifting(0.9e5, None, seed=3, queue=8000, noise=0.001),
        ]

    blind, _ = looped(devices(), plan())
    the_plan = plan()
    unknown = [msgspec.structs.replace(device, queue=None) for device in the_plan.devices]
    seen, _ = looped(devices(), msgspec.structs.replace(the_plan, devices=unknown))
    assert blind.ratios[0].ratio == pytest.approx((0.9e5 * 0.25 + 8000) / (1e5 * 0.25 + 8000), rel=0.01)
    assert seen.ratios[0].ratio == pytest.approx(0.9, rel=0.005)
    assert seen.ratios[0].low <= 0.9 <= seen.ratios[0].high
    noisy, _ = looped(
        [Drifting(1e5, None, seed=2, queue=8000), Drifting(0.9e5, None, seed=3, queue=8000)],
        msgspec.structs.replace(the_plan, devices=unknown),
    )
    assert [warning.code for warning in noisy.warnings] == ["queue-uncertain"]
    assert noisy.ratios[0].low <= 0.9 <= noisy.ratios[0].high


def test_orders_are_drawn_by_the_seed_and_both_come():
    def first_devices(seed):
        _, records = looped([SimulatedMeasurer(A), SimulatedMeasurer(B)], plan(seed=seed))
        made = [record for record in records if isinstance(record, Trial) and record.step == "pairs"]
        return [trial.path for trial in made[::2]]

    orders = first_devices(1)
    assert set(orders) == {"A", "B"}
    assert orders == first_devices(1)
    assert orders != first_devices(2)


class Spoiled(SimulatedMeasurer):
    """A device of which every fifth trial is spoiled."""

    calls = 0

    def measure(self, load, duration_s, *, stop_above=None):
        self.calls += 1
        output = super().measure(load, duration_s, stop_above=stop_above)
        if self.calls % 5 == 0:
            raise InvalidTrialError("the tester was away")
        return output


def test_an_invalid_trial_drops_its_pair_and_is_counted():
    outcome, records = looped([SimulatedMeasurer(A), Spoiled(B)], plan())
    (ratio,) = outcome.ratios
    rounds = {record.round for record in records if isinstance(record, Pair)}
    spoiled = [record for record in records if isinstance(record, Trial) and record.invalid and record.step == "pairs"]
    assert ratio.invalid == len(spoiled) > 0
    assert not rounds & {trial.round for trial in spoiled}
    assert ratio.pairs == len(rounds)


class Growing(SimulatedMeasurer):
    """A device that forwards half as much again after a while."""

    calls = 0

    def measure(self, load, duration_s, *, stop_above=None):
        self.calls += 1
        output = super().measure(load, duration_s, stop_above=stop_above)
        more = 1.5 if self.calls > 20 else 1.0
        lost = max(0, output.sent - round((output.sent - output.lost) * more))
        return TrialOutput(intended=output.sent, sent=output.sent, lost=lost)


def test_a_trial_without_loss_raises_both_loads_and_pairs_begin_anew():
    outcome, records = looped([Growing(A), Growing(B)], plan())
    pairs = [record for record in records if isinstance(record, Pair)]
    epochs = {pair.epoch for pair in pairs}
    assert max(epochs) >= 1
    assert outcome.ratios[0].pairs == sum(pair.epoch == max(epochs) for pair in pairs)
    assert outcome.ratios[0].ratio == pytest.approx(0.95, rel=0.01)


def test_devices_that_take_all_that_can_be_offered_are_refused(tmp_path):
    done = compare_simulated(tmp_path / "run", "sharp,capacity=14.9Mpps", "sharp,capacity=14.9Mpps,seed=2")
    assert done.outcome.end.reason == "measurement-failed"
    assert "A and B take all that the tester can offer" in done.outcome.end.text
    assert verify_comparison(read_run(done.path)).findings == []


def test_a_queue_that_outlasts_the_wait_of_the_tester_is_refused():
    the_plan = plan(straggler_wait_s=0.1)
    devices = [msgspec.structs.replace(device, queue=20_000.0) for device in the_plan.devices]
    outcome, _ = looped(
        [Drifting(1e5, None, seed=1, queue=20_000), Drifting(1e5, None, seed=2, queue=20_000)],
        msgspec.structs.replace(the_plan, devices=devices),
    )
    assert "longer than the tester waits" in outcome.end.text
    assert "give --tester-option=--straggler-wait=" in outcome.end.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"load_unit": "IO/s"}, "the unit of loads is frames/s of A and IO/s of B"),
        ({"virtual_time": False}, "virtual time is True of A and False of B"),
        ({"traffic": {"frame_size": 128}}, "frame_size is None of A and 128 of B"),
    ],
)
def test_devices_with_other_units_or_sizes_are_refused(tmp_path, change, said):
    class Other(SimulatedMeasurer):
        def describe(self):
            return msgspec.structs.replace(super().describe(), **change)

    beds = OwnBeds(lambda device: (SimulatedMeasurer, Other)[device](A), 2)
    with pytest.raises(UsageError, match=said):
        run_comparison(request("sim:a", "sim:b"), beds)


def test_a_control_that_differs_leaves_no_verdict(tmp_path):
    done = compare_simulated(tmp_path / "run", A, B, "sharp,capacity=0.9Mpps,seed=7", control=True)
    verdicts = {ratio.device: ratio.verdict for ratio in done.outcome.ratios}
    assert verdicts == {"B": "cannot-tell", "A again": "differs"}


def test_a_control_that_is_the_same_leaves_the_verdict(tmp_path):
    done = compare_simulated(tmp_path / "run", A, B, "noisy,capacity=1Mpps,seed=8", control=True)
    verdicts = {ratio.device: ratio.verdict for ratio in done.outcome.ratios}
    assert verdicts == {"B": "regression", "A again": "same"}


def test_each_of_several_devices_has_a_verdict(tmp_path):
    done = compare_simulated(tmp_path / "run", A, B, "noisy,capacity=1.02Mpps,seed=9")
    assert [ratio.verdict for ratio in done.outcome.ratios] == ["regression", "no-regression"]


def test_a_budget_ends_a_run_without_a_verdict(tmp_path):
    done = compare_simulated(tmp_path / "run", A, "noisy,capacity=0.98Mpps,seed=4", budget_s=15.0)
    assert done.outcome.end.reason == "time-budget"
    assert done.outcome.ratios[0].verdict == "undecided"
    assert done.outcome.ratios[0].pairs_needed > done.outcome.ratios[0].pairs


def test_a_budget_may_end_before_the_loads_are_known(tmp_path):
    done = compare_simulated(tmp_path / "run", A, B, budget_s=3.0)
    assert done.outcome.end.reason == "time-budget"
    assert done.outcome.ratios == []
    assert verify_comparison(read_run(done.path)).findings == []


def test_what_holds_the_same_disk_is_given_back_before_the_next_trial():
    open_ = set()

    class Holding(SimulatedMeasurer):
        def measure(self, load, duration_s, *, stop_above=None):
            open_.add(self)
            assert len(open_) == 1
            return super().measure(load, duration_s, stop_above=stop_above)

        def close(self):
            open_.discard(self)

    specs = ["disk:/dev/sda,pattern=read", "disk:/dev/sda,pattern=randread"]
    beds = OwnBeds(lambda number: Holding((A, B)[number]), 2, one_at_a_time=share_a_place(specs))
    assert PairedLoop(plan(), beds, Policies()).run().ratios[0].verdict == "regression"


def test_a_device_that_loses_below_its_capacity_is_found_by_the_second_question(tmp_path):
    stray = "vhost,capacity=1Mpps,gap=0%,drift=0%,jitter=0%,seed=1"
    done = compare_simulated(tmp_path / "run", "sharp,capacity=1Mpps", f"{stray},stray=20pps", loss_ratio=0.0)
    assert done.outcome.ratios[0].verdict == "no-regression"
    assert done.outcome.losses[0].verdict == "regression"
    same = compare_simulated(tmp_path / "same", "sharp,capacity=1Mpps", "sharp,capacity=1Mpps,seed=2", loss_ratio=0.0)
    assert same.outcome.losses[0].verdict == "no-regression"


def lines_of(path):
    """The lines of a record that say what was measured: neither when it began nor how often it ended."""
    return [line for line in path.read_bytes().splitlines() if b'"kind":"trial"' in line or b'"kind":"pair"' in line]


def test_a_run_that_was_killed_goes_on_to_what_it_would_have_come_to(tmp_path):
    whole = compare_simulated(tmp_path / "whole", A, B, loss_ratio=0.0)
    content = whole.path.read_bytes().splitlines(keepends=True)
    for number, cut in enumerate(range(1, len(content), len(content) // 4)):
        directory = tmp_path / f"cut-{number}"
        directory.mkdir()
        (directory / "run.jsonl").write_bytes(b"".join(content[:cut]))
        done = compare_simulated(directory, A, B, loss_ratio=0.0, resume=True)
        assert lines_of(done.path) == lines_of(whole.path)
        assert done.outcome.ratios == whole.outcome.ratios
        assert done.outcome.losses == whole.outcome.losses
        assert verify_comparison(read_run(done.path)).findings == []


def test_what_was_changed_in_a_record_is_found(tmp_path):
    done = compare_simulated(tmp_path / "run", A, B)
    file = read_run(done.path)
    assert verify_comparison(file).findings == []
    claimed = [
        msgspec.structs.replace(record, ratio=0.99) if isinstance(record, Ratio) else record for record in file.others
    ]
    findings = verify_comparison(msgspec.structs.replace(file, others=claimed)).findings
    assert any("ratio is recorded as 0.99" in text for text in findings)
    fewer = msgspec.structs.replace(file, trials=[*file.trials[:-3], *file.trials[-2:]])
    assert verify_comparison(fewer).findings


def test_the_planner_gives_the_same_trial_until_it_is_made():
    planner = Planner(plan())
    assert planner.next() == planner.next()


def test_a_lossless_share_is_not_subtracted_below_nothing():
    trial = Trial(seq=0, load=100.0, duration_s=1.0, intended=100, sent=100, lost=90)
    assert capacity_of(trial, queue=20) == 0


def test_the_command_says_what_it_found(tmp_path):
    found = brimful("compare", "-m", f"sim:{A}", "-m", f"sim:{B}", "--out", "run", "--html", "page.html", cwd=tmp_path)
    assert found.returncode == 1
    assert "Regression: B is slower than A by more than 2 %. B/A 0.9" in found.stdout
    assert (tmp_path / "page.html").read_text().count("<svg") == 6
    brimful("verify", "run", cwd=tmp_path, check=0)
    assert "B/A 0.9" in brimful("runs", ".", cwd=tmp_path, check=0).stdout


def test_an_interrupted_comparison_has_the_interval_so_far(tmp_path):
    device = "import time\ndef measure"
    (tmp_path / "slow.py").write_text(device)
    words = [sys.executable, "-m", "brimful", "compare", "-m", f"cmd:{sys.executable} tester.py 1e5"]
    words += ["-m", f"cmd:{sys.executable} tester.py 1.2e5", "--trial", "50ms", "--out", "run"]
    (tmp_path / "tester.py").write_text(TESTER)
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "run" / "run.jsonl").exists() or b'"pair"' not in (
            (tmp_path / "run" / "run.jsonl").read_bytes()
        ):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "B/A 1." in out
    brimful("verify", "run", cwd=tmp_path, check=0)


TESTER = """
import json, sys, time
capacity = float(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "describe":
        print(json.dumps({"name": "toy", "max_load": 1e6, "overload": 3e5}), flush=True)
        continue
    time.sleep(asked["duration_s"])
    sent = round(asked["load"] * asked["duration_s"])
    wobble = 1 + 0.2 * (asked["id"] * 7 % 11 / 11 - 0.5)
    lost = max(0, sent - round(capacity * wobble * asked["duration_s"]))
    print(json.dumps({"id": asked["id"], "sent": sent, "lost": lost}), flush=True)
"""


def test_functions_are_compared_from_python(tmp_path):
    import brimful as package

    def noisy(capacity, seed):
        draw = np.random.default_rng(seed)

        def measure(load, duration):
            sent = round(load * duration)
            return sent, max(0, sent - round(capacity * (1 + 0.01 * draw.normal()) * duration))

        return measure

    record = tmp_path / "run"
    found = package.compare(noisy(1e6, 1), noisy(0.9e6, 2), tolerance="2%", trial_s=1.0, record=record)
    assert found.regressed
    assert found.ratios[0].ratio == pytest.approx(0.9, rel=0.05)
    assert verify_comparison(read_run(record)).findings == []


def test_what_a_function_answers_is_checked():
    import brimful as package

    with pytest.raises(package.MeasureError, match="lost 2 is above sent 1"):
        package.compare(lambda load, duration: (1, 2), lambda load, duration: (1, 2))


BED = """
import json, pathlib, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "describe":
        print(json.dumps({"name": "bed", "max_load": 1e6, "overload": 3e5, "device": {"input_queue_frames": 0}}))
    else:
        capacity = float(pathlib.Path("active").read_text())
        sent = round(asked["load"] * asked["duration_s"])
        wobble = 1 + 0.01 * (asked["id"] * 7 % 11 / 11 - 0.5)
        lost = max(0, sent - round(capacity * wobble * asked["duration_s"]))
        print(json.dumps({"id": asked["id"], "sent": sent, "lost": lost}))
    sys.stdout.flush()
"""


def test_builds_on_one_test_bed_are_made_active_in_turns(tmp_path):
    (tmp_path / "bed.py").write_text(BED)
    found = brimful(
        *("compare", "-m", f"cmd:{sys.executable} bed.py", "--out", "run", "--junit", "junit.xml"),
        *("--variant", "old=echo old; echo 1e5 > active", "--variant", "new=echo new; echo 0.9e5 > active"),
        cwd=tmp_path,
        check=1,
    )
    assert "new is slower than old by more than 2 %" in found.stdout
    file = read_run(tmp_path / "run")
    activations = [record for record in file.others if isinstance(record, Activation)]
    assert {record.device: record.output for record in activations} == {"old": "old\n", "new": "new\n"}
    assert len(activations) == 2 + 2 * 8
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    brimful("verify", "run", cwd=tmp_path, check=0)


def test_a_build_that_cannot_be_made_active_fails_the_run(tmp_path):
    (tmp_path / "bed.py").write_text(BED)
    words = ["compare", "-m", f"cmd:{sys.executable} bed.py", "--out", "run"]
    words += ["--variant", "old=echo 1e5 > active", "--variant", "new=echo no such build; exit 1"]
    found = brimful(*words, cwd=tmp_path, check=3)
    assert "exit code 1: no such build" in found.stderr
    brimful("verify", "run", cwd=tmp_path, check=0)
    words[-1] = "new=true"
    assert "of another search" in brimful(*words, "--resume", cwd=tmp_path, check=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-m", "sim:sharp"], "there is one device"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "."], "either recorded runs or devices"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "--at", "0.5"], "is not loss=RATIO"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "--variant", "a=b"], "builds share one test bed"),
        (["-m", "sim:sharp", "--variant", "a=b", "--variant", "a=c"], "another name"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "--detect", "5%"], "is for recorded runs"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "--tolerance", "0%"], "--tolerance"),
        (["-m", "sim:sharp", "-m", "sim:sharp", "--renew", "9s"], "--renew: simulated"),
        (["--seed", "4"], "--seed: is for devices"),
        ([], "give RUNS and --against"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(tmp_path, words, said):
    found = brimful("compare", *words, cwd=tmp_path, check=2)
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_tolerance_below_what_earlier_controls_show_is_refused(tmp_path):
    for seed, capacity in enumerate((0.93e6, 1.06e6, 0.95e6)):
        compare_simulated(tmp_path / "runs" / str(seed), A, B, f"sharp,capacity={capacity!r}", control=True)
    found = brimful("compare", "-m", f"sim:{A}", "-m", f"sim:{B}", cwd=tmp_path, check=2)
    assert "in 3 earlier runs here" in found.stderr


def test_the_ratios_of_a_comparison_are_written_for_prometheus():
    lines = results_as_prometheus(comparing.invented_run(Path("invented"))).decode().splitlines()
    values = dict(re.findall(r'^(brimful_comparison_regression)\{device="B".* (\S+)$', "\n".join(lines), re.M))
    assert values == {"brimful_comparison_regression": "1.0"}
    assert sum(line.startswith("brimful_comparison_ratio{") for line in lines) == 3


def test_the_report_of_a_comparison(snapshot):
    file = comparing.invented_run(Path("invented"))
    assert rendering.text(file) == snapshot
    assert model.line(file) == snapshot
    assert model.explain(file) == snapshot
    page = rendering.page(file)
    assert [page.count(f'data-figure="{name}-wide"') for name in ("ratios", "pairs", "forwarded")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"tolerance":0.02', '"tolerance":1e308'),
        ('"trial_s":0.5', '"trial_s":0'),
        ('"verdict":"regression"', '"verdict":"\u00e4"'),
        ('"device":"B","log_ratio"', '"device":"Z","log_ratio"'),
        ('"deviation":', '"deviation":1e308,"x":'),
    ],
)
def test_a_record_that_was_changed_is_refused_or_does_not_hold(tmp_path, was, becomes):
    path = compare_simulated(tmp_path / "run", A, B).path
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, becomes))
    assert brimful("verify", "run", cwd=tmp_path).returncode in (1, 2)
    assert brimful("report", "run", cwd=tmp_path).returncode in (0, 2)
    assert brimful("runs", ".", cwd=tmp_path).returncode == 0


class Coarse(SimulatedMeasurer):
    """A device that forwards few units a second, as a server of slow requests does."""

    def __init__(self, units_per_s):
        super().__init__(A)
        self._units_per_s = units_per_s

    def measure(self, load, duration_s, *, stop_above=None):
        super().measure(load, duration_s, stop_above=stop_above)
        sent = round(load * duration_s)
        return TrialOutput(intended=sent, sent=sent, lost=max(0, sent - int(self._units_per_s * duration_s)))


def test_equal_counts_of_few_units_exclude_no_loss_that_they_hide():
    """11 and 10 units a second are 5 in each trial of 0.5 s."""
    hidden, _ = looped([Coarse(11), Coarse(10)], plan(trial_s=0.5))
    assert hidden.ratios[0].verdict == "at-threshold"
    assert hidden.ratios[0].low < 10 / 11 < hidden.ratios[0].high
    assert [warning.code for warning in hidden.warnings] == ["few-units"]
    assert "give --trial 20s" in hidden.warnings[0].text
    assert model.sentence(plan(trial_s=0.5), hidden.ratios[0]).startswith("At the threshold: a loss of 2 % lies within")
    assert "whole units keep wider" in model.sentence(plan(trial_s=0.5), hidden.ratios[0])
    seen, _ = looped([Coarse(11), Coarse(10)], plan(trial_s=20.0, budget_s=1e5))
    assert (seen.ratios[0].verdict, seen.warnings) == ("regression", [])
