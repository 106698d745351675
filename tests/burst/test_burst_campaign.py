"""Bursts of several frame sizes: one record and one table, resuming, exit codes, what is refused."""

import json
import re
import signal
import subprocess
import time

import msgspec
import pytest
from brimful.burst.manager import BurstRequest
from brimful.campaign.plan import Campaign
from brimful.campaign.run import run_campaign
from brimful.campaign.verification import verify_runs
from brimful.errors import MeasureError, UsageError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import RecordWriter, encode, read_run
from brimful.report import rendering
from brimful.report.run_campaign import model
from brimful.report.run_campaign.comparison import compare_runs
from brimful.throughput.manager import SearchRequest
from support import BRIMFUL, Dropping, Troubled, brimful, goal, interrupted_at

SYSTEM = "sim:buffer,capacity=1Mpps,frames={size},link=2Mpps"
"""A buffer of as many frames as a frame has bytes, so that every size finds something else."""
FOUND = {"64": 127, "512": 1023, "1518": 3035}
"""Frames of the longest burst: every second one leaves while they come in."""
SHORT = ("--find", "burst", "--throughput", "1Mpps", "--tests", "2", "--longest", "5000", "--quiet")
SEARCH = SearchRequest(
    measurer="", goals=[goal("throughput", exceed=0)], strategy="straddle", traffic={"arguments": []}
)
CAMPAIGN = Campaign(
    search=SEARCH,
    measurers=["sim:{size}"],
    frame_sizes=list(FOUND),
    repeats=1,
    share_guesses=False,
    runs=BurstRequest(search=SEARCH, tests=2, longest="1s"),
)
GIVEN = msgspec.structs.replace(CAMPAIGN, runs=msgspec.structs.replace(CAMPAIGN.runs, throughput="1Mpps"))


def spec_of(request):
    return f"buffer,capacity=1Mpps,frames={request.measurer.removeprefix('sim:')},link=2Mpps"


def system(request):
    return SimulatedMeasurer(spec_of(request))


def run(out, open_member=system, campaign=CAMPAIGN, **options):
    return run_campaign(campaign, open_member, out=out, **options)


def found(members):
    """What a campaign found, without what differs from one time to the next."""
    return [(member.frame_size, member.burst, member.end.trials) for member in members]


def table_of(printed):
    """The first cells of each row of the table."""
    lines = printed.partition("Longest burst without loss\n")[2].partition("\n\n")[0].splitlines()
    return [re.split(r"\s{2,}", line.strip())[:4] for line in lines[1:]]


def test_every_size_has_a_record_of_its_own_and_one_has_what_all_found(tmp_path):
    outcome = run(tmp_path / "c")
    file = read_run(tmp_path / "c")
    assert (file.run.subject, file.run.source["frame_sizes"]) == ("burst-campaign", list(FOUND))
    assert file.members == outcome.members
    assert {member.frame_size: member.burst.mean for member in file.members} == FOUND
    for member in file.members:
        own = read_run(tmp_path / "c" / member.path)
        assert (own.run, own.warnings) == (member.run, member.warnings)
        assert own.run.burst.throughput_run == read_run(tmp_path / "c" / member.path / "throughput").run.run_id
    lines = (tmp_path / "c" / "run.jsonl").read_bytes().splitlines(keepends=True)
    assert [encode(member) for member in file.members] == lines[1:4]
    assert [verified.findings for verified in verify_runs(file).values()] == [[], [], []]


def test_a_size_of_which_no_frame_passes_has_no_burst_and_the_others_have(tmp_path):
    def open_member(request):
        return Dropping(spec_of(request), drops=request.measurer == "sim:512")

    outcome = run(tmp_path / "c", open_member)
    assert [(member.failed, member.burst and member.burst.mean) for member in outcome.members] == [
        (False, FOUND["64"]),
        (False, None),
        (False, FOUND["1518"]),
    ]
    file = read_run(tmp_path / "c")
    for said in (rendering.text(file), rendering.page(file).replace("\N{NO-BREAK SPACE}", " ")):
        assert "no frame of this size passes  " in said or "no frame of this size passes<" in said
        assert "no result" not in said
    assert [one["passes_nothing"] for one in json.loads(rendering.to_json(file))["sizes"]] == [False, True, False]
    assert "no frame of this size passes at 512" in model.line(file)
    run(tmp_path / "whole")
    assert compare_runs([file], [read_run(tmp_path / "whole")]).regressed
    text = " ".join(rendering.text(file).split())
    assert "512: no frame of this size passes: nothing ever arrived" in text
    assert [verified.findings for verified in verify_runs(read_run(tmp_path / "c")).values()] == [[], [], []]


