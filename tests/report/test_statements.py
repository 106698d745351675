"""What reports state of how a search was made: no more than the record shows."""

import msgspec
import pytest
from brimful.records import GoalResult, MeasurerFacts, Sums, Trial
from brimful.report import words
from brimful.report.throughput import model
from brimful.report.throughput.statements import make_statements
from cases import example, with_run
from support import goal


def said(file, item_id):
    statements = make_statements(model.build(file))
    return next(statement.text for statement in statements if statement.item.id == item_id)


def result(**sums):
    of_low = Sums(**{"full_low_s": 0.0, "full_high_s": 0.0, "short_low_s": 0.0, "short_high_s": 0.0, **sums})
    return GoalResult("ndr", True, "regular", 33.1e3, 33.2e3, 33.01e3, of_low)


@pytest.mark.parametrize(
    ("sums", "text"),
    [
        ({"full_low_s": 21.0}, "It forwards 33.01 kpps without loss."),
        (
            {"full_low_s": 15.0, "full_high_s": 6.0},
            "It forwards 33.01 kpps without loss in 71.4 % of the time of its trials.",
        ),
        (
            {"full_low_s": 21.0, "short_high_s": 0.01},
            "It forwards 33.01 kpps without loss in 99.9 % of the time of its trials.",
        ),
    ],
)
def test_what_an_exceed_ratio_allowed_is_said(sums, text):
    assert words.sentence(goal(), result(**sums), "frames/s") == text


def test_a_sentence_without_sums_says_what_was_asked():
    found = GoalResult("ndr", False, "min-load-is-upper-bound", None, 1e4)
    assert words.sentence(goal(), found, "frames/s") == "It forwards less than 10.00 kpps without loss."


def with_first_trial(invalid):
    file = example("regular")
    first = Trial(
        seq=0, load=file.run.max_load, duration_s=5.0, intended=10, sent=10, lost=0, elapsed_s=5.0, invalid=invalid
    )
    return with_run(msgspec.structs.replace(file, trials=[first, *file.trials]), warm_up_s=5.0)


def test_a_warm_up_that_was_spoiled_is_no_missing_one():
    assert said(with_first_trial("warm-up"), "warm-up").startswith("5 s at max load before the search, never")
    text = said(with_first_trial("the link went down"), "warm-up")
    assert text.startswith("5 s at max load before the search, in a trial that was invalid (the link went down)")
    assert said(example("regular"), "warm-up").startswith(("None", "Simulated"))


@pytest.mark.parametrize(
    ("traffic", "text"),
    [
        ({}, "evenly spaced: frame i of a sending port is due i / load after the start"),
        ({"bursts": "8 frames as fast as possible, then a gap"}, "in bursts: 8 frames as fast as possible, then a gap"),
        ({"bursts": "as captured, scaled to the load"}, "spaced as captured, scaled to the load: all gaps scale"),
    ],
)
def test_the_load_of_our_tester_is_told_by_its_gaps(traffic, text):
    file = with_run(example("regular"), measurer=MeasurerFacts(name="brimful-tester"), traffic=traffic, device={})
    assert text in said(file, "load-reaction")


def test_an_effective_duration_is_told_by_how_it_comes_about():
    file = with_run(example("regular"), measurer=MeasurerFacts(name="mine"), traffic={}, device={})
    trials = [msgspec.structs.replace(trial, effective_duration_s=trial.duration_s) for trial in file.trials]
    file = msgspec.structs.replace(file, trials=trials)
    equal = "Equal to the intended duration of the trial: no trial reports another."
    assert said(file, "effective-duration") == equal
    trials = [msgspec.structs.replace(trial, effective_duration_s=0.9 * trial.duration_s) for trial in file.trials]
    file = msgspec.structs.replace(file, trials=trials)
    assert "without saying how (measurer.effective_duration)" in said(file, "effective-duration")
    told = with_run(
        file,
        measurer=MeasurerFacts(name="mine", extra={"effective_duration": "first frame sent to last frame received"}),
    )
    assert "first frame sent to last frame received" in said(told, "effective-duration")
