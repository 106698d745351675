"""Parts of a campaign: every search is in one of them, they take equally long, and together they are the campaign."""

import itertools
import json
import math
import re

import pytest
from brimful.burst.manager import BurstRequest
from brimful.campaign.plan import Campaign
from brimful.campaign.run import run_campaign
from brimful.campaign.shards import Shard, cut
from brimful.campaign.verification import verify_runs
from brimful.loss.manager import LossRequest
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.recovery.manager import RecoveryRequest
from brimful.throughput.manager import SearchRequest
from hypothesis import given
from hypothesis import strategies as st
from support import NDR_AND_PDR, brimful, interrupted_at

SIM = "sim:soft-knee,capacity=1Mpps,seed={repeat}"
CAMPAIGN = ("search", "-m", SIM, "--sizes", "64,imix", "--repeat", 2, "--preset", "quick", "--quiet")


def campaign(shard=None, expected_s=None):
    return Campaign(
        search=SearchRequest(measurer="", goals=NDR_AND_PDR, strategy="straddle"),
        measurers=["sim:sharp", "sim:noisy"],
        frame_sizes=["64", "1518"],
        repeats=3,
        shard=shard and Shard.parse(shard),
        expected_s=expected_s or {},
    )


def naive_longest(times_s, parts):
    """The longest part of the best way to cut, by trying all of them."""
    count = len(times_s)
    ways = itertools.combinations(range(1, count), parts - 1)
    return min(max(sum(times_s[first:last]) for first, last in itertools.pairwise((0, *way, count))) for way in ways)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 9))
def test_no_other_cut_has_a_shorter_longest_part(times_s, parts):
    parts = min(parts, len(times_s))
    found = cut(times_s, parts)
    assert found == sorted(found)
    assert set(found) == set(range(parts))
    lengths = [sum(time for time, part in zip(times_s, found, strict=True) if part == number) for number in set(found)]
    assert max(lengths) == naive_longest(times_s, parts)


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 12])
def test_every_search_is_in_one_part(parts):
    whole = campaign().members()
    shards = [campaign(f"{part}/{parts}").members() for part in range(1, parts + 1)]
    assert sorted(each.name for shard in shards for each in shard) == [each.name for each in whole]
    assert max(map(len, shards)) == math.ceil(len(whole) / parts)
    assert campaign(f"1/{parts}").members() == shards[0]


def test_repeats_stay_together():
    for part in range(1, 5):
        assert len({each.cell for each in campaign(f"{part}/4").members()}) == 1


def test_parts_take_equally_long_by_the_times_of_another_campaign():
    times_s = {each.cell: 1.0 for each in campaign().members()} | {("sim:sharp", "64"): 100.0}
    assert [(each.cell, each.repeat) for each in campaign("1/2", times_s).members()] == [
        (("sim:sharp", "64"), 1),
        (("sim:sharp", "64"), 2),
    ]
    assert len(campaign("2/2", times_s).members()) == 10
    # What is not known takes as long as the rest does on average.
    assert len(campaign("1/2", {("sim:sharp", "64"): 7.0}).members()) == 6


def test_parts_have_fingerprints_of_their_own_and_share_that_of_the_campaign():
    one, other = campaign("1/2"), campaign("2/2")
    assert len({one.fingerprint(), other.fingerprint(), campaign().fingerprint()}) == 3
    assert one.shard_facts().campaign == other.shard_facts().campaign == campaign().fingerprint()


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    directory = tmp_path_factory.mktemp("shards")
    for part in (1, 2):
        shown = brimful(
            *CAMPAIGN, "--shard", f"{part}/2", "--out", f"s{part}", "--label", f"bed={part}", cwd=directory, check=0
        ).stdout
        assert f"part {part} of 2" in shown
        assert "2 of 2 searches ended" in shown
    return directory


def test_merged_parts_are_the_campaign(parts, tmp_path):
    shown = brimful("merge", parts / "s2", parts / "s1", "-o", "m", "--html", "m.html", cwd=tmp_path, check=0).stdout
    assert "4 of 4 searches ended (4 regular)" in shown
    assert "It was measured in 2 parts" in shown
    assert (tmp_path / "m.html").read_text().endswith("</html>\n")
    file = read_run(tmp_path / "m")
    assert [member.name[:3] for member in file.members] == ["001", "002", "003", "004"]
    assert file.ends[-1].trials == sum(read_run(parts / name).ends[-1].trials for name in ("s1", "s2"))
    assert [(shard["part"], shard["labels"]) for shard in file.run.source["shards"]] == [
        (1, {"bed": "1"}),
        (2, {"bed": "2"}),
    ]
    assert file.run.labels == {}
    assert re.search(r"^  2 +20.* bed=2 +2$", shown, re.M)
    assert "4 searches" in brimful("verify", "m", cwd=tmp_path, check=0).stdout
    brimful("report", next((tmp_path / "m").glob("003-*")), cwd=tmp_path, check=0)
    again = brimful(*CAMPAIGN[:-1], "--resume", "--out", "m", cwd=tmp_path, check=0)
    assert "this campaign is complete" in again.stderr
    timed = (*CAMPAIGN, "--times-of", "m", "--shard", "1/2", "--json")
    assert len(json.loads(brimful(*timed, cwd=tmp_path, check=0).stdout)["members"]) == 2


