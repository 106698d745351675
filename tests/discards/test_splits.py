"""Own splits of the report: by any columns, against plain loops; figures, tables and refusals."""

import datetime
import statistics
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards import daily, record, schema, splits
from brimful.discards.engine import connect_duckdb
from brimful.discards.store import Partition, Store
from brimful.errors import UsageError
from brimful.report import rendering
from brimful.report.discards import model, png
from brimful.report.discards.splits import make_pages
from support import brimful

pytestmark = pytest.mark.xdist_group("splits")

DAYS = [datetime.date(2018, 2, 20), datetime.date(2018, 2, 21)]
SITES = ["dfw01", "dfw02", "lga/3"]
PROTOCOLS = ["ndt5", "ndt7"]
SECOND = datetime.timedelta(seconds=1)


def samples_of(site, day, machine):
    """Ten minutes; the second machine of a site polls less and sees the same uplink."""
    rows = []
    begin = datetime.datetime.combine(day, datetime.time(12 if site == "dfw01" else 7))
    for metric, value in (("octets", 1e6), ("unicast", 1000.0), ("discards", 0.0)):
        for number in range(60 if machine == "mlab1" else 30):
            discards = float(number % 5) if metric == "discards" and site != "lga/3" else value
            start = begin + number * 10 * SECOND
            rows.append(
                {
                    "machine": machine,
                    "metric": f"switch.{metric}.uplink.tx",
                    "bin_start": start,
                    "bin_end": start + 10 * SECOND,
                    "span_s": 10.0,
                    "value": discards,
                    "flags": 0,
                    "usable": True,
                }
            )
    return sorted(rows, key=lambda row: (row["metric"], row["bin_start"]))


def tests_of(site, day, random):
    rows = []
    begin = datetime.datetime.combine(day, datetime.time(12 if site == "dfw01" else 7))
    for number in range(40):
        start = begin + float(random.uniform(0, 580)) * SECOND
        rows.append(
            {
                "test_id": f"{site} {day} {number:02}",
                "protocol": PROTOCOLS[number % 2],
                "direction": "download" if number % 4 else "upload",
                "machine": "mlab1",
                "server_name": site,
                "start": start,
                "end": start + 10 * SECOND,
                "logged": start,
                "client": f"10.0.0.{number % 7}",
                "sending_s": 10.0,
                "rate_bps": float(random.lognormal(17, 0.5)),
                "retransmitted": int(random.integers(0, 30)),
                "sent": 10_000,
                "retransmission_unit": "segments",
            }
        )
    return sorted(rows, key=lambda row: (row["start"], row["test_id"]))


