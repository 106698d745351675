"""The record format: its schema, its examples, and what stays in a file whoever reads it."""

import json
from pathlib import Path

import msgspec
import pytest
from brimful.records import (
    End,
    GoalResult,
    RecordWriter,
    Run,
    collect,
    decode_line,
    encode,
    json_schema,
    read_run,
)
from brimful.records.subjects import kinds
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
def test_the_lines_of_a_file_are_all_of_it(name, tmp_path):
    file = read_run(SCHEMAS / "examples" / f"{name}.jsonl")
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(encode, file.lines())))
    assert msgspec.structs.replace(read_run(path), path=file.path) == file


def test_no_kind_is_missing_from_the_lines_of_a_file():
    """One record of each kind there is, in any order behind the first."""
    run = read_run(SCHEMAS / "examples" / "regular.jsonl").run
    drawn = [run, *(simplest(kind) for kind in kinds() if kind is not Run)]
    end = next(record for record in drawn if isinstance(record, End))
    result = msgspec.structs.replace(
        next(record for record in drawn if isinstance(record, GoalResult)), goal=run.goals[0].name
    )
    records = [record for record in drawn if not isinstance(record, End | GoalResult)] + [result, end]
    lines = list(collect(Path("run.jsonl"), records).lines())
    assert sorted(map(encode, lines)) == sorted(map(encode, records))


def simplest(kind):
    """Make a record of which every field has the least value of its type."""
    schema = msgspec.json.schema(kind)
    return msgspec.convert(least({"$ref": f"#/$defs/{kind.__name__}"}, schema["$defs"]), kind)


def least(schema, definitions):
    if "$ref" in schema:
        return least(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return least(schema["anyOf"][0], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: least(schema["properties"][name], definitions) for name in schema.get("required", ())}
    return {"array": [], "string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None}[schema["type"]]


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
    documented = (SCHEMAS.parent / "docs" / "reference" / "record-fields.md").read_text()
    definitions = json.loads((SCHEMAS / "record-v1.json").read_text())["$defs"]
    names = {name for definition in definitions.values() for name in definition["properties"]}
    assert {name for name in names if f"`{name}`" not in documented} == set()


@pytest.mark.parametrize("of_member", [False, True])
def test_facts_of_a_measurer_that_have_no_field_are_kept(of_member):
    (line, *_) = (SCHEMAS / "examples" / "regular.jsonl").read_bytes().splitlines(keepends=True)
    older = line.replace(b'"measurer":{', b'"measurer":{"version":"2","kind":"mine",')
    if of_member:
        older = b'{"kind":"member","name":"1","measurer":"m","repeat":1,"path":"1","end":%s,"run":%s}' % (
            b'{"kind":"end","reason":"done","trials":0,"search_s":0}',
            older.strip(),
        )
    record = decode_line(older, where="older")
    run = record.run if of_member else record
    assert run.measurer.facts()["version"] == "2"
    assert (run.measurer.kind, run.measurer.title) == ("mine", decode_line(line, where="newer").measurer.spec)
    assert decode_line(encode(record), where="again") == record
