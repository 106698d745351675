"""The files of a page: whole at any time, the same for the same store, a feed whose entries stay what they are."""

import json
import re
from xml.etree import ElementTree

import pytest
from brimful.errors import RecordError, UsageError
from brimful.files import lock
from brimful.report.trend import badge, series_file, site
from brimful.report.trend.index_file import NOT_CHECKED
from brimful.trend.checking import check
from brimful.trend.judgement import Settings
from brimful.trend.store import Store
from sites import CHANGE, HOSTILE, NOW, VALUES, VERSIONS, accept, check_after, checked_store, page_of, runs
from support import brimful

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def store(tmp_path):
    with checked_store(tmp_path / "nights.sqlite") as store:
        yield store


def data_of(directory):
    """Give what the page loads: the directory that it names, and the values that its scripts hand over."""
    (name,) = set(re.findall(r'src="(data-\w+)/index\.js"', (directory / "index.html").read_text()))
    values = {}
    for path in (directory / name).iterdir():
        call = re.fullmatch(r"brimful\.(\w+)\((?:(\d+), )?(\{.*\})\);\n", path.read_text())
        assert path.stem == (call[2] or call[1])
        values[path.stem] = json.loads(call[3])
    return name, values


def entries(directory):
    feed = ElementTree.parse(directory / "feed.xml").getroot()
    return {
        entry.findtext(f"{ATOM}id"): (entry.findtext(f"{ATOM}title"), entry.findtext(f"{ATOM}updated"))
        for entry in feed.iter(f"{ATOM}entry")
    }


