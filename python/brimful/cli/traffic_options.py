"""What is sent: the options that every command with a tester has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from brimful.cli.option_lists import in_order
from brimful.errors import UsageError
from brimful.measurers.catalogue import kind_of

_PASSED_ON = ("frame_size", "flows", "direction", "pattern", "port_shares", "vlan")

_OPTIONS = (
    click.option(
        "--profile",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Traffic profile: a TOML file that says what to send; the options below override it.",
    ),
    click.option(
        "--frame-size",
        metavar="BYTES|imix",
        help="Bytes with FCS. Default: the profile's, or the least with room for the headers.",
    ),
    click.option(
        "--flows", type=click.IntRange(1, 1 << 20), help="Flows of each direction. Default: the profile's, or 1."
    ),
    click.option(
        "--direction",
        type=click.Choice(["bi", "uni"]),
        help="Both ways at once, or one. Default: the profile's, or bi.",
    ),
    click.option(
        "--pattern",
        metavar="PATTERN",
        help="Which port sends to which: pairs, mesh, one-to-many, many-to-one, halves, or a list with shares of the"
        " sender's load, like flows:1>2,3>2=50%. Default: pairs.",
    ),
    click.option(
        "--port-shares", metavar="SHARES", help="What each port sends of the load, like 100%/20%. Default: all of it."
    ),
    click.option("--vlan", type=click.IntRange(1, 4094), help="VLAN of all frames."),
    click.option("--ip", type=click.Choice(["4", "6"]), default="4", help="Internet protocol of all frames."),
    click.option("--force", is_flag=True, help="Use interfaces that are in use; this disturbs their traffic."),
    click.option(
        "--tester-option", "tester_extra", multiple=True, metavar="OPTION", help="Any further option of brimful-tester."
    ),
)


traffic_options = in_order(*_OPTIONS)


def check_traffic(options: dict[str, Any], measurers: Sequence[str]) -> None:
    """Refuse options of what is sent where no measurer hears them.

    Raises
    ------
    UsageError
        Naming the option and the measurer.
    """
    if any(kind_of(measurer).hears_traffic for measurer in measurers):
        return
    given = [f"--{name.replace('_', '-')}" for name in _PASSED_ON if options[name] is not None]
    given += ["--ip"] if options["ip"] != "4" else []
    given += ["--force"] if options["force"] else []
    given += ["--tester-option"] if options["tester_extra"] else []
    if given:
        message = f"{given[0]}: measurer {measurers[0]!r} would not be told what to send; leave the option out"
        raise UsageError(message)


def traffic_of(options: dict[str, Any]) -> dict[str, Any]:
    """Say what is sent, as far as it makes a run another one: ``arguments`` of the tester, and what a profile says."""
    from brimful.measurers.profile import digest

    arguments = [f"--{name.replace('_', '-')}={options[name]}" for name in _PASSED_ON if options[name] is not None]
    forced = ["--force"] if options["force"] else []
    rest = [*arguments, *forced, *options["tester_extra"]]
    profile = options["profile"]
    if profile is None:
        return {"arguments": rest}
    return {"arguments": [f"--profile={profile.absolute()}", *rest], "profile": digest(profile)}


def labels_of(options: dict[str, Any]) -> dict[str, str]:
    """Read what ``--label`` was given.

    Raises
    ------
    UsageError
        When one is not KEY=VALUE.
    """
    return dict(_label(text) for text in options["labels"])


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        message = f"--label {text!r} is not KEY=VALUE"
        raise UsageError(message)
    if not text.isprintable():
        message = f"--label {text!r} has characters that cannot be shown; leave them out"
        raise UsageError(message)
    return key, value
