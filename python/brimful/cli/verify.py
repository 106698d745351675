"""``brimful verify``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from brimful import units
from brimful.campaign.verification import MemberVerification, is_campaign, verify_campaign
from brimful.cli.goal_options import chosen_goals, goal_options
from brimful.cli.reports import DELAY
from brimful.errors import UsageError
from brimful.records import RunFile, read_run
from brimful.report import words
from brimful.throughput.verify import Verification, is_run, open_log, verify

_MARKS = {"lower-bound": "lower", "upper-bound": "upper", "undecided": "-"}


@click.command("verify")
@click.argument("log", type=click.Path(path_type=Path), required=False)
@goal_options
@click.option("--requirements", is_flag=True, help="List what the specification demands, and what satisfies it.")
@click.option("--json", "as_json", is_flag=True, help="Print everything recomputed as JSON.")
def verify_command(
    log: Path | None, preset: str | None, goal_texts: tuple[str, ...], requirements: bool, as_json: bool
) -> int:
    """Recompute every verdict from a trial log.

    LOG is a record of searches or of delays: its claims are checked as well, and the exit code is 1 where one does not
    hold. Or it is a log of another tool, with --preset or --goal: CSV with a header or JSON Lines, one trial a row
    with load, duration, sent and lost (and intended, effective_duration if they differ). Such a log states no limits,
    so that no load in it counts as the min or max load. Of a campaign every search is verified.
    """
    if requirements:
        from brimful.throughput.requirements import requirements as demands
        from brimful.throughput.requirements import table

        click.echo(json.dumps(demands(), indent=2) if as_json else table())
        return 0
    if log is None:
        message = "give a LOG to verify, or --requirements"
        raise UsageError(message)
    goals = chosen_goals(preset, goal_texts)
    if is_run(log) and is_campaign(log):
        return _verify_members(verify_campaign(read_run(log), goals), as_json=as_json)
    if is_run(log) and (file := read_run(log)).run.subject == DELAY:
        return _verify_delay(file, as_json=as_json)
    found = verify(open_log(log, goals))
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        click.echo(_table(found))
    return 1 if found.findings else 0


def _verify_members(found: list[MemberVerification], *, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for member in found:
            click.echo(f"{member.name}: {_trials_at_loads(member.trials, member.loads)}")
            for finding in member.findings:
                click.echo(f"  does not hold: {finding.text}")
        trials = sum(member.trials for member in found)
        searches = words.count(len(found), "search", "searches")
        click.echo(f"{searches}, {words.count(trials, 'trial')}: every verdict recomputed")
    return 1 if any(member.findings for member in found) else 0


def _verify_delay(file: RunFile, *, as_json: bool) -> int:
    from brimful.delay.verification import verify_delay

    found = verify_delay(file)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        trials, delays = words.count(found.trials, "trial"), words.count(len(found.delays), "delay")
        click.echo(f"{trials}, {delays}: every mean, interval and percentile recomputed")
        for text in found.findings:
            click.echo(f"does not hold: {text}")
    return 1 if found.findings else 0


def _table(found: Verification) -> str:
    names = [goal.name for goal in found.goals]
    widths = [max(len(name), 9) for name in names]
    heads = "  ".join(f"{name:<{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"           load  {heads.rstrip()}"]
    for index, load in enumerate(found.loads):
        marks = [_MARKS[found.assessments[name][index].verdict] for name in names]
        cells = "  ".join(f"{mark:<{width}}" for mark, width in zip(marks, widths, strict=True))
        lines.append(f"{units.format_load(load, digits=6):>15}  {cells}".rstrip())
    lines.append("")
    for result in found.goal_results:
        lines.append(f"{result.goal}: {_sentence(result.lower_bound, result.upper_bound)}; {result.reason}")
    lines.append(f"{_trials_at_loads(found.trials, len(found.loads))}: every verdict recomputed")
    lines.extend(f"does not hold: {finding.text}" for finding in found.findings)
    return "\n".join(lines)


def _trials_at_loads(trials: int, loads: int) -> str:
    return f"{words.count(trials, 'trial')} at {words.count(loads, 'load')}"


def _sentence(lower: float | None, upper: float | None) -> str:
    below, above = ("none" if load is None else units.format_load(load, digits=6) for load in (lower, upper))
    return f"lower bound {below}, upper bound {above}"