tests_of.__test__ = False


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Give a store, and its tests as rows with site and day."""
    random = np.random.default_rng(5)
    store = Store.create(tmp_path_factory.mktemp("splits") / "store")
    tests = []
    for site in SITES:
        for day in DAYS:
            for machine in ("mlab1", "mlab2"):
                table = pa.Table.from_pylist(samples_of(site, day, machine), schema.SAMPLES)
                store.write(Partition("samples", site, day, machine), table)
            rows = tests_of(site, day, random)
            store.write(Partition("tests", site, day, "tests"), pa.Table.from_pylist(rows, schema.TESTS))
            tests += [{**row, "site": site, "day": day} for row in rows]
    return store, tests


def asked(store, *texts, sites=(), windows=None):
    before, after = windows or (None, None)
    chosen = [splits.parse(text, has_windows=windows is not None) for text in texts]
    return record.analyse(
        connect_duckdb(store, memory_limit="500MB", threads=1),
        record.Settings(splits=chosen, sites=sites, before=before, after=after),
        store="store",
        command=["brimful"],
        started="2026-01-02T03:04:05+00:00",
    )


TEXTS = (
    "download_rate:figure=site,panel=protocol",
    "downloads:panel=overlap,colour=site",
    "discards:colour=site",
    "discards:panel=metro",
    "discards:figure=site,colour=machine",
    "retransmission_ratio:colour=hour",
    "download_distribution:figure=metro,panel=site,colour=protocol",
    "downloads:colour=weekday",
    "loss_ratio:colour=site",
    "uplink_rate:colour=site",
    "bins_with_discards:colour=site",
    "uploads:colour=month",
    "upload_rate:colour=client",
)


@pytest.fixture(scope="module")
def run(world):
    return asked(world[0], *TEXTS)


@pytest.fixture(scope="module")
def view(run):
    return model.build(run)


def of(view, asked_for):
    split = view.splits[TEXTS.index(asked_for)]
    return split, {key: {daily.day_of(x): y for x, y in points} for key, points in split.points.items()}


def downloads(world, **wanted):
    return [
        row
        for row in world[1]
        if row["direction"] == "download" and all(row[name] == value for name, value in wanted.items())
    ]


def test_rates_of_every_figure_and_panel_are_what_plain_loops_find(world, view):
    _, found = of(view, TEXTS[0])
    assert set(found) == {(site, protocol, "") for site in SITES for protocol in PROTOCOLS}
    for (site, protocol, _), days in found.items():
        for day in DAYS:
            of_client = defaultdict(list)
            for row in downloads(world, site=site, protocol=protocol, day=day):
                of_client[row["client"]].append(row["rate_bps"])
            wanted = statistics.median(map(statistics.median, of_client.values()))
            assert days[day] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("asked_for", "quantity"),
    [
        ("discards:colour=site", "discards"),
        ("loss_ratio:colour=site", "loss_ratio"),
        ("uplink_rate:colour=site", "uplink_rate"),
        ("bins_with_discards:colour=site", "bins_with_discards"),
    ],
)
def test_a_split_by_site_is_the_series_of_the_site(view, asked_for, quantity):
    split, _ = of(view, asked_for)
    assert {site: split.points["", "", site] for site in SITES} == {site: view.of(quantity, site) for site in SITES}


def test_metros_add_up_sites_but_never_machines_unless_these_are_asked_for(view):
    per_site = dict(view.of("discards", "dfw01"))
    metros, _ = of(view, "discards:panel=metro")
    assert set(metros.points) == {("", "DFW", ""), ("", "lga/3", "")}
    assert dict(metros.points["", "DFW", ""]) == {day: 2 * y for day, y in per_site.items()}
    machines, _ = of(view, "discards:figure=site,colour=machine")
    assert dict(machines.points["dfw01", "", "mlab1"]) == per_site
    assert dict(machines.points["dfw01", "", "mlab2"]) == {day: y / 2 for day, y in per_site.items()}


def test_the_study_splits_counts_of_tests_by_what_discards_did(view):
    split, _ = of(view, "downloads:panel=overlap,colour=site")
    for site in SITES:
        for overlap in ("zero", "non-zero", "unknown"):
            assert split.points.get(("", overlap, site), []) == view.of("tests", site, overlap)


def test_hours_and_weekdays_are_in_their_order(world, view):
    hours, found = of(view, "retransmission_ratio:colour=hour")
    assert hours.values("colour") == ["07", "12"]
    noon = downloads(world, site="dfw01", day=DAYS[0])
    wanted = sum(row["retransmitted"] for row in noon) / sum(row["sent"] for row in noon)
    assert found["", "", "12"][DAYS[0]] == pytest.approx(wanted, rel=1e-5)
    assert of(view, "downloads:colour=weekday")[0].values("colour") == ["2 Tuesday", "3 Wednesday"]
    assert of(view, "uploads:colour=month")[0].values("colour") == ["2018-02"]


def test_periods_are_those_of_the_windows(world):
    windows = ((DAYS[0], DAYS[0]), (DAYS[1], DAYS[1]))
    view = model.build(asked(world[0], "downloads:colour=period", sites=["dfw01"], windows=windows))
    assert {key[2]: [y for _, y in points] for key, points in view.splits[0].points.items()} == {
        "after": [30.0],
        "before": [30.0],
    }
    assert view.sites == ["dfw01"]


def test_each_value_has_its_place_in_the_figures(view):
    pages = {page.key: page for page in make_pages(view)}
    one = [page for key, page in pages.items() if key.startswith("split-1-")]
    assert [page.title.rpartition(" ")[2] for page in one] == SITES
    assert all([panel.title for panel in page.panels] == PROTOCOLS for page in one)
    shapes = [page for key, page in pages.items() if key.startswith("split-7-")]
    assert [(page.kind, [panel.title for panel in page.panels]) for page in shapes] == [
        ("density", ["dfw01", "dfw02"]),
        ("density", ["lga/3"]),
    ]
    assert {layer.label for panel in shapes[0].panels for layer in panel.layers} == set(PROTOCOLS)


def test_more_colours_than_looks_go_on_in_a_further_figure():
    points = {("", "", f"c{number:02}"): [(0.0, 1.0)] for number in range(16)}
    split = model.Split(number=1, quantity="downloads", columns={"colour": "client"}, unit="tests", points=points)
    shown = model.View(
        file=None, mode="", sites=[], days=None, windows=[], facets=[], changes=[], points={}, splits=[split]
    )
    layers = [[layer for panel in page.panels for layer in panel.layers] for page in make_pages(shown)]
    assert [len(one) for one in layers] == [7, 7, 2]
    assert all(len({layer.style for layer in one}) == len(one) for one in layers)


def test_all_forms_show_it(run, tmp_path):
    shown = rendering.text(run)
    assert "Discards of the uplink by metro" in shown
    assert "Median download rate of clients by site, protocol" in rendering.page(run)
    names = {path.name for path in png.write(run, tmp_path)}
    assert {"split-1-1.png", "split-7-1.png"} <= names


def test_the_record_has_no_sites_that_are_splits(run):
    assert run.run.source["sites"] == SITES
    assert run.run.source["splits"][3] == {"quantity": "discards", "panel": "metro"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("rates:colour=site", "rates is no quantity; there are: download_rate"),
        ("downloads", "nothing is no figure, panel or colour"),
        ("downloads:color=site", "color=site is no figure, panel or colour"),
        ("downloads:colour=site,colour=day", "is one twice"),
        ("discards:colour=protocol", "discards has no column protocol; there are: site"),
        ("downloads:colour=period", "give --before and --after"),
    ],
)
def test_what_cannot_be_split_is_refused_with_what_can(wrong, told):
    with pytest.raises(UsageError, match=r"^--by ") as caught:
        splits.parse(wrong, has_windows=False)
    assert told in str(caught.value)


def test_more_series_than_a_reader_takes_are_refused_before_they_are_made(world, monkeypatch):
    monkeypatch.setattr(splits, "MOST_SERIES", 20)
    with pytest.raises(UsageError, match="--by downloads:colour=test_id: gives more than 20 series"):
        asked(world[0], "downloads:colour=test_id", sites=["dfw01"])


def test_the_command_takes_it_and_refuses_in_one_line(world, tmp_path):
    store = str(world[0].path)
    done = brimful(
        "discards",
        "report",
        "--store",
        store,
        "--by",
        "discards:colour=metro",
        "--by",
        "downloads:panel=site",
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert "Downloads by site" in done.stdout
    done = brimful("discards", "report", "--store", store, "--by", "discards:colour=colour", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
