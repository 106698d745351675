"""Spark, run for real, gives the same answers as DuckDB on a million samples."""

import shutil

import overlap_worlds
import pytest
import questions
import stores
import written
from brimful.discards import analysis, engine
from brimful.discards.modes import Mode

pytestmark = [
    # test_engines.py asks DuckDB the same.
    pytest.mark.slow,
    # To start Spark takes long on a busy machine.
    pytest.mark.timeout(400),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
    # The client of Spark leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

QUESTIONS = questions.all_questions(written.FIRST_DAY + questions.DAY, 3, ["198.51.100.7"])


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    path = tmp_path_factory.mktemp("million") / "store"
    store = written.write_store(path, sites=("dfw01", "lga02"), machines=2, days=10, tests=1000, inbound=True)
    spark = engine.connect_spark(store, master="local[2]", driver_memory="2g")
    spark.session.conf.set("spark.sql.shuffle.partitions", "2")
    yield spark, engine.connect_duckdb(store)
    spark.session.stop()


def test_both_read_a_million_samples(engines):
    spark, duckdb = (one.rows(one.samples().agg(rows=one.samples().count())).to_pylist() for one in engines)
    assert spark == duckdb
    assert spark[0]["rows"] > 1_000_000


@pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", QUESTIONS)
def test_both_give_the_same(engines, name, mode):
    spark, duckdb = (
        one.per_site(lambda samples, tests: QUESTIONS[name](samples, tests, mode)).to_pylist() for one in engines
    )
    assert spark
    questions.assert_same(name, spark, duckdb)


def test_spark_knows_of_a_thousand_worlds_what_a_loop_over_seconds_finds(engines):
    spark, _ = engines
    samples, tests, expected = overlap_worlds.a_thousand()
    # Spark takes no unsigned numbers from elsewhere; none are needed here.
    polled = stores.table("samples", samples).drop_columns(["counter", "reported"])
    tables = (spark.table(rows) for rows in (stores.table("tests", tests), polled))
    rows = spark.rows(analysis.test_overlap(*tables)).to_pylist()
    seen = {row["test_id"]: {key: row[key] for key in ("overlap", "discards", "coverage")} for row in rows}
    assert seen == expected
