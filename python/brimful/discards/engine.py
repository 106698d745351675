"""What computes the questions of `brimful.discards.analysis`: DuckDB in this process, or Spark."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import duckdb
import ibis
import pyarrow as pa
from ibis.expr.types import Table

from brimful.discards import schema
from brimful.discards.places import Bucket
from brimful.discards.store import Store
from brimful.errors import BrimfulError, UsageError, one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Question = Callable[[Table, Table], Table]
"""From the samples and the tests to a table; every row of the answer is of one site and needs this site only."""

Follow = Callable[[Table], Table]
"""From the answer to a question to that to another one."""

Answer = TypeVar("Answer")

COLUMNS = {"samples": schema.SAMPLES, "tests": schema.TESTS}
"""Of the tables; with them come ``site`` and ``day``."""
MEMORY_LIMIT = "3GB"
WORKERS_S = 120.0
"""How long a cluster may take to start the first executor."""
ANSWER_S = 5.0
"""How long a master may take to take a connection."""
_NO_CONNECTOR = (
    "Spark has no connector for S3; give it org.apache.hadoop:hadoop-aws of the version of its hadoop-client, "
    "by PYSPARK_SUBMIT_ARGS='--packages org.apache.hadoop:hadoop-aws:3.4.1 pyspark-shell'"
)


class Engine(ABC):
    """Has the tables of a store and computes expressions of them."""

    monitoring_clients: list[str] | None = None
    """Client addresses of the operator's own monitoring as they are in the store; nothing where it does not say."""

    @abstractmethod
    def samples(self, site: str | None = None) -> Table:
        """Give the samples, of one site or of all."""

    @abstractmethod
    def tests(self, site: str | None = None) -> Table:
        """Give the tests, of one site or of all."""

    @abstractmethod
    def rows(self, expression: Table) -> pa.Table:
        """Compute an expression.

        Raises
        ------
        BrimfulError
            When it cannot be computed.
        """

    def prepared(self, expression: Table) -> Callable[[], pa.Table]:
        """Give what computes an expression, as often as it is called, of what its tables hold then."""
        return lambda: self.rows(expression)

    def keeper(self, expression: Table) -> Callable[[], AbstractContextManager[Table]]:
        """Give what computes an expression and keeps the answer as a table, as often as it is called."""
        keep: Callable[[], AbstractContextManager[Table]] = expression.cache
        return keep

    def table(self, rows: pa.Table) -> Table:
        """Give rows from elsewhere (capacities, say) as a table that expressions can use."""
        return ibis.memtable(rows)

    def parts(self, sites: Sequence[str] = ()) -> Iterator[tuple[Table, Table]]:
        """Give samples and tests of some sites, or of all, in parts; an engine of many machines has one part."""

        def of_sites(table: Table) -> Table:
            return table.filter(table.site.isin(list(sites))) if sites else table

        yield of_sites(self.samples()), of_sites(self.tests())

    def each_site(self, question: Question, sites: Sequence[str] = ()) -> Iterator[pa.Table]:
        """Compute a question for each of some sites, or of all."""
        answer = _Once(lambda *tables: self.prepared(question(*tables)))
        for tables in self.parts(sites):
            yield answer.of(*tables)

    def per_site(self, question: Question, sites: Sequence[str] = ()) -> pa.Table:
        """Compute a question for some sites, or for all, in one table."""
        return pa.concat_tables(self.each_site(question, sites))

    def per_site_about(
        self, subject: Question, questions: Sequence[Follow], sites: Sequence[str] = ()
    ) -> list[pa.Table]:
        """Compute questions about one table, which is computed once for each of some sites, or for all."""
        keep = _Once(lambda *tables: self.keeper(subject(*tables)))
        asked = [_Once(lambda kept, question=question: self.prepared(question(kept))) for question in questions]
        answers: list[list[pa.Table]] = [[] for _ in questions]
        for tables in self.parts(sites):
            with keep.of(*tables) as kept:
                for answer, found in zip(asked, answers, strict=True):
                    found.append(answer.of(kept))
        return [pa.concat_tables(found) for found in answers]


