"""A record on discards as text, page, PDF and JSON, however odd it is."""

import datetime
import json
import re
from functools import cache

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.records import encode, read_run
from brimful.report import paper, rendering
from brimful.report.discards import comparison, document
from hypothesis import given
from hypothesis import strategies as st
from invented_records import HOSTILE, SITES, Finding, Warning, days_of, made, made_run, record, series, unix
from report.browser import ShownTogether, needs_browser
from support import brimful

SHORT = days_of(datetime.date(2018, 2, 1), datetime.date(2018, 3, 31))


def hostile():
    day = unix(datetime.date(2018, 1, 1))
    return record(
        made_run(
            sites=[HOSTILE], store=HOSTILE, mode=HOSTILE, days=[HOSTILE, 3], before=HOSTILE, after=[1], more=HOSTILE
        ),
        [
            series(HOSTILE, [(1, 2)]),
            series(f"loss_ratio/{HOSTILE}", [(day, 1e99), (day + 86400, -5), (day + 2 * 86400, 1e-4)]),
            series(f"tests/{HOSTILE}/zero", [(-1e12, 5.0), (1e300, 3.0)]),
            series("download_max/x/before", [(1, 1), (900, 1)]),
        ],
        [
            Finding(
                code="before-after",
                text=HOSTILE,
                subject=HOSTILE,
                data={"p_value": "x", "shift_interval": [None, HOSTILE], "quantity": [1], "margin": True},
            ),
            Finding(code="discards-begin", text=HOSTILE, subject="q", data={"day": "2018-99-99"}),
            Finding(code="dose-response", text=HOSTILE, data={"classes": [{}], "reason": HOSTILE}),
            Finding(code="excluded", text=HOSTILE, data={HOSTILE: 3}),
            Finding(code=HOSTILE, text=HOSTILE),
        ],
        [Warning(code=HOSTILE, text=HOSTILE)],
    )


ODD = {"dfw01": "core-1.example/xe-0/0/1", "dfw02": "Kërn 中文", "dfw03": "<b>&amp;</b>", "dfw04": "01"}
EDGES = {
    "two": made(sites=["dfw01", "dfw02"], days=SHORT),
    "no-discards": made(sites=SITES[:2], days=SHORT, discards=False),
    "no-tests": made(sites=SITES[:2], days=SHORT, tests=False),
    "odd": made(sites=SITES[:4], days=SHORT, names=ODD),
    "one-day": made(sites=["dfw02"], days=SHORT[:1]),
    "empty": record(made_run(sites=[], days=[], samples=0, tests=0)),
    "hostile": hostile(),
}


@cache
def page_of(name):
    return rendering.page(EDGES[name])


@pytest.mark.parametrize("name", ["two", "no-discards", "no-tests", "odd", "empty"])
def test_text(name, snapshot):
    assert rendering.text(EDGES[name], columns=90) == snapshot


@pytest.mark.parametrize(
    ("name", "columns"), [("two", 60), ("two", 80), ("two", 140), ("no-tests", 60), ("odd", 80), ("empty", 60)]
)
def test_text_fits_the_terminal(name, columns):
    lines = rendering.text(EDGES[name], columns=columns).split("\n")
    assert max(map(len, lines)) <= columns


def test_a_terminal_does_not_obey_a_record():
    shown = rendering.text(hostile())
    assert all(character.isprintable() or character in "\n\xa0\u202f" for character in shown)


def test_all_numbers_of_a_narrow_table_are_there():
    wide, narrow = (rendering.text(EDGES["two"], columns=columns).split() for columns in (200, 60))
    assert set(wide) - set(narrow) == set()


@pytest.mark.parametrize("name", EDGES)
def test_a_page_refers_to_nothing_outside_of_it(name):
    page = page_of(name)
    assert "://" not in page
    assert not re.search(r"<(script|link(?! rel=\"icon\" href=\"data:,\")|img|iframe|object|embed|base)\b", page)
    assert not re.search(r"@import|url\((?!#)", page)
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    referred = re.findall(r"url\(#([^)]+)\)", page) + re.findall(r'href="#([^"]+)"', page)
    assert set(referred) <= set(anchors)


SHOWN = ShownTogether(page_of, [("two", 1280), ("odd", 390), ("hostile", 390), ("empty", 390)])


@needs_browser
@pytest.mark.parametrize(("name", "width"), SHOWN.wanted)
def test_a_page_fits_and_is_quiet(name, width):
    seen = SHOWN[name, width]
    assert seen.scroll_width <= width, seen.widest
    assert not seen.widest
    assert not seen.console
    assert not seen.requests
    assert len(seen.shown_figures) == page_of(name).count("<figure")


