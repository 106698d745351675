"""Campaigns carried out: what is kept, what goes on after an interruption or a failure, what is measured once."""

import shutil
from pathlib import Path

import msgspec
import pytest
from brimful.campaign.plan import Campaign
from brimful.campaign.run import run_campaign
from brimful.campaign.verification import verify_campaign
from brimful.errors import MeasureError, RecordError, UsageError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Member, RecordWriter, encode, read_run
from brimful.report.campaign import model
from brimful.throughput.manager import SearchRequest
from support import Troubled, goal, interrupted_at

GOALS = [goal(trial=0.1, duration_sum=0.5, width=0.05), goal("pdr", 0.005, trial=0.1, duration_sum=0.5, width=0.05)]
SEARCH = SearchRequest(measurer="", goals=GOALS, strategy="straddle", traffic={"arguments": []})
CAMPAIGN = Campaign(search=SEARCH, measurers=["sim:a"], frame_sizes=["64", "512"], repeats=2)


def system(request):
    return SimulatedMeasurer(f"soft-knee,capacity=1Mpps,seed={len(request.traffic['arguments'][-1])}")


def run(out, open_member=system, campaign=CAMPAIGN, **options):
    return run_campaign(campaign, open_member, out=out, **options)


def found(members):
    """What a campaign found, without what differs from one time to the next."""
    return [(each.name, each.goal_results, each.end.trials, each.run and each.run.hint) for each in members]


class Ceilinged:
    """A simulated system behind a tester that can measure its own ceiling."""

    calibrated = 0

    def __init__(self, request):
        self._inner = system(request)

    def describe(self):
        return msgspec.structs.replace(self._inner.describe(), can_calibrate=True, max_load=None)

    def calibrate(self):
        Ceilinged.calibrated += 1
        return 2e6

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_every_search_has_a_record_of_its_own_and_one_has_what_all_found(tmp_path):
    outcome = run(tmp_path / "c")
    file = read_run(tmp_path / "c")
    assert file.run.subject == "campaign"
    assert file.run.source == {
        "measurers": ["sim:a"],
        "frame_sizes": ["64", "512"],
        "repeats": 2,
        "shared_guesses": True,
    }
    assert file.members == outcome.members
    assert [end.reason for end in file.ends] == ["done"]
    assert file.ends[0].trials == sum(member.end.trials for member in file.members)
    for member in file.members:
        own = read_run(tmp_path / "c" / member.path)
        # The digest of an end is of the lines before it in its own file.
        end = msgspec.structs.replace(own.ends[-1], digest="")
        assert (own.run, own.goal_results, end) == (member.run, member.goal_results, member.end)
    assert [bool(member.run.hint) for member in file.members] == [False, True, True, True]


def test_guesses_can_be_kept_to_oneself(tmp_path):
    outcome = run(tmp_path / "c", campaign=msgspec.structs.replace(CAMPAIGN, share_guesses=False))
    assert all(member.run.hint is None for member in outcome.members)


def livelocked(request):
    """A system that forwards next to nothing under overload: there a trial at max load says nothing."""
    return SimulatedMeasurer(f"livelock,capacity=0.7Mpps,seed={request.traffic['arguments'][-1][-2:]}")


def test_guesses_save_trials_and_move_no_result(tmp_path):
    alone = msgspec.structs.replace(CAMPAIGN, share_guesses=False, repeats=3)
    members = {
        shared: run(tmp_path / f"{shared}", livelocked, msgspec.structs.replace(alone, share_guesses=shared)).members
        for shared in (True, False)
    }
    trials = {shared: sum(member.end.trials for member in found) for shared, found in members.items()}
    assert trials[True] < 0.9 * trials[False]
    for guessed, unaided in zip(members[True], members[False], strict=True):
        for ours, theirs in zip(guessed.goal_results, unaided.goal_results, strict=True):
            assert ours.regular
            assert theirs.regular
            # Both say where the throughput is, so what they say has to have something in common.
            assert max(ours.lower_bound, theirs.lower_bound) <= min(ours.upper_bound, theirs.upper_bound)


def test_a_hint_begins_what_has_nothing_better(tmp_path):
    hinted = msgspec.structs.replace(CAMPAIGN, search=msgspec.structs.replace(SEARCH, hint="0.9Mpps"))
    first, second, *_ = run(tmp_path / "c", campaign=hinted).members
    assert first.run.hint == 0.9e6
    assert second.run.hint != 0.9e6


