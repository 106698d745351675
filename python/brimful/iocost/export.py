"""Which solutions to hand over, and as what."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from brimful.errors import UsageError
from brimful.kernel import echo_lines
from brimful.records import RunFile, Solution

PREFERENCE = ("isolation", "isolated-bandwidth", "bandwidth", "naive")
"""Solutions that stand for a device, the most isolating first."""


def obstacle(solution: Solution) -> str | None:
    """Say why a solution cannot be set; nothing: it can."""
    if solution.unsolved is not None:
        return f"unsolved: {solution.unsolved}"
    if not solution.model or not solution.qos:
        return "without parameters"
    for side, word in (("r", "read"), ("w", "write")):
        if solution.qos.get(f"{side}pct") and not solution.qos.get(f"{side}lat"):
            # Published results of devices without data have such: under them the kernel would only ever throttle.
            return f"throttled by a {word} latency of 0, as none was measured"
    return None


def solved(run_file: RunFile) -> list[Solution]:
    """Give the solutions that can be set."""
    return [solution for solution in run_file.solutions if obstacle(solution) is None]


def choose_solution(run_file: RunFile, name: str | None = None) -> Solution:
    """Give the solution of a name; without a name the most isolating one that there is.

    Raises
    ------
    UsageError
        When there is none of that name, or it is unsolved.
    """
    if run_file.run.subject != "block-device":
        message = f"{run_file.path}: no result of a block device; make one with brimful iocost tune"
        raise UsageError(message)
    by_name = {solution.name: solution for solution in run_file.solutions}
    names = [solution.name for solution in solved(run_file)]
    if name is None:
        name = next((preferred for preferred in (*PREFERENCE, *names) if preferred in names), None)
        if name is None:
            message = f"{run_file.path}: has no solution; brimful iocost tune says why"
            raise UsageError(message)
    if name not in by_name:
        nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(names) or 'none'}"
        message = f"{run_file.path}: no solution {name!r}; {hint}"
        raise UsageError(message)
    if name not in names:
        message = (
            f"{run_file.path}: {name} cannot be set, it is {obstacle(by_name[name])}; what can be set: "
            f"{', '.join(names) or 'none'}"
        )
        raise UsageError(message)
    return by_name[name]


def with_solutions(run_file: RunFile, names: Sequence[str]) -> RunFile:
    """Keep the solutions of these names; without names, all.

    Raises
    ------
    UsageError
        When there is none of a name, or it is unsolved.
    """
    if not names:
        return run_file
    return msgspec.structs.replace(run_file, solutions=[choose_solution(run_file, name) for name in names])


def render_sysfs(run_file: RunFile) -> str:
    """Write the shell commands of every solution, each set under a comment that names it; without one, a comment.

    Raises
    ------
    UsageError
        When the result does not say the number of the device.
    """
    device = run_file.run.device
    number = device.get("device_number")
    if not number:
        message = f"{run_file.path}: does not say the device number; use brimful iocost apply DEVICE"
        raise UsageError(message)
    named = " ".join(str(device[key]) for key in ("name", "model") if device.get(key)).split()
    blocks = [
        "\n".join([f"# {' '.join([*named, solution.name])}", *echo_lines(str(number), solution)])
        for solution in solved(run_file)
    ]
    return "\n\n".join(blocks or [f"# {' '.join(named)}: no solution can be set; brimful iocost tune says why"]) + "\n"
