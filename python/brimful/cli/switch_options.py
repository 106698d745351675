"""Options of commands that ask a running switch."""

from __future__ import annotations

from pathlib import Path

import click

CONTROL = click.option(
    "--control",
    type=click.Path(path_type=Path),
    default=Path("/run/brimful-switchd.sock"),
    metavar="SOCKET",
    help="Control socket of the running brimful-switchd.",
)
NAME = click.option("--switch", metavar="NAME", help="Which logical switch, if there are several.")