def test_the_ceiling_is_measured_once_for_each_measurer_and_size(tmp_path):
    Ceilinged.calibrated = 0
    members = run(tmp_path / "c", Ceilinged).members
    assert Ceilinged.calibrated == 2
    assert [member.run.measurer.ceiling for member in members] == [2e6] * 4
    assert [member.run.max_load for member in members] == [2e6] * 4


@pytest.mark.parametrize("call", [1, 2, 11, 22, 34])
def test_an_interrupted_campaign_goes_on(tmp_path, call):
    whole = run(tmp_path / "whole")
    assert sum(member.end.trials for member in whole.members) >= 34
    first = run(tmp_path / "c", interrupted_at(call, system))
    assert first.end.reason == "interrupted"
    assert read_run(tmp_path / "c").ends[-1].reason == "interrupted"
    assert found(first.members) == found(whole.members)[: len(first.members)]
    again = run(tmp_path / "c", resume=True)
    assert found(again.members) == found(whole.members)
    assert [end.reason for end in read_run(tmp_path / "c").ends] == ["interrupted", "done"]
    assert not any(each.findings for each in verify_campaign(read_run(tmp_path / "c")))


def test_an_interruption_while_a_measurer_is_opened_is_one_too(tmp_path):
    opened = 0

    def open_member(request):
        nonlocal opened
        opened += 1
        if opened == 4:  # two to check, the first search, the second
            raise KeyboardInterrupt
        return system(request)

    outcome = run(tmp_path / "c", open_member)
    assert (outcome.end.reason, len(outcome.members)) == ("interrupted", 1)
    assert len(run(tmp_path / "c", resume=True).members) == 4


def test_a_resumed_campaign_looks_again_at_what_another_process_did_meanwhile(tmp_path):
    run(tmp_path / "c", interrupted_at(12, system))
    opened = []

    def open_member(request):
        if not opened:
            opened.append(request)
            run(tmp_path / "c", resume=True)  # as if in another process
        return system(request)

    again = run(tmp_path / "c", open_member, resume=True)
    assert [member.name for member in again.members] == [member.name for member in run(tmp_path / "d").members]
    lines = (tmp_path / "c" / "run.jsonl").read_text().splitlines()
    assert sum('"kind":"member"' in line for line in lines) == 4


def killed(whole: Path, into: Path, lines: int, own_lines: int, torn: bytes) -> None:
    """Leave what a killed campaign does: so many lines of its record, of the next search's own, and a part."""
    kept = (whole / "run.jsonl").read_bytes().splitlines(keepends=True)[:lines]
    into.mkdir()
    (into / "run.jsonl").write_bytes(b"".join(kept) + (torn if not own_lines else b""))
    members = read_run(whole).members
    done = max(0, lines - 1)
    for member in members[:done]:
        shutil.copytree(whole / member.path, into / member.path)
    if done < len(members) and own_lines:
        path = members[done].path
        (into / path).mkdir()
        own = (whole / path / "run.jsonl").read_bytes().splitlines(keepends=True)
        (into / path / "run.jsonl").write_bytes(b"".join(own[:own_lines]) + torn)


@pytest.mark.parametrize("torn", [b"", b'{"ki', b'{"kind":"run","schema":1,"ru'])
@pytest.mark.parametrize("own_lines", [0, 1, 2, 9, 10_000])
def test_a_killed_campaign_goes_on_from_between_any_two_lines(tmp_path, own_lines, torn):
    whole = tmp_path / "whole"
    expected = found(run(whole).members)
    count = len((whole / "run.jsonl").read_bytes().splitlines())
    for lines in range(count):
        left = tmp_path / f"left-{lines}"
        killed(whole, left, lines, own_lines if lines else 0, torn)
        notes = []
        assert found(run(left, resume=True, note=notes.append).members) == expected
        assert read_run(left).ends[-1].reason == "done"
        assert not any(each.findings for each in verify_campaign(read_run(left)))


