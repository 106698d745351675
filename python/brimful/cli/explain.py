"""``brimful explain``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from brimful import units
from brimful.cli import values
from brimful.cli.goal_options import chosen_goals, goal_options
from brimful.errors import UsageError
from brimful.records import SuiteTest, read_run
from brimful.records.subjects import load as load_function
from brimful.records.subjects import subject_of
from brimful.run_index import RECORD_NAME
from brimful.throughput.explain import explanation
from brimful.throughput.foreign_log import is_run
from brimful.throughput.verify import open_log


@click.command("explain")
@click.argument("log", type=values.RunType(exists=False))
@click.argument("load", required=False)
@goal_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def explain(log: Path, load: str | None, preset: str | None, goal_texts: tuple[str, ...], as_json: bool) -> None:
    """Say why a load is an upper bound, a lower bound or undecided.

    LOG is a record of brimful or a trial log of another tool (then with --preset or --goal). Without LOAD every
    measured load is explained; otherwise the measured load nearest to it. Of a run on bursts every test is explained,
    of a suite every search and every run on bursts.
    """
    tests = _tests_of_suite(log)
    if tests and (load is not None or as_json):
        message = f"{log}: a suite is explained all at once, as text; name the record of a test, such as {tests[0][1]}"
        raise UsageError(message)
    for title, path in tests:
        click.echo(f"{title}:")
        _explain(path, None, None, (), as_json=False)
    if not tests:
        _explain(log, load, preset, goal_texts, as_json=as_json)


def _tests_of_suite(log: Path) -> list[tuple[str, Path]]:
    """Give the tests of a suite that have an explanation, by name, and the places of their records."""
    if not is_run(log):
        return []
    file = read_run(log)
    made = file.latest(SuiteTest, "size", "test")
    found = [(f"{one.test} at {one.size}", file.path.parent / one.path) for one in made]
    return [(title, path) for title, path in found if (path / RECORD_NAME).exists() and _is_explained(path)]


def _is_explained(path: Path) -> bool:
    run = read_run(path).run
    return bool(run.goals) or subject_of(run, where=str(path)).explain is not None


def _explain(log: Path, load: str | None, preset: str | None, goal_texts: tuple[str, ...], *, as_json: bool) -> None:
    if (told := _told_by_subject(log)) is not None:
        if load is not None or as_json:
            message = f"{log}: the bursts of a run are explained all at once, as text; leave LOAD and --json out"
            raise UsageError(message)
        click.echo(told)
        return
    opened = open_log(log, chosen_goals(preset, goal_texts)).log
    loads = opened.loads()
    unit = read_run(log).run.load_unit if is_run(log) else "frames/s"
    if not loads:
        message = f"{log}: no trial has been made yet, so there is nothing to explain"
        raise UsageError(message)
    if load is not None:
        wanted = units.parse_load(load, max_load=max(loads))
        nearest = min(loads, key=lambda measured: abs(measured - wanted))
        # People copy loads from what brimful prints: four digits.
        if units.format_load(nearest, unit) != units.format_load(wanted, unit) and not as_json:
            asked, near = (units.format_load(at, unit, digits=6) for at in (wanted, nearest))
            click.echo(f"{asked} was not measured, so it is undecided; the nearest is {near}.")
        loads = [nearest]
    rows = [
        (goal, measured, opened.assess(measured, index))
        for index, goal in enumerate(opened.goals)
        for measured in loads
    ]
    if as_json:
        facts = [
            {
                "goal": goal.name,
                "load": at,
                **msgspec.to_builtins(found),
                **msgspec.to_builtins(opened.losses(at)),
            }
            for goal, at, found in rows
        ]
        click.echo(json.dumps(facts, indent=2))
        return
    for goal, measured, found in rows:
        click.echo(explanation(goal, measured, found, opened.delays_s(measured), unit, opened.losses(measured)))


def _told_by_subject(log: Path) -> str | None:
    """Give the explanation of a run whose subject has one of its own."""
    if not is_run(log):
        return None
    file = read_run(log)
    row = subject_of(file.run, where=str(file.path))
    if row.explain is None:
        return None
    text: str = load_function(row.explain)(file)
    return text
