"""Whole bisections of simulated builds: what is found, what is skipped, what is on disk, and that it goes on."""

import itertools
import json
import random

import msgspec
import pytest
from brimful.bisection.verification import verify_bisection
from brimful.bisection.visiting import summarise
from brimful.errors import RecordError
from brimful.measurers.base import InvalidTrialError, TrialOutput
from brimful.records import Bisected, Build, Trial, Visit, read_run
from brimful.report import rendering
from brimful.report.bisection import model
from building import Builds, Instance, bisect, invented_run, levels
from support import brimful


def answered(done):
    answer = done.outcome.answer
    return answer.answer, answer.builds


def test_the_build_that_changed_it_is_named(tmp_path):
    done = bisect(tmp_path, Builds(levels(17, (11, 0.95))), 17)
    assert answered(done) == ("one", [[11]])
    assert done.outcome.answer.probability >= 0.95
    last = [visit for visit in done.outcome.visits if visit.purpose == "confirm"]
    assert {(visit.build, visit.beside) for visit in last} == {(11, 10)}
    assert len(last) >= 2


def test_a_build_that_made_it_faster_is_named_too(tmp_path):
    assert answered(bisect(tmp_path, Builds(levels(17, (4, 1.05))), 17)) == ("one", [[4]])


def test_no_difference_ends_it_after_the_ends(tmp_path):
    done = bisect(tmp_path, Builds(levels(17)), 17)
    assert answered(done) == ("none", [])
    assert {(visit.build, visit.beside) for visit in done.outcome.visits} == {(16, 0), (0, 0)}


def test_a_change_that_is_not_shown_is_not_excluded(tmp_path):
    done = bisect(tmp_path, Builds(levels(9, (4, 0.98)), noise=0.1), 9)
    assert answered(done) == ("none", [])
    assert "no change was shown in 40 visits, but one of" in done.outcome.answer.reason


def test_a_change_that_was_undone_is_none(tmp_path):
    assert answered(bisect(tmp_path, Builds(levels(9, (3, 0.9), (6, 1 / 0.9))), 9)) == ("none", [])


def test_two_changes_are_named_both(tmp_path):
    done = bisect(tmp_path, Builds(levels(17, (5, 0.96), (12, 0.96))), 17)
    assert answered(done) == ("two", [[5], [12]])


def test_broken_builds_are_skipped_and_the_answer_is_a_range(tmp_path):
    bench = Builds(levels(17, (8, 0.95)), broken=[7], unmakable=[6, 12])
    done = bisect(tmp_path, bench, 17)
    assert answered(done) == ("range", [[6, 7, 8]])
    failures = {build.build: build.failure for build in done.outcome.builds if build.failure}
    assert "it does not forward" in failures[7]
    assert "failed with exit code 2" in failures[6]


def test_a_build_that_drops_all_frames_of_this_size_is_left_to_git(tmp_path, monkeypatch):
    monkeypatch.setattr(Instance, "passing_size", lambda self: 64, raising=False)
    end = bisect(tmp_path, Builds(levels(9), broken=[8]), 9).outcome.end
    assert end.reason == "measurement-failed"
    assert end.text.startswith("the bad build v8: no frame of this size passes: it does not forward: nothing arrived")
    assert "while frames of 64 bytes come through" in end.text
    assert "`git bisect run`" in end.text


def test_a_load_that_the_tester_cannot_offer_breaks_no_build(tmp_path):
    done = bisect(tmp_path, Builds(levels(9, (5, 0.9)), ceiling=180e3), 9)
    assert answered(done) == ("one", [[5]])
    assert not any(build.failure for build in done.outcome.builds)
    assert max(trial.load for trial in read_run(tmp_path).trials if trial.invalid is None) <= 180e3


def test_a_visit_whose_tester_was_held_up_is_made_again(tmp_path):
    bench = Held(levels(9, (5, 0.9)))
    done = bisect(tmp_path, bench, 9)
    assert answered(done) == ("one", [[5]])
    assert not any(build.failure for build in done.outcome.builds)
    trials = [trial for trial in read_run(tmp_path).trials if trial.instance == bench.held]
    assert sum(trial.invalid is not None for trial in trials) == 11
    assert bench.held not in {visit.visit for visit in done.outcome.visits}


