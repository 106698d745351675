"""Solutions as the kernel takes them: lines for ``io.cost.*``, and shell commands that write those."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile, Solution

MODEL_KEYS = ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")
"""Parameters of a model, in the order in which the kernel shows them."""

QOS_KEYS = ("rpct", "rlat", "wpct", "wlat", "min", "max")
"""Parameters of a QoS, in the order in which the kernel shows them."""

PREFERENCE = ("isolation", "isolated-bandwidth", "bandwidth", "naive")
"""Solutions that stand for a device, the most isolating first."""

CONTROL_GROUP = "/sys/fs/cgroup"

_MICROSECONDS = {"rlat", "wlat"}


def model_parameters(solution: Solution) -> str:
    """Write the parameters of the model, without a device.

    >>> model_parameters(Solution(name="naive", target="", model=dict.fromkeys(MODEL_KEYS, 7)))
    'rbps=7 rseqiops=7 rrandiops=7 wbps=7 wseqiops=7 wrandiops=7'

    Raises
    ------
    UsageError
        When the solution is unsolved, or a parameter is missing or no number that the kernel takes.
    """
    return " ".join(f"{key}={_whole(solution, key, solution.model)}" for key in MODEL_KEYS)


def qos_parameters(solution: Solution) -> str:
    """Write the parameters of the QoS, without a device.

    >>> qos = {"rpct": 99, "rlat": 5767, "wpct": 0, "wlat": 20774, "min": 75, "max": 100}
    >>> qos_parameters(Solution(name="naive", target="", qos=qos))
    'rpct=99.00 rlat=5767 wpct=0.00 wlat=20774 min=75.00 max=100.00'

    Raises
    ------
    UsageError
        When the solution is unsolved, or a parameter is missing or no number that the kernel takes.
    """
    return " ".join(
        f"{key}={_whole(solution, key, solution.qos)}"
        if key in _MICROSECONDS
        else f"{key}={_number(solution, key, solution.qos):.2f}"
        for key in QOS_KEYS
    )


def sysfs_lines(device_number: str, solution: Solution) -> tuple[str, str]:
    """Give the line for ``io.cost.qos`` and the line for ``io.cost.model``, in the order in which to write them.

    Parameters
    ----------
    device_number
        Major and minor number of the whole disk, ``259:0``.
    solution
        What to set; a solved one.

    Raises
    ------
    UsageError
        When the number is none, or the solution is not one that the kernel takes.
    """
    if re.fullmatch(r"[0-9]+:[0-9]+", device_number) is None:
        message = f"device number {device_number!r} is not MAJOR:MINOR, like 259:0; see lsblk"
        raise UsageError(message)
    return (
        f"{device_number} enable=1 ctrl=user {qos_parameters(solution)}",
        f"{device_number} ctrl=user model=linear {model_parameters(solution)}",
    )


def echo_lines(device_number: str, solution: Solution, *, control_group: str = CONTROL_GROUP) -> tuple[str, str]:
    """Give the two shell commands that set a solution, in their order."""
    qos_line, model_line = sysfs_lines(device_number, solution)
    return (
        echo_line(qos_line, f"{control_group}/io.cost.qos"),
        echo_line(model_line, f"{control_group}/io.cost.model"),
    )


def echo_line(line: str, path: str) -> str:
    """Give the shell command that writes a line to a controller file.

    >>> echo_line("259:0 enable=0", "/sys/fs/cgroup/io.cost.qos")
    "echo '259:0 enable=0' > /sys/fs/cgroup/io.cost.qos"
    """
    return f"echo '{line}' > {path}"


def is_solved(solution: Solution) -> bool:
    """Tell whether there are parameters to set."""
    return solution.unsolved is None and bool(solution.model) and bool(solution.qos)


def solved(run_file: RunFile) -> list[Solution]:
    """Give the solutions that can be set."""
    return [solution for solution in run_file.solutions if is_solved(solution)]


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
        reason = by_name[name].unsolved or "it has no parameters"
        message = f"{run_file.path}: {name} is unsolved: {reason}; solved are {', '.join(names) or 'none'}"
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
    """Write the shell commands of every solution, each set under a comment that names it.

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
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _number(solution: Solution, key: str, parameters: dict[str, Any]) -> float:
    if solution.unsolved is not None:
        message = f"solution {solution.name} is unsolved: {solution.unsolved}"
        raise UsageError(message)
    value = parameters.get(key)
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        message = f"solution {solution.name}: {key} is {value!r}, not a number from 0 up; solve it again"
        raise UsageError(message)
    return value


def _whole(solution: Solution, key: str, parameters: dict[str, Any]) -> int:
    return round(_number(solution, key, parameters))
