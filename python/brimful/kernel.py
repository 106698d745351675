"""How the kernel spells the parameters of a solution: lines for ``io.cost.*``, and the commands that write them."""

from __future__ import annotations

import math
import re
from typing import Any

from brimful.errors import UsageError
from brimful.records import Solution

MODEL_KEYS = ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")
"""Parameters of a model, in the order in which the kernel shows them."""

QOS_KEYS = ("rpct", "rlat", "wpct", "wlat", "min", "max")
"""Parameters of a QoS, in the order in which the kernel shows them."""

CONTROL_GROUP = "/sys/fs/cgroup"
PLACEHOLDER = "MAJ:MIN"
"""Stands for a device number that is not known."""

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
        Major and minor number of the whole disk, ``259:0``, or the placeholder.
    solution
        What to set; a solved one.

    Raises
    ------
    UsageError
        When the number is none, or the solution is not one that the kernel takes.
    """
    if device_number != PLACEHOLDER and re.fullmatch(r"[0-9]+:[0-9]+", device_number) is None:
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