class _Once(Generic[Answer]):
    """Prepares an answer once for all tables that are the same but for their rows: most of a question's time."""

    def __init__(self, prepare: Callable[..., Callable[[], Answer]]) -> None:
        self._prepare = prepare
        self._tables: tuple[Table, ...] = ()

    def of(self, *tables: Table) -> Answer:
        if len(tables) != len(self._tables) or any(a is not b for a, b in zip(tables, self._tables, strict=True)):
            self._tables, self._answer = tables, self._prepare(*tables)
        return self._answer()


class _StoreEngine(Engine):
    """Reads the files of a store where they are."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.monitoring_clients = _monitoring_clients(store)
        self._tables: dict[tuple[str, str | None], Table] = {}

    def samples(self, site: str | None = None) -> Table:
        """Give the samples, of one site or of all."""
        return self._table("samples", site)

    def tests(self, site: str | None = None) -> Table:
        """Give the tests, of one site or of all."""
        return self._table("tests", site)

    def _table(self, name: str, site: str | None) -> Table:
        if (name, site) not in self._tables:
            sites = self.store.sites(name)
            there = bool(sites) if site is None else site in sites
            self._tables[name, site] = self._read(name, site) if there else self.table(no_rows(name))
        return self._tables[name, site]

    @abstractmethod
    def _read(self, name: str, site: str | None) -> Table:
        """Give a table that has files."""

    def _failed(self, engine: str, error: Exception) -> BrimfulError:
        return BrimfulError(f"{self.store.path}: {engine} cannot compute this: {_reason(error)}")


class DuckDB(_StoreEngine):
    """DuckDB in this process; what does not fit into its memory is spilled."""

    def __init__(self, store: Store, memory_limit: str, threads: int | None, spill: Path) -> None:
        super().__init__(store)
        settings: dict[str, object] = {"memory_limit": memory_limit, "temp_directory": str(spill)}
        if threads is not None:
            settings["threads"] = threads
        with self._in_words():
            self.backend = ibis.duckdb.connect(**settings, preserve_insertion_order=False)
            # Bars are for programs to draw.
            self.backend.settings["enable_progress_bar"] = False
        self._queries: dict[tuple[str, str], str] = {}
        self._by_name: dict[str, Table] = {}

    def rows(self, expression: Table) -> pa.Table:
        """Compute an expression."""
        return self.prepared(expression)()

    def prepared(self, expression: Table) -> Callable[[], pa.Table]:
        """Give what computes an expression, which is compiled once."""
        query, columns = self.backend.compile(expression), expression.schema().to_pyarrow()

        def rows() -> pa.Table:
            with self._in_words():
                return self.backend.con.sql(query).to_arrow_table().cast(columns)

        return rows

    def keeper(self, expression: Table) -> Callable[[], AbstractContextManager[Table]]:
        """Give what keeps an answer as a table, one at a time."""
        query = self.backend.compile(expression)

        @contextlib.contextmanager
        def kept() -> Iterator[Table]:
            try:
                yield self._named("kept", "TABLE", query)
            finally:
                self.backend.con.execute("DROP TABLE IF EXISTS brimful_kept")

        return kept

    def table(self, rows: pa.Table) -> Table:
        """Give rows from elsewhere as a table that expressions can use."""
        name = f"brimful_{uuid.uuid4().hex}"
        self.backend.con.register(name, rows)
        return self.backend.table(name)

    def parts(self, sites: Sequence[str] = ()) -> Iterator[tuple[Table, Table]]:
        """Give one site after the other, so that memory does not grow with their number.

        Raises
        ------
        UsageError
            When a site is named that the store does not have.
        """
        known = sorted({*self.store.sites("samples"), *self.store.sites("tests")})
        missing = [site for site in sites if site not in known]
        if missing:
            message = f"{self.store.path}: there is no site {missing[0]}; there are: {', '.join(known) or 'none'}"
            raise UsageError(message)
        for site in sites or known:
            yield self._of_site("samples", site), self._of_site("tests", site)
        if not known:
            # An answer still has its columns.
            yield self.samples(), self.tests()

    def _read(self, name: str, site: str | None) -> Table:
        directory = name if site is None else self.store.directory(name, site)
        place = self.store.place
        if isinstance(place, Bucket):
            # DuckDB's own reader of buckets has to be downloaded, and has other ideas of where keys are.
            view = f"brimful_{uuid.uuid4().hex}"
            self.backend.con.register(view, place.dataset(directory, no_rows(name).schema))
            return self.backend.table(view)
        with self._in_words():
            # Without autocast, or a site named 01 is the number 1.
            files = f"{self.store.path}/{directory}/**/*.parquet"
            table = self.backend.read_parquet(files, hive_partitioning=True, hive_types_autocast=False)
        return table.mutate(day=table.day.cast("date"))

    def _of_site(self, name: str, site: str) -> Table:
        """Give the table of a site under a name that those of all sites have."""
        if (name, site) not in self._queries:
            self._queries[name, site] = self.backend.compile(self._table(name, site))
        return self._named(name, "VIEW", self._queries[name, site])

    def _named(self, name: str, kind: str, query: str) -> Table:
        """Put what a query gives under a name; where it has the columns of what was there, that is the same table."""
        with self._in_words():
            self.backend.con.execute(f"CREATE OR REPLACE TEMPORARY {kind} brimful_{name} AS {query}")
        table, before = self.backend.table(f"brimful_{name}"), self._by_name.get(name)
        if before is None or before.schema() != table.schema():
            self._by_name[name] = table
        return self._by_name[name]

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise self._failed("DuckDB", error) from error


class Spark(_StoreEngine):
    """A Spark session."""

    def __init__(self, store: Store, session: SparkSession) -> None:
        super().__init__(store)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        # A site named 01 is not the number 1.
        session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        self.session = session
        self.backend = ibis.pyspark.connect(session)

    def rows(self, expression: Table) -> pa.Table:
        """Compute an expression."""
        with self._in_words():
            # Past Ibis, which would go through data frames of pandas.
            return self.session.sql(self.backend.compile(expression)).toArrow().cast(expression.schema().to_pyarrow())

    def table(self, rows: pa.Table) -> Table:
        """Give rows from elsewhere as a table that expressions can use."""
        return self._named(self.session.createDataFrame(rows))

    def _read(self, name: str, site: str | None) -> Table:
        place = self.store.place.for_spark()
        reader = self.session.read.option("basePath", f"{place}/{name}")
        with self._in_words():
            frame = reader.parquet(f"{place}/{name if site is None else self.store.directory(name, site)}")
        table = self._named(frame)
        return table.mutate(day=table.day.cast("date"))

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        """Make what Spark or Java throws an error of one line."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            if "S3AFileSystem not found" in str(error):
                message = f"{self.store.path}: {_NO_CONNECTOR}"
                raise UsageError(message) from error
            raise self._failed("Spark", error) from error

    def _named(self, frame: DataFrame) -> Table:
        name = f"brimful_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)
        return self.backend.table(name)