def test_parts_are_verified_and_gone_on_with_by_themselves(parts, tmp_path):
    assert "2 searches" in brimful("verify", parts / "s1", cwd=tmp_path, check=0).stdout
    again = brimful(*CAMPAIGN, "--shard", "1/2", "--resume", "--out", parts / "s1", cwd=tmp_path, check=0)
    assert "2 of 2 searches ended" in again.stdout


def spoiled(parts, directory, change):
    """A copy of the second part with another first line."""
    lines = (parts / "s2" / "run.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    change(first["source"])
    first.pop("digest", None)
    directory.mkdir()
    (directory / "run.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    return directory


def test_what_is_missing_doubled_or_of_another_campaign_is_named(parts, tmp_path):
    one, two = parts / "s1", parts / "s2"
    other = (*CAMPAIGN[:-3], "--goal", "loss=0,trial=100ms", "-q", "--shard", "2/2", "--out", "other")
    brimful(*other, cwd=tmp_path, check=0)
    brimful("search", "-m", "sim:sharp", "--preset", "quick", "-q", "--out", "alone", cwd=tmp_path, check=0)
    for records, complaint in (
        ([one], "shard 2/2 is missing"),
        ([two], "shard 1/2 is missing"),
        ([one, two, one], f"shard 1/2 is there twice: {one}/run.jsonl and {one}/run.jsonl"),
        ([one, "other"], "other/run.jsonl: is a part of another campaign than"),
        ([one, "alone"], "alone/run.jsonl: is no part of a campaign"),
        ([one, "nothing"], "nothing"),
    ):
        refused = brimful("merge", *records, "-o", "m", cwd=tmp_path, check=2)
        assert complaint in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda source: source["shard"].update(part="2"),
        lambda source: source["shard"].update(of=10**12),
        lambda source: source["shard"].update(members=["../../etc"]),
        lambda source: source["shard"].pop("campaign"),
        lambda source: source.update(shard=[1, 2]),
        lambda source: source["shard"].update(members=["001-else"]),
        lambda source: source["shard"].update(part=3),
    ],
)
def test_a_part_that_was_changed_is_refused(parts, tmp_path, change):
    refused = brimful("merge", parts / "s1", spoiled(parts, tmp_path / "s", change), "-o", "m", cwd=tmp_path, check=2)
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_parts_that_were_cut_differently_are_refused(parts, tmp_path):
    first, second = (read_run(parts / name).run.source["shard"]["members"] for name in ("s1", "s2"))
    for members, complaint in (
        ([first[0], *second], f"{first[0]} is in shard 1/2 and in shard 2/2"),
        (second[:1], "the parts have 3 runs, and the campaign 4"),
    ):
        changed = spoiled(
            parts, tmp_path / f"{len(members)}", lambda source, to=members: source["shard"].update(members=to)
        )
        (changed / "run.jsonl").write_text((changed / "run.jsonl").read_text().splitlines()[0] + "\n")
        refused = brimful("merge", parts / "s1", changed, "-o", "m", cwd=tmp_path, check=2)
        assert f"{complaint}: they were cut differently" in refused.stderr


def test_a_part_that_is_not_finished_is_named(parts, tmp_path):
    (tmp_path / "half").mkdir()
    lines = (parts / "s2" / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "half" / "run.jsonl").write_text("".join(lines[:2]))
    refused = brimful("merge", parts / "s1", "half", "-o", "m", cwd=tmp_path, check=2)
    assert "shard 2/2 is not finished: 1 of 2 runs ended in half/run.jsonl; go on with --resume" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--shard", "0/2"], "is no part of a whole; write 1/10 to 10/10"),
        (["--shard", "3/2"], "is no part of a whole"),
        (["--shard", "two"], "is no part of a whole"),
        (["--shard", "1/9"], "the campaign has 4 searches"),
        (["--times-of", "nothing", "--shard", "1/2"], "nothing"),
        (["--times-of", "."], "--times-of is of --shard"),
    ],
)
def test_wrong_shards_are_refused(tmp_path, arguments, complaint):
    refused = brimful(*CAMPAIGN, *arguments, cwd=tmp_path, check=2)
    assert complaint in refused.stderr


def test_a_single_search_has_no_parts(tmp_path):
    for find in ("throughput", "burst", "recovery", "loss"):
        alone = ("search", "-m", "sim:sharp", "--find", find, "--shard", "1/2")
        assert "--shard is of campaigns; add --sizes" in brimful(*alone, cwd=tmp_path, check=2).stderr


