"""The downloads of a site on a day."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.clients import draw_clients
from brimful.discards.synthetic.config import BIN_S, BINS_PER_DAY, Config, Tests, at
from brimful.discards.synthetic.load import Traffic, day_shape
from brimful.discards.synthetic.streams import stream

BIN_US = BIN_S * 1_000_000


@dataclass(frozen=True)
class Downloads:
    """One entry for each test, in the order of their starts."""

    start_us: np.ndarray
    """Since the midnight before."""
    duration_us: np.ndarray
    client: np.ndarray
    machine: np.ndarray
    """1 is mlab1."""
    octets: np.ndarray
    """Acknowledged."""
    segments: np.ndarray
    """Sent, without retransmissions."""

    @property
    def bins(self) -> tuple[np.ndarray, np.ndarray]:
        """The first bin that each overlaps, and the last."""
        return self.start_us // BIN_US, (self.start_us + self.duration_us - 1) // BIN_US


def downloads(config: Config, site: str, day: datetime.date) -> Downloads:
    """Give the downloads that start at a site on a day."""
    numbers = stream(config.seed, "tests", site, day)
    expected = at(config.metro(site).tests_per_day, day) * config.tests.scale
    count = int(numbers.poisson(expected * np.exp(config.tests.day_sigma * numbers.standard_normal())))
    start_us = _starts(numbers, day_shape(config.load, config.metro(site).time_zone, day), count)
    duration_us = _durations(numbers, config.tests, count)
    machines = config.tests.spread_machines if day >= config.tests.spread_from else 1
    machine = numbers.integers(1, machines + 1, size=count)
    people, client = draw_clients(config, site, day, numbers, count)
    changed = day >= config.sites[site].flow_control_from
    level = (people.level_after if changed else people.level)[client]
    median = at(config.metro(site).download_median_bps, day) / config.downloads.median_bps
    noise = config.downloads.client_sigma * numbers.standard_normal(count)
    rate = np.exp(level + noise) * median * (1 + config.tests.effect if changed else 1.0)
    octets = np.maximum(np.rint(rate * duration_us / 8e6), 1).astype(np.int64)
    segments = -(-octets // config.downloads.segment_bytes)
    return Downloads(start_us, duration_us, client, machine, octets, segments)


def _starts(numbers: np.random.Generator, shape: np.ndarray, count: int) -> np.ndarray:
    """Give the points of a Poisson process whose rate has the shape of the day."""
    cumulative = np.concatenate([[0.0], np.cumsum(shape)])
    chance = np.sort(numbers.random(count)) * cumulative[-1]
    bins: np.ndarray = np.interp(chance, cumulative, np.arange(BINS_PER_DAY + 1))
    return (bins * BIN_US).astype(np.int64)


def _durations(numbers: np.random.Generator, model: Tests, count: int) -> np.ndarray:
    seconds = model.duration_s[0] + model.duration_s[1] * numbers.standard_normal(count)
    kind, chance = numbers.random(count), numbers.random(count)
    # Both tails are even in the logarithm.
    tails = [(kind < model.long_share, model.duration_s[0], model.longest_s)]
    tails += [(kind > 1 - model.short_share, model.shortest_s, 8.9)]
    for here, low, high in tails:
        seconds[here] = low * (high / low) ** chance[here]
    return np.maximum(seconds * 1e6, 1).astype(np.int64)


def fast_tests(config: Config, tests: Downloads) -> np.ndarray:
    """Give how many fast tests run in each bin of their day."""
    first, last = tests.bins
    fast = tests.octets * 8e6 > config.drops.fast_test_bps * tests.duration_us
    begin = np.bincount(first[fast], minlength=BINS_PER_DAY + 1)
    end = np.bincount(np.minimum(last[fast] + 1, BINS_PER_DAY), minlength=BINS_PER_DAY + 1)
    return np.cumsum(begin - end)[:BINS_PER_DAY]


def retransmissions(
    config: Config, site: str, day: datetime.date, tests: Downloads, traffic: Traffic, discards: np.ndarray
) -> np.ndarray:
    """Give how many segments each test sent again: what the Internet lost, and its share of the discards.

    Of a test that runs past midnight, the discards of its own day count.
    """
    numbers = stream(config.seed, "retransmissions", site, day)
    shape = config.downloads.retransmission_shape
    median = at(config.metro(site).retransmission_median, day)
    # The median of a Gamma distribution, to 1 % for shapes from 1 (Wilson and Hilferty 1931).
    scale = median / (shape * (1 - 1 / (9 * shape)) ** 3)
    ratio = numbers.gamma(shape, scale, len(tests.segments))
    first, last = tests.bins
    after = np.minimum(last + 1, BINS_PER_DAY)
    sums = [np.concatenate([[0], np.cumsum(series)]) for series in (discards, traffic.packets)]
    dropped, sent = (sum_before[after] - sum_before[first] for sum_before in sums)
    ratio += dropped / np.maximum(sent, 1)
    return numbers.poisson(tests.segments * np.minimum(ratio, 1.0))
