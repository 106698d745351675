"""What the sub-commands share: their options, their input files, and what to do about bad ones."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from brimful.cli.option_lists import in_order
from brimful.errors import BrimfulError, UsageError

if TYPE_CHECKING:
    from brimful.iocost.read import Result
    from brimful.iocost.rules import Task
    from brimful.records import RunFile

_Command = TypeVar("_Command", bound=Callable[..., Any])

RESAMPLES = 200
SUFFIXES = (".json", ".json.gz")
_MOST_FILES = 20_000
"""More in a directory are not results alone."""


def rule_options(function: _Command) -> _Command:
    """Add the options that say what to solve."""
    return in_order(
        click.option(
            "--rule", "rules", multiple=True, metavar="RULE", help="Solve this: name=NAME,TARGET; see solve -h."
        ),
        click.option(
            "--metric", "metrics", multiple=True, metavar="NAME", help="Analyse this too: rlat-99.9, isol-01, ..."
        ),
        click.option("--scale-min", metavar="FRACTION", help="Least scale factor of a solution.  [default: 1%]"),
        click.option("--scale-max", metavar="FRACTION", help="Greatest scale factor of a solution.  [default: 100%]"),
        click.option(
            "--isol-pct",
            metavar="PERCENTILE",
            callback=_percentile,
            help="Judge isolation by this percentile: 5, 1, mean, ...  [default: the file's]",
        ),
        click.option(
            "--isol-thr", metavar="FRACTION", help="Least isolation that counts as such.  [default: the file's]"
        ),
    )(function)


def _percentile(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Write a percentile as results do: two digits before the point.

    >>> [_percentile(None, None, text) for text in ("5", "05%", "99.9", "mean")]
    ['05', '05', '99.9', 'mean']
    """
    if text is None or text == "mean":
        return text
    whole, point, rest = text.removesuffix("%").partition(".")
    if not (whole.isdecimal() and len(whole) <= 3 and (rest.isdecimal() or not point)):
        message = f"--isol-pct {text}: write a percentile, as 5 or 99.9, or mean"
        raise UsageError(message)
    return f"{int(whole):02}{point}{rest}"


def method_options(function: _Command) -> _Command:
    """Add the options that say how to solve."""
    return in_order(
        click.option(
            "--fit",
            "method",
            type=click.Choice(["compatible", "exact"]),
            default="compatible",
            help="Fit lines as published results do, or the best line of each shape.",
        ),
        click.option(
            "--resamples",
            type=click.IntRange(0, 100_000),
            default=RESAMPLES,
            help="Bootstrap resamples for the intervals; 0: no intervals.",
        ),
    )(function)


def split_job_spec(arguments: tuple[str, ...]) -> tuple[list[Path], str | None]:
    """Separate files from a job spec, which may stand anywhere among them."""
    specs = [text for text in arguments if text.partition(":")[0] == "iocost-tune" and not Path(text).exists()]
    if len(specs) > 1:
        message = f"{len(specs)} job specs were given; put all rules into one, parted by colons"
        raise UsageError(message)
    files = [Path(text) for text in arguments if text not in specs]
    if not files:
        message = "no result file was given"
        raise UsageError(message)
    return files, specs[0] if specs else None


def make_task(
    spec: str | None,
    rules: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    scale_min: str | None = None,
    scale_max: str | None = None,
) -> Task:
    """Put together what a job spec and options ask for; options win."""
    import msgspec

    from brimful.iocost import rules as rules_module
    from brimful.iocost import selectors

    task = rules_module.parse_job_spec(spec) if spec else rules_module.Task()
    changes: dict[str, Any] = {"selectors": (*task.selectors, *map(selectors.parse, metrics))}
    if rules:
        given = task.rules if task.rules is not rules_module.DEFAULT else ()
        changes["rules"] = (*given, *map(rules_module.parse_rule, rules))
    for name, text in (("scale_min", scale_min), ("scale_max", scale_max)):
        if text is not None:
            changes[name] = rules_module.parse_fraction(text, f"--{name.replace('_', '-')}")
    return rules_module.check(msgspec.structs.replace(task, **changes))


def find_files(paths: list[Path]) -> list[Path]:
    """Give the files that are named, and the results in the directories that are."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(_results_below(path))
            if not inside:
                message = f"{path}: no file in it ends in {' or '.join(SUFFIXES)}"
                raise UsageError(message)
            found += inside
        else:
            found.append(path)
    return found


def _results_below(directory: Path) -> Iterator[Path]:
    looked_at = 0
    for place, _, names in os.walk(directory):
        looked_at += 1 + len(names)
        if looked_at > _MOST_FILES:
            message = f"{directory}: has more than {_MOST_FILES} files below it; name the directory of the results"
            raise UsageError(message)
        for name in names:
            file = Path(place, name)
            if name.endswith(SUFFIXES) and file.is_file():
                yield file


class Batch:
    """Goes through files; one that cannot be used is reported at the end and does not stop the others."""

    def __init__(self, files: list[Path], *, isol_pct: str | None = None, isol_thr: str | None = None) -> None:
        from brimful.iocost.rules import parse_fraction

        self.files = files
        self._isolation = isol_pct, None if isol_thr is None else parse_fraction(isol_thr, "--isol-thr")
        self.failures: list[str] = []

    def results(self) -> Iterator[Result]:
        """Give every result of every file."""
        from brimful.iocost.read import read_results

        for file in self._with_progress():
            try:
                yield from read_results(file)
            except BrimfulError as error:
                self.failures.append(str(error))

    def runs(self, task: Task, *, method: str, resamples: int) -> Iterator[RunFile]:
        """Give the records of every result of every file; a file of records is taken as it is."""
        from brimful.iocost import analysis, record
        from brimful.iocost.read import read_results
        from brimful.records import read_unchanged

        for file in self._with_progress():
            try:
                if file.suffix == ".jsonl":
                    yield _device_run(read_unchanged(file))
                    continue
                for result in read_results(file):
                    yield record.to_run(
                        analysis.analyse(result.judged_by(*self._isolation), task, method=method),
                        command=["brimful", *sys.argv[1:]],
                        started=started(),
                        resamples=resamples,
                    )
            except BrimfulError as error:
                self.failures.append(str(error))

    def finish(self) -> int:
        """Report the failures; give the exit code."""
        for failure in self.failures:
            click.echo(f"brimful: error: {failure}", err=True)
        if self.failures and len(self.files) > 1:
            click.echo(f"brimful: {len(self.failures)} of {len(self.files)} files could not be used", err=True)
        return 2 if self.failures else 0

    def _with_progress(self) -> Iterator[Path]:
        if len(self.files) < 3 or not sys.stderr.isatty():
            yield from self.files
            return
        from rich.console import Console
        from rich.progress import track

        yield from track(self.files, description="results", console=Console(stderr=True), transient=True)


def _device_run(run: RunFile) -> RunFile:
    if run.run.subject != "block-device":
        message = f"{run.path}: is the record of a {run.run.subject}, not of a block device"
        raise UsageError(message)
    return run


def started() -> str:
    """Give the time of this command for its records."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
