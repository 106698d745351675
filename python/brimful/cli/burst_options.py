"""Options of ``brimful search --find burst``, ``--find recovery`` and ``--find loss``."""

from __future__ import annotations

import click
from click.core import ParameterSource

from brimful.cli import values
from brimful.cli.checked import NAMED
from brimful.cli.option_lists import in_order
from brimful.errors import UsageError

_OPTIONS = (
    click.option(
        "--throughput",
        metavar="LOAD|RUN",
        help="The throughput, or a run that found it; else it is searched for first.",
    ),
    click.option(
        "--tests",
        type=click.IntRange(1, 10_000),
        default=10,
        help="Tests, rounds of recovery or sweeps to average; RFC 2544 recommends 50 bursts. With --find loss: 1.",
    ),
    click.option(
        "--longest", metavar="FRAMES|TIME", default="30s", help="The longest burst to try, in frames or as a time."
    ),
    click.option("--step", type=click.IntRange(1), default=1, help="Try only multiples of this number of frames."),
    click.option(
        "--attempts",
        type=click.IntRange(1, 100),
        default=1,
        help="A burst is lossy when this many in a row lost frames (loss verification of ETSI TST 009).",
    ),
    click.option(
        "--rest",
        type=values.SECONDS,
        default="2s",
        help="Silence after each burst; RFC 9004 asks for 2 s. With --find loss: 5s.",
    ),
    click.option(
        "--overload",
        type=values.SECONDS,
        default="60s",
        help="Length of the trial of recovery; RFC 2544 asks for 60 s at least.",
    ),
    click.option(
        "--probe", type=values.SECONDS, default="50ms", help="Length of the short trials that follow an overload."
    ),
    click.option(
        "--loads",
        metavar="LOAD,...",
        help="Loads, like 10%,1.2Mpps. Default: from 100 % downwards until two lose nothing.",
    ),
    click.option(
        "--load-step",
        type=values.RATIO,
        default="10%",
        help="From one load to the next, of the greatest; RFC 2544 asks for 10 % at most.",
    ),
    click.option(
        "--trial",
        type=values.SECONDS,
        default="60s",
        help="Length of the trials of the loss rate; RFC 2544 asks for 60 s at least.",
    ),
    click.option(
        "--reset-command",
        type=NAMED,
        metavar="COMMAND",
        help="Reset the device by this shell command during the trial; in a lab, inside the device.",
    ),
)
_OF_LOSS = ("loads", "load_step", "trial")
_OF_BURST = ("longest", "step", "attempts")
_OF_RECOVERY = ("overload", "probe", "reset_command")
_OF_SEVERAL = ("throughput", "tests", "rest")
_OF_LOADS = ("budget", "warm_up", "assertions", "junit", "repeats", "no_shared_guesses")
"""What only a search for loads has."""
_FOREIGN = {
    "throughput": (*_OF_BURST, *_OF_RECOVERY, *_OF_LOSS, *_OF_SEVERAL),
    "burst": (*_OF_LOADS, *_OF_RECOVERY, *_OF_LOSS),
    "recovery": (*_OF_LOADS, *_OF_BURST, *_OF_LOSS, "rest"),
    "loss": (*_OF_LOADS, *_OF_BURST, *_OF_RECOVERY, "throughput", "goal_texts", "min_load"),
}
"""What is to be found: the options that it does not have."""


burst_options = in_order(*_OPTIONS)


def check_burst_options(context: click.Context) -> None:
    """Refuse options that what is to be found does not have.

    Raises
    ------
    UsageError
        Naming the option.
    """
    find = context.params["find"]
    for name in _FOREIGN[find]:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            message = f"{option}: is no option of --find {find}; leave it out"
            raise UsageError(message)
    if find != "throughput" and len(context.params["measurers"]) > 1:
        message = f"--find {find}: measures one measurer a run; give one --measurer"
        raise UsageError(message)