@pytest.mark.parametrize("campaign", [CAMPAIGN, GIVEN])
@pytest.mark.parametrize("call", [1, 5, 60, 75, 110])
def test_an_interrupted_campaign_goes_on(tmp_path, campaign, call):
    whole = run(tmp_path / "whole", campaign=campaign)
    first = run(tmp_path / "c", interrupted_at(call, system), campaign)
    assert first.end.reason == "interrupted"
    assert found(first.members) == found(whole.members)[: len(first.members)]
    kept = [(tmp_path / "c" / member.path / "run.jsonl").read_bytes() for member in first.members]
    again = run(tmp_path / "c", campaign=campaign, resume=True)
    assert (again.end.reason, found(again.members)) == ("done", found(whole.members))
    assert kept == [(tmp_path / "c" / member.path / "run.jsonl").read_bytes() for member in first.members]
    assert not any(verified.findings for verified in verify_runs(read_run(tmp_path / "c")).values())


def test_a_size_that_fails_does_not_stop_the_rest_and_is_tried_again(tmp_path):
    def open_member(request):
        troubles = {"sim:64": {0: MeasureError("no link")}, "sim:512": {40: MeasureError("the cable is out")}}
        return Troubled(troubles.get(request.measurer, {}), spec_of(request))

    outcome = run(tmp_path / "c", open_member)
    assert [member.failed for member in outcome.members] == [True, True, False]
    assert outcome.members[0].end.text == "no throughput was found: no link"
    shown = rendering.text(read_run(tmp_path / "c"))
    assert "3 of 3 runs ended (2 failed)" in shown
    assert "- 512: measuring failed: the cable is out" in shown
    assert model.line(read_run(tmp_path / "c")) == "longest bursts in frames: 3,035 at 1518"
    rendering.page(read_run(tmp_path / "c"))
    again = run(tmp_path / "c", resume=True)
    assert found(again.members) == found([outcome.members[2], *run(tmp_path / "whole").members[:2]])
    assert not any(member.failed for member in again.members)


