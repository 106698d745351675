"""``brimful iocost show``: what is in a result file, before anything is made of it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful.cli.checked import NamedPath
from brimful.cli.iocost.inputs import Batch, find_files
from brimful.units import format_ratio

if TYPE_CHECKING:
    from brimful.iocost.read import Result

_COLUMNS = ("MOF", "aMOF", "isol", "rlat-99-mean", "wlat-99-mean", "missing")


@click.command()
@click.argument("results", nargs=-1, required=True, type=NamedPath(path_type=Path), metavar="RESULT...")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def show(results: tuple[Path, ...], as_json: bool) -> int:
    """Say what is in RESULTs: device, firmware, kernel, runs, holes and warnings."""
    import msgspec

    batch = Batch(find_files(list(results)))
    found = list(batch.results())
    if as_json:
        facts = [_facts(result) for result in found]
        content = facts[0] if len(facts) == 1 else {"results": facts}
        click.echo(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
    else:
        click.echo("\n\n".join(_text(result) for result in found))
    return batch.finish()


def _facts(result: Result) -> dict[str, object]:
    from brimful.iocost import record

    return {
        "file": result.path,
        "id": result.id,
        "device": record.device_facts(result),
        "kernel": result.machine.kernel_version,
        "bench_version": result.system.bench_version,
        "period_s": list(result.period),
        "isolation_percentile": result.isolation_percentile,
        "isolation_threshold": result.isolation_threshold,
        "runs": _rows(result),
        "skipped_runs": result.skipped_runs,
        "unfinished": result.unfinished,
        "missed_requirements": result.system.sysreqs_missed,
        "warnings": result.warnings,
    }


def _rows(result: Result) -> list[dict[str, float | None]]:
    """Give a row for each vrate, highest first, as the benchmark went."""
    from brimful.iocost import selectors

    columns = {name: dict(result.points(selectors.parse(name)) or ()) for name in _COLUMNS}
    vrates = sorted({vrate for column in columns.values() for vrate in column}, reverse=True)
    return [{"vrate": vrate, **{name: column.get(vrate) for name, column in columns.items()}} for vrate in vrates]


def _text(result: Result) -> str:
    machine = result.machine
    begin, end = (f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y-%m-%d %H:%M}" for at in result.period)
    hours = (result.period[1] - result.period[0]) / 3600
    kind = "merged" if result.stored else "unfinished" if result.unfinished else "finished"
    facts = [
        ("file", f"{result.path}{f' (id {result.id})' if result.id else ''}"),
        ("device", f"{machine.scr_dev_model.strip() or 'not said'} ({machine.scr_dev or '?'})"),
        ("firmware", machine.scr_dev_fwrev.strip() or "not said"),
        ("size", f"{machine.scr_dev_size / 1e9:.0f} GB"),
        ("kernel", machine.kernel_version or "not said"),
        ("benchmark", f"{result.system.bench_version.split(' ')[0] or 'not said'}, {kind}"),
        ("measured", f"{begin} to {end} UTC ({hours:.1f} h)"),
        ("isolation", f"{_ordinal(result.isolation_percentile)} at least {format_ratio(result.isolation_threshold)}"),
    ]
    rows = _rows(result)
    lines = [f"{name + ':':<11}{value}" for name, value in facts]
    lines.append(f"{'runs:':<11}{len(rows)} with data, {result.skipped_runs} skipped or failed")
    if rows:
        lines += ["", *_table(rows)]
    lines += [f"hole: {text}" for text in _holes(rows)]
    lines += [f"warning: {text}" for text in result.warnings]
    missed = result.system.sysreqs_missed
    if missed:
        lines.append(f"warning: the benchmark missed requirements: {', '.join(missed)}")
    return "\n".join(lines)


def _ordinal(percentile: str) -> str:
    return "mean" if percentile == "mean" else f"percentile {percentile}"


def _table(rows: list[dict[str, float | None]]) -> list[str]:
    heads = ["vrate", "MOF", "aMOF", "isol", "read p99", "write p99", "missing"]
    lines = ["".join(f"{head:>10}" for head in heads)]
    for row in rows:
        cells = [f"{row['vrate']:.1f}"]
        for name in _COLUMNS:
            value = row[name]
            if value is None:
                cells.append("-")
            elif name in {"isol", "missing"}:
                cells.append(f"{100 * value:.1f} %")
            elif "lat" in name:
                cells.append(f"{value * 1e3:.1f} ms")
            else:
                cells.append(f"{value:.3f}")
        lines.append("".join(f"{cell:>10}" for cell in cells))
    return lines


def _holes(rows: list[dict[str, float | None]]) -> list[str]:
    """Say which values are missing in runs that have others."""
    holes = []
    for name, meaning in (("aMOF", "no size could be protected"), ("isol", "the protection run crashed")):
        vrates = [f"{row['vrate']:.1f}" for row in rows if row[name] is None]
        if vrates and len(vrates) < len(rows):
            holes.append(f"no {name} at vrate {', '.join(vrates)}: {meaning}")
        elif vrates:
            holes.append(f"no {name} at any vrate: {meaning}")
    return holes
