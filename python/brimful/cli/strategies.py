"""``brimful compare-strategies``."""

from __future__ import annotations

import click

from brimful import _core
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.throughput.strategies import table_2018, table_2024


@click.command("compare-strategies")
@click.option("--seeds", type=click.IntRange(2, 100_000), default=50, help="Searches a figure.")
@click.option("--first-seed", type=click.IntRange(0, 1 << 32), default=1)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="SPEC",
    help="Simulated systems, in both tables. Default: those that are like the published ones.",
)
@click.option("--strategy", "strategies", multiple=True, type=click.Choice(["straddle", "classic", "bisect"]))
def compare_strategies(seeds: int, first_seed: int, kinds: tuple[str, ...], strategies: tuple[str, ...]) -> None:
    """Run strategies against simulated systems, many times.

    Prints the comparison tables of two publications on MLRsearch, with our simulated figures below the published ones
    of real systems.
    """
    for kind in kinds:
        SimulatedMeasurer(kind)
    chosen = strategies or tuple(_core.strategies())
    numbers = range(first_seed, first_seed + seeds)

    def notice(text: str) -> None:
        click.echo(f"searching: {text}", err=True)

    click.echo(table_2018([name for name in chosen if name != "bisect"] or list(chosen), numbers, notice, kinds))
    click.echo()
    click.echo(table_2024(chosen, kinds or ("soft-knee", "vhost"), numbers, notice))
