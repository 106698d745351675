"""What leaves by the uplink of a site, bin by bin."""

from __future__ import annotations

import datetime
import functools
import zoneinfo
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import BIN_S, BINS_PER_DAY, BINS_PER_HOUR, Config, Load, at
from brimful.discards.synthetic.streams import stream


@dataclass(frozen=True)
class Traffic:
    """Octets and packets of each bin of a day."""

    octets: np.ndarray
    packets: np.ndarray
    excess: np.ndarray
    """Logarithm of load over its median, in standard deviations of its noise."""
    median: float
    """Octets in a bin at a diurnal factor of 1."""
    most: float
    """Octets in a bin that the uplink can carry."""


def traffic(config: Config, site: str, day: datetime.date) -> Traffic:
    """Give what leaves by the uplink of a site on a day."""
    model = config.load
    numbers = stream(config.seed, "load", site, day)
    sigma = noise_sigma(config, site)
    shape = np.log(day_shape(model, config.metro(site).time_zone, day))
    excess = correlated_noise(numbers, model.correlation) + shape / sigma
    median = at(config.metro(site).uplink_bps, day) * at(config.sites[site].uplink_factor, day) * BIN_S / 8
    median *= float(np.exp(model.day_sigma * numbers.standard_normal()))
    most = config.sites[site].capacity_bps * BIN_S / 8
    octets = np.minimum(median * np.exp(sigma * excess), most).astype(np.int64)
    mean, deviation = model.packet_bytes
    # No packet is smaller than 64 octets, whatever a configuration says.
    sizes = np.maximum(mean + deviation * numbers.standard_normal(BINS_PER_DAY), 64.0)
    return Traffic(octets, np.rint(octets / sizes).astype(np.int64), excess, median, most)


def noise_sigma(config: Config, site: str) -> float:
    """Give the standard deviation of the logarithm of load of a site."""
    return float(stream(config.seed, "load sigma", site).uniform(*config.load.sigma))


@functools.lru_cache(maxsize=4096)
def day_shape(model: Load, time_zone: str, day: datetime.date) -> np.ndarray:
    """Give the factor of each bin of a UTC day: the hour of the place, and its weekend."""
    zone = zoneinfo.ZoneInfo(time_zone)
    midnight = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
    # Clocks change on the hour.
    starts = [(midnight + datetime.timedelta(hours=hour)).astimezone(zone) for hour in range(24)]
    hours = np.repeat([local.hour for local in starts], BINS_PER_HOUR) + np.tile(
        np.arange(BINS_PER_HOUR) / BINS_PER_HOUR, 24
    )
    weekend = np.repeat([local.weekday() >= 5 for local in starts], BINS_PER_HOUR)
    wave = 1 + model.diurnal_amplitude * np.cos(2 * np.pi * (hours - model.diurnal_peak_hour) / 24)
    factors: np.ndarray = wave * np.where(weekend, model.weekend_factor, 1.0)
    return factors


def correlated_noise(numbers: np.random.Generator, correlation: float) -> np.ndarray:
    """Give AR(1) noise of unit variance; each day begins anew, so that it can be made alone."""
    noise = numbers.standard_normal(BINS_PER_DAY)
    noise[1:] *= np.sqrt(1 - correlation**2)
    # Sums of 2, 4, 8, ... terms of the moving average that AR(1) is, until the next term is nothing to a double.
    step = 1
    while step < BINS_PER_DAY and (factor := correlation**step) > 1e-17:
        noise[step:] += factor * noise[:-step].copy()
        step *= 2
    return noise
