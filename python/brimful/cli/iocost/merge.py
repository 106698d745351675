"""``brimful iocost merge``: results of one kind of device, put together."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from brimful.cli.checked import NamedPath
from brimful.cli.iocost.inputs import Batch, find_files, method_options, started
from brimful.cli.iocost.outputs import Outputs, output_options, show, write


@click.command()
@click.argument("results", nargs=-1, required=True, type=NamedPath(path_type=Path), metavar="RESULT...")
@click.option(
    "-o", "--out", type=NamedPath(dir_okay=False, path_type=Path), help="Write the merged result: .json[.gz]."
)
@click.option("--by-id", is_flag=True, help="Keep results of different benchmark ids apart.")
@click.option("--ignore-versions", is_flag=True, help="Merge results of different versions of the benchmark.")
@click.option("--ignore-sysreqs", is_flag=True, help="Accept results whose benchmark missed requirements.")
@click.option("--multiple", is_flag=True, help="Merge every group, not only the one with the most results.")
@click.option(
    "--scale-basis",
    type=click.Choice(["first", "median"]),
    default="first",
    help="Scale the base model of the first result, or the median of all.",
)
@method_options
@output_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def merge(
    results: tuple[Path, ...],
    out: Path | None,
    by_id: bool,
    ignore_versions: bool,
    ignore_sysreqs: bool,
    multiple: bool,
    scale_basis: str,
    method: str,
    resamples: int,
    as_json: bool,
    **files: Path | None,
) -> int:
    """Merge RESULTs: files, or directories of them.

    Results are grouped by benchmark version and settings, memory profile, device model and firmware.
    """
    from brimful.iocost import merge as merging
    from brimful.iocost.analysis import analyse
    from brimful.iocost.merged_file import encode
    from brimful.iocost.record import to_run
    from brimful.iocost.rules import Task

    inputs = find_files(list(results))
    outputs = Outputs(**files)
    outputs.check(inputs, out)
    batch = Batch(inputs)
    sources = list(batch.results())
    if not sources:
        return batch.finish()
    rules = merging.Rules(by_id, ignore_versions, ignore_sysreqs, multiple)
    groups = merging.group_results(sources, rules)
    analyses = [
        analyse(
            merging.merged(group),
            Task(),
            method=method,
            basis=scale_basis,
            base_model=group.median_model if scale_basis == "median" else None,
            merge=merging.facts(group),
        )
        for group in groups
    ]
    runs = [
        to_run(analysis, command=["brimful", *sys.argv[1:]], started=started(), resamples=resamples)
        for analysis in analyses
    ]
    if not as_json:
        from brimful.report.iocost import merge_info

        click.echo(merge_info.render(runs))
    show(runs, as_json=as_json)
    if out is not None:
        write(out, encode(groups, analyses, compress=out.suffix == ".gz", at_s=int(time.time())))
    outputs.write(runs)
    return batch.finish()
