"""The Grafana dashboard asks for what is exported: every series and label of its queries is in what Prometheus gets."""

import json
import re
import subprocess
import sys

import pytest
from brimful.lab.switch import find_switch
from support import BRIMFUL, ROOT, wire_lab

DASHBOARD = json.loads((ROOT / "examples" / "grafana" / "brimful.json").read_text())
TARGETS = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
SCRAPE = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9119/metrics').read().decode())"
SETTINGS = """
metrics = "127.0.0.1:9119"
[[switch]]
name = "s1"
tables = ["rules.flows"]
[[switch.port]]
number = 1
interface = "ta"
speed_bps = 1000000000
[[switch.port.queue]]
id = 1
min_rate = 100
"""
FROM_THE_SCRAPE = {"instance", "job"}
"""Labels that Prometheus adds."""


def switch_metrics(directory):
    (directory / "switch.toml").write_text(SETTINGS)
    (directory / "rules.flows").write_text("in_port=1,actions=drop\n")
    with wire_lab() as lab:
        subprocess.run(lab.command(["ip", "link", "set", "lo", "up"]), check=True)
        command = lab.command([find_switch(), f"--config={directory / 'switch.toml'}"])
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory) as switch:
            try:
                assert switch.stdout.readline().startswith("ready")
                scrape = lab.command([sys.executable, "-I", "-c", SCRAPE])
                return subprocess.run(scrape, capture_output=True, text=True, check=True).stdout
            finally:
                switch.terminate()


def result_metrics(directory):
    """Of a search, a comparison, and a check of trends."""

    def run(*arguments, codes=(0,)):
        done = subprocess.run([*BRIMFUL, *arguments], cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode in codes, done.stderr

    run("search", "-m", "sim:sharp", "--quiet", "--out", "search")
    run("compare", "-m", "sim:sharp", "-m", "sim:sharp,capacity=5Mpps", "--quiet", "--out", "comparison", codes=(1,))
    for name in ("search", "comparison"):
        run("report", name, "--prometheus", f"{name}.prom")
    histories = str(ROOT / "examples" / "histories.sqlite")
    run("trend", "check", histories, "--prometheus", "trend.prom", codes=(0, 1))
    return "".join(path.read_text() for path in sorted(directory.glob("*.prom")))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Labels, with the values that they have, by the name of the series."""
    directory = tmp_path_factory.mktemp("exported")
    found = {}
    for line in (switch_metrics(directory) + result_metrics(directory)).splitlines():
        if match := re.match(r"([a-z_]+)(?:\{(.*)\})? ", line):
            labels = found.setdefault(match[1], {})
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""):
                labels.setdefault(label, set()).add(value)
    return found


@pytest.mark.parametrize("expression", [target["expr"] for target in TARGETS])
def test_queries_ask_for_what_is_exported(exported, expression):
    series = re.findall(r"\b(?:brimful|process)_[a-z_]+\b", expression)
    assert series
    for name in series:
        assert name in exported, expression
    for name, selectors in re.findall(r"\b((?:brimful|process)_[a-z_]+)\{(.*?)\}", expression):
        for label, operator, value in re.findall(r'(\w+)(=~|=)"(.*?)"', selectors):
            assert label in exported[name], expression
            if not value.startswith("$"):
                assert operator == "=~"
                assert any(re.fullmatch(value, known) for known in exported[name][label]), expression
    for grouping in re.findall(r"\bby \((.*?)\)", expression):
        for label in grouping.split(", "):
            assert label in exported[series[0]], expression


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["legendFormat"])
def test_legends_name_labels_that_are_left(exported, target):
    series = re.search(r"\b(?:brimful|process)_[a-z_]+\b", target["expr"])[0]
    grouped = re.search(r"\bby \((.*?)\)", target["expr"])
    left = set(grouped[1].split(", ")) if grouped else {*exported[series], *FROM_THE_SCRAPE}
    assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= left


def test_variables_are_labels(exported):
    asked = [variable["definition"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
    assert len(asked) == 2
    for definition in asked:
        name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", definition).groups()
        assert label in exported[name]


def test_panels_do_not_overlap():
    taken = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) == 23
