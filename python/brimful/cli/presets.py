"""``brimful presets``."""

from __future__ import annotations

import click

from brimful import _core, units
from brimful.throughput.goals import PRESETS, named_goals


@click.command("presets")
def presets() -> None:
    """List presets, strategies and simulated systems."""
    click.echo("Presets (--preset):")
    for name, preset in PRESETS.items():
        click.echo(f"\n  {name}: {preset.description}; strategy {preset.strategy}")
        for goal in named_goals(preset.goals):
            click.echo(
                f"    {goal.name:<10} loss ratio {units.format_ratio(goal.loss_ratio):>6}"
                f"  exceed ratio {units.format_ratio(goal.exceed_ratio):>5}"
                f"  trial {units.format_duration(goal.initial_trial_duration_s)}"
                f" to {units.format_duration(goal.final_trial_duration_s)}"
                f"  duration sum {units.format_duration(goal.duration_sum_s)}"
                f"  width {units.format_ratio(goal.width or 0)}"
            )
    click.echo(
        f"\nStrategies (--strategy): {', '.join(_core.strategies())}; classic takes ,phases=N and ,timeout=SECONDS"
    )
    click.echo("\nSimulated systems (--measurer sim:KIND,parameter=value,...):")
    for kind, description, parameters in _core.simulator_kinds():
        click.echo(f"\n  {kind}: {description}")
        for name, default, meaning in parameters:
            click.echo(f"    {name:<15} {meaning} [{default}]")
