"""``brimful iocost export`` and ``apply``: solutions where they are used."""

from __future__ import annotations

from pathlib import Path

import click

from brimful.cli.checked import NamedPath
from brimful.cli.iocost.inputs import Batch, find_files, make_task
from brimful.cli.iocost.outputs import write
from brimful.errors import UsageError


@click.command()
@click.argument("results", nargs=-1, required=True, type=NamedPath(path_type=Path), metavar="RESULT...")
@click.option(
    "--solution", "names", multiple=True, metavar="NAME", help="Only this one; of sysfs and json.  [default: all]"
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["sysfs", "hwdb", "json"]),
    default="sysfs",
    help="Shell commands, a systemd hwdb file, or JSON.",
)
@click.option("--firmware", is_flag=True, help="Keep firmware revisions apart in a hwdb file.")
@click.option("-o", "--out", type=NamedPath(dir_okay=False, path_type=Path), help="Write here.  [default: print]")
@click.option("--fit", "method", type=click.Choice(["compatible", "exact"]), default="compatible")
def export(
    results: tuple[Path, ...], names: tuple[str, ...], format_: str, firmware: bool, out: Path | None, method: str
) -> int:
    """Write solutions of RESULTs as the kernel, systemd or other programs take them.

    RESULTs are benchmark results, records that tune wrote, or directories. A hwdb file holds the best result of each
    device model. Exit code: 0 something can be set, 1 nothing can, 2 a RESULT cannot be used.
    """
    from brimful.iocost import export as exporting
    from brimful.iocost import hwdb
    from brimful.report.iocost.export import to_json

    if format_ == "hwdb" and names:
        message = "--solution does not go with a hwdb file, which holds all of them; choose with TargetSolution="
        raise UsageError(message)
    inputs = find_files(list(results))
    if out is not None and any(out.resolve() == path.resolve() for path in inputs):
        message = f"{out}: is a result that is read here; choose another name for what is written"
        raise UsageError(message)
    batch = Batch(inputs)
    runs = list(batch.runs(make_task(None), method=method, resamples=0))
    if not runs:
        return batch.finish()
    if format_ == "hwdb":
        text = hwdb.render(runs, with_firmware=firmware)
    else:
        chosen = [exporting.with_solutions(run, names) for run in runs]
        text = to_json(chosen) + "\n" if format_ == "json" else "\n".join(map(exporting.render_sysfs, chosen))
    if out is None:
        click.echo(text, nl=False)
    else:
        write(out, text.encode())
    code = batch.finish()
    if all(line.startswith("#") or not line.strip() for line in text.splitlines()):
        click.echo("brimful: error: no result has a solution for a device; what was written says why", err=True)
        return code or 1
    return code


@click.command()
@click.argument("device")
@click.argument("solution", required=False)
@click.option(
    "--from", "result", type=NamedPath(path_type=Path), required=True, help="The result, or the records of tune."
)
@click.option("--force", is_flag=True, help="Set it even if the device is of another model than the result.")
@click.option("--dry-run", is_flag=True, help="Check everything and say what would be set.")
@click.option("--fit", "method", type=click.Choice(["compatible", "exact"]), default="compatible")
def apply(device: str, solution: str | None, result: Path, force: bool, dry_run: bool, method: str) -> int:
    """Set a SOLUTION on DEVICE (nvme0n1, /dev/nvme0n1 or 259:0), now and until the next boot.

    Without a name it takes the most isolating solution. It prints the previous settings, and how to restore them.
    Needs root, and a kernel with the controller.
    """
    from brimful.iocost import device as devices

    batch = Batch([result])
    runs = list(batch.runs(make_task(None), method=method, resamples=0))
    if code := batch.finish():
        return code
    if len(runs) != 1:
        message = f"{result}: holds {len(runs)} results; apply takes one"
        raise UsageError(message)
    applied = devices.apply(device, solution, runs[0], force=force, dry_run=dry_run)
    click.echo(devices.render_applied(applied), nl=False)
    return 0
