"""``brimful iocost compare``: two results, rule sets or fits side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from brimful.cli import values
from brimful.cli.checked import NAMED
from brimful.cli.iocost.inputs import RESAMPLES, Batch, make_task
from brimful.errors import UsageError

_FIT = click.Choice(["compatible", "exact"])


@click.command()
@click.argument("results", nargs=-1, required=True, type=NAMED, metavar="RESULT [RESULT] [JOB-SPEC [JOB-SPEC]]")
@click.option("--fit", "method", type=_FIT, default="compatible", help="Fit of the first.")
@click.option("--against-fit", type=_FIT, help="Fit of the second.  [default: that of the first]")
@click.option(
    "--resamples", type=click.IntRange(0, 100_000), default=RESAMPLES, help="Bootstrap resamples for the intervals."
)
@click.option("--tolerance", default="1%", type=values.SMALL_RATIO, help="Relative difference to ignore.")
@click.option("--any-device", is_flag=True, help="Compare different models of devices too.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compare(
    results: tuple[str, ...],
    method: str,
    against_fit: str | None,
    resamples: int,
    tolerance: float,
    any_device: bool,
    as_json: bool,
) -> int:
    """Show series and solutions of the first RESULT beside those of a baseline.

    The baseline is the second RESULT, or the same one solved by the second JOB-SPEC or with --against-fit. Records that
    tune wrote do as well as results. Exit code 1: a solution got worse or was lost.
    """
    from brimful.report.iocost import comparison

    specs = [text for text in results if text.partition(":")[0] == "iocost-tune"]
    names = [text for text in results if text not in specs]
    if not 1 <= len(names) <= 2 or len(specs) > 2:
        message = f"compares one or two results by at most two job specs, got {len(names)} and {len(specs)}"
        raise UsageError(message)
    if len(names) == 1 and len(specs) < 2 and against_fit is None:
        message = "nothing to compare with: give a second result, a second job spec or --against-fit"
        raise UsageError(message)
    sides = []
    for place, fit in ((0, method), (-1, against_fit or method)):
        batch = Batch([Path(names[place])])
        task = make_task(specs[place] if specs else None)
        runs = list(batch.runs(task, method=fit, resamples=resamples))
        if code := batch.finish():
            return code
        sides.append(runs)
    result = comparison.build(sides[0], sides[1], tolerance=tolerance, any_device=any_device)
    if as_json:
        click.echo(comparison.to_json(result))
    else:
        from brimful.report.styles import coloured, plain

        click.echo(comparison.render(result, style=coloured if sys.stdout.isatty() else plain), nl=False)
    return 1 if result.regressed else 0
