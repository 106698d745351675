"""BigQuery: what it would be asked, and what would be loaded, told by a stand-in for its client."""

import io
import sys
import types

import pyarrow.parquet as pq
import pytest
import questions
import sqlglot
import written
from brimful.discards import analysis, bigquery
from brimful.discards.modes import Mode
from brimful.errors import BrimfulError, UsageError
from sqlglot import exp

QUESTIONS = questions.all_questions(written.FIRST_DAY + questions.DAY, 11, ["198.51.100.7"])
CASES = [pytest.param(name, mode, id=f"{name}-{mode.value}") for name in QUESTIONS for mode in Mode]


def sql_of(name, mode):
    return bigquery.sql(lambda samples, tests: QUESTIONS[name](samples, tests, mode), "switches")


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_the_sql_is_as_it_was(name, mode, snapshot):
    assert sql_of(name, mode) == snapshot


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_the_sql_is_of_bigquery_and_of_what_every_engine_can(name, mode):
    (statement,) = sqlglot.parse(sql_of(name, mode), read="bigquery")
    tables = {table.name for table in statement.find_all(exp.Table) if table.args.get("db")}
    assert tables <= {"samples", "tests"}
    assert tables
    joins = [join for join in statement.find_all(exp.Join) if join.args.get("on")]
    # An inequality in a join makes it as long as the product of both sides.
    assert not [join for join in joins if join.args["on"].find(exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Or)]
    assert not [join for join in joins if join.args.get("method")]
    assert not list(statement.find_all(exp.ApproxQuantile, exp.ApproximateSimilarity))


class Refused(Exception):
    """As the client raises it."""


class Client:
    """Keeps what it is asked for."""

    project = "network"

    def __init__(self, refuse=None):
        self.calls, self.loaded, self.refuse = [], {}, refuse

    def create_dataset(self, name, *, exists_ok):
        self.calls.append(("dataset", name, exists_ok))

    def create_table(self, table, *, exists_ok):
        fields = {field.name: field.field_type for field in table.schema}
        place = (table.reference, table.time_partitioning.field, table.clustering_fields)
        self.calls.append(("table", *place, fields, exists_ok))

    def load_table_from_file(self, content, place, *, job_config):
        if self.refuse == place:
            raise Refused("quota exceeded\nand more")
        assert (job_config.source_format, job_config.write_disposition) == ("PARQUET", "WRITE_TRUNCATE")
        self.loaded[place] = pq.read_table(io.BytesIO(content.read()))
        return types.SimpleNamespace(result=lambda: None)


def package(name, **content):
    module = types.ModuleType(name)
    module.__dict__.update(content)
    return module


@pytest.fixture
def installed(monkeypatch):
    """Stand in for the package of the client."""

    class Named(types.SimpleNamespace):
        pass

    client = package(
        "google.cloud.bigquery",
        SchemaField=lambda name, field_type: Named(name=name, field_type=field_type),
        Table=lambda reference, schema: Named(reference=reference, schema=schema),
        TimePartitioning=lambda field: Named(field=field),
        LoadJobConfig=lambda **settings: Named(**settings),
        SourceFormat=Named(PARQUET="PARQUET"),
        WriteDisposition=Named(WRITE_TRUNCATE="WRITE_TRUNCATE"),
        Client=lambda project: Named(project=project),
    )
    errors = package("google.cloud.exceptions", GoogleCloudError=Refused)
    modules = (package("google"), package("google.cloud", bigquery=client, exceptions=errors), client, errors)
    for module in modules:
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def store(tmp_path):
    return written.write_store(tmp_path / "store", sites=("dfw01", "lga02"), bins=30, tests=5)


@pytest.mark.usefixtures("installed")
def test_a_store_is_loaded_day_by_day(store, snapshot):
    client = Client()
    seen = []
    rows = bigquery.load(store, client, "switches", progress=seen.append)
    assert client.calls == snapshot
    assert seen == ["samples 2018-02-01", "samples 2018-02-02", "tests 2018-02-01", "tests 2018-02-02"]
    assert rows == sum(table.num_rows for table in client.loaded.values())
    tests = client.loaded["network.switches.tests$20180201"]
    assert tests.num_rows == 10
    assert set(tests["site"].to_pylist()) == {"dfw01", "lga02"}
    assert set(tests["day"].to_pylist()) == {written.FIRST_DAY}
    samples = client.loaded["network.switches.samples$20180202"]
    assert samples.schema.names == bigquery.warehouse_schema("samples").names
    assert str(samples.schema.field("bin_start").type) == "timestamp[us, tz=UTC]"
    assert samples.num_rows == sum(
        pq.ParquetFile(path).metadata.num_rows for path in store.path.glob("samples/*/day=2018-02-02/*.parquet")
    )


@pytest.mark.usefixtures("installed")
def test_what_bigquery_refuses_is_an_error_of_one_line(store):
    client = Client(refuse="network.switches.samples$20180202")
    with pytest.raises(BrimfulError, match=r"^switches: BigQuery refuses: quota exceeded; load"):
        bigquery.load(store, client, "switches")
    assert list(client.loaded) == ["network.switches.samples$20180201"]


@pytest.mark.usefixtures("installed")
def test_a_client_is_made_where_it_is_installed():
    assert bigquery.connect_client("network").project == "network"


def test_a_client_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    for connect in (
        lambda: bigquery.connect_client("network"),
        lambda: bigquery.connect_bigquery("network", "switches"),
    ):
        with pytest.raises(UsageError, match=r"not installed; install it with: pip install 'brimful\[bigquery\]'"):
            connect()


def test_the_median_of_bigquery_is_by_rank():
    text = bigquery.sql(lambda samples, tests: analysis.daily_uplink_rate(samples), "switches")
    assert "ROW_NUMBER()" in text
    assert "QUANTILE" not in text.upper()
    assert "PERCENTILE" not in text.upper()
