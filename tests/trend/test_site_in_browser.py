"""The page in a real browser, opened as a file: somebody clicks through it."""

import shutil

import pytest
from brimful.trend.store import Store
from report.browser import needs_browser, play
from sites import HOSTILE, VALUES, VERSIONS, accept, checked_store, page_of
from support import ROOT

pytestmark = needs_browser

HANDS = """
const put = (id, text) => {
  const field = page.getElementById(id);
  field.value = text;
  field.dispatchEvent(new view.Event("input", {bubbles: true}));
};
const rows = (id) => [...page.querySelectorAll(`#${id} tbody tr`)];
const names = () => rows("series-list").map((row) => row.cells[0].textContent);
const findings = () => rows("findings").map((row) => row.textContent);
const text = (id) => page.getElementById(id).textContent;
const open = async (name) => {
  [...page.querySelectorAll("#series-list a")].find((link) => link.textContent === name).click();
  await until(() => text("name") === name);
};
const press = (key) => page.getElementById("figure").dispatchEvent(
  new view.KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const mouse = (kind, share, target) => {
  const over = page.querySelector(".u-over"), box = over.getBoundingClientRect();
  (target || over).dispatchEvent(new view.MouseEvent(kind, {
    bubbles: true, cancelable: true, view, movementX: 9, button: 0,
    clientX: box.left + share * box.width, clientY: box.top + 90}));
};
const click = async (index) => {
  mouse("mousemove", at(index)); await pause();
  for (const kind of ["mousedown", "mouseup", "click"]) mouse(kind, at(index));
};
const at = (index) => (index + 0.5) / view.eval("shownSeries.versions.length");
"""

