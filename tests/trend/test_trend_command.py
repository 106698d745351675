"""``brimful trend`` as people see it: what is printed, what is written, and exit codes."""

import csv
import json
import shutil
from xml.etree import ElementTree

import pytest
from brimful.trend.confirmation import EXCLUDED, SHOWN, UNDECIDED, Confirmation, opener, with_verdict
from brimful.trend.store import Store
from brimful.trend.tables import Columns, read
from histories import levels, said
from support import brimful

HISTORIES = {
    "login": levels((100, 30), (105, 8)),
    "logout": levels((50, 30), (53, 8), seed=2),
    "search": levels((10, 38), seed=3),
    "upload": [*levels((70, 37), seed=4), 78],
    "failing": [*levels((20, 37), seed=5), "nan"],
    "faster": levels((30, 30), (27, 8), seed=6),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    directory = tmp_path_factory.mktemp("filled")
    for name, values in HISTORIES.items():
        with (directory / f"{name}.csv").open("w", newline="") as file:
            rows = [(f"1.{number}", value) for number, value in enumerate(values)]
            csv.writer(file).writerows([("version", "seconds"), *rows])
        columns = Columns(series=name, version="version", value="seconds", worse="higher", unit="s")
        with Store.create(directory / "store") as store:
            store.add(read(directory / f"{name}.csv", columns, now=1.8e9).runs, now=1.8e9)
    return directory


@pytest.fixture
def store(filled, tmp_path):
    """A directory with a store and the tables that it was filled from."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_table_is_added_with_a_line_of_what_came_in(store):
    columns = ("--version-column", "version", "--value-column", "seconds", "--worse", "higher", "--unit", "s")
    found = brimful("trend", "add", "new", "--csv", "failing.csv", "--series", "f", *columns, cwd=store, check=0)
    assert found.stdout == "failing.csv: added 38 values, 1 of them failed, 1 new series\n"
    assert found.stderr == (
        "brimful: failing.csv: 1 rows have no number above 0 and count as failed (first: line 39, 'nan')\n"
    )


def test_a_check_prints_findings_and_the_worst_state_is_the_exit_code(store, snapshot):
    found = brimful("trend", "check", "store", cwd=store, check=1)
    assert found.stderr == ""
    assert found.stdout == snapshot


@pytest.mark.parametrize(
    ("series", "code"), [("search", 0), ("faster", 0), ("login", 1), ("failing", 3), ("upload", 4), ("*lo*", 1)]
)
def test_the_exit_code_is_of_the_series_that_are_named(store, series, code):
    brimful("trend", "check", "store", "--series", series, cwd=store, check=code)


def test_a_replay_prints_what_would_have_been_said(store, snapshot):
    assert brimful("trend", "replay", "store", cwd=store, check=0).stdout == snapshot
    found = json.loads(brimful("trend", "replay", "store", "--series", "login", "--json", cwd=store, check=0).stdout)
    assert [(series["name"], series["reports"][0]["change"]["first_bad"]) for series in found] == [("login", "1.30")]


def test_what_is_accepted_opens_the_gate(store, snapshot):
    said = brimful("trend", "accept", "store", "--series", "log*", "--reason", "more safety", cwd=store, check=0)
    assert said.stdout == snapshot
    brimful("trend", "check", "store", "--series", "log*", cwd=store, check=0)
    again = brimful("trend", "accept", "store", "--all", "--reason", "r", cwd=store, check=2)
    assert "there is no open change to accept" in again.stderr


def test_an_acceptance_lapses(store):
    options = ("--series", "login", "--reason", "r", "--until", "2020-01-31")
    brimful("trend", "accept", "store", *options, cwd=store, check=0)
    brimful("trend", "check", "store", "--series", "login", cwd=store, check=1)


def test_a_series_that_is_reset_begins_anew(store):
    said = brimful("trend", "reset", "store", "--series", "login", "--version", "1.30", "--reason", "r", cwd=store)
    assert said.stdout == "reset: 1 series begin with 1.30\n"
    brimful("trend", "check", "store", "--series", "login", cwd=store, check=0)


def test_a_check_is_written_for_ci_servers_and_prometheus(store, snapshot):
    options = ("--junit", "junit.xml", "--prometheus", "metrics.prom", "--json")
    found = json.loads(brimful("trend", "check", "store", *options, cwd=store, check=1).stdout)
    assert found["exit_code"] == 1
    assert {row["name"] for row in found["rows"]} == HISTORIES.keys()
    assert [len(finding["changes"]) for finding in found["findings"]] == [2, 1]
    cases = ElementTree.parse(store / "junit.xml").iter("testcase")
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert failed == {"login", "logout", "failing", "upload"}
    assert (store / "metrics.prom").read_text() == snapshot


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "store"), "nothing to add: give RUNs, a table with --csv, or files with --format and --file"),
        (("add", "store", "--csv", "login.csv"), "--csv login.csv: give --series too"),
        (("add", "store", "--file", "login.csv"), "--format and --file go together"),
        (("check", "none"), "none: there is no store; make one with: brimful trend add none RUN..."),
        (("check", "login.csv"), "login.csv: is no store of histories, or damaged: file is not a database"),
        (("check", "store", "--series", "x"), "--series 'x': store has no such series"),
        (("check", "store", "--confirm"), "--confirm: name the device with --measurer"),
        (("check", "store", "--confirm", "-m", "lab:xdp"), "--measurer lab:xdp: has no {version} in it"),
        (("check", "store", "--bisect", "-m sim:sharp", "--json"), "--bisect writes reports: leave --json out"),
        (("check", "store", "--bisect", "it's"), '--bisect "it\'s": no closing quotation; check the quotes'),
        (("accept", "store", "--reason", "r"), "name the series with --series, or say --all"),
        (("accept", "store", "--all", "--reason", "r", "--until", "soon"), "--until soon: is no date"),
        (("reset", "store", "--all", "--version", "9", "--reason", "r"), "none of the series named has a version '9'"),
        (("check", "store", "--false-alarms", "0"), "0.0 is not in the range"),
    ],
)
def test_wrong_use_is_said_in_a_line(store, arguments, said):
    found = brimful("trend", *arguments, cwd=store, check=2)
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(("newest", "code", "state"), [("2000000pps", 0, "normal"), ("1800000pps", 1, "regression")])
def test_a_suspicion_is_compared_live_and_the_verdict_counts(tmp_path, newest, code, state):
    """Versions are capacities here, in the order of their times."""
    versions = [*(f"{2_000_000 + number}pps" for number in range(1, 21)), newest]
    values = [*levels((100, 20)), 92]
    rows = [f"{version},{value},{1.7e9 + at}" for at, (version, value) in enumerate(zip(versions, values, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["v,x,t", *rows]))
    columns = ("--version-column", "v", "--value-column", "x", "--time-column", "t", "--worse", "lower")
    brimful("trend", "add", "store", "--csv", "t.csv", "--series", "s", *columns, cwd=tmp_path, check=0)
    brimful("trend", "check", "store", cwd=tmp_path, check=4)
    options = ("--confirm", "-m", "sim:sharp,capacity={version}", "--json")
    found = json.loads(brimful("trend", "check", "store", *options, cwd=tmp_path, check=code).stdout)
    judgement = found["rows"][0]["judgement"]
    assert judgement["state"] == state
    assert judgement["confirmation"].startswith(f"{newest} forwards ")


def test_a_regression_is_handed_over_to_a_bisection(tmp_path):
    """Versions are capacities here, too; the series says roughly since when, the bisection which one."""
    versions = [*(f"{2_000_000 + number}pps" for number in range(20)), *(f"{1_800_000 + n}pps" for n in range(8))]
    values = levels((100, 20), (94, 8))
    rows = [f"{version},{value},{1.7e9 + at}" for at, (version, value) in enumerate(zip(versions, values, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["v,x,t", *rows]))
    (tmp_path / "versions").write_text("\n".join([*versions, ""]))
    columns = ("--version-column", "v", "--value-column", "x", "--time-column", "t", "--worse", "lower")
    brimful("trend", "add", "store", "--csv", "t.csv", "--series", "s", *columns, cwd=tmp_path, check=0)
    options = "-m sim:sharp,capacity={version} --versions versions --pairs 4 --trial 100ms --quiet --out run"
    shown = brimful("trend", "check", "store", "--bisect", options, cwd=tmp_path, check=1).stdout
    assert "1800000pps made it" in " ".join(shown.split())
    assert (tmp_path / "run" / "run.jsonl").exists()


def test_what_a_comparison_of_throughputs_cannot_say_stays_a_suspicion(store):
    options = ("--series", "upload", "--confirm", "-m", "sim:sharp,seed={version}")
    brimful("trend", "check", "store", *options, cwd=store, check=4)


@pytest.mark.parametrize(
    ("verdict", "state"), [(SHOWN, "regression"), (EXCLUDED, "normal"), (UNDECIDED, "suspected regression")]
)
def test_the_verdict_of_a_live_comparison_counts(verdict, state):
    suspicion = said([*levels((100, 40)), 110])
    found = with_verdict(suspicion, Confirmation(verdict, "3 % higher"))
    assert (found.state, found.confirmation) == (state, "3 % higher")
    assert found.text.endswith("; live: 3 % higher")


def test_a_measurer_with_a_version_can_be_opened():
    assert callable(opener("lab:xdp,v={version}"))


def test_files_of_other_tools_are_added(tmp_path):
    results = {"results": [{"command": "sleep 1", "median": 1.0}]}
    for number in range(2):
        (tmp_path / f"{number}.json").write_text(json.dumps(results))
        options = ("--format", "hyperfine", "--file", f"{number}.json", "--version", str(number))
        brimful("trend", "add", "store", *options, cwd=tmp_path, check=0)
    found = json.loads(brimful("trend", "check", "store", "--json", cwd=tmp_path, check=0).stdout)
    assert [(row["name"], row["judgement"]["version"]) for row in found["rows"]] == [("sleep 1", "1")]
