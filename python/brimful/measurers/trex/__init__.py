"""A lab's TRex server as a tester (``docs/how-to/trex.md``)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from brimful.errors import UsageError, did_you_mean
from brimful.measurers.base import Settings
from brimful.measurers.command import CommandMeasurer

_FLAGS = frozenset({"force", "ignore-receive-errors"})
_VALUES = frozenset(
    {
        "ports",
        "user",
        "count",
        "cores",
        "settle",
        "max-stretch",
        "first-group",
        "rpc-timeout",
        "sync-port",
        "async-port",
        "trex-path",
        "python",
        "source-ip",
        "destination-ip",
    }
)
_RUN_PACKAGE = (
    "import runpy, sys; sys.path[0] = sys.argv.pop(1);"
    " runpy.run_module('trex_program', run_name='__main__', alter_sys=True)"
)
"""The directory of the package, and nothing of brimful's, is what the other Python gets to see."""


def open_trex(spec: str, settings: Settings) -> CommandMeasurer:
    """Drive the TRex server that ``HOST[,key=value...]`` names.

    ``BRIMFUL_TREX_PATH`` and ``BRIMFUL_TREX_PYTHON`` stand in for ``trex-path`` and ``python``.

    Raises
    ------
    UsageError
        When an option is unknown or lacks its value.
    """
    host, *words = spec.split(",")
    options = dict(_option(spec, word) for word in words)
    python = options.pop("python", None) or os.environ.get("BRIMFUL_TREX_PYTHON") or sys.executable
    if "trex-path" not in options and "BRIMFUL_TREX_PATH" in os.environ:
        options["trex-path"] = os.environ["BRIMFUL_TREX_PATH"]
    arguments = [f"--{key}" if value is None else f"--{key}={value}" for key, value in options.items()]
    place = str(Path(__file__).parent)
    command = [
        python,
        "-c",
        _RUN_PACKAGE,
        place,
        f"--server={host}",
        *settings.tester_arguments,
        f"--ip={settings.ip}",
        *arguments,
    ]
    return CommandMeasurer(command, timeout_s=settings.timeout_s, name=f"TRex at {host}")


def _option(spec: str, word: str) -> tuple[str, str | None]:
    key, equals, value = word.partition("=")
    if key in _FLAGS and not equals:
        return key, None
    if key not in _VALUES or not value:
        known = ", ".join(sorted([*_FLAGS, *(f"{name}=..." for name in _VALUES)]))
        meant = "" if key in _VALUES else did_you_mean(key, [*_FLAGS, *_VALUES])
        message = f"measurer 'trex:{spec}': {word!r}{meant} is none of {known}"
        raise UsageError(message)
    return key, value
