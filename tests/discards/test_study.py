"""The study of 2018, from M-Lab's tables as they are: all its figures, and inbound discards and pause frames."""

import datetime
import json

import pytest
from brimful.discards import record
from brimful.discards.engine import connect_duckdb
from brimful.discards.modes import Mode
from brimful.discards.store import Store
from brimful.report.discards import figures, model
from telemetry import put
from test_formats_in_use import nested_web100
from test_speed_tests import loaded

HOST, SWITCH = "mlab1.dfw02.measurement-lab.org", "s1.dfw02.measurement-lab.org"
DAYS = (datetime.datetime(2018, 2, 20, tzinfo=datetime.UTC), datetime.datetime(2018, 3, 20, tzinfo=datetime.UTC))
WINDOWS = {
    "before": (datetime.date(2018, 2, 11), datetime.date(2018, 2, 25)),
    "after": (datetime.date(2018, 3, 11), datetime.date(2018, 3, 25)),
}
BINS = 360
COUNTED = {
    "octets.uplink.tx": lambda number: 10**7 + number,
    "unicast.uplink.tx": lambda number: 10**4,
    "discards.uplink.tx": lambda number: 5 if number % 3 == 0 else 0,
    "discards.uplink.rx": lambda number: 2,
    "pause.uplink.rx": lambda number: 1,
}


def switch_rows():
    for day in DAYS:
        for metric, count in COUNTED.items():
            samples = [
                {
                    "timestamp": f"{day + datetime.timedelta(seconds=10 * n):%Y-%m-%d %H:%M:%S} UTC",
                    "value": float(count(n)),
                }
                for n in range(BINS)
            ]
            names = {"metric": f"switch.{metric}", "hostname": HOST, "experiment": SWITCH}
            yield {"test_id": "x", "parse_time": f"{day:%Y-%m-%d} 23:00:00 UTC", "sample": samples} | names


def ndt_rows():
    number = 0
    for day in DAYS:
        for client in range(12):
            for run in range(12):
                number += 1
                start = day + datetime.timedelta(seconds=20 + 280 * run + 3 * client)
                row = nested_web100(number)
                row["log_time"] = f"{start:%Y-%m-%d %H:%M:%S} UTC"
                row["web100_log_entry"]["snap"]["StartTimeStamp"] = str(int(start.timestamp() * 1e6))
                row["web100_log_entry"]["snap"]["HCThruOctetsAcked"] = str(10**7 + 10**6 * client + 10**4 * run)
                row["web100_log_entry"]["connection_spec"]["remote_ip"] = f"198.51.100.{client}"
                yield row


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    directory = tmp_path_factory.mktemp("study")
    for name, rows in (("rows.json", switch_rows()), ("ndt.json", ndt_rows())):
        (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = put(directory / "store", directory / "rows.json")
    assert (summary.bad_lines, summary.rows_new) == (0, 2 * len(COUNTED) * BINS)
    _, tests = loaded(directory, directory / "ndt.json")
    assert (tests.tests, tests.bad.total()) == (288, 0)
    run = record.analyse(
        connect_duckdb(Store.open(directory / "store"), memory_limit="300MB", threads=1),
        record.Settings(mode=Mode.REPORT, **WINDOWS),
        store="store",
        command=["brimful"],
        started="2026-01-01T00:00:00+00:00",
    )
    return figures.make_pages(model.build(run))


def test_all_figures_of_the_study_are_there(pages):
    assert {page.key.partition("-")[0] for page in pages} == {"1", "2", "3", "4", "5", "6", "7", "8", "10"}
