"""The detector and the store of `brimful trend` against their bars.

usage: bench/trend.py [PART]...

Parts: `labelled`, `synthetic`, `control`, `scale`, `page`, `rows`, `kills`; all without any. `HISTORIES` is the folder
of labelled histories, `SEEDS` the number of synthetic ones of each kind, from `FIRST_SEED` on.
"""

from __future__ import annotations

import csv
import functools
import html
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from brimful.report.trend import site
from brimful.trend import detection, tables
from brimful.trend.checking import check
from brimful.trend.judgement import OPEN, REGRESSION, UNDONE, Settings
from brimful.trend.judging import judge
from brimful.trend.measured import Measured, Point
from brimful.trend.series import HIGHER, LOWER, assemble
from brimful.trend.store import Store

SEEDS = int(os.environ.get("SEEDS", "100"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1001"))
HISTORIES = Path(os.environ.get("HISTORIES", "../shared/trend/sap"))
RUNS, FIRST, CHANGE = 120, 20, 70
NEAR = 3
"""Versions from the true place within which a report is right."""


def series_of(values, versions=None, worse=HIGHER):
    versions = versions or [str(index) for index in range(len(values))]
    rows = [(version, None, value, 0.0, None, 0, "") for version, value in zip(versions, values, strict=True)]
    return assemble(id=0, key={"name": "s"}, unit="", worse=worse, rows=rows, label_sets={0: {}})


def reported(series, settings, first, kinds=(REGRESSION,)):
    """Every place that is ever reported as a change, with the number of versions after which it first is."""
    found = {}
    for count in range(first, len(series) + 1):
        for change in judge(series, (), settings, all_series=1, today="", upto=count).changes:
            if change.kind in kinds and change.standing in (OPEN, UNDONE):
                found.setdefault(change.index, count)
    return found


def labelled():
    if not HISTORIES.is_dir():
        print(f"no labelled histories in {HISTORIES}: set HISTORIES")
        return
    print("\nlabelled histories, analysed after each build")
    settings, false_reports, found, delays, builds = Settings(tolerance=0.02), 0, 0, [], 0
    judgements = list(csv.DictReader((HISTORIES / "judgements.csv").open()))
    for row in judgements:
        table = list(csv.DictReader((HISTORIES / "data" / f"{row['series']}.csv").open()))
        series = series_of([float(each["Measurement"]) for each in table], [each["GHC"] for each in table])
        builds += max(0, len(series) - settings.fewest + 1)
        places = reported(series, settings, settings.fewest)
        right = {}
        if row["kind"] == "regression":
            last = next(each["GHC"] for each in table if each["Index"] == row["last_index_before"])
            truth = series.versions.index(last) + 1
            right = {place: count for place, count in places.items() if abs(place - truth) <= NEAR}
            found += bool(right)
            delays += [min(right.values()) - truth] if right else []
        false_reports += len(places) - len(right)
    regressions = sum(row["kind"] == "regression" for row in judgements)
    print(f"  regressions found: {found} of {regressions}; delays in builds: {sorted(delays)} (bar: all, <= 3)")
    print(f"  false reports: {false_reports} in {len(judgements)} series, {builds:,} builds (bar: <= 2)")


def noise(kind, random_, count):
    """Values of a history without any change, in standard deviations."""
    values, state = [], random_.gauss(0, 1)
    for _ in range(count):
        value = random_.gauss(0, 1)
        if kind == "t(3)":
            value /= (random_.gammavariate(1.5, 2) / 3) ** 0.5
        elif kind == "3 % outliers" and random_.random() < 0.03:
            value += random_.choice((-1, 1)) * random_.uniform(5, 15)
        elif kind == "AR 0.5":
            state = value = 0.5 * state + 0.75**0.5 * value
        elif kind == "bimodal" and random_.random() < 0.2:
            value -= 6
        values.append(value)
    return values


SHIFTS = {
    "1 sd": ("iid", 1),
    "2 sd": ("iid", 2),
    "3 sd": ("iid", 3),
    "5 sd": ("iid", 5),
    "2 sd, outliers": ("3 % outliers", 2),
}
BARS = {"iid": 0.2, "t(3)": 0.2, "3 % outliers": 0.2, "AR 0.5": 0.6}


def histories(kind, size):
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        values = noise(kind, random.Random(f"{kind} {size} {seed}"), RUNS)
        yield [1.01 ** (value + size * (index >= CHANGE)) for index, value in enumerate(values)]


def synthetic():
    print(f"\nsynthetic histories of {RUNS} runs, analysed after each from the {FIRST}th on; {SEEDS} of each kind")
    settings, both = Settings(tolerance=1e-9), (REGRESSION, "progression")
    for kind in (*BARS, "bimodal"):
        false_reports = sum(len(reported(series_of(h), settings, FIRST, both)) for h in histories(kind, 0))
        rate = 100 * false_reports / (SEEDS * (RUNS - FIRST + 1))
        print(f"  {kind:16} false reports per 100 runs: {rate:.2f}" + (f" (bar: {BARS[kind]})" if kind in BARS else ""))
    bars = {"2 sd": "(bar: 95 %, 8)", "3 sd": "(bar: 95 %, 4)"}
    for name, (kind, size) in SHIFTS.items():
        delays, places = [], []
        for history in histories(kind, size):
            found = {
                at: n for at, n in reported(series_of(history), settings, FIRST).items() if abs(at - CHANGE) <= NEAR
            }
            if found:
                delays.append(min(found.values()) - CHANGE)
                places.append(min(found, key=found.get))
        share = 100 * len(delays) / SEEDS
        near = 100 * sum(abs(place - CHANGE) <= 1 for place in places) / max(1, len(places))
        middle = statistics.median(delays) if delays else float("nan")
        print(
            f"  {name:16} found: {share:.0f} %, median delay {middle:.0f} runs, place right to 1 run {near:.0f} %",
            bars.get(name, ""),
        )


def control():
    """What more penalty is worth: false reports for each new run, and how they fall."""
    print("\nfalse reports per 100 runs of iid noise by penalty")
    rates = {}
    for penalty in (12, 16, 20, 24):
        settings = Settings(tolerance=1e-9, penalty=float(penalty))
        found = sum(
            len(reported(series_of(h), settings, FIRST, (REGRESSION, "progression"))) for h in histories("iid", 0)
        )
        rates[penalty] = 100 * found / (SEEDS * (RUNS - FIRST + 1))
        print(f"  penalty {penalty}: {rates[penalty]:.3f}")
    for series in (1, 100, 1000, 7500):
        penalty = detection.penalty_for(Settings(), series)
        print(
            f"  {series} series: penalty {penalty:.1f}, suspected at {detection.suspected_at(Settings(), series):.1f}"
        )


def nights(slower):
    """Give the number of versions, and what gives a night of all series; some sizes get slower in the middle."""
    all_series, versions = int(os.environ.get("SERIES", "7500")), int(os.environ.get("VERSIONS", "500"))
    print(f"\n{all_series:,} series of {versions:,} versions")
    chance = random.Random(FIRST_SEED)
    keys = [{"device": "d", "size": str(each % 15), "goal": f"{each // 15}"} for each in range(all_series)]

    def night(number):
        late = number >= versions // 2
        points = [
            Point(
                key=key,
                worse=LOWER,
                value=(0.95 if late and key["size"] in slower else 1) * 1e6 * chance.lognormvariate(0, 0.01),
            )
            for key in keys
        ]
        labels = {"kernel": f"6.{number // 100}"}
        return Measured(
            source=str(number), version=f"1.{number}", at=1.6e9 + 86400 * number, labels=labels, points=points
        )

    return versions, night


def scale():
    versions, night = nights(slower=())
    with tempfile.TemporaryDirectory() as directory, Store.create(Path(directory) / "store") as store:
        _timed("added", lambda: store.add(map(night, range(versions)), now=1.8e9))
        print(f"  size: {store.path.stat().st_size / 1e6:.0f} MB")
        for number in range(2):
            more = [night(versions + number)]
            _timed("one more run of each added", functools.partial(store.add, more, now=1.8e9))
            found = _timed("checked (bar: 20 s)", lambda: check(store, Settings(), now=1.8e9, today="2026-01-01"))
            print(f"  {found.counts}, false alarms expected: {found.expected_false_alarms:.3g}")
    print(f"  memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (bar: 1024)")


def page():
    versions, night = nights(slower=("3", "7"))
    with tempfile.TemporaryDirectory() as directory, Store.create(Path(directory) / "store") as store:
        store.add(map(night, range(versions)), now=0.0)
        check(store, Settings(), now=1.6e9 + 86400 * versions, today="2026-01-01")
        place = Path(directory) / "site"
        written = _timed("page written (bar: 60 s)", lambda: site.write(store, place, now=1.6e9 + 86400 * versions))
        size = sum(path.stat().st_size for path in place.rglob("*"))
        print(f"  {written.series:,} series, {written.findings} findings, {size / 1e6:.0f} MB")
        print(f"  memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (bar: 1024)")
        seen = _opened(place / "index.html", Path(directory))
        print(f"  index usable after {seen['ready']} ms (bar: 2,000); a letter typed: {seen['typed']:.0f} ms at most")
        print(f"  memory of its scripts: {seen['heap'] / 1e6:.0f} MB")


OPENED = """<iframe src="{address}" style="width:1280px;height:900px"></iframe><script>
window.onload = () => {{
  const view = document.querySelector("iframe").contentWindow, field = view.document.getElementById("search");
  let typed = 0;
  for (const text of ["1", "12", "12 ", "12 3", "d", "", "no such"]) {{
    const begun = performance.now();
    field.value = text;
    field.dispatchEvent(new view.Event("input", {{bubbles: true}}));
    view.document.body.getBoundingClientRect();
    typed = Math.max(typed, performance.now() - begun);
  }}
  const seen = {{ready: view.document.body.dataset.readyMs, typed, heap: view.performance.memory.usedJSHeapSize}};
  document.body.dataset.seen = JSON.stringify(seen);
}};</script>"""


def _opened(index, directory):
    """Open a page in a browser and type in its field; give the times."""
    (directory / "opened.html").write_text(OPENED.format(address=index.as_uri()))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    browser = shutil.which("chromium") or "chromium-browser"
    command = [browser, *options, f"--user-data-dir={directory / 'profile'}", (directory / "opened.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', shown)[1]))


def rows():
    print("\na table of 1,000,000 rows, one series")
    with tempfile.TemporaryDirectory() as directory:
        table, chance = Path(directory) / "table.csv", random.Random(FIRST_SEED)
        lines = (f"{index},{chance.lognormvariate(0, 0.01):.6g}\n" for index in range(1_000_000))
        table.write_text("version,value\n" + "".join(lines))
        columns = tables.Columns(series="s", version="version", value="value", worse=HIGHER)
        with Store.create(Path(directory) / "store") as store:
            _timed("added", lambda: store.add(tables.read(table, columns, now=1.8e9).runs, now=1.8e9))
            found = _timed("checked", lambda: check(store, Settings(), now=1.8e9, today="2026-01-01"))
            print(f"  {found.counts}")


def _timed(what, action):
    wall, processor = time.monotonic(), time.process_time()
    result = action()
    print(f"  {what}: {time.monotonic() - wall:.1f} s, {time.process_time() - processor:.1f} s of processor time")
    return result


def kills():
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "trend"))
    from killed_writers import kill_writers

    with tempfile.TemporaryDirectory() as directory:
        found, acknowledged = kill_writers(Path(directory), 30, FIRST_SEED)
    print(f"\ntwo writers, killed at 30 points: {acknowledged} runs acknowledged, {len(found)} lost or twice (bar: 0)")


PARTS = {
    "labelled": labelled,
    "synthetic": synthetic,
    "control": control,
    "scale": scale,
    "page": page,
    "rows": rows,
    "kills": kills,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