def connect_duckdb(
    store: Store, *, memory_limit: str = MEMORY_LIMIT, threads: int | None = None, spill: Path | None = None
) -> DuckDB:
    """Compute in this process.

    Parameters
    ----------
    memory_limit
        As DuckDB reads it: ``3GB``.
    threads
        All cores, unless given.
    spill
        Where to put what does not fit into memory; else a directory of the store.
    """
    return DuckDB(store, memory_limit, threads, spill or store.place.scratch / ".spill")


def connect_spark(store: Store, *, master: str | None = None, driver_memory: str = "4g") -> Spark:
    """Compute on Spark.

    Parameters
    ----------
    master
        Where: ``spark://host:7077``, ``yarn``. Without it, the session that there is or that ``spark-submit`` asks for
        is used, else this machine.
    driver_memory
        Of a session that is made here.

    Raises
    ------
    UsageError
        When PySpark or Java are not installed.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise absent("Spark", "spark") from error
    builder = SparkSession.builder.appName("brimful")
    if master is not None and master.startswith("spark://"):
        _check_that_it_answers(master)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None
    if master is not None or not submitted:
        builder = builder.master(master or "local[*]").config("spark.driver.memory", driver_memory)
        # Its warnings are pages of Java; what matters of them is said here.
        builder = builder.config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    if isinstance(store.place, Bucket) and store.place.end_point is not None:
        builder = builder.config("spark.hadoop.fs.s3a.endpoint", store.place.end_point)
        # Names of buckets are not in the names of hosts that the user has.
        builder = builder.config("spark.hadoop.fs.s3a.path.style.access", "true")
    try:
        session = builder.getOrCreate()
    except PySparkRuntimeError as error:
        message = "Spark cannot start: is Java 17 or later installed, and does JAVA_HOME point to it?"
        raise UsageError(message) from error
    except Py4JError as error:
        raise UsageError(_no_master(master)) from error
    if master is not None and master.startswith("spark://"):
        _wait_for_workers(session, master)
    return Spark(store, session)


def _check_that_it_answers(master: str) -> None:
    """Connect to one of the masters: Spark itself gives up after a minute only."""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with contextlib.suppress(OSError, ValueError):
            socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
            return
    raise UsageError(_no_master(master))


def _no_master(master: str | None) -> str:
    return f"Spark cannot start on {master}: is this the name of a master that this machine can reach?"


def _wait_for_workers(session: SparkSession, master: str) -> None:
    """Wait for the first executor: without one Spark waits for ever, and says so in its log only."""
    end_s = time.monotonic() + WORKERS_S
    # The driver counts as one.
    while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > end_s:
            session.stop()
            message = (
                f"{master}: no worker is free and has the memory for an executor; "
                "set SPARK_EXECUTOR_MEMORY to what the workers have, or end what else they do"
            )
            raise UsageError(message)
        time.sleep(0.1)


def _reason(error: Exception) -> str:
    """Give what went wrong in one line; Java's own words where there are any."""
    java = getattr(error, "java_exception", None)
    text = str((java and java.getMessage()) or error).strip()
    return one_line(text.partition("\n")[0] or type(error).__name__)


def absent(what: str, extra: str) -> UsageError:
    """Say that an optional part is not installed."""
    return UsageError(f"{what} is not installed; install it with: pip install 'brimful[{extra}]'")


def no_rows(name: str) -> pa.Table:
    """Give a table of a store without rows, with its columns as engines give them."""
    fields = [pa.field("site", pa.string()), pa.field("day", pa.date32())]
    # Engines read every column of a file as one that may have no value, and rows of sites are put into one table.
    plain = [field.with_type(_plain(field.type)).with_nullable(True) for field in COLUMNS[name]]
    return pa.schema([*plain, *fields]).empty_table()


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _monitoring_clients(store: Store) -> list[str] | None:
    content = store.document("monitoring_clients.json")
    if content is None:
        return None
    path = f"{store.path}/monitoring_clients.json"
    try:
        clients = json.loads(content)
    except ValueError as error:
        message = f"{path}: cannot read: {error}; ingest the tests again"
        raise BrimfulError(message) from error
    if not isinstance(clients, list) or not all(isinstance(client, str) for client in clients):
        message = f"{path}: must be a list of addresses; ingest the tests again"
        raise BrimfulError(message)
    return clients
