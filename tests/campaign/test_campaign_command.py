"""`brimful search` with several measurers, sizes or repeats, as people use it."""

import json
import signal
import subprocess
import time

import pytest
from brimful.records import read_run
from brimful.report import words
from support import BRIMFUL, brimful

SIM = "sim:soft-knee,capacity=1Mpps,seed={repeat}"
QUICK = ("--preset", "quick", "--quiet")
SLOW = """
while read -r request; do
    case $request in *describe*) echo '{"max_load": 1e6}'; continue ;; esac
    sleep 0.05
    id=$(printf '%s' "$request" | sed 's/.*"id": \\([0-9]*\\).*/\\1/')
    echo "{\\"id\\": $id, \\"intended\\": 1000, \\"sent\\": 1000, \\"lost\\": 0}"
done
"""


def test_a_campaign_prints_one_report_and_keeps_one_record(tmp_path):
    finished = brimful(
        "search", "-m", SIM, "--sizes", "64,imix", "--repeat", 2, *QUICK, "--out", "c", cwd=tmp_path, check=0
    )
    assert "4 of 4 searches ended (4 regular)" in finished.stdout
    assert "Repeatability" in finished.stdout
    assert finished.stdout.endswith("Record: c\n")
    assert finished.stderr == ""
    assert "\x1b" not in finished.stdout
    shown = brimful("report", "c", cwd=tmp_path, check=0).stdout
    assert finished.stdout.rsplit("\n", 2)[0].rstrip() in shown
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        f"00{number}-sim-soft-knee-capacity-1Mpps-seed-repeat-{size}"
        for number, size in enumerate(["64", "imix", "64", "imix"], start=1)
    ] + ["run.jsonl"]
    verified = brimful("verify", "c", cwd=tmp_path, check=0).stdout
    assert "4 searches" in verified
    brimful("report", "c/001-sim-soft-knee-capacity-1Mpps-seed-repeat-64", cwd=tmp_path, check=0)


def test_one_search_is_not_searches(tmp_path):
    brimful("search", "-m", SIM, "--sizes", "64", *QUICK, "--out", "c", cwd=tmp_path, check=0)
    assert brimful("verify", "c", cwd=tmp_path, check=0).stdout.splitlines()[-1].startswith("1 search, ")


def test_progress_says_which_search_it_is_of(tmp_path):
    finished = brimful("search", "-m", SIM, "-m", "sim:sharp", "--preset", "quick", cwd=tmp_path, check=0)
    assert f"search 1 of 2: {SIM}, repeat 1" in finished.stderr
    assert "search 2 of 2: sim:sharp, repeat 1" in finished.stderr


def test_json_has_the_statistics_of_every_cell(tmp_path):
    arguments = ("--sizes", "64,128", "--repeat", 3, *QUICK, "--json")
    facts = json.loads(brimful("search", "-m", SIM, *arguments, cwd=tmp_path, check=0).stdout)
    assert facts["kind"] == "campaign"
    assert [cell["frame_size"] for cell in facts["cells"]] == ["64", "128"]
    for cell in facts["cells"]:
        for goal in cell["goals"]:
            low, high = goal["spread"]["interval"]
            assert goal["spread"]["runs"] == len(goal["values"]) == 3
            assert low < goal["spread"]["mean"] < high
            assert goal["bits_l1"] == pytest.approx(goal["spread"]["mean"] * 8 * (cell["frame_bytes"] + 20))


def test_a_page_is_written(tmp_path):
    brimful("search", "-m", SIM, "--sizes", "64,128", *QUICK, "--html", "c.html", cwd=tmp_path, check=0)
    page = (tmp_path / "c.html").read_text()
    assert page.endswith("</html>\n")
    assert 'data-figure="throughput-bits-wide"' in page


def test_a_page_replaces_no_record_of_a_search(tmp_path):
    brimful("search", "-m", SIM, "--repeat", 2, *QUICK, "--out", "c", cwd=tmp_path, check=0)
    own = next((tmp_path / "c").glob("001-*/run.jsonl"))
    before = own.read_bytes()
    refused = brimful("report", "c", "--html", own, cwd=tmp_path, check=2)
    assert "is the record of a run; choose another name" in refused.stderr
    assert own.read_bytes() == before


def test_irregular_results_exit_with_1(tmp_path):
    arguments = ("--repeat", 2, "--max-load", "500kpps", *QUICK)
    finished = brimful("search", "-m", SIM, *arguments, cwd=tmp_path, check=1)
    assert "≥ 500.0 kpps" in finished.stdout
    assert "Irregular results, in no mean" in finished.stdout


def test_a_measurer_that_fails_exits_with_3_and_the_rest_goes_on(tmp_path):
    (tmp_path / "dies.sh").write_text("""read d; echo '{"max_load": 1e6}'; read m; echo no wire >&2; exit 9""")
    finished = brimful("search", "-m", "cmd:sh dies.sh", "-m", SIM, *QUICK, "--out", "c", cwd=tmp_path, check=3)
    assert "brimful: error: 001-cmd-sh-dies.sh: " in finished.stderr
    assert "no wire" in finished.stderr
    assert "(1 regular, 1 failed)" in finished.stdout
    assert [member.failed for member in read_run(tmp_path / "c").members] == [True, False]


