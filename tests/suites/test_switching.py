"""The tests of RFC 2889 on switches of known truth, in virtual time."""

from collections import Counter
from types import SimpleNamespace

import pytest
from brimful.errors import MeasureError
from brimful.records import SwitchingPlan, Trial, read_run
from brimful.report import rendering
from brimful.report.suite.congestion import back_pressure, blocking
from brimful.report.suite.results import Result
from brimful.report.verdicts import of_switching
from brimful.suites import forwarding
from brimful.suites.rfc2889 import TESTS, SwitchSuiteRequest, suite_of
from brimful.switching.addresses import addresses
from brimful.switching.manager import SwitchingRequest, run_switching
from brimful.switching.steps import next_of
from brimful.throughput.manager import SearchRequest
from hypothesis import given
from hypothesis import strategies as some
from suites.model_switch import ModelSwitch
from support import brimful

PLANS = {
    "caching": {"first": 8, "most": 64},
    "learning": {"first": 100, "most": 10_000, "addresses": 200, "width": 0.01},
    "ageing": {"rounds": 2, "limit_s": 20.0},
    "errored": {"sizes": [40, 1522, 1523], "frames": 10},
    "broadcast": {"trial_s": 0.05, "most": 4000, "width": 0.01},
}


def plan(test, switch, **facts):
    common = {"ports": switch.ports, "rate": 1000.0, "patterns": ["sequential"], "forgets": switch.forgets}
    return SwitchingPlan(test=test, **{**common, **PLANS[test], **facts})


def run(test, switch, out, *, resume=False, **facts):
    request = SwitchingRequest(measurer="tester:p1,p2,p3", plan=plan(test, switch, **facts))
    done = run_switching(request, switch, out=out, resume=resume)
    verified = of_switching(read_run(out), None)
    assert verified.holds, verified.text
    return done.outcome


def found(test, switch, out, **facts):
    """Give verdict and value of the only result."""
    outcome = run(test, switch, out, **facts)
    assert outcome.end.reason == "done", outcome.end.text
    (result,) = outcome.results
    return result.verdict, result.value


@given(room=some.integers(0, 80), first=some.integers(1, 64), most=some.integers(2, 64), evicts=some.booleans())
def test_the_capacity_is_the_room_less_the_entry_of_the_sender(tmp_path_factory, room, first, most, evicts):
    switch = ModelSwitch(room=room, evicts=evicts)
    verdict, value = found("caching", switch, tmp_path_factory.mktemp("r") / "r", first=first, most=most)
    if room == 0 and evicts:
        return
    assert value == max(0, min(room - 1, most))
    assert verdict == ("found" if room - 1 < most else "at-least")


@pytest.mark.parametrize("number", range(1, 9))
def test_addresses_are_different_ones(number):
    for pattern in ("sequential", f"random {number}"):
        made = addresses(pattern, 1000, number)
        assert not set(made) & set(addresses(pattern, 1000, number - 1))
        assert len(set(made)) == 1000
        assert all(int(address[:2], 16) & 3 == 2 for address in made)


@pytest.mark.parametrize("test", ["caching", "learning", "ageing"])
def test_a_port_that_sees_no_floods_gives_no_verdict(tmp_path, test):
    assert found(test, ModelSwitch(blind=[2]), tmp_path / "r")[0] == "none"
    outcome = run(test, ModelSwitch(blind=[3], ports=4), tmp_path / "s")
    assert "p4 does not see" in outcome.results[0].text


def test_what_learns_nothing_never_passes(tmp_path):
    assert found("caching", ModelSwitch(learns=False), tmp_path / "r") == ("found", 0.0)


def test_a_port_that_gets_copies_of_all_is_seen(tmp_path):
    outcome = run("caching", ModelSwitch(copies_to=2), tmp_path / "r")
    assert (outcome.results[0].value, "gets copies" in outcome.results[0].text) == (0.0, True)


def test_foreign_frames_are_named_where_they_may_have_taken_entries(tmp_path):
    assert "foreign" not in run("caching", ModelSwitch(room=9), tmp_path / "r").results[0].text
    text = run("caching", ModelSwitch(room=9, foreign=1), tmp_path / "s").results[0].text
    assert "foreign frames arrived, whose senders have entries, too" in text


@pytest.mark.parametrize(("rate", "bucket"), [(500, 1), (1000, 50), (2500, 20)])
def test_the_learning_rate_is_that_of_the_device(tmp_path, rate, bucket):
    verdict, value = found("learning", ModelSwitch(rate=rate, bucket=bucket), tmp_path / "r")
    # All of X addresses are learned up to this rate: the bucket is full at first, and the sender takes one.
    truth = rate * 199 / (200 - bucket)
    assert verdict == "found"
    assert value == pytest.approx(truth, rel=0.02)