def test_a_search_killed_within_its_first_line_begins_anew(tmp_path):
    whole = run(tmp_path / "c").members
    lines = (tmp_path / "c" / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "c" / "run.jsonl").write_bytes(b"".join(lines[:2]))
    torn = tmp_path / "c" / whole[1].path / "run.jsonl"
    torn.write_bytes(torn.read_bytes()[:20])
    assert found(run(tmp_path / "c", resume=True).members) == found(whole)


def test_a_complete_campaign_is_shown_again(tmp_path):
    first = run(tmp_path / "c")
    before = (tmp_path / "c" / "run.jsonl").read_bytes()
    notes = []
    again = run(tmp_path / "c", resume=True, note=notes.append)
    assert again.members == first.members
    assert "complete" in notes[0]
    assert (tmp_path / "c" / "run.jsonl").read_bytes() == before


def test_a_campaign_interrupted_after_its_last_search_is_completed(tmp_path):
    run(tmp_path / "c")
    lines = (tmp_path / "c" / "run.jsonl").read_bytes().splitlines(keepends=True)
    interrupted = msgspec.structs.replace(read_run(tmp_path / "c").ends[-1], reason="interrupted", digest="")
    (tmp_path / "c" / "run.jsonl").write_bytes(b"".join(lines[:-1]))
    with RecordWriter(tmp_path / "c" / "run.jsonl") as writer:
        writer.write(interrupted)
    assert run(tmp_path / "c", resume=True).end.reason == "done"
    assert [end.reason for end in read_run(tmp_path / "c").ends] == ["interrupted", "done"]


def test_a_campaign_is_found_again_among_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = run(None, interrupted_at(20, system))
    run(None, campaign=msgspec.structs.replace(CAMPAIGN, repeats=1))
    again = run(None, resume=True)
    assert again.directory == first.directory
    assert (again.end.reason, len(again.members)) == ("done", 4)
    assert len(list((tmp_path / "runs").glob("*/run.jsonl"))) == 2


def test_another_campaign_is_not_gone_on_with(tmp_path):
    run(tmp_path / "c")
    with pytest.raises(UsageError, match="another search"):
        run(tmp_path / "c", campaign=msgspec.structs.replace(CAMPAIGN, repeats=3), resume=True)
    with pytest.raises(UsageError, match="there is a run already"):
        run(tmp_path / "c")


def test_a_search_that_fails_does_not_stop_the_rest_and_is_tried_again(tmp_path):
    opened = 0

    def open_member(request):
        nonlocal opened
        opened += 1
        if opened == 4:
            raise MeasureError("the lab is on fire")
        return Troubled({5: MeasureError("the cable is out")} if opened == 5 else {}, "soft-knee,capacity=1Mpps")

    outcome = run(tmp_path / "c", open_member)
    assert outcome.end.reason == "done"
    assert [member.failed for member in outcome.members] == [False, True, True, False]
    assert [member.end.text for member in outcome.members] == ["", "the lab is on fire", "the cable is out", ""]
    assert outcome.members[1].run is None
    assert outcome.members[2].end.trials == 5
    again = run(tmp_path / "c", resume=True)
    assert not any(member.failed for member in again.members)
    assert len(read_run(tmp_path / "c").members) == 4


def test_what_cannot_be_opened_here_fails_in_its_turn(tmp_path):
    def open_member(request):
        if request.traffic["arguments"] == ["--frame-size=512"]:
            raise MeasureError("the forwarder is not installed")
        return system(request)

    notes = []
    outcome = run(tmp_path / "c", open_member, note=notes.append)
    assert notes[0] == "sim:a, frame size 512: the forwarder is not installed; its searches are going to fail"
    assert [member.failed for member in outcome.members] == [False, True, False, True]
    assert outcome.end.reason == "done"


def test_what_cannot_be_searched_is_refused_before_anything_is_measured(tmp_path):
    def open_member(request):
        if request.traffic["arguments"] == ["--frame-size=512"]:
            raise UsageError("frame size 512 does not fit")
        return system(request)

    with pytest.raises(UsageError, match="sim:a, frame size 512: frame size 512 does not fit"):
        run(tmp_path / "c", open_member)
    assert not (tmp_path / "c").exists()


