"""The command line: one module a command, each imported only when it is used."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable

import click

from brimful.cli.lazy import LazyGroup, ReaderGoneError
from brimful.cli.signals import take_for_interrupt
from brimful.errors import BrimfulError, did_you_mean, one_line

_COMMANDS = {
    "search": ("brimful.cli.search:search", "Find how much load something takes at given loss ratios."),
    "rfc2544": ("brimful.cli.suite:rfc2544", "Make all tests of RFC 2544 at each frame size, with one report."),
    "rfc2889": ("brimful.cli.switch_suite:rfc2889", "Test a switch as RFC 2889 says, with one report."),
    "delay": ("brimful.cli.delay:delay", "Measure how long a device takes to process a frame."),
    "report": ("brimful.cli.report:report", "Show a saved run as text, HTML, PDF or JSON."),
    "runs": ("brimful.cli.runs:runs", "List runs, newest first, each with its result in one line."),
    "compare": ("brimful.cli.compare:compare", "Is B slower than A: devices live, or recorded runs."),
    "merge": ("brimful.cli.merge:merge", "Make one record and one report of the parts of a campaign."),
    "bisect": ("brimful.cli.bisect:bisect", "Find which build made a device slower."),
    "trend": ("brimful.cli.trend:trend", "Since when is it slower: histories, changes with dates, a gate."),
    "verify": ("brimful.cli.verify:verify_command", "Recompute every verdict from a trial log."),
    "explain": ("brimful.cli.explain:explain", "Say why a load is an upper bound, a lower bound or undecided."),
    "iocost": ("brimful.cli.iocost:iocost", "QoS parameters of disks, measured here or from benchmark results."),
    "discards": ("brimful.cli.discards:discards", "Show what switches dropped, and which speed tests were affected."),
    "switch": ("brimful.cli.switch:switch", "Inspect a running OpenFlow switch, and change its tables."),
    "lab": ("brimful.cli.lab:lab", "Throw-away test beds in network namespaces."),
    "tester": ("brimful.cli.tester:tester", "See whether network cards here are fit for a test."),
    "netdev": (
        "brimful.cli.netdev:netdev",
        "List the back ends that work on interfaces here, and why the others do not.",
    ),
    "presets": ("brimful.cli.presets:presets", "List presets, strategies and simulated systems."),
    "compare-strategies": (
        "brimful.cli.strategies:compare_strategies",
        "Run strategies against simulated systems, many times.",
    ),
}
"""Name of a command: where it is, and the line that `brimful --help` shows without importing it."""


_LONGEST_ERROR = 2000
_EXAMPLES = """\b
Examples:
  brimful search --measurer sim:soft-knee,capacity=1Mpps,seed=7
  brimful search --measurer lab:bridge --html report.html
"""


@click.group(
    cls=LazyGroup,
    places=_COMMANDS,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(package_name="brimful", message="brimful %(version)s")
def group() -> None:
    """Find how much load a data plane takes before it spills.

    A data plane is anything that you can offer a load to and whose losses you can count. Exit codes, where a command
    names no other: 0 done, 2 wrong usage, 3 measuring failed or a file could not be written, 130 interrupted.
    """
    if os.path.isdir("/run/brimful"):  # noqa: PTH112 - pathlib takes longer than all that is done here
        from brimful.changes import put_back

        for text in put_back():
            click.echo(f"brimful: {text}", err=True)


def main() -> None:
    """Run the command; every error is one line, and its exit code says what kind it was."""
    take_for_interrupt()
    try:
        code = group(prog_name="brimful", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        click.echo(f"brimful: error: {_one_line(error)}", err=True)
        code = error.exit_code
    except BrimfulError as error:
        click.echo(f"brimful: error: {one_line(error, longest=_LONGEST_ERROR)}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("brimful: interrupted", err=True)
        code = 130
    except ReaderGoneError:
        _drop_output()
        code = 141
    except OSError as error:
        if not error.filename:
            _drop_output()
        no_room = "cannot write the output: " if error.errno == errno.ENOSPC else ""
        place = f"{error.filename}: " if error.filename else no_room
        click.echo(f"brimful: error: {place}{error.strerror or error}", err=True)
        code = 3
    sys.exit(code if isinstance(code, int) else 0)


def _drop_output() -> None:
    """Keep what cannot be written from failing again at the end of the interpreter, which would be noise."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: click.ClickException) -> str:
    """Say what is wrong with the options in one line, and where they are explained."""
    text = one_line(error.format_message(), longest=_LONGEST_ERROR).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return text if context is None else f"{text}{_meant(error, context)} (see '{context.command_path} --help')"


def _meant(error: click.ClickException, context: click.Context) -> str:
    """Ask whether a command, or a word of a list, was meant that is like the one that was written; else nothing."""
    message = error.format_message()
    written = re.search(r"(?:No such command |: )'([^']*)'", message)
    if written is None or "Did you mean" in message:  # click asks for some
        return ""
    known: Iterable[str] = ()
    if isinstance(error, click.BadParameter):
        choice = error.param.type if error.param is not None else None
        known = map(str, choice.choices) if isinstance(choice, click.Choice) else ()
    elif isinstance(context.command, click.Group):
        known = context.command.list_commands(context)
    return did_you_mean(written[1], known)