def test_a_rate_fails_with_the_last_attempt(tmp_path):
    facts = {"first": 900, "most": 1200, "addresses": 400, "attempts": 3}
    once = run("learning", ModelSwitch(rate=1000, bucket=1), tmp_path / "r", **{**facts, "attempts": 1}).end
    outcome = run("learning", ModelSwitch(rate=1000, bucket=1), tmp_path / "s", **facts)
    assert outcome.results[0].value == pytest.approx(1000, rel=0.01)
    assert once.trials < outcome.end.trials < 3 * once.trials


@pytest.mark.parametrize(
    ("rate", "stalled_s", "attempts"),
    [(500, 0.0, 3), (500, 0.0039, 3), (500, 0.0041, 9), (50, 0.019, 3), (50, 0.021, 9)],
)
def test_a_trial_that_was_disturbed_is_made_again_more_often(rate, stalled_s, attempts):
    plan = SwitchingPlan(
        test="learning", ports=["a", "b", "c"], rate=1000.0, first=rate, most=1000, addresses=200, attempts=3, width=0.1
    )
    failed = {"flooded": 7, "stalled_s": stalled_s, "most_stalled_s": 0.02, "addresses": 200}
    common = {"duration_s": 0.4, "intended": 200, "sent": 200, "lost": 0, "step": "learning"}
    trials = []
    while (step := next_of(plan, trials)).load == rate:
        trials.append(Trial(seq=len(trials), load=step.load, extra=failed, **common))
    assert (len(trials), step.load) == (attempts, rate / 2)


def test_the_rate_that_was_sent_is_the_one_that_was_learned():
    plan = SwitchingPlan(
        test="learning", ports=["a", "b", "c"], rate=1000.0, first=500, most=500, addresses=200, attempts=3
    )
    extra = {"flooded": 0, "reached": 496.5, "addresses": 200}
    common = {"duration_s": 0.4, "intended": 200, "sent": 200, "lost": 0, "step": "learning"}
    (result,) = next_of(plan, [Trial(seq=0, load=500.0, extra=extra, **common)])
    assert (result.verdict, result.value) == ("at-least", 496.5)


def test_a_device_that_learns_at_once_has_a_least_rate(tmp_path):
    assert found("learning", ModelSwitch(), tmp_path / "r") == ("at-least", 10_000.0)


@pytest.mark.parametrize("life_s", [1.0, 2.0, 5.0])
def test_the_ageing_time_lies_within_what_is_reported(tmp_path, life_s):
    verdict, value = found("ageing", ModelSwitch(life_s=life_s), tmp_path / "r")
    assert verdict == "found"
    assert value == pytest.approx(life_s, abs=0.1)


def test_an_address_that_outlives_the_test_has_a_least_age(tmp_path):
    verdict, value = found("ageing", ModelSwitch(life_s=300.0), tmp_path / "r")
    assert (verdict, value >= 20.0) == ("at-least", True)


def test_addresses_that_are_still_known_end_the_test(tmp_path):
    switch = ModelSwitch(flushes=False, life_s=300.0)
    outcome = run("caching", switch, tmp_path / "r", rest_s=100.0)
    assert outcome.end.reason == "measurement-failed"
    assert "still knows addresses of an earlier trial: rest longer" in outcome.end.text


def test_without_a_flush_the_silence_makes_them_forgotten(tmp_path):
    switch = ModelSwitch(flushes=False, life_s=300.0, room=20)
    assert found("caching", switch, tmp_path / "r", rest_s=301.0) == ("found", 19.0)


def test_errored_frames_are_judged_by_their_sizes(tmp_path):
    verdicts = [one.verdict for one in run("errored", ModelSwitch(shortest=64), tmp_path / "r").results]
    assert verdicts == ["pass", "pass", "pass"]
    assert run("errored", ModelSwitch(), tmp_path / "s").results[0].verdict == "none"


def test_broadcast_frames_come_to_all_but_their_sender(tmp_path):
    throughput, *copies = run("broadcast", ModelSwitch(ports=4), tmp_path / "r").results[:5]
    assert (throughput.name, throughput.verdict, throughput.value) == ("throughput", "at-least", 4000)
    assert [one.value for one in copies] == [0, 200, 200, 200]
    assert {one.verdict for one in copies} == {"pass"}