INDEX = """
const seen = {first: names(), findings: findings(), count: text("count"), summary: text("summary"), wide: overflow()};
put("search", "log 1.39"); seen.searched = names(); seen.foundBySearch = findings();
put("search", "no such thing"); seen.none = [...names(), ...findings(), text("count")];
put("search", "");
put("state", "progression"); seen.progressions = [page.querySelector("#findings .badge").textContent, ...names()];
put("state", ""); put("days", "1"); seen.day = findings();
put("days", "7"); seen.week = findings().length;
put("days", ""); put("order", "reported"); seen.newest = findings();
return {...seen, hacked: view.hacked === undefined, title: page.title};
"""
SERIES = """
await open("login");
const seen = {title: page.title, verdict: text("verdict"), changes: text("changes"), key: text("key")};
seen.wide = overflow();
seen.focus = page.activeElement.id;
const figure = page.getElementById("figure");
seen.role = [figure.getAttribute("role"), figure.tabIndex, figure.getAttribute("aria-label")];
mouse("mouseenter", at(3)); mouse("mousemove", at(3)); await until(() => text("readout").includes("1.3 "));
seen.hovered = text("readout"); seen.report = page.getElementById("report").getAttribute("href");
await click(3); mouse("mousemove", at(20)); await pause();
seen.kept = text("readout");
await click(22); await until(() => text("readout").includes("1.22 "));
const shown = () => view.eval("figure.shown()");
seen.whole = shown();
mouse("mousemove", at(25)); await pause(); mouse("mousedown", at(25)); mouse("mousemove", at(35)); await pause();
mouse("mouseup", at(35), page);
await until(() => shown()[0] > 20);
seen.dragged = shown();
press("Escape"); seen.afterEscape = shown();
press("Home"); seen.home = figure.getAttribute("aria-valuetext");
press("ArrowRight"); seen.next = [figure.getAttribute("aria-valuenow"), text("readout")];
press("+"); seen.closer = shown();
press("End"); seen.end = [shown(), figure.getAttribute("aria-valuenow")];
page.getElementById("wider").click(); page.getElementById("whole").click(); seen.afterAll = shown();
page.querySelector("#values summary").click();
await until(() => page.querySelectorAll("#values tbody tr").length);
seen.rows = page.querySelectorAll("#values tbody tr").length;
page.getElementById("back").click(); await until(() => page.getElementById("series").hidden);
await until(() => page.activeElement.tagName === "A");
seen.back = page.activeElement.textContent;
await open("search"); seen.cross = text("key").includes("no value");
view.eval("figure.choose(5)"); seen.without = text("readout");
return seen;
"""
HOSTILE_SERIES = """
await until(() => !page.getElementById("series").hidden);
await until(() => view.eval("figure") !== null);
return {name: text("name"), hacked: view.hacked === undefined, images: page.images.length, words: text("words"),
  wide: overflow()};
"""
MISSING = """
await until(() => !page.getElementById("trouble").hidden);
const said = text("trouble");
view.location.hash = "#series=1"; await until(() => text("name") !== "");
return {said, found: text("name")};
"""
DRAWN = """
await until(() => view.eval("figure") !== null && page.querySelector("canvas"));
await until(() => true);
const canvas = page.querySelector("canvas"), colours = new Set();
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
for (let at = 0; at < pixels.length; at += 4) {
  if (pixels[at + 3] > 200) colours.add(pixels.slice(at, at + 3).join());
}
return {wide: overflow(), colours: [...colours], width: canvas.clientWidth,
  machines: text("machines"), background: view.getComputedStyle(page.body).backgroundColor};
"""
PLAYS = {
    "index": (1280, "", INDEX),
    "series": (1280, "", SERIES),
    "hostile": (1280, f"#series={1 + list(VALUES).index(HOSTILE)}", HOSTILE_SERIES),
    "missing": (1280, "#series=999", MISSING),
    "narrow index": (390, "", "return {wide: overflow()};"),
    "narrow": (390, "#series=1", DRAWN),
    "wide": (1600, "#series=1", DRAWN),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A page, clicked through with one start of the browser."""
    place = tmp_path_factory.mktemp("page")
    reports = place / "runs"
    reports.mkdir()
    for number in range(VERSIONS):
        (reports / f"{number} & more.html").write_text("a report")
    with checked_store(place / "nights.sqlite", reports) as store:
        accept(store, 1 + list(VALUES).index(HOSTILE), "1.3")
        page_of(store, place / "site")
    plays = [(width, at, HANDS + body) for width, at, body in PLAYS.values()]
    seen, console = play(place / "site" / "index.html", plays)
    return {"console": console, "place": place, **dict(zip(PLAYS, seen, strict=True))}


def test_nothing_fails_and_the_console_is_quiet(opened):
    assert {name: opened[name].get("failed") for name in PLAYS} == dict.fromkeys(PLAYS)
    # That of the series that is missing.
    assert [line for line in opened["console"] if "999.js" not in line] == []


def test_the_index_has_the_largest_and_the_worst_first(opened):
    seen = opened["index"]
    assert seen["first"][:2] == ["login", "logout"]
    assert set(seen["first"]) == set(VALUES)
    assert seen["summary"] == "regression: 2, normal: 3"
    assert seen["count"] == "2 findings of 2, 5 of 5 series"
    assert seen["title"] == "Trend of nights"
    largest = seen["findings"][0].replace("\xa0", " ")
    assert "% lower" in largest
    assert "1.19 → 1.20" in largest
    assert "2026-06-21" in largest


def test_searching_and_filtering(opened):
    seen = opened["index"]
    assert seen["searched"] == ["login", "logout"]
    assert seen["foundBySearch"] == ["No findings."]
    assert seen["none"] == ["No series.", "No findings.", "0 findings of 2, 0 of 5 series"]
    assert seen["progressions"] == ["progression", "No series."]
    assert (seen["day"], seen["week"]) == (["No findings."], 2)
    assert seen["newest"] == seen["findings"]


def test_a_series_has_a_figure_that_is_hovered_kept_and_zoomed(opened):
    seen = opened["series"]
    assert seen["title"] == "login"
    assert "since 1.30, last good 1.29" in seen["verdict"].replace("\xa0", " ")
    assert "1.29 → 1.30" in seen["changes"]
    assert "a label changed" in seen["key"]
    assert "1.3 of 2026-06-04 00:00 UTC" in seen["hovered"]
    assert "kernel 6.1" in seen["hovered"]
    assert seen["report"] == "../runs/3%20%26%20more.html"
    assert "1.3 of" in seen["kept"]
    assert seen["whole"] == seen["afterEscape"] == seen["afterAll"] == [-0.5, VERSIONS - 0.5]
    assert seen["dragged"] == pytest.approx([24.5, 34.5], abs=1.1)


def test_keys_and_screen_readers_reach_everything(opened):
    seen = opened["series"]
    assert seen["focus"] == "name"
    assert seen["role"] == ["slider", 0, "Versions of login"]
    assert seen["home"].startswith("1.0, ")
    assert seen["next"][0] == "1"
    assert seen["next"][1].startswith("1.1 of")
    assert seen["closer"][1] - seen["closer"][0] == pytest.approx(VERSIONS / 2)
    assert seen["end"][0][1] == VERSIONS - 0.5
    assert seen["end"][1] == str(VERSIONS - 1)
    assert seen["rows"] == VERSIONS
    assert seen["back"] == "login"
    assert "no value: timed out <b>" in seen["without"]


def test_names_from_outside_stay_text(opened):
    seen = opened["hostile"]
    assert seen["name"] == HOSTILE
    assert seen["hacked"]
    assert seen["images"] == 0
    assert "as <i>meant</i>" in seen["words"]
    assert opened["index"]["hacked"]


def test_a_series_that_is_gone_is_said_to_be(opened):
    assert "load it again" in opened["missing"]["said"]
    assert opened["missing"]["found"] == "login"


@pytest.mark.parametrize("name", ["index", "series", "hostile", "narrow index", "narrow", "wide"])
def test_nothing_is_wider_than_the_screen(opened, name):
    assert opened[name]["wide"] <= 0


@pytest.mark.parametrize("name", ["narrow", "wide"])
def test_the_figure_is_drawn_in_the_colours_of_the_page(opened, name):
    assert opened[name]["background"] == "rgb(245, 246, 248)"
    assert {"29,37,50", "49,99,198"} <= set(opened[name]["colours"])
    assert 250 < opened[name]["width"] < 1120


@pytest.fixture(scope="module")
def dark(tmp_path_factory):
    """The figure of a series of the example, in the dark."""
    place = tmp_path_factory.mktemp("dark")
    shutil.copy(ROOT / "examples" / "histories.sqlite", place)
    with Store.open(place / "histories.sqlite") as store:
        page_of(store, place / "site")
    (seen,), console = play(place / "site" / "index.html", [(390, "#series=1", HANDS + DRAWN)], "dark")
    assert console == []
    return seen


def test_it_is_dark_where_all_is(dark):
    assert dark["background"] == "rgb(18, 22, 29)"
    assert {"230,233,239", "126,166,255"} <= set(dark["colours"])
    assert dark["wide"] <= 0


def test_the_same_on_another_machine_is_linked(dark):
    assert dark["machines"].replace("\xa0", " ") == "On other machines: forwarder 64 ndr 0 % on 4 x lab-2"
