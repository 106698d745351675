"""Options of the commands that say how sources are read and where a report is computed."""

import json

import pytest
from brimful.cli.discards import engine_options
from brimful.discards import engine as engines
from brimful.discards.capacities import Capacities
from brimful.discards.store import Store
from brimful.errors import UsageError
from click.testing import CliRunner
from telemetry import MIDNIGHT
from test_prometheus import rows_of

HEAD = "timestamp,device,port,direction,octets,discards\n"


def ingest(tmp_path, *options, of="a.csv"):
    from brimful.cli.discards.ingest import ingest as command

    done = CliRunner().invoke(command, ["--store", str(tmp_path / "store"), str(tmp_path / of), *options])
    return done.exception or done


@pytest.fixture
def table(tmp_path):
    lines = [f"{MIDNIGHT + 60 * place},edge,1,tx,{place * 10**9},{place}\n" for place in range(120)]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    return tmp_path


def test_counters_must_be_said_to_be_counters(table):
    assert isinstance(ingest(table), UsageError)
    assert "rows, new" in ingest(table, "--counters").output
    assert "sources, known" in ingest(table).output
    assert "read as counters; to read it as differences" in str(ingest(table, "--differences"))


def test_another_capacity_is_applied_to_what_is_there(table):
    ingest(table, "--counters", "--capacity", "10Gbps")
    assert all(row["usable"] for row in rows_of(table / "store") if row["value"] is not None)
    done = ingest(table, "--capacity", "100Mbps")
    assert "judged 1 days of machines again" in done.output
    octets = [row for row in rows_of(table / "store") if "octets" in row["metric"]]
    assert not any(row["usable"] for row in octets)
    assert Capacities.of_store(Store.open(table / "store")).entries[0].bps == 1e8


def test_a_zone_that_there_is_not_is_refused(table):
    assert "--timezone Mars/Base: there is no such zone" in str(ingest(table, "--timezone", "Mars/Base"))


def test_counters_that_wrap_twice_say_what_to_save(tmp_path):
    polls = [[MIDNIGHT + 300 * place, str(2_816_406_272 * place % 2**32)] for place in range(4)]
    labels = {"__name__": "ifOutOctets", "instance": "edge-1", "ifName": "xe-0"}
    result = [{"metric": labels, "values": polls}]
    content = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    (tmp_path / "a.csv").with_suffix(".json").write_text(json.dumps(content))
    from brimful.cli.discards.ingest import ingest as command

    done = CliRunner().invoke(command, ["--store", str(tmp_path / "store"), str(tmp_path / "a.json")])
    assert done.exit_code == 0
    assert "save ifHCOutOctets" in done.output.replace("\n", " ")


def test_the_master_of_spark_is_the_one_that_was_given(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(engines, "connect_spark", lambda store, **options: asked.append(options))
    engine_options.connect(Store.create(tmp_path / "store"), "spark", "2GB", master="spark://host:7077", dataset=None)
    engine_options.connect(Store.create(tmp_path / "store"), "spark", "2GB", master=None, dataset=None)
    assert [one["master"] for one in asked] == ["spark://host:7077", None]


@pytest.mark.parametrize(
    ("engine", "master", "dataset", "message"),
    [
        ("duckdb", "yarn", None, "add --engine spark"),
        ("bigquery", None, None, "go together"),
        ("duckdb", None, "a.b", "go together"),
        ("bigquery", None, "b", "is not PROJECT.DATASET"),
    ],
)
def test_options_of_other_engines_are_refused(engine, master, dataset, message):
    with pytest.raises(UsageError, match=message):
        engine_options.check_engine(engine, master, dataset)


def test_files_of_a_directory_that_are_not_read_are_counted(table):
    for name in ("b.txt", "more/c.log", ".hidden"):
        (table / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (table / "data" / name).write_text("x")
    (table / "a.csv").rename(table / "data" / "a.csv")
    told = json.loads(ingest(table, "--counters", "--json", of="data").output)
    assert told["notes"] == [f"{table}/data: 2 files in it are not read, such as b.txt; to read one, name it"]
    assert (told["sources_new"], told["samples"]) == (1, told["values"] + told["without_value"]["first_poll"])
