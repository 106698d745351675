"""What a report shows of more ports than two; what other testers call ports breaks nothing."""

import pytest
from brimful.records import Trial
from brimful.report import ports
from brimful.report.lines import lines_of
from brimful.report.styles import plain
from brimful.report.throughput.trials import meeting
from brimful.throughput.goals import SearchGoal
from hypothesis import given
from hypothesis import strategies as some


def port(name, **counts):
    none = dict.fromkeys(("intended", "sent", "lost", "expected", "received", "misrouted", "sent_into_full_queue"), 0)
    return {"name": name, **none, **counts}


def trial(seq, load, lost=0, **said):
    return Trial(seq=seq, load=load, duration_s=1.0, intended=2000, sent=2000, lost=lost, **said)


def said(slip, lost):
    return {
        "directions": [
            {"from": "ta", "to": "tb", "sent": 1000, "lost": lost, "misrouted_at": {"tc": 3} if lost else {}},
            {"from": "tc", "to": "tb", "sent": 1000, "lost": 0},
        ],
        "extra": {
            "slip_frames": slip,
            "ports": [
                port("ta", intended=1000, sent=1000, lost=lost),
                port("tb", expected=2000, received=2000 - lost),
                port("tc", intended=1000, sent=1000, misrouted=3 if lost else 0),
            ],
        },
    }


def shown(trials):
    return [lines_of(block, plain, 100) for block in ports.blocks(trials, "frames/s")]


def test_the_trial_with_the_largest_load_of_those_without_loss_is_shown():
    trials = [
        trial(1, 5000.0, 7, **said(2, 7)),
        trial(2, 1000.0, **said(9, 0)),
        trial(3, 2000.0, **said(1, 0)),
        trial(4, 3000.0, invalid="off schedule", **said(99, 0)),
    ]
    of_ports, matrix, slip = shown(trials)
    assert of_ports.splitlines() == [
        "Ports in trial 3 at 2.000 kpps",
        "  port  intended   sent  lost of that  sent to it  received  at the wrong port",
        "  ta       1,000  1,000             0           0         0                  0",
        "  tb           0      0             0       2,000     2,000                  0",
        "  tc       1,000  1,000             0           0         0                  0",
    ]
    assert [line.split() for line in matrix.splitlines()[1:]] == [
        ["from", "ta", "tb", "tc"],
        ["ta", "-", "1,000", "-"],
        ["tb", "-", "-", "-"],
        ["tc", "-", "1,000", "-"],
    ]
    assert slip.startswith("The greatest slip between ports was 9 frames in any trial")


def test_loss_and_strays_are_in_the_matrix_and_below_it():
    _, matrix, strays, _ = shown([trial(1, 5000.0, 7, **said(2, 7))])
    assert "993 of 1,000" in matrix
    assert strays == "Frames arrived at ports that they were not for: 3 from ta to tb at tc."


def test_latency_and_jitter_are_those_of_each_receiver():
    def delay(mean_s, frames, jitter_s):
        return {"frames": frames, "min_s": mean_s / 2, "mean_s": mean_s, "max_s": 3 * mean_s, "jitter_s": jitter_s}

    facts = said(1, 0)
    for way, measured in zip(facts["directions"], (delay(1e-5, 300, 2e-6), delay(2e-5, 100, None)), strict=True):
        way["delay"] = measured
    *_, delays, _ = shown([trial(1, 5000.0, **facts)])
    assert [line.split() for line in delays.splitlines()[1:]] == [
        ["port", "least", "mean", "most", "jitter"],
        ["tb", "5", "us", "12.5", "us", "60", "us", "2", "us"],
    ]


def test_starved_ports_are_remarked_on_once():
    starved = {"code": "starved-ports", "text": "1 of 3 ports had less than half of its share: tb (received nothing)"}
    trials = [trial(seq, 1000.0, warnings=[starved, {"code": "other"}]) for seq in (1, 2)]
    trials.append(trial(3, 1000.0, invalid="off schedule", warnings=[starved]))
    assert ports.remarks(trials) == [f"{starved['text']} (2 trials)"]
    assert ports.remarks([trial(1, 1000.0)]) == []


@pytest.mark.parametrize("value", [None, [], {}, "ports", [1, 2], [{"name": "ta"}], [{"name": 3, "sent": "x"}]])
def test_what_other_testers_call_ports_is_left_alone(value):
    assert shown([trial(1, 1000.0, extra={"ports": value})]) == []
    assert shown([trial(1, 1000.0)]) == []


def beyond(goal, load, trials):
    return ports.beyond(goal, load, meeting(trials, goal))


def there_and_back(lost):
    return [{"from": "ta", "to": "tb", "sent": 1000, "lost": lost}, {"from": "tb", "to": "ta", "sent": 1000, "lost": 0}]


def test_a_port_that_loses_more_than_the_goal_of_all_is_named():
    goal = SearchGoal(loss_ratio=0.005).record("pdr")
    trials = [trial(seq, 1000.0 * seq, lost, directions=there_and_back(lost)) for seq, lost in ((1, 8), (2, 500))]
    assert beyond(goal, 1000.0, trials) == [
        "goal pdr: 0.80 % of the frames to tb were lost at its load, more than the goal's 0.50 %, which is of all"
        " ports together"
    ]
    assert beyond(goal, 1000.0, [trial(1, 1000.0, 5, directions=there_and_back(5))]) == []
    assert beyond(goal, 500.0, trials) == []


def test_what_all_ports_lost_together_is_no_matter_of_ports():
    lossless, pdr = SearchGoal(loss_ratio=0.0).record("ndr"), SearchGoal(loss_ratio=0.005).record("pdr")
    # An exceed ratio permits the second trial.
    trials = [trial(1, 1000.0), trial(2, 1000.0, 20, directions=there_and_back(20))]
    assert beyond(lossless, 1000.0, trials) == []
    assert beyond(pdr, 1000.0, trials) == []


@given(some.data(), some.integers(2, 16))
def test_it_is_named_at_any_place_among_any_number_of_ports(data, number):
    names = [f"p{place}" for place in range(number)]
    losing = data.draw(some.sampled_from(names))
    ways = [
        {"from": one, "to": other, "sent": 10_000, "lost": 60 if other == losing else 0}
        for one in names
        for other in names
        if one != other
    ]
    goal = SearchGoal(loss_ratio=0.005).record("pdr")
    lost, sent = (sum(way[key] for way in ways) for key in ("lost", "sent"))
    found = Trial(seq=1, load=1000.0, duration_s=1.0, intended=sent, sent=sent, lost=lost, directions=ways)
    (text,) = beyond(goal, 1000.0, [found])
    assert text.startswith(f"goal pdr: 0.60 % of the frames to {losing} were lost")


def test_trials_that_were_stopped_say_nothing_of_starved_ports():
    notes = [{"code": ports.STARVED, "text": "1 of 3 ports had less than half of its share: ta"}]
    stopped = trial(1, 1000.0, warnings=notes, stopped_early=True)
    assert ports.remarks([stopped]) == []
    assert ports.remarks([stopped, trial(2, 1000.0, warnings=notes)]) == [f"{notes[0]['text']} (1 trial)"]
