"""The table of loaders: what it names is there, and each row reads what it recognises."""

import json
import subprocess
import sys

import pytest
from brimful.discards.telemetry import catalogue
from brimful.discards.telemetry.source import UnreadableError
from telemetry import MIDNIGHT, content, line2, put
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


def test_archives_of_switches_are_read_without_pandas(tmp_path):
    """Importing it takes as long as reading a day of two machines."""
    (tmp_path / "a-switch.jsonl").write_bytes(content(line2("switch.discards.uplink.tx", [(MIDNIGHT, 3, 103)])))
    program = (
        "import sys\nfrom brimful.cli import main\n"
        f"sys.argv = ['brimful', 'discards', 'ingest', '--store', {str(tmp_path / 'store')!r}, '{tmp_path}']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