@pytest.mark.parametrize("rate", [100, 730, 1000, 2600])
def test_the_throughput_of_broadcasts_is_that_of_the_slowest_port(tmp_path, rate):
    throughput, *copies = run("broadcast", ModelSwitch(ports=4, flood_rate=rate), tmp_path / "r", trial_s=1.0).results
    assert (throughput.verdict, throughput.value) == ("found", pytest.approx(rate, rel=0.01))
    assert {one.verdict for one in copies} == {"pass", "found"}


def test_a_port_that_gets_no_broadcasts_ends_the_search(tmp_path):
    outcome = run("broadcast", ModelSwitch(ports=4, silent=[2]), tmp_path / "r", attempts=3)
    throughput, *copies = outcome.results
    assert (throughput.value, throughput.text) == (0, "p3 gets none")
    assert [one.verdict for one in copies[:4]] == ["pass", "pass", "fail", "pass"]
    assert outcome.end.trials == 2


def test_a_port_that_loses_one_of_a_thousand_broadcasts_fails(tmp_path):
    facts = {"trial_s": 10.0, "attempts": 2}
    outcome = run("broadcast", ModelSwitch(ports=4, loses_one_of=1000), tmp_path / "r", **facts)
    throughput, *_ = outcome.results
    # At the lowest rates a trial has too few frames for one to be lost.
    assert throughput.value <= 100
    assert outcome.end.trials < 30


@pytest.mark.parametrize("at", [1, 2, 9, 17, 30])
@pytest.mark.parametrize("test", ["caching", "learning"])
def test_a_test_that_was_interrupted_goes_on_and_finds_the_same(tmp_path, test, at):
    facts = {"room": 20, "rate": 700, "bucket": 30}
    whole = run(test, ModelSwitch(**facts), tmp_path / "whole", addresses=15)
    cut = run(test, ModelSwitch(**facts, interrupt_at=at), tmp_path / "cut", addresses=15)
    assert cut.end.reason == "interrupted"
    assert not cut.results
    going_on = run(test, ModelSwitch(**facts), tmp_path / "cut", resume=True, addresses=15)
    assert going_on.end.reason == "done"
    assert going_on.results == whole.results


def test_what_was_changed_in_a_record_is_found(tmp_path):
    run("caching", ModelSwitch(room=20), tmp_path / "r")
    record = tmp_path / "r" / "run.jsonl"
    for old, new in ((b'"flooded":17', b'"flooded":0'), (b'"value":19.0', b'"value":29.0')):
        text = record.read_bytes()
        assert old in text
        record.write_bytes(text.replace(old, new, 1))
        assert not of_switching(read_run(record.parent), None).holds
        record.write_bytes(text)


def test_the_report_has_a_row_for_each_iteration(tmp_path, snapshot):
    run("caching", ModelSwitch(room=20), tmp_path / "r")
    text = rendering.text(read_run(tmp_path / "r"))
    assert text[text.index("Address caching", 1) : text.index("Set-up")] == snapshot


