"""``brimful trend check``: the state of each series, and the changes that one run brought to several."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful.cli.junit_option import junit_option
from brimful.cli.reports import checked_target, style
from brimful.cli.trend.stores import chosen, now, series_option, settings_options, store_argument
from brimful.errors import UsageError, one_line

if TYPE_CHECKING:
    from brimful.trend.checking import Checked

_MOST_SHOWN = 40


@click.command()
@store_argument
@series_option
@settings_options
@click.option("--confirm", is_flag=True, help="Compare each suspicion live with the last good version.")
@click.option("-m", "--measurer", metavar="MEASURER", help="What --confirm measures; {version} in it is the version.")
@click.option("--bisect", metavar="OPTIONS", help="Then bisect each regression, with these options of brimful bisect.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@junit_option("trend", "series")
@click.option(
    "--prometheus",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=checked_target,
    help="Write a Prometheus text file: state, newest value and level of each series.",
)
def check(
    store: Path,
    patterns: tuple[str, ...],
    confirm: bool,
    measurer: str | None,
    bisect: str | None,
    as_json: bool,
    junit: Path | None,
    prometheus: Path | None,
    **options: Any,  # noqa: ANN401 - those of the settings
) -> int:
    """Say what state each series of STORE is in after its newest version, and keep it in the store.

    A series is a regression from the version on at which its level got worse by more than the tolerance, until a later
    level is as good as before or somebody accepts it. A value beyond 3 standard deviations is a suspicion until a
    change of level is found or the next value is normal. Changes of one version in several series are one finding. The
    more series there are, the stricter is the judgement of each.

    Exit code, by the worst state: 0 normal, progression or accepted; 1 regression; 3 the newest version has no value;
    4 suspected regression or progression.
    """
    from brimful.trend import checking, confirmation
    from brimful.trend.judgement import Settings
    from brimful.trend.store import Store

    confirms = confirmation.opener(measurer) if confirm else None
    if bisect is not None and as_json:
        message = "--bisect writes reports: leave --json out"
        raise UsageError(message)
    try:
        bisect_options = shlex.split(bisect or "")
    except ValueError as error:
        message = f"--bisect {bisect!r}: {str(error).lower()}; check the quotes"
        raise UsageError(message) from error
    with Store.open(store) as opened:
        found = checking.check(
            opened,
            Settings(**options),
            now=now().timestamp(),
            today=f"{now():%Y-%m-%d}",
            only=chosen(opened, patterns),
            confirm=confirms,
        )
    click.echo(_as_json(found) if as_json else _text(found))
    _write(found, junit, prometheus)
    if bisect is not None:
        _bisect(found, bisect_options)
    return found.exit_code


def _bisect(found: Checked, options: list[str]) -> None:
    """Look for the version of each regression between the last that is surely good and the first that is surely bad."""
    from brimful.cli.bisect import bisect
    from brimful.trend.judgement import REGRESSION

    for finding in found.findings:
        if finding.kind == REGRESSION:
            change = finding.changes[0].change
            ends = ["--good", change.last_good, "--bad", change.latest_version]
            click.echo(f"\nbrimful bisect {shlex.join(ends)}, as {one_line(finding.changes[0].name)} got worse:\n")
            with bisect.make_context("brimful bisect", [*options, *ends]) as context:
                bisect.invoke(context)


def _write(found: Checked, junit: Path | None, prometheus: Path | None) -> None:
    from brimful.cli.trend import exports
    from brimful.files import write_atomically

    for path, render in ((junit, exports.as_junit), (prometheus, exports.as_prometheus)):
        if path is not None:
            write_atomically(path, render(found.rows))
            click.echo(f"wrote {path}", err=True)


def _as_json(found: Checked) -> str:
    import msgspec

    content = msgspec.to_builtins(found)
    content |= {"counts": found.counts, "exit_code": found.exit_code}
    return json.dumps(content, indent=2)


def _text(found: Checked) -> str:
    from brimful.trend.judgement import NORMAL
    from brimful.trend.judging import describe

    looks = style()
    counts = ", ".join(f"{state}: {count:,}" for state, count in found.counts.items()) or "no series"
    lines = [looks(counts, "title")]
    for finding in found.findings:
        series = "1 series" if len(finding.changes) == 1 else f"{len(finding.changes)} series"
        lines += ["", f"{finding.kind} of {series} with {one_line(finding.version)}:"]
        lines += _cut([f"  {one_line(each.name)}: {describe(each.change)}" for each in finding.changes])
    in_findings = {each.series for finding in found.findings for each in finding.changes}
    others = [
        f"{row.judgement.state}: {one_line(row.name)}: {one_line(row.judgement.text)}"
        for row in found.rows
        if row.judgement.state != NORMAL and row.judgement.series not in in_findings
    ]
    lines += ["", *_cut(others)] if others else []
    young = sum(not row.judgement.levels for row in found.rows)
    if young:
        fewest = found.rows[0].judgement.settings.fewest
        lines += ["", f"Not judged yet: {young:,} of {len(found.rows):,} series, with fewer than {fewest} versions."]
    return "\n".join([*lines, "", f"False alarms to expect: {_few(found.expected_false_alarms)}."])


def _cut(lines: list[str]) -> list[str]:
    left = len(lines) - _MOST_SHOWN
    return lines if left <= 0 else [*lines[:_MOST_SHOWN], f"  and {left:,} more; --json lists all"]


def _few(expected: float) -> str:
    return f"one in {1 / expected:,.0f} checks" if expected < 1 else f"{expected:.2g} in each check"
