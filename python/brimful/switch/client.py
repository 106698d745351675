"""The local control socket of `brimful-switchd`: a JSON object a line each way."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimful.errors import MeasureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SOCKET = Path("/run/brimful-switchd.sock")
_PROGRAM = "brimful-switchd"


def ask(path: Path, command: str, **details: object) -> dict[str, Any]:
    """Ask a running switch, and return what it answers.

    Raises
    ------
    MeasureError
        When no switch answers there.
    UsageError
        When the switch refuses, with its reason.
    """
    request = {"command": command} | {name: value for name, value in details.items() if value is not None}
    with connect(path) as connection, connection.makefile("rb") as answers:
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = answers.readline()
        except OSError as error:
            raise _unanswered(path, error) from None
    if not line:
        message = f"the switch at {path} ended without an answer"
        raise MeasureError(message)
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise UsageError(answer["error"])
    return answer


def connect(path: Path) -> socket.socket:
    """Return a connection to a running switch.

    Raises
    ------
    MeasureError
        When no switch answers there.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        raise _unanswered(path, error) from None
    return connection


def _unanswered(path: Path, error: OSError) -> MeasureError:
    reason = error.strerror or error
    return MeasureError(f"no switch answers at {path} ({reason}): start brimful-switchd with --control={path}")


def generate(specification: Path, *, name: str | None, seed: int, syntax: str) -> str:
    """Return a synthetic table, made by the switch's generator.

    Raises
    ------
    UsageError
        When the specification cannot be read.
    MeasureError
        When the program is not installed.
    """
    program = _find_program()
    chosen = [] if name is None else [f"--name={name}"]
    options = [f"--seed={seed}", f"--syntax={syntax}", *chosen]
    done = subprocess.run([program, "genflow", *options, "--", str(specification)], capture_output=True, text=True)
    if done.returncode != 0:
        raise UsageError(done.stderr.strip().removeprefix(f"{_PROGRAM}: "))
    return done.stdout


def run_ofctl(arguments: Sequence[str]) -> int:
    """Run the switch's OpenFlow client with our own input and output; return its exit code.

    Raises
    ------
    MeasureError
        When the program is not installed.
    """
    return subprocess.run([_find_program(), "ofctl", *arguments], check=False).returncode


def _find_program() -> str:
    beside = Path(sys.executable).with_name(_PROGRAM)
    program = str(beside) if beside.exists() else shutil.which(_PROGRAM)
    if program is None:
        message = f"the program {_PROGRAM} is not there, which comes with brimful: reinstall brimful"
        raise MeasureError(message)
    return program
