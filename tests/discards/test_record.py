"""From a small store to a record: every series against plain loops over the rows, and the command around it."""

import datetime
import json
import math
import re
import statistics
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards import daily, record, schema
from brimful.discards.capacities import Capacities
from brimful.discards.engine import connect_duckdb
from brimful.discards.modes import Mode
from brimful.discards.schema import Flag
from brimful.discards.store import Partition, Store
from brimful.records import read_run
from brimful.report import rendering
from support import brimful

DAYS = [datetime.date(2018, 2, 20), datetime.date(2018, 3, 1), datetime.date(2018, 3, 20)]
SITES = ["abc01", "xe-0/0/1"]
BINS = 120
METRICS = {"octets": 4e7, "unicast": 3e4, "discards": 0.0}
SECOND, BIN = datetime.timedelta(seconds=1), datetime.timedelta(seconds=10)
STARTED = "2026-01-02T03:04:05+00:00"


def noon(day):
    return datetime.datetime.combine(day, datetime.time(12))


def sample_rows(site, day, generator):
    """Twenty minutes of telemetry: the first site discards until March 10, one sample is wrong and one was changed."""
    rows = []
    for metric, level in METRICS.items():
        for number in range(BINS):
            value = float(round(level * generator.uniform(0.5, 2.0)))
            if metric == "discards" and site == "abc01" and day < datetime.date(2018, 3, 10) and number % 3 == 0:
                value = float(generator.integers(1, 50))
            flags, usable = 0, True
            if metric == "unicast" and number == 5:
                flags, usable, value = Flag.CEILING, False, 1e12
            if metric == "octets" and number == 9:
                flags = Flag.CONFLICT
            if number in {70, 71, 72}:
                continue
            start = noon(day) + number * BIN
            rows.append(
                {
                    "machine": "mlab1",
                    "metric": f"switch.{metric}.uplink.tx",
                    "bin_start": start,
                    "bin_end": start + BIN,
                    "span_s": 10.0,
                    "value": value,
                    "counter": None,
                    "reported": None,
                    "flags": int(flags),
                    "usable": usable,
                }
            )
    return rows


def test_rows(site, day, generator):
    rows = []
    for number in range(60):
        start = noon(day) + SECOND * float(generator.uniform(0, 10 * BINS - 30))
        rate = float(generator.lognormal(17, 0.5))
        rows.append(
            {
                "test_id": f"{site}-{day}-{number:03}",
                "protocol": "ndt7",
                "direction": "download",
                "machine": "mlab1",
                "server_name": f"mlab1.{site}",
                "start": start,
                "end": start + SECOND * float(generator.uniform(9.5, 11)),
                "logged": start,
                "client": f"10.0.0.{number % 12}",
                "client_port": 1000 + number,
                "server": "192.0.2.1",
                "server_port": 443,
                "bytes": int(rate * 10 / 8),
                "sending_s": 10.0,
                "rate_bps": rate,
                "retransmitted": int(generator.integers(0, 30)),
                "sent": 10_000,
                "retransmission_unit": "segments",
                "congestion_control": "bbr",
            }
        )
    return sorted(rows, key=lambda row: (row["start"], row["test_id"]))


