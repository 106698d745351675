"""A machine that polls two switches: what they counted is never mixed, and both are named."""

import json

import pyarrow.parquet as pq
import pytest
from telemetry import MIDNIGHT, content, line1, line2, put

METRIC = "switch.discards.uplink.tx"
HOST = "mlab1-dfw02.mlab-oti.measurement-lab.org"
NOTE = "dfw02: s2-dfw02 is another switch than s1-dfw02: what it counted is in the store as site dfw02-s2"


def switch(number):
    return f"s{number}-dfw02.measurement-lab.org"


def lines(number):
    """Give lines of both generations, a flat row and a row of a table, of the same three samples."""
    counted = [(MIDNIGHT + 10 * place, 10 * number + place) for place in range(1, 4)]
    begun = [(at - 10, float(value)) for at, value in counted]
    nested = [{"timestamp": at, "value": value, "counter": 100 + value} for at, value in counted]
    return {
        "a-switch.jsonl": [line2(METRIC, [(at, value, 100 + value) for at, value in counted], switch=switch(number))],
        "a-switch.json": [line1(METRIC, [*begun, (begun[-1][0] + 10, 0.0)], HOST, switch(number))],
        "a.jsonl": [
            json.dumps({"metric": METRIC, "hostname": HOST, "experiment": switch(number), "sample": nested}),
        ],
        "a.csv": [f"{HOST},{switch(number)},{METRIC},{at},{value}" for at, value in begun],
    }


def write(path, texts):
    head = ["hostname,experiment,metric,timestamp,value"] if path.suffix == ".csv" else []
    path.write_bytes(content(*head, *texts))
    return path


def values(store):
    return {
        path.parts[-3]: [row["value"] for row in pq.read_table(path, partitioning=None).to_pylist()]
        for path in sorted((store / "samples").rglob("mlab1.parquet"))
    }


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("name", list(lines(1)))
def test_two_switches_of_one_host_are_two_sites(tmp_path, name, together):
    first, second = lines(1)[name], lines(2)[name]
    if together:
        sources = [write(tmp_path / name, [*first, *second])]
    else:
        sources = [write(tmp_path / f"{number}{name}", texts) for number, texts in enumerate((first, second))]
    summary = put(tmp_path / "store", *sources)
    assert (summary.bad_lines, summary.notes) == (0, [NOTE])
    assert values(tmp_path / "store") == {"site=dfw02": [11, 12, 13], "site=dfw02-s2": [21, 22, 23]}


def test_one_switch_is_the_site_whatever_its_spelling(tmp_path):
    write(tmp_path / "a-switch.jsonl", [line2(METRIC, [(MIDNIGHT + 10, 1, 5)], switch="s1.dfw02.measurement-lab.org")])
    assert put(tmp_path / "store", tmp_path / "a-switch.jsonl").notes == []
    assert list(values(tmp_path / "store")) == ["site=dfw02"]
