"""A day of a site, before anything is measured or lost on the way."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import Config
from brimful.discards.synthetic.drops import overflow
from brimful.discards.synthetic.load import traffic
from brimful.discards.synthetic.speed_tests import Downloads, downloads, fast_tests, retransmissions


@dataclass(frozen=True)
class SiteDay:
    """What really happened: integers for each bin, and the tests."""

    site: str
    day: datetime.date
    octets: np.ndarray
    packets: np.ndarray
    discards: np.ndarray
    pause: np.ndarray
    tests: Downloads
    retransmitted: np.ndarray
    """Segments, by test."""


def site_day(config: Config, site: str, day: datetime.date) -> SiteDay:
    """Make a day of a site; it depends on nothing but the configuration."""
    flow = traffic(config, site, day)
    tests = downloads(config, site, day)
    over = overflow(config, site, day, flow, fast_tests(config, tests))
    again = retransmissions(config, site, day, tests, flow, over.discards)
    return SiteDay(site, day, flow.octets, flow.packets, over.discards, over.pause, tests, again)
