"""`brimful lab`: throw-away test beds."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from brimful.errors import MeasureError
from brimful.lab import Device, catalogue, disk, open_lab, permitted, state
from brimful.lab.devices import DEFAULT_MTU, LARGEST_MTU
from brimful.lab.namespaces import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimful.lab.state import Entry

_DEVICE = click.argument("device", metavar="DEVICE[,KEY=VALUE...]")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")


_IP = click.option("--ip", type=click.Choice(["4", "6"]), default="4", help="IP version that the router routes.")
_MTU = click.option(
    "--mtu",
    type=click.IntRange(DEFAULT_MTU, LARGEST_MTU),
    default=DEFAULT_MTU,
    help="MTU of every link: the longest frame less 18 bytes.",
)


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


_LISTING = [*catalogue.listing(), ("disk,limit=N", "a disk in memory; only for brimful search and delay")]


@click.group(epilog=f"\b\nDevices:\n{textwrap.indent(_table(_LISTING), '  ')}")
def lab() -> None:
    """Make throw-away test beds: a tester's ports ta and tb, and a device between them.

    A lab is made of network namespaces without names. It touches no interface of this machine. With work=N every frame
    costs a device N multiplications: that makes it slower.
    """


@lab.command()
@_JSON
def check(as_json: bool) -> None:
    """Try every device in a lab of its own; the exit code is 3 if no lab can be made."""
    reason = permitted()
    if reason is not None:
        raise MeasureError(reason)
    rows = []
    # A forwarder of the user's is not here to be tried.
    for device in (device for device in Device if device is not Device.PROGRAM):
        try:
            with open_lab(device) as opened:
                found = {"device": device.value, "works": True, "input": opened.input.value}
        except MeasureError as error:
            found = {"device": device.value, "works": False, "reason": str(error)}
        rows.append((device.value, "works" if found["works"] else "no", str(found.get("reason", ""))))
        if as_json:
            click.echo(json.dumps(found))
    reason = disk.obstacle()
    rows.append(("disk", "no" if reason else "works", reason or ""))
    if as_json:
        click.echo(json.dumps({"device": "disk", "works": reason is None, **({"reason": reason} if reason else {})}))
    else:
        click.echo(_table(rows))


@lab.command()
@_DEVICE
@_IP
@_MTU
@_JSON
def up(device: str, ip: str, mtu: int, as_json: bool) -> None:
    """Make a lab that stays until `brimful lab clean` ends it."""
    with open_lab(device, ip=int(ip), mtu=mtu) as opened:
        description = opened.describe()
        command, arguments = opened.command([]), opened.tester_arguments()
        opened.keep()
    if as_json:
        record = {"id": opened.id, **description, "command": command, "tester_arguments": arguments}
        click.echo(json.dumps(record))
        return
    click.echo(f"Lab {opened.id} is up: {device}, input {description['input']}.\n")
    rows = [
        ("Run a program at ports ta and tb", f"{shlex.join(command)} PROGRAM"),
        ("Arguments for brimful-tester", shlex.join(arguments)),
        ("End it", f"brimful lab clean {opened.id}"),
    ]
    click.echo(_table(rows))


@lab.command("list")
@_JSON
def list_(as_json: bool) -> None:
    """Show the labs there are, those of running searches too."""
    entries = state.read_all()
    if as_json:
        for entry in entries:
            click.echo(json.dumps(_record(entry)))
    elif entries:
        click.echo(_table([("ID", "DEVICE", "AGE", "OWNER", "STATE"), *map(_row, entries)]))
    else:
        click.echo("There is no lab.", err=True)


@lab.command()
@click.argument("lab_id", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="End every lab but those of programs that still run.")
@_JSON
def clean(lab_id: str | None, everything: bool, as_json: bool) -> None:
    """End the lab ID; without ID, only forget labs that are gone."""
    if lab_id is not None and everything:
        message = "ID and --all exclude each other: give one of them"
        raise click.UsageError(message)
    if lab_id is not None:
        cleaned = [state.clean_one(lab_id)]
    elif everything:
        cleaned = state.clean_all()
    else:
        cleaned = state.clean_stale()
    if as_json:
        for entry in cleaned:
            click.echo(json.dumps({"id": entry.lab_id, "device": entry.device}))
    else:
        click.echo(f"Cleaned {len(cleaned)}: {' '.join(entry.lab_id for entry in cleaned)}".rstrip(": "))


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_IP
@_MTU
@_DEVICE
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(device: str, ip: str, mtu: int, command: Sequence[str]) -> None:
    """Run COMMAND at ports ta and tb of a new lab, and end the lab with it."""
    words = list(command[1:]) if command[0] == "--" else list(command)
    with open_lab(device, ip=int(ip), mtu=mtu) as opened:
        # The command dies with us, or it would keep the namespace that the keeper let go.
        bound = [tool("setpriv"), "--pdeathsig", "TERM", "--", *words]
        done = subprocess.run(opened.command(bound), check=False)
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _record(entry: Entry) -> dict[str, str | float | int | None]:
    owner = None if entry.owner is None else entry.owner.pid
    age_s = round(max(0.0, state.now() - entry.created), 3)
    return {"id": entry.lab_id, "device": entry.device, "age_s": age_s, "owner": owner, "state": entry.life.value}


def _row(entry: Entry) -> tuple[str, ...]:
    owner = "stays up" if entry.owner is None else str(entry.owner.pid)
    return entry.lab_id, entry.device, _age(state.now() - entry.created), owner, entry.life.value


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
