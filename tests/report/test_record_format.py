"""The record format: its schema, its examples, and what stays in a file whoever reads it."""

import json

import pytest
from brimful.records import End, RecordWriter, decode_line, encode, json_schema, read_run
from cases import EXAMPLES, SCHEMAS


def test_the_schema_is_that_of_the_structs():
    assert (SCHEMAS / "record-v1.json").read_bytes() == json_schema(), "run: python schemas/make.py"


def test_there_are_the_four_examples():
    assert {"regular", "irregular", "resumed", "invalid"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_come_back_byte_for_byte(name):
    for line in (SCHEMAS / "examples" / f"{name}.jsonl").read_bytes().splitlines(keepends=True):
        assert encode(decode_line(line, where=name)) == line


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_have_only_fields_of_the_schema(name):
    definitions = json.loads((SCHEMAS / "record-v1.json").read_text())["$defs"]
    kinds = {
        definition["properties"]["kind"]["enum"][0]: definition["properties"]
        for definition in definitions.values()
        if "kind" in definition["properties"]
    }
    for line in (SCHEMAS / "examples" / f"{name}.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert set(record) <= set(kinds[record["kind"]])


def test_unknown_fields_are_read_over_and_stay_in_the_file(tmp_path):
    path = tmp_path / "run.jsonl"
    lines = (SCHEMAS / "examples" / "regular.jsonl").read_text().splitlines()
    newer = "\n".join(line.replace('{"kind"', '{"from_the_future":{"a":[1]},"kind"', 1) for line in lines) + "\n"
    path.write_text(newer)
    file = read_run(path)
    assert len(file.trials) == sum('"kind":"trial"' in line for line in lines)
    with RecordWriter(path) as writer:
        writer.write(End(reason="done", trials=0, search_s=0.0))
    assert path.read_text().startswith(newer)


def test_the_documentation_names_every_field():
    documented = (SCHEMAS.parent / "docs" / "reference" / "record.md").read_text()
    definitions = json.loads((SCHEMAS / "record-v1.json").read_text())["$defs"]
    names = {name for definition in definitions.values() for name in definition["properties"]}
    assert {name for name in names if f"`{name}`" not in documented} == set()
