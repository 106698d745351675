"""A subject is a folder of its own and one row of the table: nothing else of the program knows it."""

import inspect
import json

import pytest
from brimful.cli import group
from brimful.errors import BrimfulError
from brimful.records import End, RecordWriter, Run, read_run, subjects
from brimful.records.subjects import SUBJECTS, Subject, load
from click.testing import CliRunner
from toy.kinds import Bucket

TOY = Subject(
    name="barrel",
    plural="barrels",
    kinds=(Bucket,),
    line="toy.report:line",
    text="toy.report:text",
    page="toy.report:page",
    json="toy.report:to_json",
    verify="toy.report:verify",
    compare="toy.report:compare",
)
PARAMETERS = {
    "line": ("file",),
    "text": ("file", "style", "columns"),
    "page": ("file",),
    "json": ("file",),
    "png": ("file", "directory"),
    "verify": ("file", "goals"),
    "explain": ("file",),
    "compare": ("new", "baseline", "tolerance"),
}


@pytest.fixture
def barrel(tmp_path, monkeypatch):
    """Give what makes the record of a run on a barrel, of the litres that its buckets had and spilled."""
    monkeypatch.setattr(subjects, "SUBJECTS", (*SUBJECTS, TOY))

    def make(name, *buckets):
        (tmp_path / name).mkdir()
        with RecordWriter(tmp_path / name / "run.jsonl") as writer:
            writer.write(Run(1, name, "2026-01-01T00:00:00+00:00", {}, [], {}, subject=TOY.name))
            for litres, spilled in buckets:
                writer.write(Bucket(litres, spilled))
            writer.write(End(reason="done", trials=0, search_s=0.0))
        return str(tmp_path / name)

    return make


def invoke(*arguments):
    return CliRunner().invoke(group, arguments, standalone_mode=False)


def test_a_subject_takes_one_folder_and_one_row(barrel, tmp_path):
    path = barrel("oak", (10, 0), (10, 4))
    assert [bucket.litres for bucket in read_run(tmp_path / "oak").others] == [10, 10]
    assert invoke("report", path).output == "The barrel holds 16 l.\n"
    assert json.loads(invoke("report", path, "--json").output) == {"held": 16}
    assert invoke("report", path, "--html", str(tmp_path / "oak.html")).exit_code == 0
    assert (tmp_path / "oak.html").read_text() == "<p>The barrel holds 16 l.\n</p>"
    assert invoke("verify", path).output == "0 buckets spilled more than they had\n"


def test_what_a_subject_finds_decides_the_exit_code(barrel):
    full, leaking, wrong = barrel("oak", (10, 0)), barrel("pine", (10, 1)), barrel("magic", (10, 11))
    assert [invoke("verify", path).return_value for path in (full, wrong)] == [0, 1]
    assert json.loads(invoke("verify", wrong, "--json").output)["wrong"] == [
        {"kind": "bucket", "litres": 10, "spilled": 11}
    ]
    assert invoke("compare", leaking, "--against", full).return_value == 1
    assert invoke("compare", leaking, "--against", full, "--tolerance", "20%").return_value == 0


def test_what_a_subject_has_not_is_refused(barrel, tmp_path):
    path = barrel("oak", (10, 0))
    refused = invoke("report", path, "--png", str(tmp_path / "out"))
    assert isinstance(refused.exception, BrimfulError)
    assert "barrels have no figures as files" in str(refused.exception)


def test_a_subject_that_nobody_knows_is_named(barrel, monkeypatch):
    path = barrel("oak")
    monkeypatch.undo()
    refused = invoke("report", path)
    assert "'barrel', not one of search, block-device" in str(refused.exception)


@pytest.mark.parametrize(
    ("column", "function"),
    [
        pytest.param(column, getattr(row, column), id=f"{row.name}-{column}")
        for row in (*SUBJECTS, TOY)
        for column in PARAMETERS
        if getattr(row, column) is not None
    ],
)
def test_every_row_names_functions_that_can_be_called_as_its_columns_say(column, function):
    signature = inspect.signature(load(function))
    keywords = {name: None for name in PARAMETERS[column] if name in {"style", "columns", "tolerance"}}
    signature.bind(*[None] * (len(PARAMETERS[column]) - len(keywords)), **keywords)
