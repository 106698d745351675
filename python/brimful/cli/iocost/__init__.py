"""``brimful iocost``: from results of block-device benchmarks to QoS parameters."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup

_COMMANDS = {
    "measure": ("brimful.cli.iocost.measure:measure", "Measure a disk of this machine: model, QoS and solutions."),
    "show": ("brimful.cli.iocost.show:show", "Say what is in result files."),
    "tune": ("brimful.cli.iocost.tune:tune", "Show solutions and remarks of results, or of a directory of them."),
    "solve": ("brimful.cli.iocost.tune:solve", "Solutions of your own rules, metrics and limits."),
    "merge": ("brimful.cli.iocost.merge:merge", "Merge the results of one kind of device."),
    "export": ("brimful.cli.iocost.export:export", "Solutions as the kernel, systemd or other programs take them."),
    "apply": ("brimful.cli.iocost.export:apply", "Set a solution on a device of this machine."),
    "compare": ("brimful.cli.iocost.compare:compare", "Two results or two rule sets side by side."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def iocost() -> None:
    """Measure a disk, or take results of benchmarks, and give the kernel's QoS parameters.

    Results are what resctl-bench 2.1 or later writes: compressed or not, merged or not, finished or not. They are never
    changed. Records that measure or tune wrote are taken like them.
    """
