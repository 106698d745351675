"""Which store a command of ``brimful discards`` reads, and which engine computes for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from brimful.cli.discards.store_place import StorePlace
from brimful.cli.option_lists import in_order
from brimful.errors import UsageError

if TYPE_CHECKING:
    from brimful.discards.engine import Engine
    from brimful.discards.store import Store

_Command = TypeVar("_Command", bound=Callable[..., Any])

store_option = click.option("--store", "store_path", required=True, type=StorePlace(), help="The store to read.")
site_option = click.option("--site", "sites", multiple=True, help="Only this site; may be repeated.")


def engine_options(what: str) -> Callable[[_Command], _Command]:
    """Add the options of the engine that computes ``what``."""
    return in_order(
        click.option(
            "--engine",
            type=click.Choice(["duckdb", "spark", "bigquery"]),
            default="duckdb",
            help=f"Engine that computes the {what}.",
        ),
        click.option(
            "--master", metavar="URL", help="Master of Spark: spark://host:7077.  [default: as spark-submit says]"
        ),
        click.option(
            "--dataset", metavar="PROJECT.DATASET", help="Dataset of BigQuery that the store was loaded into."
        ),
    )


def check_engine(engine: str, master: str | None, dataset: str | None) -> None:
    """Refuse options that the engine does not have, or that it needs.

    Raises
    ------
    UsageError
        When there are some.
    """
    if master is not None and engine != "spark":
        message = f"--master {master}: is of Spark; add --engine spark"
        raise UsageError(message)
    if (dataset is not None) != (engine == "bigquery"):
        message = "--engine bigquery and --dataset PROJECT.DATASET go together; give both"
        raise UsageError(message)
    if dataset is not None and dataset.count(".") != 1:
        message = f"--dataset {dataset}: is not PROJECT.DATASET, such as my-project.switches"
        raise UsageError(message)


def connect(store: Store, engine: str, memory: str, *, master: str | None, dataset: str | None) -> Engine:
    """Connect to the engine that was asked for."""
    from brimful.discards import engine as engines

    if engine == "spark":
        # Java writes 3GB as 3g, 500MB as 500m.
        return engines.connect_spark(store, master=master, driver_memory=memory.lower().removesuffix("b"))
    if dataset is not None:
        from brimful.discards import bigquery

        return bigquery.connect_bigquery(*dataset.split("."))
    return engines.connect_duckdb(store, memory_limit=memory)