def test_a_limit_of_the_delay_is_refused_where_nobody_tells_it(tmp_path):
    class Silent(Ceilinged):
        def describe(self):
            return msgspec.structs.replace(super().describe(), tells_delay=False)

    limited = msgspec.structs.replace(SEARCH, goals=[msgspec.structs.replace(GOALS[0], delay_limit_s=1e-3)])
    with pytest.raises(UsageError, match="reports no delay"):
        run(tmp_path / "c", Silent, campaign=msgspec.structs.replace(CAMPAIGN, search=limited))
    assert not (tmp_path / "c").exists()


def test_limits_that_do_not_fit_are_refused_before_anything_is_measured(tmp_path):
    wrong = msgspec.structs.replace(CAMPAIGN, search=msgspec.structs.replace(SEARCH, min_load="90Mpps"))
    with pytest.raises(UsageError, match="min load"):
        run(tmp_path / "c", campaign=wrong)
    assert not (tmp_path / "c").exists()
    unreadable = msgspec.structs.replace(CAMPAIGN, search=msgspec.structs.replace(SEARCH, min_load="1Gbps"))
    with pytest.raises(UsageError, match="frame size is not fixed"):
        run(tmp_path / "c", Ceilinged, campaign=unreadable)
    assert not (tmp_path / "c").exists()
    # Where max load is the tester's ceiling it takes a measurement to know.
    outcome = run(tmp_path / "c", Ceilinged, campaign=wrong)
    assert all(member.failed and "min load" in member.end.text for member in outcome.members)


def test_where_nothing_can_be_measured_there_is_no_campaign(tmp_path):
    def open_member(request):
        raise MeasureError("no permission")

    with pytest.raises(MeasureError, match="no permission"):
        run(tmp_path / "c", open_member)
    assert not (tmp_path / "c").exists()


def test_verification_holds_the_campaign_against_its_searches(tmp_path):
    run(tmp_path / "c")
    assert read_run(tmp_path / "c").run.subject == "campaign"
    assert read_run(tmp_path / "c" / "001-sim-a-64").run.subject == "search"
    file = read_run(tmp_path / "c")
    good = file.members[0]
    better = [msgspec.structs.replace(result, lower_bound=2e6) for result in good.goal_results]
    with RecordWriter(tmp_path / "c" / "run.jsonl") as writer:
        writer.write(msgspec.structs.replace(good, goal_results=better))
    (tmp_path / "c" / file.members[1].path / "run.jsonl").unlink()
    findings = {
        each.name: [finding.code for finding in each.findings] for each in verify_campaign(read_run(tmp_path / "c"))
    }
    assert findings == {
        good.name: ["member-differs"],
        file.members[1].name: ["unreadable-record"],
        file.members[2].name: [],
        file.members[3].name: [],
    }


def test_a_disk_that_is_full_ends_the_campaign(tmp_path, monkeypatch):
    written = RecordWriter.write

    def write(self, record):
        if isinstance(record, Member):
            raise RecordError("no space left")
        written(self, record)

    monkeypatch.setattr(RecordWriter, "write", write)
    with pytest.raises(RecordError, match="no space left"):
        run(tmp_path / "c")


def test_a_member_comes_back_as_it_was_written(tmp_path):
    run(tmp_path / "c")
    lines = (tmp_path / "c" / "run.jsonl").read_bytes().splitlines(keepends=True)
    assert [encode(member) for member in read_run(tmp_path / "c").members] == lines[1:5]


def test_repeats_that_fall_into_two_groups_are_told_from_the_record(tmp_path):
    def two_modes(request):
        return SimulatedMeasurer(f"sharp,capacity={(33, 40)[request.measurer in 'sim:2 sim:5 sim:6']}kpps,link=99kpps")

    campaign = msgspec.structs.replace(CAMPAIGN, measurers=["sim:{repeat}"], frame_sizes=[None], repeats=6)
    run(tmp_path / "c", two_modes, campaign)
    report = model.build(read_run(tmp_path / "c"))
    told = [text for text in report.warnings if text.startswith("two-groups")]
    assert [text.partition("goal ")[2].split(":")[0] for text in told] == ["ndr", "pdr"]
    assert "repeats 1, 3, 4 found about 32." in told[0]
    assert "and repeats 2, 5, 6 found about 38." in told[0]
    run(tmp_path / "steady", lambda request: SimulatedMeasurer("sharp"), campaign)
    assert not any("two-groups" in text for text in model.build(read_run(tmp_path / "steady")).warnings)