# tests/report/test_every_page.py shows the same page.
@pytest.mark.slow
def test_the_page_of_the_whole_published_platform_stays_small():
    file = made()
    assert sum(len(one.points) for one in file.series) > 150_000
    assert len(rendering.page(file)) < 5_000_000


def test_json_has_everything():
    file = EDGES["two"]
    content = json.loads(rendering.to_json(file))
    assert {name: len(one["points"]) for name, one in content["series"].items()} == {
        one.name: len(one.points) for one in file.series
    }
    assert [finding["text"] for finding in content["findings"]] == [finding.text for finding in file.findings]
    assert content["source"]["mode"] == "correct"


numbers = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
keys = ["quantity", "p_value", "holm_p", "shift_ratio", "shift_interval", "equivalent", "detectable_80", "margin"]
keys += ["level", "tests", "day", "coverage", "conflicts", "samples", "left_out", "reason", "classes", "clients"]
datas = st.dictionaries(st.sampled_from(keys), st.one_of(numbers, st.lists(numbers, max_size=3)), max_size=6)
codes = st.sampled_from(
    ["before-after", "before-after-paired", "dose-response", "excluded", "coverage", "conflicts", "discards-stop", "x"]
)


@given(
    st.lists(st.builds(Finding, code=codes, text=st.text(), subject=st.none() | st.text(), data=datas), max_size=5),
    st.lists(
        st.tuples(
            st.sampled_from(["loss_ratio/a", "discards/b", "tests/a/zero", "tests//non-zero", "tests", "", "/"]),
            st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), max_size=4),
        ),
        max_size=4,
    ),
)
def test_any_record_becomes_text(findings, named):
    lines = [series(name, points) for name, points in named]
    assert rendering.text(record(made_run(), lines, findings))


def saved(file, directory):
    directory.mkdir()
    (directory / "run.jsonl").write_bytes(b"".join(encode(line) for line in file.lines()))
    return directory


def test_a_saved_run_is_shown_in_every_form(tmp_path):
    run = saved(EDGES["two"], tmp_path / "run")
    assert msgspec.structs.replace(read_run(run), path=EDGES["two"].path) == EDGES["two"]
    shown = brimful("report", run, cwd=tmp_path, check=0)
    assert shown.stdout == rendering.text(EDGES["two"])
    brimful("report", run, "--html", "r.html", "--pdf", "r.pdf", "--png", "figures", cwd=tmp_path, check=0)
    assert (tmp_path / "r.html").read_text() == page_of("two")
    assert (tmp_path / "r.pdf").read_bytes() == paper.render(page_of("two"))
    assert len(list((tmp_path / "figures").glob("*.png"))) == 9
    assert json.loads(brimful("report", run, "--json", cwd=tmp_path, check=0).stdout)["sites"] == ["dfw01", "dfw02"]


def test_commands_for_searches_refuse_it_in_one_line(tmp_path):
    run = saved(EDGES["two"], tmp_path / "run")
    for arguments in (["verify", run / "run.jsonl"], ["compare", run, "--against", run, "--html", "c.html"]):
        refused = brimful(*arguments, cwd=tmp_path, check=2)
        assert refused.stderr.startswith("brimful: error: ")
        assert refused.stderr.count("\n") == 1


def test_two_runs_side_by_side(tmp_path, snapshot):
    ours, against = EDGES["two"], made(sites=["dfw01", "dfw02"], days=SHORT, discards=False)
    assert comparison.render(ours, against) == snapshot
    assert "No number of the tables differs." in comparison.render(ours, ours)
    found = comparison.build(ours, against)
    assert all(difference.ours != difference.against for difference in found)
    runs = [saved(ours, tmp_path / "ours"), "--against", saved(against, tmp_path / "against")]
    assert brimful("compare", *runs, cwd=tmp_path, check=0).stdout == comparison.render(ours, against)
    assert len(json.loads(brimful("compare", *runs, "--json", cwd=tmp_path, check=0).stdout)["differences"]) == len(
        found
    )


def test_runs_of_two_kinds_are_not_compared():
    other = record(msgspec.structs.replace(made_run(), subject="block-device"))
    with pytest.raises(UsageError, match="compare runs of one kind"):
        comparison.build(EDGES["two"], other)


def test_the_marks_of_more_sites_than_a_page_can_have_are_pixels(monkeypatch):
    monkeypatch.setattr(document, "MANY_POINTS", 100)
    page = rendering.page(EDGES["two"])
    assert page.count("<image") >= 7
    assert "<marker" not in page
    assert page.count("<figure") == page_of("two").count("<figure")
    assert set(re.findall(r'href="([^#][^",;]*)', page)) == {"data:", "data:image/png"}
