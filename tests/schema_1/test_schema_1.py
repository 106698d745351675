"""Records of schema 1 that an earlier brimful wrote, and what its reports said of them: nothing of it may be lost.

`report.json` is what `brimful report --json` gave then. Later reports may say more, and say it in other words.
The intervals of the campaign's throughput are of today: those of then lacked the width between the bounds.
"""

import json
import math
from pathlib import Path

import pytest
from brimful.records import iterate_records, read_run
from support import brimful

HERE = Path(__file__).parent
SUBJECTS = ["search", "campaign", "burst-campaign", "delay", "device", "discards"]


def differences(then, now, place=""):
    """Give where a value of then is missing or another one now; sentences may change."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            if key not in now:
                yield f"{place}.{key} is missing"
            else:
                yield from differences(value, now[key], f"{place}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (first, second) in enumerate(zip(then, now, strict=True)):
            yield from differences(first, second, f"{place}[{number}]")
    elif isinstance(then, float) and isinstance(now, float | int):
        if not math.isclose(then, now, rel_tol=1e-9):
            yield f"{place}: {then} is {now}"
    elif then != now and not (isinstance(then, str) and isinstance(now, str) and " " in then):
        yield f"{place}: {then!r} is {now!r}"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_report_has_all_that_it_had(subject, tmp_path):
    shown = brimful("report", f"{subject}/run.jsonl", "--json", cwd=HERE, check=0).stdout
    then = json.loads((HERE / subject / "report.json").read_text())
    assert list(differences(then, json.loads(shown))) == []
    for form in ("--text", "--html"):
        target = [tmp_path / "page.html"] if form == "--html" else []
        brimful("report", f"{subject}/run.jsonl", form, *target, cwd=HERE, check=0)


@pytest.mark.parametrize("subject", ["search", "delay"])
def test_every_claim_still_holds(subject):
    brimful("verify", f"{subject}/run.jsonl", cwd=HERE, check=0)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_records_are_read_whole(subject):
    written = list(iterate_records(HERE / subject / "run.jsonl"))
    given = list(read_run(HERE / subject).lines())
    assert len(given) == len(written)
    assert [record for record in written if record not in given] == []


def test_what_is_lost_is_found():
    then = {"a": [1.0, {"b": "text of old"}], "c": "word", "d": None}
    assert list(differences(then, {"a": [1, {"b": "other words"}], "c": "word", "d": None, "e": 2})) == []
    assert list(differences(then, {"a": [1.1, {}], "c": "other"})) == [
        ".a[0]: 1.0 is 1.1",
        ".a[1].b is missing",
        ".c: 'word' is 'other'",
        ".d is missing",
    ]