class Held(Builds):
    """In the third visit the tester is held up as soon as it makes pairs."""

    held = 2

    def _start(self, build):
        instance = super()._start(build)
        if self.started in (2 * self.held + 1, 2 * self.held + 2):
            measure, made = instance.measure, itertools.count()

            def measure_little(load, duration_s, *, stop_above=None):
                if next(made) >= 8:
                    raise InvalidTrialError("ta: the rate was off in 6 of 7 windows of 10 ms")
                return measure(load, duration_s, stop_above=stop_above)

            instance.measure = measure_little
        return instance


class Freed(Builds):
    """Some instances lose nothing at all."""

    freed = range(8, 10)

    def _start(self, build):
        instance = super()._start(build)
        if self.started in self.freed:
            instance.measure = lambda load, duration_s, stop_above=None: TrialOutput(
                sent=round(load * duration_s), lost=0
            )
        return instance


def test_a_visit_that_gives_nothing_is_made_again_after_one_that_did(tmp_path):
    done = bisect(tmp_path, Freed(levels(9, (5, 0.9))), 9)
    assert answered(done) == ("one", [[5]])
    assert not any(build.failure for build in done.outcome.builds)


def test_visits_that_give_nothing_one_after_the_other_end_the_run(tmp_path):
    bench = Freed(levels(9, (5, 0.9)))
    bench.freed = range(8, 1000)
    done = bisect(tmp_path, bench, 9)
    assert done.outcome.end.reason == "measurement-failed"


def test_a_broken_end_fails_the_run(tmp_path):
    done = bisect(tmp_path, Builds(levels(5, (2, 0.9)), unmakable=[4]), 5)
    assert done.outcome.end.reason == "measurement-failed"
    assert "the bad build v4: make: failed with exit code 2" in done.outcome.end.text
    assert done.outcome.answer is None


def test_nothing_left_to_spend_is_a_range_that_holds_the_build(tmp_path):
    done = bisect(tmp_path, Builds(levels(65, (40, 0.95)), noise=0.03), 65, most_visits=12)
    assert done.outcome.answer.answer == "range"
    assert 40 in done.outcome.answer.builds[0]
    assert done.outcome.answer.reason == "after 12 visits"


def test_a_budget_ends_it_with_a_range(tmp_path):
    done = bisect(tmp_path, Builds(levels(65, (40, 0.95))), 65, budget_s=20.0)
    assert done.outcome.end.reason == "time-budget"
    assert done.outcome.answer.answer == "range"
    assert "when the time was up" in done.outcome.answer.reason


def test_instances_that_stray_leave_the_machine_unable_to_say(tmp_path):
    class Worse(Builds):
        """The second instance of each visit is slower, whatever it is of."""

        def _start(self, build):
            found = super()._start(build)
            if self.started % 2:
                found._capacity *= 0.9
            return found

    done = bisect(tmp_path, Worse(levels(9)), 9)
    assert answered(done)[0] in ("cannot-say", "none")


@pytest.mark.parametrize("instances", [3, 8, 15])
def test_an_interrupted_run_goes_on_to_the_same_answer(tmp_path, instances):
    bench = Builds(levels(17, (11, 0.95)))
    bench.stop_after = instances
    first = bisect(tmp_path / "run", bench, 17)
    assert first.outcome.end.reason == "interrupted"
    done = bisect(tmp_path / "run", Builds(levels(17, (11, 0.95)), seed=2), 17, resume=True)
    assert answered(done) == ("one", [[11]])
    assert len(done.outcome.visits) > len(first.outcome.visits)
    assert verify_bisection(read_run(tmp_path / "run")).findings == []


def test_the_same_seed_gives_the_same_run(tmp_path):
    runs = [bisect(tmp_path / name, Builds(levels(17, (11, 0.95))), 17).outcome for name in ("a", "b")]
    assert runs[0].visits == runs[1].visits
    assert runs[0].answer == runs[1].answer


def test_every_trial_is_on_disk_before_the_next(tmp_path):
    class Watched(Builds):
        def _start(self, build):
            lines = (tmp_path / "run.jsonl").read_text().splitlines() if self.started > 2 else []
            self.on_disk = [json.loads(line) for line in lines]
            return super()._start(build)

    bench = Watched(levels(9, (4, 0.9)))
    done = bisect(tmp_path, bench, 9)
    visits = [record for record in bench.on_disk if record["kind"] == "visit"]
    assert len(visits) == len(done.outcome.visits) - 1


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    bisect(directory, Builds(levels(17, (11, 0.95)), broken=[8]), 17)
    return directory / "run.jsonl"


