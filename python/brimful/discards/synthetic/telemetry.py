"""What a machine counts at the ports of its switch, and what of it arrives."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import BINS_PER_DAY, Config
from brimful.discards.synthetic.faults import CAN_CONFLICT, Bad, Faults
from brimful.discards.synthetic.platform import METRICS, WITHOUT_PAUSE
from brimful.discards.synthetic.streams import stream
from brimful.discards.synthetic.world import SiteDay

DISCARDS = "switch.discards.uplink.tx"
OCTETS = "switch.octets.uplink.tx"
PACKETS = "switch.unicast.uplink.tx"
ACKNOWLEDGEMENT_BYTES = 74

# As RRD makes of a counter that went back: it takes it to have wrapped at 2**64.
_WRAP = 2.0**64 - 2.0**44


def first_generation(config: Config, day: datetime.date) -> tuple[str, ...]:
    """Give what collectors of the first generation export of a day."""
    return METRICS if day >= config.drops.pause_exported_from else WITHOUT_PAUSE


def increments(config: Config, world: SiteDay, machine: str, metric: str) -> np.ndarray:
    """Give what a counter grows by in each bin, as a machine sees it."""
    _, kind, port, direction = metric.split(".")
    if kind in ("multicast", "broadcast", "errors"):
        mean = {"multicast": 5.0, "broadcast": 1.0, "errors": 1e-5}[kind]
        return stream(config.seed, metric, f"{world.site} {machine}", world.day).poisson(mean, BINS_PER_DAY)
    if kind in ("discards", "pause"):
        # A switch drops on egress only, and only where links of unlike speed meet.
        if metric == DISCARDS:
            return _late(config, world.site, machine, world.discards)
        if metric == "switch.pause.local.tx" and machine == "mlab1":
            return world.pause
        return np.zeros(BINS_PER_DAY, np.int64)
    # What comes in by the port of a machine leaves by the uplink.
    downwards = (port, direction) in (("uplink", "tx"), ("local", "rx"))
    if downwards:
        series = world.octets if kind == "octets" else world.packets
    else:
        series = world.packets // 2 * (ACKNOWLEDGEMENT_BYTES if kind == "octets" else 1)
    if port == "local":
        series = (series * _share(config, world.day, machine)).astype(np.int64)
    return _late(config, world.site, machine, series)


def _share(config: Config, day: datetime.date, machine: str) -> float:
    """Give how much of the traffic of a site is of a machine."""
    if day < config.tests.spread_from:
        return 0.97 if machine == "mlab1" else 0.01
    return 0.97 / config.tests.spread_machines if int(machine[4:]) <= config.tests.spread_machines else 0.01


def _late(config: Config, site: str, machine: str, series: np.ndarray) -> np.ndarray:
    """Move a little of each bin into the one after it, as a later poll does; mlab1 polls on time."""
    if machine == "mlab1":
        return series
    phase = stream(config.seed, "phase", f"{site} {machine}").uniform(*config.delivery.poll_phase)
    moved = np.rint(series[:-1] * phase).astype(np.int64)
    late = series.copy()
    late[:-1] -= moved
    late[1:] += moved
    return late


@dataclass(frozen=True)
class Bins:
    """A series of a day as collectors of the first generation deliver it."""

    values: np.ndarray
    """Both bins of a missed poll have their mean."""
    present: np.ndarray
    usable: np.ndarray
    """Present, and what was counted."""


def deliver(series: np.ndarray, faults: Faults, metric: str) -> Bins:
    """Give what arrives of the increments of a day."""
    values = series.astype(np.float64)
    missed = faults.missed
    values[missed] = values[missed + 1] = (values[missed] + values[missed + 1]) / 2
    present = faults.present
    usable = present
    bad = faults.bad.get(metric)
    if bad:
        values[bad.bin] = float(bad.amount) if bad.kind is Bad.IMPOSSIBLE else _WRAP
        usable = present.copy()
        usable[bad.bin] = False
    return Bins(values, present, usable)


def first_delivery(series: np.ndarray, faults: Faults, metric: str, hour: int) -> np.ndarray:
    """Give increments as they are delivered at first where an hour is delivered twice and differs.

    What differs are two bins, by what a poll between them would have put into the other one.
    """
    if hour not in faults.conflicts or metric not in CAN_CONFLICT:
        return series
    index = faults.conflicts[hour]
    moved = series[index + 1] // 100
    other = series.copy()
    other[index] += moved
    other[index + 1] -= moved
    return other
