"""Every page that brimful writes: a report of each subject, each kind of comparison, the list of runs."""

import atexit
import tempfile
from functools import cache, partial
from pathlib import Path

from bisection import building
from brimful.cli import group
from brimful.records import read_run
from brimful.records.subjects import load, subject_of
from brimful.report import collection
from brimful.report.run_list import Value
from brimful.report.run_list import page as list_page
from burst import invented_bursts
from campaign import invented_campaign
from click.testing import CliRunner
from discards import invented_records
from iocost import test_html_runs
from loss import losing
from paired import comparing
from recovery import recovering
from report.cases import EXAMPLES, example
from suites import invented_suite, model_switch

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_1 = ROOT / "tests" / "schema_1"


@cache
def runs():
    """A run of each kind that reports differ by, by name."""
    return {
        **{f"search-{name}": example(name) for name in EXAMPLES},
        "campaign": invented_campaign.campaign(),
        "burst": invented_bursts.invented_run(Path("invented")),
        "burst-campaign": read_run(SCHEMA_1 / "burst-campaign" / "run.jsonl"),
        "loss-campaign": campaign_of("loss", "--trial", "1s"),
        "recovery-campaign": campaign_of("recovery", "--throughput", "1Mpps"),
        "recovery": recovering.invented_run(Path("invented")),
        "loss": losing.invented_run(Path("invented")),
        "suite": invented_suite.made(),
        "switching": model_switch.invented_run(Path("invented")),
        "comparison": comparing.invented_run(Path("invented")),
        "bisection": building.invented_run(Path("invented")),
        "delay": read_run(SCHEMA_1 / "delay" / "run.jsonl"),
        "block-device": test_html_runs.EDGES["made"],
        "block-device-measured": read_run(SCHEMA_1 / "device" / "run.jsonl"),
        "discards": invented_records.made(),
        "discards-small": read_run(SCHEMA_1 / "discards" / "run.jsonl"),
    }


def campaign_of(find, *options):
    """Runs of a simulated device, one for each frame size; they are there until the process ends."""
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    out = Path(directory.name) / find
    command = ["search", "-m", "sim:buffer,capacity=1Mpps,frames=100,link=2Mpps", "--sizes", "64,512,1518"]
    done = CliRunner().invoke(group, [*command, "--find", find, "--tests", "2", *options, "--out", str(out), "--quiet"])
    assert done.exit_code == 0, done.output
    return read_run(out)


@cache
def makers():
    """What makes each page, by name."""
    made = {name: partial(load(subject_of(file.run, name).page), file) for name, file in runs().items()}
    for name in ("search-regular", "campaign", "block-device", "discards"):
        file = runs()[name]
        compare = load(subject_of(file.run, name).compare)
        compared = compare([file], [file], tolerance=0.01)
        if compared.page is not None:
            made[f"compare-{name}"] = compared.page
    return {**made, "runs": list_of_runs, "collection": collection_of_runs}


@cache
def page(name):
    """A page by its name: that of the largest run takes twenty seconds."""
    return makers()[name]()


def list_of_runs():
    rows = [
        {
            "path": f"runs/{name}",
            "started": file.run.started,
            "subject": file.run.subject,
            "what": file.run.measurer.spec,
            "result": load(subject_of(file.run, name).line)(file),
            "problem": None,
            "values": [Value(name="ndr 0 %", apart="", unit="frames/s", value=1e6)],
        }
        for name, file in runs().items()
    ]
    return list_page(rows, ROOT)


def collection_of_runs():
    chosen = [
        ("test_throughput", "passed", "search-regular"),
        ("test_sizes[64-a-name-that-is-long]", "failed", "campaign"),
    ]
    entries = [collection.Entry(test, outcome, runs()[name]) for test, outcome, name in chosen]
    return collection.page(entries, "Searches and comparisons of the tests")