@pytest.mark.parametrize("suite", ["rfc2544", "rfc2889"])
def test_a_suite_is_not_cut(tmp_path, suite):
    refused = brimful(suite, "-m", "sim:sharp", "--shard", "1/2", cwd=tmp_path, check=2)
    assert "give each test bed some of the --sizes" in refused.stderr
    assert refused.stderr.count("\n") == 1


BUFFER = "sim:buffer,capacity=1Mpps,frames={size},link=2Mpps"
KINDS = {
    "burst": ("--throughput", "1Mpps", "--tests", 2, "--longest", 5000),
    "recovery": ("--throughput", "1Mpps", "--tests", 2, "--overload", "1s"),
    "loss": ("--max-load", "2Mpps", "--trial", "1s", "--rest", "100ms"),
}
"""What --find finds, and options that make it short."""


@pytest.mark.parametrize("find", KINDS)
def test_runs_that_are_no_searches_are_shared_out_too(tmp_path, find):
    command = ("search", "-m", BUFFER, "--sizes", "64,512,1518", "--find", find, *KINDS[find], "--quiet")
    whole = brimful(*command, "--out", "whole", cwd=tmp_path, check=0).stdout
    for part in (1, 2):
        shown = brimful(*command, "--shard", f"{part}/2", "--out", f"s{part}", cwd=tmp_path, check=0).stdout
        assert ("2 of 2 runs ended" if part == 1 else "1 of 1 run ended") in shown
    shown = brimful("merge", "s2", "s1", "-o", "m", "--html", "m.html", cwd=tmp_path, check=0).stdout
    assert "3 of 3 runs ended" in shown
    assert rows_of(shown) == rows_of(whole)
    found, alone = read_run(tmp_path / "m").members, read_run(tmp_path / "whole").members
    assert [(member.name, member.results) for member in found] == [(one.name, one.results) for one in alone]
    assert all(member.results for member in found)
    assert "3 runs" in brimful("verify", "m", cwd=tmp_path, check=0).stdout
    assert (tmp_path / "m.html").read_text().count('id="size-') == 3
    listed = brimful("runs", ".", cwd=tmp_path, check=0).stdout
    assert "at 64, " in listed
    assert f"  {BUFFER}  m  " in listed
    for records, complaint in ((["s1"], "shard 2/2 is missing"), (["s1", "s2", "s1"], "shard 1/2 is there twice")):
        assert complaint in brimful("merge", *records, "-o", "n", cwd=tmp_path, check=2).stderr


def rows_of(shown):
    """The rows of the table of sizes."""
    return [line for line in shown.splitlines() if re.match(r" *(64|512|1518) ", line)]


@pytest.mark.parametrize("find", KINDS)
def test_a_part_that_was_changed_or_measured_otherwise_is_named(tmp_path, find):
    command = ("search", "-m", BUFFER, "--sizes", "64,512", "--find", find, *KINDS[find], "--quiet")
    for shard, out, more in (("1/2", "s1", ()), ("2/2", "s2", ()), ("2/2", "other", ("--tests", 3))):
        brimful(*command, *more, "--shard", shard, "--out", out, cwd=tmp_path, check=0)
    refused = brimful("merge", "s1", "other", "-o", "m", cwd=tmp_path, check=2)
    assert "other/run.jsonl: is a part of another campaign than s1/run.jsonl" in refused.stderr
    record = next((tmp_path / "s1").glob("001-*")) / "run.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"lost":', b'"lost":1', 1))
    assert "does not hold: 001" in brimful("verify", "s1", cwd=tmp_path, check=1).stdout


SEARCH = SearchRequest(measurer="", goals=NDR_AND_PDR, strategy="straddle", max_load="2Mpps")
ASKED = {
    "burst": BurstRequest(search=SEARCH, throughput="1Mpps", tests=2, longest="5000"),
    "recovery": RecoveryRequest(search=SEARCH, throughput="1Mpps", rounds=2, duration_s=1.0),
    "loss": LossRequest(search=SEARCH, duration_s=1.0, rest_s=0.1),
}


@pytest.mark.parametrize("find", ASKED)
@pytest.mark.parametrize("at", [1, 3, 9])
def test_a_part_that_was_interrupted_goes_on_and_finds_the_same(tmp_path, find, at):
    campaign = Campaign(
        search=SEARCH,
        measurers=[BUFFER],
        frame_sizes=["64", "512"],
        repeats=1,
        share_guesses=False,
        runs=ASKED[find],
        shard=Shard(1, 1),
    )

    def go(out, at=None, *, resume=False):
        simulated = lambda request: SimulatedMeasurer(request.measurer.removeprefix("sim:"))  # noqa: E731
        return run_campaign(campaign, interrupted_at(at, simulated), out=tmp_path / out, resume=resume)

    whole = go("whole")
    assert go("cut", at).end.reason == "interrupted"
    assert go("cut", resume=True).end.reason == "done"
    cut = read_run(tmp_path / "cut")
    assert [member.results for member in cut.members] == [member.results for member in whole.members]
    assert all(found.findings == [] for found in verify_runs(cut).values())
