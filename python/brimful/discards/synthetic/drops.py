"""What a switch discards at an uplink, and the pause frames that it sends instead once it may."""

from __future__ import annotations

import datetime
import functools
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import BINS_PER_DAY, Config, at
from brimful.discards.synthetic.load import Traffic, noise_sigma
from brimful.discards.synthetic.streams import stream


@dataclass(frozen=True)
class Overflow:
    """Discards and pause frames of each bin of a day."""

    discards: np.ndarray
    pause: np.ndarray


def overflow(config: Config, site: str, day: datetime.date, traffic: Traffic, fast: np.ndarray) -> Overflow:
    """Give discards, or pause frames in their place, of a site on a day.

    ``fast`` is how many fast tests run in each bin.
    """
    model = config.drops
    numbers = stream(config.seed, "drops", site, day)
    nothing = np.zeros(BINS_PER_DAY, np.int64)
    loss_ratio, share = _level(config, site, day, numbers)
    if not loss_ratio:
        return Overflow(nothing, nothing)
    sigma = noise_sigma(config, site)
    headroom = round(float(np.log(traffic.most / traffic.median)), 1)
    shares, weighted, intercepts = _logistic_shares(sigma, model.load_slope, config.load.diurnal_amplitude, headroom)
    intercept = np.interp(np.log(share), shares, intercepts)
    push = model.fast_test_slope * fast
    # Fast tests move discards into their bins; they do not add to the share of bins.
    intercept -= np.log(np.mean(np.exp(push)))
    chance = _logistic(intercept + model.load_slope * traffic.excess + push)
    bins = np.flatnonzero(numbers.random(BINS_PER_DAY) < chance)
    median = loss_ratio / (np.exp(np.interp(np.log(share), shares, weighted)) * np.exp(model.sigma**2 / 2))
    ratio = median * np.exp(model.sigma * numbers.standard_normal(len(bins)))
    packets = traffic.packets[bins]
    would = nothing.copy()
    would[bins] = np.minimum(np.maximum(np.rint(packets * ratio), 1), packets // 2).astype(np.int64)
    if day < config.sites[site].flow_control_from:
        return Overflow(would, nothing)
    return Overflow(nothing, numbers.poisson(would / model.discards_per_pause))


def _level(config: Config, site: str, day: datetime.date, numbers: np.random.Generator) -> tuple[float, float]:
    """Give the loss ratio that a day is to have, and the share of bins with discards; zeros for none."""
    place = config.sites[site]
    if place.discards and day >= place.discards[0][0]:
        loss_ratio = at(tuple((point[0], point[1]) for point in place.discards), day)
        share = at(tuple((point[0], point[2]) for point in place.discards), day)
        return loss_ratio * float(np.exp(config.drops.day_sigma * numbers.standard_normal())), share
    if place.sparse_from and day >= place.sparse_from and numbers.random() < config.drops.sparse_days:
        return config.drops.sparse_loss_ratio, config.drops.sparse_share
    return 0.0, 0.0


@functools.lru_cache(maxsize=2048)
def _logistic_shares(
    sigma: float, slope: float, amplitude: float, headroom: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give what share of bins, and of packets, lies where a logistic of load with some intercept says.

    ``headroom`` is the logarithm of capacity over median load. Returns logarithms of both, and the intercepts.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    hours = np.log(1 + amplitude * np.cos(2 * np.pi * np.arange(24) / 24)) / sigma
    excess = (nodes[:, np.newaxis] + hours).ravel()
    bins = np.repeat(weights, len(hours))
    packets = bins * np.exp(np.minimum(sigma * excess, headroom))
    intercepts = np.arange(-30.0, 15.0, 0.25)
    chance = _logistic(intercepts[:, np.newaxis] + slope * excess)
    return np.log(chance @ bins / bins.sum()), np.log(chance @ packets / packets.sum()), intercepts


def _logistic(logit: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-logit)))
