"""``brimful verify``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from brimful.cli import values
from brimful.cli.goal_options import chosen_goals, goal_options
from brimful.errors import UsageError
from brimful.records import Goal, read_run
from brimful.records.subjects import load, subject_of
from brimful.throughput.foreign_log import is_run
from brimful.throughput.verify import open_log, verify
from brimful.verified import Verified


@click.command("verify")
@click.argument("log", type=values.RunType(exists=False), required=False)
@goal_options
@click.option(
    "--requirements",
    is_flag=True,
    help="List what MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be) demands, and what satisfies it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify_command(
    log: Path | None, preset: str | None, goal_texts: tuple[str, ...], requirements: bool, as_json: bool
) -> int:
    """Recompute every verdict from a trial log.

    LOG is a record, whose claims are checked as well; the exit code is 1 if one is wrong. Or it is a log of another
    tool, with --preset or --goal: CSV with a header or JSON Lines, one trial per row with load, duration, sent and lost
    (and intended, effective_duration if they differ). No load in such a log counts as the min or max load.
    """
    if requirements:
        from brimful.throughput.requirements import requirements as demands
        from brimful.throughput.requirements import table

        click.echo(json.dumps(demands(), indent=2) if as_json else table())
        return 0
    if log is None:
        message = "give a LOG to verify, or --requirements"
        raise UsageError(message)
    found = _verified(log, chosen_goals(preset, goal_texts))
    click.echo(json.dumps(msgspec.to_builtins(found.facts), indent=2) if as_json else found.text)
    return 0 if found.holds else 1


def _verified(log: Path, goals: list[Goal] | None) -> Verified:
    if not is_run(log):
        from brimful.report.verdicts import of_trials

        return of_trials(verify(open_log(log, goals)))
    file = read_run(log)
    row = subject_of(file.run, where=str(file.path))
    if row.verify is None:
        message = f"{log}: the subject of this run is {row.plural}: it has no trials to judge"
        raise UsageError(message)
    found: Verified = load(row.verify)(file, goals)
    return found
