"""The option ``--junit``: a CI server gets its file also when there is no result, with the reason as an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from brimful.cli.reports import checked_target
from brimful.errors import BrimfulError

Command = Callable[..., Any]


def junit_option(command_name: str, cases: str) -> Callable[[Command], Command]:
    """Give a command the option, and have an error of brimful's written there.

    Parameters
    ----------
    command_name
        What the command is called in the file.
    cases
        Of what there is a test case, for the help.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(*arguments: Any, junit: Path | None, **options: Any) -> Any:  # noqa: ANN401 - as the command
            before = _version(junit)
            try:
                return command(*arguments, junit=junit, **options)
            except (BrimfulError, OSError) as error:
                # What was written before the error says more.
                if junit is not None and _version(junit) == before:
                    _write_error(junit, command_name, str(error))
                raise

        return click.option(
            "--junit",
            type=click.Path(dir_okay=False, path_type=Path),
            callback=checked_target,
            help=f"Write a JUnit XML file for CI: a test case for each {cases}; an error where there is no result.",
        )(run)

    return decorate


def _version(path: Path | None) -> tuple[int, int] | None:
    """Give what distinguishes a file from the one that replaces it."""
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _write_error(path: Path, command_name: str, text: str) -> None:
    from brimful.files import write_atomically
    from brimful.report import junit

    case = junit.Case(name="there is a result", problem=text, is_error=True)
    suite = junit.Suite(name=f"brimful {command_name}", cases=[case], duration_s=0.0, command=command_name)
    write_atomically(path, junit.render([suite]))
