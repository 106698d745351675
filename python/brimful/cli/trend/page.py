"""``brimful trend page``: a static site of a store."""

from __future__ import annotations

from pathlib import Path

import click

from brimful.cli.checked import NamedPath
from brimful.cli.trend.stores import now, store_argument


@click.command()
@store_argument
@click.argument("directory", type=NamedPath(file_okay=False, path_type=Path), metavar="DIR")
def page(store: Path, directory: Path) -> None:
    """Write what `brimful trend check` said of STORE into DIR, as a site that needs no server and no network.

    `index.html` has the findings, the largest first, and each series with its figure; `feed.xml` is an Atom feed of the
    findings, `badge.svg` the state in a few words. What is in DIR is whole at any time. Reports of runs are linked
    where they are files, as seen from DIR.
    """
    from brimful.report.trend import site
    from brimful.trend.store import Store

    with Store.open(store) as opened:
        written = site.write(opened, directory, now=now().timestamp())
    findings = "1 finding" if written.findings == 1 else f"{written.findings:,} findings"
    click.echo(f"wrote {directory / 'index.html'}: {findings}, {written.series:,} series")
    if written.unchecked:
        click.echo(f"{written.unchecked:,} series have versions that no check has seen: brimful trend check {store}")
