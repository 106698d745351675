"""``brimful iocost tune`` and ``solve``: analyse results."""

from __future__ import annotations

from pathlib import Path

import click

from brimful.cli.checked import NAMED
from brimful.cli.iocost.inputs import Batch, find_files, make_task, method_options, rule_options, split_job_spec
from brimful.cli.iocost.outputs import Outputs, output_options, show


@click.command()
@click.argument("results", nargs=-1, required=True, type=NAMED, metavar="RESULT...")
@rule_options
@method_options
@output_options
@click.option("--graphs", is_flag=True, help="Draw the series and their lines as text, before the solutions.")
@click.option("--summary", is_flag=True, help="A line a result; of a single one, the numbers that matter.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def tune(
    results: tuple[str, ...],
    rules: tuple[str, ...],
    metrics: tuple[str, ...],
    scale_min: str | None,
    scale_max: str | None,
    isol_pct: str | None,
    isol_thr: str | None,
    method: str,
    resamples: int,
    graphs: bool,
    summary: bool,
    as_json: bool,
    **files: Path | None,
) -> int:
    """Show solutions and remarks of RESULTs: files, or directories of them.

    One of them may be a job spec, in the benchmark's syntax, that says what to solve:
    iocost-tune::name=test,vrate=75-100,rpct=50. Exit code 2: some files could not be used; the others are shown.
    """
    paths, spec = split_job_spec(results)
    inputs = find_files(paths)
    outputs = Outputs(**files)
    outputs.check(inputs)
    task = make_task(spec, rules, metrics, scale_min, scale_max)
    batch = Batch(inputs, isol_pct=isol_pct, isol_thr=isol_thr)
    runs = list(batch.runs(task, method=method, resamples=0 if summary else resamples))
    if runs:
        show(runs, as_json=as_json, summary=summary, table=summary and len(inputs) > 1, graphs=graphs)
        outputs.write(runs)
    return batch.finish()


@click.command()
@click.argument("results", nargs=-1, required=True, type=NAMED, metavar="RESULT... [JOB-SPEC]")
@rule_options
@method_options
@output_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def solve(
    results: tuple[str, ...],
    rules: tuple[str, ...],
    metrics: tuple[str, ...],
    scale_min: str | None,
    scale_max: str | None,
    isol_pct: str | None,
    isol_thr: str | None,
    method: str,
    resamples: int,
    as_json: bool,
    **files: Path | None,
) -> int:
    """Solve rules on RESULTs: your own, or those of the benchmark.

    \b
    A rule is name=NAME and one target (none: naive), separated by commas:
      vrate=LOW-HIGH[,rpct=P][,wpct=P]   a vrate range, throttled by latency
                                         percentiles (0: not throttled)
      mof=max, amof=max                  least vrate with the greatest offloading
      amof=max-vrate                     bandwidth
      amof-delta=min, isolation          isolation
      isolated-bandwidth                 between the two
      rlat-P=LOW-HIGH, wlat-P=q1..q4     a part of a latency's slope
    The benchmark's own spelling works too, as one argument:
      iocost-tune:scale-max=0.8,isol-mean:name=a,rlat-99=q2:name=b,amof=max

    Exit code 1: a rule has no solution. 2: an argument is wrong.
    """
    paths, spec = split_job_spec(results)
    inputs = find_files(paths)
    outputs = Outputs(**files)
    outputs.check(inputs)
    task = make_task(spec, rules, metrics, scale_min, scale_max)
    batch = Batch(inputs, isol_pct=isol_pct, isol_thr=isol_thr)
    runs = list(batch.runs(task, method=method, resamples=resamples))
    if runs:
        show(runs, as_json=as_json)
        outputs.write(runs)
    unsolved = any(solution.unsolved is not None for run in runs for solution in run.solutions)
    return batch.finish() or int(unsolved)
