"""The same questions on BigQuery: a store is loaded into a dataset, and Ibis writes the SQL."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
from ibis.expr.types import Table

from brimful.discards.engine import COLUMNS, Engine, Question, absent, no_rows
from brimful.discards.store import Partition, Store
from brimful.errors import BrimfulError

if TYPE_CHECKING:
    from google.cloud.bigquery import Client

_TYPES = {
    pa.string(): "STRING",
    pa.bool_(): "BOOL",
    pa.float64(): "FLOAT64",
    pa.int16(): "INT64",
    pa.int32(): "INT64",
    pa.int64(): "INT64",
    pa.decimal128(20): "NUMERIC",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
}
_CLUSTERS = {"samples": ["site", "metric", "machine"], "tests": ["site", "machine"]}


class BigQuery(Engine):
    """The tables of a dataset that `load` has filled."""

    def __init__(self, project: str, dataset: str) -> None:
        try:
            self.backend = ibis.bigquery.connect(project_id=project, dataset_id=dataset)
        except ImportError as error:
            raise absent("BigQuery's client", "bigquery") from error

    def samples(self, site: str | None = None) -> Table:
        """Give the samples, of one site or of all."""
        return self._table("samples", site)

    def tests(self, site: str | None = None) -> Table:
        """Give the tests, of one site or of all."""
        return self._table("tests", site)

    def rows(self, expression: Table) -> pa.Table:
        """Compute an expression."""
        from google.cloud.exceptions import GoogleCloudError

        try:
            return self.backend.to_pyarrow(expression)
        except GoogleCloudError as error:
            message = f"BigQuery cannot compute this: {str(error).splitlines()[0]}"
            raise BrimfulError(message) from error

    def _table(self, name: str, site: str | None) -> Table:
        table = self.backend.table(name)
        return table if site is None else table.filter(table.site == site)


def connect_bigquery(project: str, dataset: str) -> BigQuery:
    """Compute on BigQuery, from the tables of a dataset.

    Raises
    ------
    UsageError
        When its client is not installed.
    """
    return BigQuery(project, dataset)


def connect_client(project: str) -> Client:
    """Give a client of BigQuery, with the credentials of the environment that it finds.

    Raises
    ------
    UsageError
        When it is not installed.
    """
    try:
        from google.cloud import bigquery
    except ImportError as error:
        raise absent("BigQuery's client", "bigquery") from error
    return bigquery.Client(project=project)


def load(store: Store, client: Client, dataset: str, *, progress: Callable[[str], None] = lambda _: None) -> int:
    """Load a store into a dataset and give the number of rows; loading again replaces day by day.

    The tables are partitioned by day and clustered by site, and are made if they are not there. Each day of all sites
    is one load job.

    Raises
    ------
    BrimfulError
        When BigQuery refuses something; the days before are in, whole.
    """
    from google.cloud import bigquery
    from google.cloud.exceptions import GoogleCloudError

    rows = 0
    try:
        client.create_dataset(dataset, exists_ok=True)
        for name in COLUMNS:
            fields = [bigquery.SchemaField(field.name, _TYPES[field.type]) for field in warehouse_schema(name)]
            table = bigquery.Table(f"{client.project}.{dataset}.{name}", schema=fields)
            table.time_partitioning = bigquery.TimePartitioning(field="day")
            table.clustering_fields = _CLUSTERS[name]
            client.create_table(table, exists_ok=True)
            for day, of_day in _days(store, name):
                settings = bigquery.LoadJobConfig(
                    schema=fields,
                    source_format=bigquery.SourceFormat.PARQUET,
                    write_disposition=bigquery.WriteDisposition.WRITE_TRUNCATE,
                )
                place = f"{client.project}.{dataset}.{name}${day:%Y%m%d}"
                client.load_table_from_file(_parquet(of_day), place, job_config=settings).result()
                rows += of_day.num_rows
                progress(f"{name} {day.isoformat()}")
    except GoogleCloudError as error:
        message = f"{dataset}: BigQuery refuses: {str(error).splitlines()[0]}; load again when it is mended"
        raise BrimfulError(message) from error
    return rows


def sql(question: Question, dataset: str) -> str:
    """Write down what BigQuery is asked, without asking it."""
    samples, tests = (
        ibis.table(ibis.Schema.from_pyarrow(warehouse_schema(name)), name=name, database=dataset) for name in COLUMNS
    )
    return str(ibis.to_sql(question(samples, tests), dialect="bigquery"))


def warehouse_schema(name: str) -> pa.Schema:
    """Give the columns of a table as BigQuery has them: times say that they are UTC, and counters are decimal."""
    changed = {pa.timestamp("us"): pa.timestamp("us", tz="UTC"), pa.uint64(): pa.decimal128(20)}
    return pa.schema([field.with_type(changed.get(field.type, field.type)) for field in no_rows(name).schema])


def _days(store: Store, name: str) -> Iterator[tuple[datetime.date, pa.Table]]:
    """Give the rows of all sites, day by day."""
    days: dict[datetime.date, list[Partition]] = {}
    for partition in store.partitions(name):
        days.setdefault(partition.day, []).append(partition)
    schema = warehouse_schema(name)
    for day, of_day in sorted(days.items()):
        yield day, pa.concat_tables(_placed(store, partition, schema) for partition in of_day)


def _placed(store: Store, partition: Partition, schema: pa.Schema) -> pa.Table:
    rows = store.read(partition, COLUMNS[partition.table])
    assert rows is not None, f"{partition} was there a moment ago"
    for column, value in (("site", pa.scalar(partition.site)), ("day", pa.scalar(partition.day))):
        rows = rows.append_column(column, pa.repeat(value, rows.num_rows))
    return rows.select(schema.names).cast(schema)


def _parquet(rows: pa.Table) -> io.BytesIO:
    content = io.BytesIO()
    pq.write_table(rows, content, compression="zstd")
    content.seek(0)
    return content