def files(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_page_has_findings_by_size_and_all_series(store, tmp_path):
    written = page_of(store, tmp_path / "site")
    assert (written.series, written.findings, written.unchecked) == (len(VALUES), 2, 0)
    _, values = data_of(tmp_path / "site")
    index = values.pop("index")
    regression, progression = index["findings"]
    assert (regression["kind"], regression["version"]) == ("regression", f"1.{CHANGE}")
    assert [change["ratio"] for change in regression["changes"]] == pytest.approx([1.15, 1.08], rel=0.01)
    assert progression["kind"] == "progression"
    assert [row[2] for row in index["series"][:2]] == ["regression"] * 2
    assert {values[str(row[0])]["name"] for row in index["series"]} == set(VALUES)


def test_a_series_has_its_values_levels_changes_and_labels(store, tmp_path):
    page_of(store, tmp_path / "site")
    series = next(each for each in data_of(tmp_path / "site")[1].values() if each.get("name") == "login")
    assert series["values"] == pytest.approx(VALUES["login"], rel=1e-6)
    assert [level[:2] for level in series["judgement"]["levels"]] == [[0, CHANGE], [CHANGE, VERSIONS]]
    assert [change["index"] for change in series["judgement"]["changes"]] == [CHANGE]
    assert series["labels"] == [[0, {"kernel": "6.1"}], [10, {"kernel": "6.12"}]]


def test_versions_that_came_in_later_move_what_was_said(store, tmp_path):
    late = next(runs(versions=1))
    late = type(late)(source="late", version="0.9", at=late.at - 86400, points=late.points)
    store.add([late], now=NOW)
    page_of(store, tmp_path / "site")
    series = next(each for each in data_of(tmp_path / "site")[1].values() if each.get("name") == "login")
    assert series["versions"][0] == "0.9"
    assert series["judgement"]["changes"][0]["index"] == CHANGE + 1
    assert series["judgement"]["levels"][1][:2] == [CHANGE + 1, VERSIONS + 1]


def test_the_same_store_gives_the_same_data(store, tmp_path):
    page_of(store, tmp_path / "site")
    before = files(tmp_path / "site")
    page_of(store, tmp_path / "site")
    assert files(tmp_path / "site") == before
    page_of(store, tmp_path / "site", now=NOW + 60)
    changed = {path for path, content in files(tmp_path / "site").items() if before[path] != content}
    assert {path.name for path in changed} == {"index.html"}


def test_what_the_page_showed_before_is_removed(store, tmp_path):
    page_of(store, tmp_path / "site")
    name, _ = data_of(tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("trend.example")
    (tmp_path / "site" / "data-of-others").mkdir()
    accept(store, 1, f"1.{CHANGE}")
    check(store, Settings(), now=NOW, today="2026-07-01")
    page_of(store, tmp_path / "site")
    assert data_of(tmp_path / "site")[0] != name
    assert not (tmp_path / "site" / name).exists()
    assert (tmp_path / "site" / "CNAME").exists()
    assert (tmp_path / "site" / "data-of-others").exists()


@pytest.mark.parametrize("at", range(1, len(VALUES) + 1))
def test_a_page_that_cannot_be_written_leaves_the_old_one_whole(store, tmp_path, monkeypatch, at):
    page_of(store, tmp_path / "site")
    before = files(tmp_path / "site")
    accept(store, 1, f"1.{CHANGE}")

    def fails(reading, link):
        if reading.series.id == at:
            raise KeyboardInterrupt
        return content(reading, link)

    content = series_file.content
    monkeypatch.setattr(series_file, "content", fails)
    with pytest.raises(KeyboardInterrupt):
        page_of(store, tmp_path / "site")
    assert files(tmp_path / "site") == before
    monkeypatch.undo()
    (tmp_path / "site" / site._NEW).mkdir()
    (tmp_path / "site" / site._NEW / "1.js").write_text("half")
    page_of(store, tmp_path / "site")
    assert not (tmp_path / "site" / site._NEW).exists()
    assert set(data_of(tmp_path / "site")[1]) == {"index", *map(str, range(1, len(VALUES) + 1))}


def test_two_do_not_write_one_page(store, tmp_path):
    page_of(store, tmp_path / "site")
    with (tmp_path / "site" / site._LOCK).open("wb") as file:
        lock(file, tmp_path)
        with pytest.raises(RecordError, match="another process"):
            page_of(store, tmp_path / "site")


def test_a_page_of_something_else_is_kept(store, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="something else"):
        page_of(store, tmp_path)
    assert (tmp_path / "index.html").read_text() == "mine"


def test_reports_are_linked_as_seen_from_the_page(tmp_path):
    reports = tmp_path / "runs"
    reports.mkdir()
    (reports / "3 & more.html").write_text("a report")
    with checked_store(tmp_path / "store", reports) as store:
        page_of(store, tmp_path / "site")
    series = data_of(tmp_path / "site")[1]["1"]
    assert series["links"][3] == "../runs/3%20%26%20more.html"
    assert set(series["links"]) == {"", series["links"][3]}
    assert site._link(tmp_path, "https://ci.example/1") == "https://ci.example/1"
    assert site._link(tmp_path, "javascript:alert(1)") == ""
    assert site._link(tmp_path, "x" * 5000) == ""


def test_an_entry_of_the_feed_stays_the_same_while_its_finding_grows(tmp_path):
    seen, (*earlier,) = {}, runs()
    with Store.create(tmp_path / "store") as store:
        check_after(store, earlier[: CHANGE + 2])
        for run in earlier[CHANGE + 2 :]:
            check_after(store, [run])
            page_of(store, tmp_path / "site")
            for key, (title, updated) in entries(tmp_path / "site").items():
                assert seen.setdefault((title.split()[0], key), updated) == updated
    assert sorted(kind for kind, _ in seen) == ["progression", "regression"]


def test_the_feed_is_valid_whatever_names_there_are(tmp_path):
    with Store.create(tmp_path / "store") as store:
        for run in runs():
            points = [type(p)(key={"name": "a\x00b\x1b<"}, worse="higher", value=p.value) for p in run.points[:1]]
            store.add([type(run)(source=run.source, version=run.version + "\x07", at=None, points=points)], now=0.0)
        check(store, Settings(), now=NOW, today="2026-07-01")
        page_of(store, tmp_path / "site")
    (only,) = entries(tmp_path / "site").values()
    assert only[0].startswith("regression of 1 series with 1.30")


@pytest.mark.parametrize(
    ("state", "text"),
    [("normal", "normal"), (NOT_CHECKED, NOT_CHECKED), ("suspected regression", "suspected regression: 1")],
)
def test_the_badge_says_the_worst_state(state, text):
    row = badge.Row(1, "s", state, 1.0, "s", "1", None, "", True, None)
    drawn = ElementTree.fromstring(badge.render([row], []))
    assert drawn.findtext("{http://www.w3.org/2000/svg}title") == f"trend: {text}"


def test_an_empty_store_has_a_page(tmp_path):
    with Store.create(tmp_path / "store") as store:
        assert page_of(store, tmp_path / "site").series == 0
    assert entries(tmp_path / "site") == {}


def test_names_from_outside_are_nowhere_in_the_markup(store, tmp_path):
    page_of(store, tmp_path / "site")
    assert HOSTILE not in (tmp_path / "site" / "index.html").read_text()


def test_the_page_needs_nothing_else(store, tmp_path):
    page_of(store, tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert not re.search(r"@import|url\(", page)
    assert "Copyright (c) 2022 Leon Sorokin" in page


def test_the_command_says_what_it_wrote(store, tmp_path):
    found = brimful("trend", "page", "nights.sqlite", "site", cwd=tmp_path, check=0)
    assert found.stdout == f"wrote site/index.html: 2 findings, {len(VALUES)} series\n"
    refused = brimful("trend", "page", "nights.sqlite", "no/where", cwd=tmp_path, check=2)
    assert "make it first" in refused.stderr
    more = list(runs())[-1]
    store.add([type(more)(source="more", version="2.0", at=NOW, points=more.points)], now=NOW)
    found = brimful("trend", "page", "nights.sqlite", "site", cwd=tmp_path, check=0)
    assert f"{len(VALUES)} series have versions that no check has seen" in found.stdout
