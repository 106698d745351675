"""Who runs tests in a metro: how often, from which address, how fast."""

from __future__ import annotations

import datetime
import functools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from brimful.discards.synthetic.config import Clients, Config, Downloads, at
from brimful.discards.synthetic.streams import stream

MONITORS = (
    "45.56.98.222",
    "2600:3c03::f03c:91ff:fe33:819",
    "35.225.75.192",
    "35.192.37.249",
    "35.193.254.117",
)
"""Addresses from which the operators of the platform test it; the report leaves them out."""

_ADDRESSES = (100 << 24) | (64 << 16)
"""100.64.0.0/10 has no owner (RFC 6598); 2**20 of it to each metro."""
_MONTHS = 48


@dataclass(frozen=True)
class Population:
    """The clients of a metro by number, the most frequent first; monitors come after them."""

    cumulative_share: np.ndarray
    """Of the tests, by the Zipf law."""
    heavy: np.ndarray
    """Those who test often without being frequent by that law."""
    moving: np.ndarray
    """Which of those who move each month a client is; -1 for the others."""
    level: np.ndarray
    """Logarithm of the median rate in bit/s."""
    level_after: np.ndarray
    """The same after the change of a site."""


@functools.lru_cache(maxsize=32)
def population(seed: int, model: Clients, downloads: Downloads, metro: str) -> Population:
    """Give the clients of a metro."""
    numbers = stream(seed, "clients", metro)
    share = np.arange(1, model.count + 1) ** -model.zipf_exponent
    moving = np.full(model.count + len(MONITORS), -1)
    movers = numbers.choice(model.count, round(model.moving_share * model.count), replace=False)
    moving[movers] = np.arange(len(movers))
    heavy = numbers.choice(model.count, max(1, round(model.heavy_share * model.count)), replace=False)
    frequent = np.zeros(model.count + len(MONITORS), bool)
    frequent[: round(model.frequent_share * model.count)] = True
    frequent[heavy] = True
    level = _levels(stream(seed, "levels", metro), downloads, frequent)
    after = _levels(stream(seed, "levels after", metro), downloads, frequent) if downloads.redraw_levels else level
    return Population(np.cumsum(share) / share.sum(), heavy, moving, level, after)


def _levels(numbers: np.random.Generator, model: Downloads, frequent: np.ndarray) -> np.ndarray:
    chance = numbers.random(len(frequent))
    peaks = np.where(
        frequent,
        np.searchsorted(_shares(model.frequent_weights), chance),
        np.searchsorted(_shares(model.weights), chance),
    )
    between = model.peak_sigma * numbers.standard_normal(len(frequent))
    return np.asarray(np.log(model.peaks_bps)[peaks] + between)


def _shares(weights: tuple[float, ...]) -> np.ndarray:
    # The last one is left out so that no chance lies above it.
    return np.asarray(np.cumsum(weights) / np.sum(weights))[:-1]


def draw_clients(
    config: Config, site: str, day: datetime.date, numbers: np.random.Generator, tests: int
) -> tuple[Population, np.ndarray]:
    """Give the clients of the metro of a site, and which of them runs each of some tests."""
    model = config.clients
    people = population(config.seed, model, config.downloads, site[:3])
    clients = np.searchsorted(people.cumulative_share, numbers.random(tests))
    sites_of_metro = sum(name[:3] == site[:3] for name in config.sites)
    tests_of_metro = at(config.metro(site).tests_per_day, day) * config.tests.scale * sites_of_metro
    heavy_tests = len(people.heavy) * model.heavy_tests_per_fortnight / 14
    heavy_share = min(heavy_tests / tests_of_metro, 0.5) if tests_of_metro else 0.0
    kind = numbers.random(tests)
    heavy = kind < heavy_share
    clients[heavy] = people.heavy[numbers.integers(len(people.heavy), size=int(heavy.sum()))]
    monitors = kind > 1 - config.tests.monitoring_share
    clients[monitors] = model.count + numbers.integers(len(MONITORS), size=int(monitors.sum()))
    return people, clients


def addresses(config: Config, site: str, day: datetime.date, clients: np.ndarray) -> pa.DictionaryArray:
    """Give the address of each client on a day."""
    people = population(config.seed, config.clients, config.downloads, site[:3])
    known, indices = np.unique(clients, return_inverse=True)
    moving = people.moving[known]
    month = (day.year * 12 + day.month) % _MONTHS
    movers = int(people.moving.max()) + 1
    number = np.where(moving >= 0, config.clients.count + month * movers + moving, known)
    whole = _ADDRESSES + (sorted(config.metros).index(site[:3]) << 20) + number
    texts = [
        MONITORS[client - config.clients.count]
        if client >= config.clients.count
        else f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"
        for client, address in zip(known.tolist(), whole.tolist(), strict=True)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), pa.array(texts, pa.string()))
