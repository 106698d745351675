"""What is done to a disk, in which order, and how long each step takes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from brimful.errors import UsageError
from brimful.units import format_duration

QUICK_S = 300.0
"""A measurement without searching vrate."""
LEAST_BUDGET_S = 30.0
_DESCRIBE_S = 10.0
_STEADY_S = 120.0
LEAST_STEADY_S = 50.0
"""Five rounds, which is what the rule looks at."""
_WRITE_BYTES_S = 250e6
"""What slow SSDs write, for the estimate of how long writing the working set takes."""
_LEAST_WRITE_S = 3.0

PROBES = {
    "rbps": ("read", "128k", "bytes of sequential reads"),
    "rseqiops": ("read", "4k", "sequential reads"),
    "rrandiops": ("randread", "4k", "random reads"),
    "wbps": ("write", "128k", "bytes of sequential writes"),
    "wseqiops": ("write", "4k", "sequential writes"),
    "wrandiops": ("randwrite", "4k", "random writes"),
}
"""Parameter of the model: pattern, size of an IO, what it counts."""

SEARCHES = {
    "late-reads": ("randread", "random reads"),
    "late-writes": ("randwrite", "random writes"),
    "late-mix": ("randrw", "random reads and writes, 70 to 30"),
}
"""Step: pattern, what is searched."""

DESCRIBE, PREPARE, STEADY = "describe", "prepare", "steady-state"
VRATE, CONFIRMATION, VALIDATION = "vrate", "confirmation", "validation"


class Step(msgspec.Struct, frozen=True):
    """A step of a measurement."""

    name: str
    text: str
    seconds: float
    """How long it takes, about."""


def make_plan(*, writes: bool, controller: bool, quick: bool, budget_s: float | None, write_bytes: int) -> list[Step]:
    """Give the steps of a measurement.

    Parameters
    ----------
    writes
        Whether the disk may be overwritten.
    controller
        Whether the kernel has io.cost.
    quick
        Leave out the steady state, vrate and the validation.
    budget_s
        How long all steps together may take; none: as long as an SSD deserves.
    write_bytes
        What is to be written once.

    Raises
    ------
    UsageError
        When the budget is too short.
    """
    steps = list(_steps(writes=writes, controller=controller, quick=quick, write_bytes=write_bytes))
    fixed_s = sum(step.seconds for step in steps if step.name in (DESCRIBE, PREPARE))
    scaled_s = total_s(steps) - fixed_s
    if budget_s is None and quick:
        budget_s = min(QUICK_S, fixed_s + scaled_s)
    if budget_s is None:
        return steps
    if budget_s < fixed_s + LEAST_BUDGET_S:
        message = f"--budget: {format_duration(budget_s)} is too short; give {fixed_s + LEAST_BUDGET_S:.0f}s or more"
        raise UsageError(message)
    factor = (budget_s - fixed_s) / scaled_s
    if factor * _STEADY_S < LEAST_STEADY_S and any(step.name == STEADY for step in steps):
        steps = [step for step in steps if step.name != STEADY]
        factor = (budget_s - fixed_s) / (scaled_s - _STEADY_S)
    return [
        step if step.name in (DESCRIBE, PREPARE) else msgspec.structs.replace(step, seconds=step.seconds * factor)
        for step in steps
    ]


def total_s(steps: list[Step]) -> float:
    """Give how long steps take together."""
    return sum(step.seconds for step in steps)


def render(steps: list[Step]) -> str:
    """Write a plan for people.

    >>> print(render([Step("describe", "look at the disk", 10.0), Step("vrate", "search vrate", 190.0)]), end="")
      1  describe       10 s  look at the disk
      2  vrate         190 s  search vrate
         sum           200 s  3.3 min
    """
    rows = [f"{number:3}  {step.name:12} {step.seconds:4.0f} s  {step.text}" for number, step in enumerate(steps, 1)]
    sum_s = total_s(steps)
    return "\n".join([*rows, f"     {'sum':12} {sum_s:4.0f} s  {sum_s / 60:.1f} min"]) + "\n"


def _steps(*, writes: bool, controller: bool, quick: bool, write_bytes: int) -> Iterator[Step]:
    yield Step(DESCRIBE, "look at the disk", _DESCRIBE_S)
    if writes:
        seconds = max(_LEAST_WRITE_S, write_bytes / _WRITE_BYTES_S)
        yield Step(PREPARE, f"write {write_bytes / 2**30:.3g} GiB once, unless that was done before", seconds)
    for name, (_, _, counted) in PROBES.items():
        if name == "wbps" and writes and not quick:
            yield Step(STEADY, "write at random in rounds until their rate is steady", _STEADY_S)
        if writes or name.startswith("r"):
            yield Step(name, f"most {counted}, in a closed loop", 20)
    for name, (_, text) in SEARCHES.items():
        if writes or name == "late-reads":
            yield Step(name, f"search {text} for late IOs", 60)
    if controller and not quick:
        yield Step(VRATE, "search vrate for late IOs of a protected group beside a hog", 190)
        yield Step(CONFIRMATION, "try what was found for longer, and lower it until it holds", 180)
        yield Step(VALIDATION, "protected group beside a hog: off, found, found with the dynamic rule", 180)
