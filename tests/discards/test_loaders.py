"""The table of loaders: what it names is there, and each row reads what it recognises."""

import json

import pytest
from brimful.discards.telemetry import catalogue
from brimful.discards.telemetry.source import UnreadableError
from telemetry import MIDNIGHT, put
from test_formats_in_use import RAW
from test_prometheus import GOOD, answer, series

POLL = {"fields": {"ifOutDiscards": 1}, "tags": {"agent_host": "edge", "ifName": "1"}, "timestamp": MIDNIGHT}
FILES = {
    "DISCO": ("a-switch.jsonl", ""),
    "agents": ("a.json", json.dumps(POLL)),
    "line protocol": ("a.lp", ""),
    "OpenMetrics": ("a.prom", ""),
    "tables": ("a.csv", "timestamp,device\n"),
    "tables in JSON": ("a.json", '{"timestamp": 1, "device": "e"}'),
    "M-Lab's rows": ("a.json", json.dumps(RAW)),
    "Prometheus": ("a.json", json.dumps(answer(series("ifOutDiscards", GOOD)))),
}


@pytest.mark.parametrize("loader", catalogue.LOADERS, ids=lambda loader: loader.name)
def test_each_row_names_functions_and_recognises_its_files(tmp_path, loader):
    functions = [loader.reader, *(one for one in (loader.recognises, loader.doubt) if one)]
    assert all(callable(catalogue.named(function)) for function in functions)
    name, content = FILES[loader.name]
    (tmp_path / name).write_text(content)
    assert catalogue.loader_of(tmp_path / name) == loader


def test_a_file_that_no_row_recognises_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr(catalogue, "LOADERS", catalogue.LOADERS[:-1])
    with pytest.raises(UnreadableError):
        catalogue.loader_of(tmp_path / "a.json")
    (problem,) = put(tmp_path / "store", tmp_path / "a.json").unreadable_places
    assert problem == f"{tmp_path}/a.json: holds nothing that a file of such a name may hold"