test_rows.__test__ = False


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Give a store, its samples and its tests as rows with site and day."""
    generator = np.random.default_rng(11)
    store = Store.create(tmp_path_factory.mktemp("world") / "store")
    samples, tests = [], []
    for site in SITES:
        for day in DAYS:
            rows = sample_rows(site, day, generator)
            table = pa.Table.from_pylist(
                sorted(rows, key=lambda row: (row["metric"], row["bin_start"])), schema.SAMPLES
            )
            store.write(Partition("samples", site, day, "mlab1"), table)
            samples += [{**row, "site": site, "day": day} for row in rows]
            rows = test_rows(site, day, generator)
            store.write(Partition("tests", site, day, "tests"), pa.Table.from_pylist(rows, schema.TESTS))
            tests += [{**row, "site": site, "day": day} for row in rows]
    return store, samples, tests


def analysed(store, **changes):
    chosen = {"before": (DAYS[0], DAYS[1]), "after": (DAYS[2], DAYS[2]), "minimum_tests": 4, **changes}
    return record.analyse(
        connect_duckdb(store, memory_limit="500MB", threads=1),
        record.Settings(**chosen),
        store="store",
        command=["brimful"],
        started=STARTED,
    )


@pytest.fixture(scope="module")
def run(world):
    return analysed(world[0])


def points(run, name):
    return next(series.points for series in run.series if series.name == name)


def findings(run, code):
    return {finding.subject: finding for finding in run.findings if finding.code == code}


def naive_daily(samples, site):
    """Sum up a site day by day, bin by bin."""
    bins = defaultdict(dict)
    for row in samples:
        if row["site"] == site and row["usable"]:
            bins[row["day"], row["bin_start"]][row["metric"].split(".")[1]] = row["value"]
    for day in DAYS:
        of_day = [values for (at, _), values in bins.items() if at == day]
        known = [values for values in of_day if "discards" in values and "unicast" in values]
        yield day, of_day, known


@pytest.mark.parametrize("site", SITES)
def test_telemetry_is_what_plain_loops_find(world, run, site):
    _, samples, _ = world
    for number, (day, of_day, known) in enumerate(naive_daily(samples, site)):
        at = daily.unix_day(day)
        paired, packets = (sum(values[name] for values in known) for name in ("discards", "unicast"))
        counted = [values["discards"] for values in of_day if "discards" in values]
        rate = statistics.median(values["octets"] * 0.8 for values in of_day)
        for name, wanted in (
            ("uplink_rate", rate),
            ("loss_ratio", paired / packets),
            ("discards", sum(counted)),
            ("bins_with_discards", sum(one > 0 for one in counted) / len(counted)),
        ):
            x, y = points(run, f"{name}/{site}")[number]
            assert (x, y) == (at, pytest.approx(wanted, rel=1e-5))
    assert findings(run, "coverage")[site].data["covered_bins"] == len(DAYS) * (BINS - 3)


def naive_class(samples, test):
    """Classify a test by looking at every sample there is."""
    covered, discards = set(), 0.0
    for row in samples:
        of_uplink = row["metric"] == "switch.discards.uplink.tx" and row["usable"]
        overlaps = row["bin_start"] < test["end"] and row["bin_end"] > test["start"]
        if row["site"] == test["site"] and of_uplink and overlaps:
            covered.add(row["bin_start"])
            discards += row["value"]
    first = int((test["start"] - noon(test["day"])) / BIN)
    last = int((test["end"] - datetime.timedelta(microseconds=1) - noon(test["day"])) / BIN)
    if discards:
        return "non-zero"
    return "zero" if len(covered) == last - first + 1 else "unknown"


def test_test_counts_are_what_plain_loops_find(world, run):
    _, samples, tests = world
    wanted = defaultdict(float)
    for test in tests:
        wanted[f"tests/{test['site']}/{naive_class(samples, test)}", daily.unix_day(test["day"])] += 1
    found = {(one.name, x): y for one in run.series if one.name.startswith("tests/") for x, y in one.points}
    assert found == wanted
    assert {name.rpartition("/")[2] for name, _ in found} == {"non-zero", "zero", "unknown"}
    affected = findings(run, "affected")["abc01"].data
    assert affected["tests"] == 180
    assert affected["with_discards"] == sum(y for (name, _), y in found.items() if name == "tests/abc01/non-zero")


def test_what_was_left_out_is_counted(run):
    data = findings(run, "excluded")["abc01"].data
    assert data["samples"] == len(DAYS) * 3 * (BINS - 3)
    assert (data["left_out"], data["ceiling"], data["reset"]) == (len(DAYS), len(DAYS), 0)
    assert findings(run, "conflicts")["abc01"].data == {"conflicts": len(DAYS)}


def test_the_record_says_what_was_analysed(run):
    source = run.run.source
    assert run.run.subject == "switch-discards"
    assert source["sites"] == SITES
    assert source["days"] == ["2018-02-20", "2018-03-20"]
    assert (source["samples"], source["tests"]) == (2106, 360)
    assert (source["before"], source["after"]) == (["2018-02-20", "2018-03-01"], ["2018-03-20", "2018-03-20"])


def test_clients_are_compared_before_and_after(world, run):
    _, _, tests = world
    rates = defaultdict(list)
    for test in tests:
        if test["site"] == "abc01":
            period = "after" if test["day"] == DAYS[2] else "before"
            rates[period, test["client"]].append(test["rate_bps"])
    ratios = [
        statistics.median(of) / statistics.median(rates["before", client])
        for (period, client), of in rates.items()
        if period == "after"
    ]
    found = findings(run, "before-after-paired")["abc01"].data
    assert (found["quantity"], found["pairs"]) == ("download_median", 12)
    assert found["median_ratio"] == pytest.approx(10 ** statistics.median(map(math.log10, ratios)))
    assert "before-after" not in {finding.code for finding in run.findings}
    density = points(run, "download_max/abc01/before")
    assert sum(y for _, y in density) * (density[1][0] - density[0][0]) == pytest.approx(1, rel=1e-4)


def test_the_report_has_neither_pairs_nor_doses_nor_unknown_tests(world):
    run = analysed(world[0], mode=Mode.REPORT)
    codes = {finding.code for finding in run.findings}
    assert "before-after" in codes
    assert not codes & {"before-after-paired", "dose-response"}
    assert not any(series.name.endswith("/unknown") for series in run.series)


def test_utilisation_needs_a_capacity(world, run):
    assert not any(series.name.startswith("uplink_utilisation") for series in run.series)
    given = analysed(world[0], capacities=Capacities.parse("1Gbps"), sites=["abc01"])
    rates, shares = points(given, "uplink_rate/abc01"), points(given, "uplink_utilisation/abc01")
    assert [y for _, y in shares] == pytest.approx([y / 1e9 for _, y in rates], rel=1e-5)
    assert given.run.source["sites"] == ["abc01"]
    assert "of its capacity" in rendering.text(given)
    assert "of its capacity" not in rendering.text(run)


def test_the_same_store_gives_the_same_record(world, run):
    again = analysed(world[0])
    assert list(again.lines()) == list(run.lines())


def test_numbers_are_kept_with_six_digits(run):
    for series in run.series:
        for _, y in series.points:
            digits = re.sub(r"e.*|[.-]|^0+", "", f"{y!r}").strip("0")
            assert y.is_integer() or len(digits) <= 6, (series.name, y)


def test_without_windows_nothing_is_compared_and_the_record_says_so(world):
    run = analysed(world[0], before=None, after=None)
    assert [warning.code for warning in run.warnings] == ["no-windows"]
    assert not any(finding.code.startswith("before-after") for finding in run.findings)


def test_the_command_keeps_and_shows_a_record(world, tmp_path):
    arguments = ["discards", "report", "--store", world[0].path, "--before", "2018-02-20..2018-03-01"]
    arguments += ["--after", "2018-03-20..2018-03-20", "--memory", "500MB"]
    files = ["--out", "run", "--html", "r.html", "--png", "figures"]
    first = brimful(*arguments, *files, cwd=tmp_path, check=0)
    assert first.stdout.startswith("Switch discards\n2 sites, 2018-02-20 to 2018-03-20")
    assert brimful("report", "run", cwd=tmp_path, check=0).stdout == first.stdout
    run = read_run(tmp_path / "run")
    assert run.run.command[:3] == ["brimful", "discards", "report"]
    assert (tmp_path / "r.html").read_text().count("<figure") == len(list((tmp_path / "figures").iterdir()))
    refused = brimful(*arguments, *files, cwd=tmp_path, check=2)
    assert refused.stderr == "brimful: error: --out run: there is a run already; choose another directory\n"
    shown = brimful(*arguments, "--json", "--site", "abc01", cwd=tmp_path, check=0)
    assert json.loads(shown.stdout)["sites"] == ["abc01"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--before", "2018-02-20..2018-02-21"], "--before and --after go together"),
        (["--before", "a", "--after", "b"], "--before a: is no window; write it like 2018-02-11..2018-02-25"),
        (["--before", "2018-02-03..2018-02-01", "--after", "2018-03-01..2018-03-02"], "ends before it begins"),
        (["--before", "2018-02-01..2018-03-01", "--after", "2018-03-01..2018-03-02"], "must not overlap"),
        (["--site", "nowhere"], "--site nowhere: the store has no such site; it has abc01, xe-0/0/1"),
        (["--memory", "much"], "--memory much"),
        (["--png", "taken"], "taken"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(world, tmp_path, options, said):
    (tmp_path / "taken").write_text("a file")
    refused = brimful("discards", "report", "--store", world[0].path, *options, cwd=tmp_path)
    assert refused.returncode in {2, 3}
    assert said in refused.stderr
    assert not refused.stdout


def test_an_empty_store_is_refused(tmp_path):
    store = Store.create(tmp_path / "store")
    refused = brimful("discards", "report", "--store", store.path, cwd=tmp_path, check=2)
    assert "the store is empty" in refused.stderr