def test_a_campaign_and_a_search_are_not_gone_on_with_as_each_other(tmp_path):
    run(tmp_path / "c")
    with pytest.raises(UsageError, match="another search"):
        run(tmp_path / "c", campaign=msgspec.structs.replace(CAMPAIGN, runs=None), resume=True)
    with pytest.raises(UsageError, match="another search"):
        run(tmp_path / "c", campaign=GIVEN, resume=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"longest": "0"}, "frame size 64: --longest 0: is 0 frames"),
        ({"longest": "soon"}, "duration 'soon'"),
        ({"throughput": "x"}, "--throughput: load 'x'"),
        ({"search": msgspec.structs.replace(SEARCH, on_invalid="loss")}, "policy 'loss'"),
        ({"search": msgspec.structs.replace(SEARCH, goals=[goal(loss=0.1)])}, "give a goal with loss=0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(tmp_path, changes, said):
    bursts = msgspec.structs.replace(CAMPAIGN.runs, **changes)
    with pytest.raises(UsageError, match=said):
        run(tmp_path / "c", campaign=msgspec.structs.replace(CAMPAIGN, search=bursts.search, runs=bursts))
    assert not (tmp_path / "c").exists()


def test_what_was_changed_is_found(tmp_path):
    run(tmp_path / "c")
    first, second, third = read_run(tmp_path / "c").members
    with RecordWriter(tmp_path / "c" / "run.jsonl") as writer:
        writer.write(msgspec.structs.replace(first, burst=msgspec.structs.replace(first.burst, mean=5.0)))
    (tmp_path / "c" / second.path / "run.jsonl").unlink()
    verified = verify_runs(read_run(tmp_path / "c"))
    assert verified[first.name].findings == ["the campaign does not say what the record of the run says"]
    assert "cannot read" in verified[second.name].findings[0]
    assert verified[third.name].findings == []
    assert "does not hold: 001" in brimful("verify", "c", cwd=tmp_path, check=1).stdout
    for command in (("explain", "c"), ("report", "c", "--html", "c.html"), ("compare", "c", "--against", "c")):
        assert "cannot read" in brimful(*command, cwd=tmp_path, check=2).stderr


def test_a_size_at_which_no_burst_overflows_has_a_row_that_says_why(tmp_path):
    run(tmp_path / "c", lambda request: SimulatedMeasurer("buffer,capacity=2Mpps,frames=1000,link=2Mpps"))
    view = model.build(read_run(tmp_path / "c"))
    assert [row[3] for row in view.blocks[0].rows] == ["no burst overflows a buffer"] * 3
    assert view.warnings[1].startswith("64: the throughput is 2.000 Mpps, the load of bursts 2.000 Mpps: no burst")
    assert rendering.page(read_run(tmp_path / "c")).count("No burst overflows a buffer.") == 3


def test_the_command_prints_one_table_and_a_page_with_a_section_for_each_size(tmp_path):
    sizes = ("--sizes", "1518,64,512")
    printed = brimful(
        "search", "-m", SYSTEM, *SHORT, *sizes, "--out", "c", "--html", "c.html", cwd=tmp_path, check=0
    ).stdout
    assert table_of(printed) == [
        ["1518", "1.000 Mpps", "2.000 Mpps", "3,035"],
        ["64", "1.000 Mpps", "2.000 Mpps", "127"],
        ["512", "1.000 Mpps", "2.000 Mpps", "1,023"],
    ]
    assert printed.startswith(brimful("report", "c", cwd=tmp_path, check=0).stdout)
    assert printed.endswith("Record: c/run.jsonl\n")
    page = (tmp_path / "c.html").read_text()
    places = [page.index(f'id="{name}"') for name in ("results", "size-1518", "size-64", "size-512", "set-up")]
    assert places == sorted(places)
    facts = json.loads(brimful("report", "c", "--json", cwd=tmp_path, check=0).stdout)
    assert [(entry["frame_size"], entry["result"]["mean"]) for entry in facts["sizes"]] == [
        ("1518", 3035.0),
        ("64", 127.0),
        ("512", 1023.0),
    ]
    assert "3 runs, " in brimful("verify", "c", cwd=tmp_path, check=0).stdout
    assert "longest bursts in frames: 3,035 at 1518, 127 at 64" in brimful("runs", ".", cwd=tmp_path, check=0).stdout
    told = brimful("explain", "c", cwd=tmp_path, check=0).stdout
    assert "frame size 512\n  test 1: longest burst without loss: 1,023 frames\n" in told
    brimful("report", f"c/{next((tmp_path / 'c').glob('001-*')).name}", cwd=tmp_path, check=0)


def test_progress_says_which_size_it_is_at(tmp_path):
    options = [option for option in SHORT if option != "--quiet"]
    told = brimful("search", "-m", SYSTEM, *options, "--sizes", "64,512", cwd=tmp_path, check=0).stderr
    assert f"run 1 of 2: {SYSTEM}, frame size 64\n" in told
    assert f"run 2 of 2: {SYSTEM}, frame size 512\n" in told


def test_the_exit_code_is_that_of_the_worst_size(tmp_path):
    limited = brimful(
        "search", "-m", SYSTEM, *SHORT, "--sizes", "64,4000", "--json", "--out", "limited", cwd=tmp_path, check=1
    )
    assert [entry["result"].get("at_limit", 0) for entry in json.loads(limited.stdout)["sizes"]] == [0, 2]
    (tmp_path / "dies.sh").write_text("""read d; echo '{"max_load": 2e6}'; read m; echo no wire >&2; exit 9""")
    failed = brimful(
        "search", "-m", "cmd:sh dies.sh {size}", *SHORT, "--sizes", "64,512", "--out", "f", cwd=tmp_path, check=3
    )
    assert "brimful: error: 001-cmd-sh-dies.sh-size-64: " in failed.stderr
    assert "no wire" in failed.stderr
    assert "2 of 2 runs ended (2 failed)" in failed.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--repeat", "2"), "--repeat: is no option of --find burst"),
        (("-m", "sim:sharp"), "measures one measurer a run"),
        (("--sizes", "64,"), "'' is no frame size"),
        (("--sizes", "64,64"), "given twice; use --tests"),
        (("--frame-size", "128"), "give one of them"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, options, said):
    refused = brimful(
        "search",
        "-m",
        SYSTEM,
        "--find",
        "burst",
        "--longest",
        "5000",
        "--sizes",
        "64,512",
        *options,
        cwd=tmp_path,
        check=2,
    )
    assert said in refused.stderr
    assert (refused.stderr.count("\n"), refused.stdout) == (1, "")
    assert not (tmp_path / "runs").exists()


def test_campaigns_are_compared_size_by_size(tmp_path):
    for name, system, sizes in (
        ("new", SYSTEM, "64,512"),
        ("old", SYSTEM, "512,64"),
        ("less", SYSTEM.replace("{size}", "50"), "64"),
        ("other", SYSTEM, "256"),
    ):
        brimful("search", "-m", system, *SHORT, "--sizes", sizes, "--out", name, cwd=tmp_path, check=0)
    shown = brimful("compare", "new", "--against", "old", cwd=tmp_path, check=0).stdout
    assert shown.count("verdict: same") == 2
    less = brimful("compare", "less", "--against", "old", cwd=tmp_path, check=2)
    assert "verdict: regression" in less.stdout
    assert "no result at frame size 512" in less.stderr
    more = brimful("compare", "old", "--against", "less", "--json", cwd=tmp_path, check=0).stdout
    assert list(json.loads(more)["sizes"]) == ["64"]
    refused = brimful("compare", "new", "--against", "other", cwd=tmp_path, check=2)
    assert "no frame size has a result on both sides" in refused.stderr


SLOW = """
while read -r request; do
    case $request in *describe*) echo '{"max_load": 1e6}'; continue ;; esac
    sleep 0.02
    id=$(printf '%s' "$request" | sed 's/.*"id": \\([0-9]*\\).*/\\1/')
    frames=$(printf '%s' "$request" | sed 's/.*"duration_s": \\([0-9.e-]*\\).*/\\1/' | awk '{printf "%.0f", $1 * 1e6}')
    lost=$(( frames > $1 ? frames - $1 : 0 ))
    echo "{\\"id\\": $id, \\"intended\\": $frames, \\"sent\\": $frames, \\"lost\\": $lost}"
done
"""
"""Loses what is beyond as many frames as it is told."""


def test_ctrl_c_keeps_the_sizes_that_ended_and_says_how_to_go_on(tmp_path):
    (tmp_path / "slow.sh").write_text(SLOW)
    options = ["--find", "burst", "--throughput", "500kpps", "--tests", "4", "--longest", "5000", "--rest", "0.01s"]
    arguments = ["-m", "cmd:sh slow.sh {size}", *options, "--sizes", "64,512", "--out", "c"]
    process = subprocess.Popen(
        [*BRIMFUL, "search", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    second = tmp_path / "c" / "002-cmd-sh-slow.sh-size-512" / "run.jsonl"
    deadline = time.monotonic() + 50
    while not (second.exists() and b'"kind":"trial"' in second.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert process.returncode == 130
    assert "interrupted after 1 frame size; go on with the same options and --resume --out c" in errors
    assert "1 of 2 runs ended; the campaign was interrupted" in " ".join(output.split())
    before = (tmp_path / "c" / "001-cmd-sh-slow.sh-size-64" / "run.jsonl").read_bytes()
    finished = brimful("search", *arguments, "--resume", "--quiet", cwd=tmp_path, check=0)
    assert [row[3] for row in table_of(finished.stdout)] == ["64", "512"]
    assert (tmp_path / "c" / "001-cmd-sh-slow.sh-size-64" / "run.jsonl").read_bytes() == before
    brimful("verify", "c", cwd=tmp_path, check=0)