def changed(record, tmp_path, kind, **fields):
    """Change the last record of a kind, and sign nothing."""
    lines = record.read_text().splitlines()
    place = max(number for number, line in enumerate(lines) if json.loads(line)["kind"] == kind)
    lines[place] = json.dumps({**json.loads(lines[place]), **fields})
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    return verify_bisection(read_run(tmp_path / "run.jsonl")).findings


def test_a_record_verifies(record):
    found = verify_bisection(read_run(record))
    assert found.findings == []
    assert found.answer is not None
    assert found.answer.builds == [[11]]
    assert "the answer recomputed" in brimful("verify", str(record), cwd=record.parent).stdout


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("visit", {"mean": -0.2}, "its mean is recorded as -0.2, but the trials give"),
        ("visit", {"build": 3}, "but due was"),
        ("visit", {"build": 99}, "there is a visit of build 99"),
        ("bisected", {"builds": [[12]]}, "the answer is recorded as one of builds [[12]]"),
        ("bisected", {"probability": 0.5}, "the answer is recorded"),
    ],
)
def test_what_was_changed_is_found(record, tmp_path, kind, fields, expected):
    assert any(expected in finding for finding in changed(record, tmp_path, kind, **fields))


def test_the_report_says_what_was_found_and_why(record):
    shown = rendering.text(read_run(record))
    assert "v11 made it" in shown
    assert "v11 beside" not in shown
    for text in ("Likeliest", "Measured builds", "Visits", "Skipped builds", "it does not forward"):
        assert text in shown
    page = rendering.page(read_run(record))
    assert "belief-wide" in page or "<svg" in page
    assert json.loads(rendering.to_json(read_run(record)))["answer"]["builds"] == [[11]]


NUMBERS = (-1, 0, 99, 1e300, -1e300, 0.5)


def test_a_record_of_other_numbers_is_reported_and_refused_in_words(record, tmp_path):
    """Whatever stands in the place of a number; digests find it, and nothing is calculated that cannot be."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    draw = random.Random(5)
    places = [
        (number, field)
        for number, line in enumerate(lines)
        if line["kind"] in ("build", "visit", "bisected")
        for field, value in line.items()
        if isinstance(value, int | float)
    ]
    for number, field in draw.sample(places, 60):
        value = draw.choice(NUMBERS)
        value = int(value) if isinstance(lines[number][field], int) and abs(value) < 1e18 else value
        if value == lines[number][field]:
            continue
        other = [{**line, field: value} if place == number else line for place, line in enumerate(lines)]
        (tmp_path / "run.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in other))
        try:
            file = read_run(tmp_path / "run.jsonl")
        except RecordError:
            continue
        assert verify_bisection(file).findings != []
        assert rendering.text(file)
        assert model.line(file)


def test_a_run_does_not_go_on_from_another_number(record, tmp_path):
    lines = [json.loads(line) for line in record.read_text().splitlines() if '"end"' not in line]
    place = max(number for number, line in enumerate(lines) if line["kind"] == "visit")
    lines[place]["build"] = 99
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(RecordError):
        bisect(tmp_path, Builds(levels(17)), 17, resume=True)


ANSWERS = {
    "one": Builds(levels(13, (8, 0.95)), unmakable=[6]),
    "two": Builds(levels(13, (4, 0.95), (9, 0.95))),
    "range": Builds(levels(13, (8, 0.95)), unmakable=[7]),
    "none": Builds(levels(13)),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_report_of_each_answer(answer, snapshot, tmp_path):
    file = invented_run(tmp_path, ANSWERS[answer])
    assert rendering.text(file) == snapshot
    assert model.line(file) == snapshot


def test_records_keep_their_kinds(record):
    file = read_run(record)
    kinds = {type(one) for one in file.others}
    assert {Build, Visit, Bisected} <= kinds
    assert all(msgspec.json.decode(msgspec.json.encode(one)) for one in file.others)


def test_equal_counts_of_few_units_say_no_more_than_one_of_them_does():
    def trials(count):
        return [
            Trial(
                seq=0,
                load=20.0,
                duration_s=0.5,
                intended=10,
                sent=10,
                lost=10 - count,
                path=path,
                step="pairs",
                round=number,
            )
            for number in range(4)
            for path in ("build", "beside")
        ]

    found = summarise(trials(5), 0.0)
    assert (found.mean, found.pairs) == (0.0, 4)
    assert found.deviation / found.pairs**0.5 == pytest.approx(1 / 5)