@pytest.mark.parametrize(("condition", "code"), [("ndr >= 0.5Mpps", 0), ("ndr >= 2Mpps", 1)])
def test_asserted_thresholds_hold_for_every_search(tmp_path, condition, code):
    arguments = ("--repeat", 2, *QUICK, "--assert", condition)
    finished = brimful("search", "-m", SIM, *arguments, cwd=tmp_path, check=code)
    assert finished.stdout.count("Missed: 00") == (2 if code else 0)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-m", SIM, "--sizes", "64,"], "'' is no frame size"),
        (["-m", SIM, "--sizes", "64,64"], "given twice"),
        (["-m", SIM, "-m", SIM], "given twice"),
        (["-m", SIM, "--repeat", "0"], "--repeat"),
        (["-m", SIM, "--sizes", "64", "--frame-size", "128"], "give one of them"),
        (["-m", "cmd:true", "--sizes", "64"], "write {size} where it belongs"),
        (["-m", SIM, "-m", "sim:round"], "round"),
        (["-m", SIM, "-m", "warp:9"], "'warp' is unknown"),
        (["-m", SIM, "-m", "cmd:sh -c 'echo bad size >&2; exit 2'"], "bad size"),
        (["-m", SIM, "--repeat", "2", "--min-load", "2Mpps", "--max-load", "1Mpps"], "min load"),
        (["-m", SIM, "--repeat", "2", "--assert", "xdr > 1M"], "no goal 'xdr'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, arguments, complaint):
    finished = brimful("search", *arguments, cwd=tmp_path, check=2)
    assert complaint in finished.stderr
    assert finished.stdout == ""
    assert not (tmp_path / "runs").exists()


def test_a_campaign_can_be_compared_with_another(tmp_path):
    arguments = ("--sizes", "64,128", "--repeat", 2, *QUICK)
    brimful("search", "-m", SIM, *arguments, "--out", "new", cwd=tmp_path, check=0)
    brimful("search", "-m", SIM, "--sizes", "128,256", "--repeat", 2, *QUICK, "--out", "old", cwd=tmp_path, check=0)
    shown = brimful("compare", "new", "--against", "old", "--tolerance", "20%", cwd=tmp_path, check=0).stdout
    assert f"{SIM}, 128, ndr: The same." in shown
    assert f"Only in the new ones\n  - {SIM}, 64" in shown
    found = json.loads(brimful("compare", "new", "--against", "old", "--json", cwd=tmp_path, check=0).stdout)
    assert [cell["frame_size"] for cell in found["cells"]] == ["128"]
    brimful("search", "-m", "sim:sharp", "--repeat", 2, *QUICK, "--out", "other", cwd=tmp_path, check=0)
    assert "cannot be compared" in brimful("compare", "new", "--against", "other", cwd=tmp_path, check=2).stderr


def test_campaigns_with_a_failed_search_can_be_compared(tmp_path):
    dies, fine = """read d; echo '{"max_load": 1e6}'; read m; exit 9""", SLOW.replace("sleep 0.05", "")
    goal = ("--goal", "loss=0,trial=0.05s,sum=0.2s", "--quiet")
    both = ("-m", SIM, "-m", "cmd:sh device.sh", *goal)
    for name, device, code in (("old", fine, 1), ("new", dies, 3), ("other", dies, 3)):
        (tmp_path / "device.sh").write_text(device)
        brimful("search", *both, "--out", name, cwd=tmp_path, check=code)
    brimful("search", "-m", "cmd:sh device.sh", "--repeat", 2, *goal, "--out", "alone", cwd=tmp_path, check=3)

    shown = brimful("compare", "new", "--against", "other", cwd=tmp_path, check=0).stdout
    assert f"{SIM}, ndr: " in shown
    assert "Not compared\n  - cmd:sh device.sh: no value on either side" in shown
    assert "other/002-cmd-sh-device.sh: measuring failed" in shown

    lost = brimful("compare", "new", "--against", "old", cwd=tmp_path, check=2)
    assert f"{SIM}, ndr: " in lost.stdout
    assert "the new campaigns have no value of cmd:sh device.sh, which the baseline has" in lost.stderr
    assert lost.stderr.count("\n") == 1
    brimful("compare", "old", "--against", "new", cwd=tmp_path, check=0)
    refused = brimful("compare", "alone", "--against", "old", cwd=tmp_path, check=2)
    assert "no measurer and size has a value on both sides" in refused.stderr
    assert refused.stdout == ""


def test_what_asks_for_one_search_says_so_of_a_campaign(tmp_path):
    brimful("search", "-m", SIM, "--repeat", 2, *QUICK, "--out", "c", cwd=tmp_path, check=0)
    assert "subject" in brimful("explain", "c", "1Mpps", cwd=tmp_path, check=2).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_campaign_says_how_to_go_on(tmp_path, number):
    (tmp_path / "slow.sh").write_text(SLOW)
    goal = ("--goal", "loss=0,trial=0.05s,sum=0.2s")
    arguments = ["-m", "cmd:sh slow.sh", "--repeat", "3", *goal, "--out", "c"]
    process = subprocess.Popen(
        [*BRIMFUL, "search", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # The second search has begun when the first one is in the record and the directory of the second is there.
    second = tmp_path / "c" / "002-cmd-sh-slow.sh" / "run.jsonl"
    deadline = time.monotonic() + 60
    while not (second.exists() and b'"kind":"trial"' in second.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    ended = len(read_run(tmp_path / "c").members)
    if read_run(tmp_path / "c").ends[-1].reason == "interrupted":
        assert process.returncode == 1
        assert f"interrupted after {words.count(ended, 'search', 'searches')};" in errors
        assert "--resume --out c" in errors
        assert f"{ended} of 3 searches ended" in output
    finished = brimful("search", *arguments, "--resume", "--quiet", cwd=tmp_path, check=1)
    assert "3 of 3 searches ended" in finished.stdout
    brimful("verify", "c", cwd=tmp_path, check=0)
