"""``brimful iocost measure``: our own results, from searches of a disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brimful import units
from brimful.cli.checked import NAMED, NamedPath
from brimful.cli.iocost.outputs import Outputs, output_options, show
from brimful.cli.signals import INTERRUPTED, tell_how_to_go_on
from brimful.errors import UsageError
from brimful.report import words

_DEADLINE = "10ms"
_WORKING_SET = {False: "16G", True: "4G"}
"""With and without `--quick`."""


@click.command()
@click.argument("device", type=NAMED)
@click.option(
    "--destroy-data", metavar="DEVICE", help="Overwrite the disk, named once more: without it, only reads are measured."
)
@click.option(
    "--ignore-signature", is_flag=True, help="Overwrite it even if it has a file system or another signature."
)
@click.option("--deadline", default=_DEADLINE, metavar="TIME", help="An IO that takes longer is late.")
@click.option("--working-set", metavar="BYTES", help="Bytes of the disk in use.  [default: 16G, with --quick 4G]")
@click.option("--quick", is_flag=True, help="At most 5 minutes: without the steady state, and vrate is not searched.")
@click.option("--budget", metavar="TIME", help="Fit all steps into this time.")
@click.option(
    "--pause",
    type=click.Choice(["spin", "sleep"]),
    help="What the tester does between IOs.  [default: spin if there are two processors]",
)
@click.option("--dry-run", is_flag=True, help="Print the steps and how long they take, and touch nothing.")
@click.option("--resume", is_flag=True, help="Continue the last run that had the same options.")
@click.option("--out", type=NamedPath(path_type=Path), help="Directory of the record. Default: a new one under runs/.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@output_options
def measure(
    device: str,
    quick: bool,
    budget: str | None,
    dry_run: bool,
    resume: bool,
    out: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> int:
    """Measure DEVICE, a whole disk or lab:disk: the model, latencies, and at which vrate it protects.

    Six probes in a closed loop give the model. Searches find the loads at which all, 99.9 % and 99 % of the IOs are
    done by the deadline; their latencies give the QoS. With io.cost in the kernel, the greatest vrate is searched at
    which a group of processes is protected from another. All settings are restored at the end, also after an error.
    Reads never write. Needs root. Exit code 1: no solution was found.
    """
    from brimful.iocost.measure import plan
    from brimful.iocost.measure.run import MeasurementInterrupted, lacks, open_controller
    from brimful.iocost.measure.run import measure as perform
    from brimful.iocost.measure.wanted import Wanted

    working_set = options.pop("working_set")
    wanted = Wanted(
        device=device,
        destroy_data=options.pop("destroy_data"),
        ignore_signature=options.pop("ignore_signature"),
        deadline_s=_deadline(options.pop("deadline")),
        working_set=_WORKING_SET[quick] if working_set is None else working_set,
        quick=quick,
        pause=options.pop("pause"),
        budget_s=None if budget is None else units.parse_duration(budget),
    )
    outputs = Outputs(**options)
    disk = wanted.open_disk()
    try:
        disk.check_writable()
        controller, reason = open_controller(disk, dry_run=dry_run)
        steps = plan.make_plan(
            writes=disk.writes,
            controller=reason is None,
            quick=quick,
            budget_s=wanted.budget_s,
            write_bytes=wanted.bytes_to_write(disk),
        )
        lacking = lacks(disk, reason, quick=quick)
        if dry_run:
            click.echo(plan.render(steps) + "".join(f"not measured: {text}\n" for text in lacking), nl=False)
            return 0
        run = perform(
            wanted,
            disk,
            steps,
            controller=controller,
            lacking=lacking,
            out=out,
            resume=resume,
            note=(lambda text: None) if quiet else (lambda text: click.echo(f"brimful: {text}", err=True)),
        )
    except MeasurementInterrupted as stop:
        tell_how_to_go_on(words.count(stop.steps, "step"), stop.path.parent)
        return INTERRUPTED
    finally:
        disk.close()
    show([run], as_json=as_json)
    click.echo(f"Record: {run.path}", err=True)
    outputs.write([run])
    return 0 if any(solution.unsolved is None for solution in run.solutions) else 1


def _deadline(text: str) -> float:
    """Read a time that says what it counts: 5 is meant in milliseconds as often as in seconds."""
    seconds = units.parse_duration(text)
    if text.strip()[-1:].isdecimal():
        message = f"--deadline {text}: has no unit; write {text}ms or {text}s"
        raise UsageError(message)
    return seconds
