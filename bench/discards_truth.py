"""How `brimful discards` compares with the truth of made-up worlds: overlaps, change points, and renderings.

The worlds are made by `brimful discards synth` under build/ and kept for the next time.
"""

import datetime
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from brimful.discards import analysis
from brimful.discards.engine import connect_duckdb
from brimful.discards.schema import Flag
from brimful.discards.store import Store
from brimful.statistics.change_points import change_points

ROOT = Path(__file__).resolve().parent.parent
WORLDS = ROOT / "build" / "discards-truth"
BRIMFUL = [sys.executable, "-m", "brimful", "discards"]
COMPARED = ["intervals", "intervals_with_discards", "discards", "worst_discards", "overlap"]
ON_GRID = {"covered_bins": "intervals", "bins_with_discards": "intervals_with_discards"}
"""Intervals of these worlds are the bins of their grid."""
LATE_BY_NATURE_DAYS = 7
"""Sparse discards cannot be seen before the first of them."""


def world(name: str, *options: str) -> Path:
    """Give a world; make it if there is none."""
    out = WORLDS / name
    if not (out / "truth" / "changes.json").exists():
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        quietly("synth", str(out), *options)
    return out


def quietly(*words: str) -> None:
    subprocess.run([*BRIMFUL, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def overlaps() -> None:
    """Compare the join of a million tests with what the generator counted on its own grid."""
    made = world("overlaps", "--site", "dfw02", "--render", "store", "--tests", "0.2")
    engine = connect_duckdb(Store.open(made / "store"))
    columns = ["test_id", *COMPARED]
    found = engine.per_site(lambda samples, tests: analysis.test_overlap(tests, samples)).select(columns)
    truth = pq.read_table(made / "truth" / "tests.parquet")
    truth = truth.rename_columns([ON_GRID.get(name, name) for name in truth.column_names])
    truth = truth.select(columns).sort_by("test_id")
    found = found.sort_by("test_id")
    assert found["test_id"].to_pylist() == truth["test_id"].to_pylist()
    wrong = np.zeros(len(truth), bool)
    for name in COMPARED:
        wrong |= np.array(found[name].to_pylist(), object) != np.array(truth[name].to_pylist(), object)
    print(f"overlaps: {int(wrong.sum())} of {len(truth):,} tests differ from the truth (bar 0)")


def changes() -> None:
    """Compare the days on which discards began and stopped."""
    made = world("changes", "--render", "truth", "--tests", "0.001")
    expected = json.loads((made / "truth" / "changes.json").read_text())
    days = pq.read_table(made / "truth" / "days.parquet").to_pylist()
    worst = {"begin": 0, "stop": 0, "sparse": 0}
    spurious = 0
    for site, truth in expected.items():
        of_site = sorted((row for row in days if row["site"] == site), key=lambda row: row["day"])
        hits = [row["bins_with_discards"] for row in of_site]
        points = change_points([row["day"] for row in of_site], hits, [row["bins"] for row in of_site])
        found = {kind: [point.day for point in points if point.kind == kind] for kind in ("begin", "stop")}
        for kind in ("begin", "stop"):
            name = "sparse_from" if kind == "begin" and truth["sparse_from"] else kind
            if truth[name] is None:
                spurious += len(found[kind])
                continue
            day = datetime.date.fromisoformat(truth[name])
            off = min((abs((other - day).days) for other in found[kind]), default=10_000)
            worst["sparse" if name == "sparse_from" else kind] = max(
                worst["sparse" if name == "sparse_from" else kind], off
            )
            spurious += len(found[kind]) - 1
    print(
        f"change points of {len(expected)} sites: begin off by {worst['begin']} days at most, stop by {worst['stop']} "
        f"(bar 1), {spurious} that are none; where discards begin sparsely, the first of them is up to "
        f"{worst['sparse']} days after they could begin"
    )


def renderings() -> None:
    """Compare the stores that three formats of the same telemetry lead to."""
    options = ("--site", "dfw02", "--first-day", "2018-02-20", "--last-day", "2018-02-22", "--tests", "0.01")
    made = world("renderings", *options, "--render", "v1", "--render", "v2", "--render", "flat")
    bins = {}
    for name in ("v1", "v2", "flat"):
        store = made / f"store-{name}"
        if not store.exists():
            quietly("ingest", "--store", str(store), str(made / name))
        bins[name] = usable_bins(connect_duckdb(Store.open(store)))
    shared = bins["v1"].keys() & bins["v2"].keys() & bins["flat"].keys()
    different = sum(len({bins[name][key] for name in bins}) > 1 for key in shared)
    alone = {name: len(values.keys() - shared) for name, values in bins.items()}
    print(
        f"renderings: {different} of {len(shared):,} usable bins that v1, v2 and flat have differ (bar 0); "
        + ", ".join(f"{number} only in {name} or in two" for name, number in alone.items())
    )


def usable_bins(engine) -> dict[tuple, float]:
    """Give the value of each bin of the metrics that all formats have; missed polls are in equal parts."""
    samples = engine.samples()
    metrics = [analysis.OCTETS, analysis.UNICAST, analysis.DISCARDS]
    rows: pa.Table = engine.rows(samples.filter(samples.metric.isin(metrics), samples.usable))
    found = {}
    for row in rows.to_pylist():
        parts = max(1, round(row["span_s"] / 10))
        if parts > analysis.MOST_BINS_OF_A_SAMPLE or row["flags"] & Flag.UNANCHORED:
            continue
        for part in range(parts):
            start = row["bin_start"] + datetime.timedelta(seconds=10 * part)
            found[row["machine"], row["metric"], start] = row["value"] / parts
    return found


if __name__ == "__main__":
    overlaps()
    changes()
    renderings()
