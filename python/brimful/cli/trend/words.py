"""``brimful trend accept`` and ``brimful trend reset``: what people say of series, kept in the store."""

from __future__ import annotations

import datetime
import getpass
import os
from pathlib import Path
from typing import Any

import click

from brimful.cli.trend.stores import chosen, now, series_option, settings_options, store_argument
from brimful.errors import UsageError, one_line
from brimful.trend.judgement import ANOTHER_UNIT, OPEN, REGRESSION, ChangeLine, Settings, Word
from brimful.trend.judging import judge
from brimful.trend.store import Reading, Store

_reason_option = click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept and shown.")


@click.command()
@store_argument
@series_option
@click.option("--all", "all_series", is_flag=True, help="All series.")
@click.option("--version", metavar="TEXT", help="Only the change that this version may have brought.")
@_reason_option
@click.option("--until", metavar="DATE", help="Last day on which it holds, such as 2026-12-31; without it: for good.")
@settings_options
def accept(
    store: Path,
    patterns: tuple[str, ...],
    all_series: bool,
    version: str | None,
    reason: str,
    until: str | None,
    **options: Any,  # noqa: ANN401 - those of the settings
) -> None:
    """Accept the open regressions of series of STORE, so that the gate is open again.

    They are found as `brimful trend check` finds them. What is accepted, why, by whom and until when is kept.
    """
    _check_chosen(patterns, all_series)
    if until is not None:
        _check_date(until)
    settings = Settings(**options)
    with Store.open(store) as opened:
        number = opened.count()
        said: list[tuple[str, Word]] = []
        for reading in opened.read(chosen(opened, patterns)):
            judgement = judge(reading.series, reading.words, settings, all_series=number, today=_today())
            for change in judgement.changes:
                may_be = reading.series.versions[change.earliest : change.latest + 1]
                if _is_open(change) and (version is None or version in may_be):
                    said.append((reading.series.name, _acceptance(reading, change, may_be, reason, until)))
        if not said:
            message = f"{store}: there is no open change to accept in what was named; see brimful trend check"
            raise UsageError(message)
        opened.say((word for _, word in said), now=now().timestamp())
    for name, word in said:
        click.echo(f"accepted: {one_line(name)} with {one_line(word.version)}")


@click.command()
@store_argument
@series_option
@click.option("--all", "all_series", is_flag=True, help="All series that have the version.")
@click.option("--version", required=True, metavar="TEXT", help="First version that counts.")
@_reason_option
def reset(store: Path, patterns: tuple[str, ...], all_series: bool, version: str, reason: str) -> None:
    """Judge series of STORE by VERSION and later versions only; earlier ones stay in the store."""
    _check_chosen(patterns, all_series)
    with Store.open(store) as opened:
        words = [
            Word(series=reading.series.id, kind="reset", version=version, reason=reason, who=_who(), said=_today())
            for reading in opened.read(chosen(opened, patterns))
            if version in reading.series.versions
        ]
        if not words:
            message = f"{store}: none of the series named has a version {one_line(version)!r}"
            raise UsageError(message)
        opened.say(words, now=now().timestamp())
    click.echo(f"reset: {len(words)} series begin with {one_line(version)}")


def _check_chosen(patterns: tuple[str, ...], all_series: bool) -> None:
    if bool(patterns) == all_series:
        message = "name the series with --series, or say --all"
        raise UsageError(message)


def _is_open(change: ChangeLine) -> bool:
    return change.standing == ANOTHER_UNIT or (change.kind, change.standing) == (REGRESSION, OPEN)


def _acceptance(reading: Reading, change: ChangeLine, versions: list[str], reason: str, until: str | None) -> Word:
    return Word(
        series=reading.series.id,
        kind="accept",
        version=change.first_bad,
        versions=versions,
        reason=reason,
        who=_who(),
        said=_today(),
        until=until,
    )


def _check_date(text: str) -> None:
    try:
        datetime.date.fromisoformat(text)
    except ValueError as error:
        message = f"--until {text}: is no date; write it like 2026-12-31"
        raise UsageError(message) from error


def _today() -> str:
    return f"{now():%Y-%m-%d}"


def _who() -> str:
    """Give the name of the user; one of a number only has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