def shares(*, free=0, congested=500, unsent=0):
    """A trial of 2,000/s in which so many frames to the ports C and D were lost, of 1,000 and 3,000, or not sent."""
    directions = [
        {"from": "a", "to": "c", "sent": 1000, "lost": free, "unsent": 0},
        {"from": "a", "to": "d", "sent": 1000, "lost": congested // 2, "unsent": 0},
        {"from": "b", "to": "d", "sent": 2000 - unsent, "lost": congested - congested // 2, "unsent": unsent},
    ]
    common = {"seq": 0, "load": 2000.0, "duration_s": 1.0, "intended": 4000}
    seen = {"sent": 4000, "lost": 0, "directions": directions}
    held = {"sent": 0, "lost": 0, "invalid": "b: frames could not be sent", "extra": {"directions": directions}}
    trial = Trial(**common, **(held if unsent else seen))
    ports = [{"interface": name} for name in "abcd"]
    return SimpleNamespace(trials=[trial], run=SimpleNamespace(traffic={"ports": ports}))


@pytest.mark.parametrize(
    ("trial", "held"),
    [
        ({"congested": 0, "unsent": 1000}, True),
        ({"congested": 0, "unsent": 850}, True),
        ({"congested": 1, "unsent": 1000}, False),  # the port was overloaded, and the tester slow as well
        ({"congested": 0, "unsent": 1400}, False),  # a tester that is too slow: the port was not full
        ({"congested": 0, "unsent": 200}, False),  # the port is faster than the load
        ({"congested": 0}, False),
    ],
)
def test_a_device_that_holds_its_senders_is_told_from_a_slow_tester(trial, held):
    assert forwarding.was_held(shares(**trial)) == held


@pytest.mark.parametrize(
    ("control", "found", "by_two", "blocks", "presses"),
    [
        ({}, {}, None, (None, "not seen, not excluded"), (False, "no")),
        ({}, {}, {}, (False, "no"), (False, "no")),
        ({}, {}, {"free": 333}, (True, "yes"), (False, "no")),
        ({}, {"free": 333}, None, (True, "yes"), (False, "no")),
        ({"free": 250}, {"free": 260}, {"free": 260}, (None, "input limit"), (False, "no")),
        ({"free": 0, "congested": 250}, {"free": 260}, None, (None, "input limit"), (False, "no")),
        (
            {"free": 1000, "congested": 3000},
            {"free": 1000, "congested": 3000},
            None,
            (None, "nothing arrived"),
            (None, "nothing arrived"),
        ),
        ({}, {"congested": 0, "unsent": 500}, {}, (False, "no"), (True, "yes, senders were held")),
        ({}, {"congested": 0}, {}, (None, "D was not congested"), (None, "D was not congested")),
    ],
)
def test_blocking_and_back_pressure_are_told_apart(control, found, by_two, blocks, presses):
    files = {"control": shares(**{"congested": 0, **control}), "congestion": shares(**found)}
    if by_two is not None:
        files["congestion-by-two"] = shares(**by_two)
    result = Result(size="64", test="congestion", reason="done", text="", file=files["congestion"], beside=files)
    for verdict, (holds, text) in ((blocking(result), blocks), (back_pressure(result), presses)):
        assert verdict.holds is holds
        assert verdict.text.startswith(text)


@pytest.mark.parametrize("ports", range(4, 17))
def test_groups_of_four_ports_are_congested_and_no_port_is_in_the_control(ports):
    def offered(test):
        """Give what each port is offered and sends, in halves of its rate."""
        flows = [flow.split(">") for flow in forwarding.pattern_of(test, ports).removeprefix("flows:").split(",")]
        sent = Counter(source for source, _ in flows)
        due = Counter()
        for source, target in flows:
            due[int(target)] += 2 // sent[source]
        return due

    groups = ports // 4
    assert set(offered("control").values()) <= {1, 2}
    assert offered("congestion") == {
        4 * group + place: load for group in range(groups) for place, load in ((3, 1), (4, 3))
    }
    if ports > 4:
        assert offered("congestion-by-two") == {3: 1, 4: 5}
        assert sum(offered("control").values()) >= 6


@pytest.mark.parametrize("ports", [3, 4, 5, 8])
def test_a_suite_has_the_tests_that_its_ports_are_enough_for(ports):
    measurer = f"lab:bridge,ports={ports}"

    def plan(max_load):
        search = SearchRequest(measurer=measurer, goals=[], strategy="straddle", max_load=max_load)
        return suite_of(SwitchSuiteRequest(search=search, sizes=["64"], tests=list(TESTS)), None, None).plan_for(None)

    known, unknown = plan("1Gbps"), plan(None)
    assert ("halves" in known.tests, "congestion" in known.tests) == (ports % 2 == 0, ports >= 4)
    assert ("congestion-by-two" in known.tests) == (ports >= 5)
    assert {"mesh", "forwarding", "caching", "broadcast"} <= set(known.tests)
    assert {*known.tests, *known.not_done} == set(TESTS)
    assert unknown.not_done["congestion"].startswith("needs " + ("--max-load" if ports >= 4 else "4 ports, not 3"))
    if ports % 2:
        assert known.not_done["halves"] == f"needs an even number of ports, not {ports}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-m", "tester:eth1,eth2"), "name three ports or more"),
        (("-m", "lab:bridge"), "ports=3"),
        (("--sizes", "64,9217"), "--sizes: 9217 is no size"),
        (("--tests", "caching,speed"), "--tests: there is no test 'speed'"),
        (("--tests", "learning"), "--tests: learning builds on caching"),
        (("--tests", "halves"), "no test can be made: halves: needs an even number of ports, not 3"),
        (("--max-addresses", "0"), "--max-addresses"),
        (("--rate", "fast"), "--rate"),
        (("--on-invalid", "loss"), "loss"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, options, said):
    refused = brimful("rfc2889", "-m", "lab:bridge,ports=3", "--quick", *options, cwd=tmp_path, check=2)
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_failed_flush_is_said(tmp_path):
    class Stuck(ModelSwitch):
        def forget(self):
            raise MeasureError("--flush-command 'flush': exit code 1")

    outcome = run("caching", Stuck(), tmp_path / "r")
    assert (outcome.end.reason, outcome.end.text) == ("measurement-failed", "--flush-command 'flush': exit code 1")
