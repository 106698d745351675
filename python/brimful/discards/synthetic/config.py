"""Everything that a synthetic world is made from, and how a file changes it."""

from __future__ import annotations

import datetime
import difflib
import tomllib
import zoneinfo
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from brimful.discards.synthetic import platform
from brimful.discards.synthetic.platform import Curve, Metro, Positive, PositiveRatio, Ratio, Site
from brimful.errors import UsageError

NotNegative = Annotated[float, msgspec.Meta(ge=0)]

BIN_S = 10
BINS_PER_DAY = 86_400 // BIN_S
BINS_PER_HOUR = 3600 // BIN_S


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Octets and packets that leave by the uplink in a bin."""

    sigma: tuple[Positive, Positive] = (1.0, 1.2)
    """Of the logarithm; each site has one between these."""
    day_sigma: NotNegative = 0.1
    """Of the logarithm of the median, from day to day."""
    correlation: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.6
    """Of the logarithm, from one bin to the next."""
    diurnal_amplitude: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.6
    diurnal_peak_hour: float = 21.0
    """Of local time."""
    weekend_factor: Positive = 0.9
    packet_bytes: tuple[Positive, NotNegative] = (1340.0, 40.0)
    """Mean and standard deviation of the mean size of the packets of a bin."""


class Drops(msgspec.Struct, frozen=True, kw_only=True):
    """Discards and pause frames; when and how many is with each site."""

    load_slope: float = 2.0
    """How much a standard deviation of the logarithm of load adds to the logit of a bin to have discards."""
    fast_test_bps: Positive = 150e6
    fast_test_slope: float = 1.0
    """How much each fast test that runs in a bin adds to the logit."""
    sigma: NotNegative = 1.2
    """Of the logarithm of the ratio of discards to packets in a bin that has any."""
    day_sigma: NotNegative = 0.15
    """Of the logarithm of the loss ratio, from day to day."""
    sparse_days: Ratio = 0.3
    """Share of the days with any discards while they are sparse."""
    sparse_loss_ratio: PositiveRatio = 2e-6
    sparse_share: PositiveRatio = 3e-4
    """Of bins with discards on such a day."""
    discards_per_pause: Positive = 20.0
    """Discards that one pause frame stands for once there is flow control."""
    pause_exported_from: datetime.date = datetime.date(2018, 4, 13)


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to telemetry on its way."""

    missing_hours: Ratio = 0.005
    """Share of the hours of a machine without telemetry."""
    missing_days: Annotated[int, msgspec.Meta(ge=0)] = 2
    """Days of a site without telemetry, between ``missing_days_between``."""
    missing_days_between: tuple[datetime.date, datetime.date] = (platform.FIRST_DAY, platform.LAST_DAY)
    missed_polls: Ratio = 1e-5
    duplicated_hours: Ratio = 0.01
    conflicting_hours: Ratio = 1e-4
    """Share of the hours that are delivered twice with other values the first time."""
    bad_samples: Ratio = 1e-6
    """Steps back, resets and impossible increments of octets and unicast counters of the uplink."""
    impossible_octets: Annotated[int, msgspec.Meta(gt=0, le=2**56)] = 125_000_000_000
    """In one bin: ten times what 10 Gbit/s can carry; of packets a 64th of it."""
    wrapping_counters: Ratio = 0.25
    """Share of the 32-bit counters that wrap early."""
    mislabelled_octets: bool = True
    """Call both directions of local octets tx, as the collectors did before 2022-01-11 (second generation only)."""
    poll_phase: tuple[Ratio, Ratio] = (0.001, 0.012)
    """By how much of a bin the other machines poll later than mlab1."""


class Tests(msgspec.Struct, frozen=True, kw_only=True):
    """When speed tests run and for how long."""

    scale: NotNegative = 1.0
    """Of the number of tests."""
    day_sigma: NotNegative = 0.05
    """Of the logarithm of their number, from day to day, beside that of a Poisson process."""
    effect: float = 0.0
    """On the download rate, from the day on which a site has flow control; -0.1 makes it 10 % less."""
    spread_from: datetime.date = datetime.date(2018, 7, 15)
    """Tests go to mlab1 alone before, to ``spread_machines`` from then on; where the counts of figure 7 fall."""
    spread_machines: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3
    duration_s: tuple[Positive, NotNegative] = (10.0, 0.1)
    long_share: Ratio = 0.03
    longest_s: Positive = 60.0
    short_share: Ratio = 0.05
    shortest_s: Positive = 0.5
    monitoring_share: Ratio = 0.005
    """Of the tests that come from the addresses of the operators."""
    short_name_share: Ratio = 0.05
    """Of the server names without ``ndt.iupui.``"""


class Clients(msgspec.Struct, frozen=True, kw_only=True):
    """Who runs tests."""

    count: Annotated[int, msgspec.Meta(ge=10, le=80_000)] = 30_000
    """In each metro."""
    zipf_exponent: float = 1.1
    heavy_share: Ratio = 0.01
    heavy_tests_per_fortnight: Positive = 22.0
    moving_share: Ratio = 0.2
    """Of clients that have another address each month."""
    frequent_share: Ratio = 0.1
    """Of clients, the most frequent ones, whose rates are of ``frequent_weights``."""


class Downloads(msgspec.Struct, frozen=True, kw_only=True):
    """How fast tests are and what they retransmit."""

    median_bps: Positive = 24.5e6
    """Median of the best test of each client of a day that the peaks give; the medians of metros scale them."""
    peaks_bps: tuple[Positive, ...] = (7e6, 25e6, 85e6, 250e6)
    weights: tuple[Positive, ...] = (0.54, 0.26, 0.14, 0.06)
    frequent_weights: tuple[Positive, ...] = (0.25, 0.30, 0.31, 0.14)
    peak_sigma: NotNegative = 0.4
    """Of the logarithm, between the clients of a peak."""
    client_sigma: NotNegative = 0.35
    """Of the logarithm, between the tests of a client."""
    redraw_levels: bool = False
    """Draw the level of each client anew, from the same distribution, at the change: two independent samples."""
    retransmission_shape: Annotated[float, msgspec.Meta(ge=1)] = 1.5
    """Of the Gamma distribution of the retransmission ratio."""
    segment_bytes: Annotated[int, msgspec.Meta(gt=0)] = 1448


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All parameters of a world. Any part of it depends on these and on nothing else."""

    seed: int = 1
    first_day: datetime.date = platform.FIRST_DAY
    last_day: datetime.date = platform.LAST_DAY
    only_sites: tuple[str, ...] = ()
    """To make; all if there is none. What a site is like depends on ``sites``, not on these."""
    machines: int = 1
    """That collect telemetry at each site."""
    metrics: tuple[str, ...] = ("switch.discards.uplink.tx", "switch.octets.uplink.tx", "switch.unicast.uplink.tx")
    """Of flat tables and stores; archives hold all that there are."""
    load: Load = Load()
    drops: Drops = Drops()
    delivery: Delivery = Delivery()
    tests: Tests = Tests()
    clients: Clients = Clients()
    downloads: Downloads = Downloads()
    metros: dict[str, Metro] = msgspec.field(default_factory=lambda: platform.METROS)
    sites: dict[str, Site] = msgspec.field(default_factory=lambda: platform.SITES)

    def metro(self, site: str) -> Metro:
        """Give the metro of a site."""
        return self.metros[site[:3]]

    @property
    def chosen_sites(self) -> list[str]:
        """The sites to make, sorted."""
        return sorted(self.only_sites or self.sites)

    @property
    def days(self) -> list[datetime.date]:
        """All days, in order."""
        count = (self.last_day - self.first_day).days + 1
        return [self.first_day + datetime.timedelta(index) for index in range(count)]

    @property
    def machine_names(self) -> list[str]:
        """The machines that collect telemetry."""
        return [f"mlab{number + 1}" for number in range(self.machines)]


def at(curve: Curve, day: datetime.date) -> float:
    """Give the value of a curve on a day: exponential between its points, level outside of them."""
    days = [point[0].toordinal() for point in curve]
    return float(np.exp(np.interp(day.toordinal(), days, np.log([point[1] for point in curve]))))


def read_config(path: Path) -> Config:
    """Give the defaults with what a TOML file changes.

    Raises
    ------
    UsageError
        When the file cannot be read, has a key that there is not, or a value of another type.
    """
    try:
        changes = tomllib.loads(path.read_text())
    except OSError as error:
        message = f"{path}: cannot read: {error.strerror}"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: is no TOML: {str(error).splitlines()[0]}"
        raise UsageError(message) from error
    defaults = msgspec.to_builtins(Config(), builtin_types=(datetime.date,))
    merged = _merge(defaults, changes, path, ())
    try:
        return msgspec.convert(merged, Config)
    except msgspec.ValidationError as error:
        message = f"{path}: {error}; see the same key in the documentation of the synthetic data"
        raise UsageError(message) from error


def check(config: Config) -> Config:
    """Give back a configuration that can be generated.

    Raises
    ------
    UsageError
        When values do not fit each other.
    """
    rules = [
        (config.first_day <= config.last_day, f"the first day ({config.first_day}) is after the last"),
        (bool(config.sites), "there is no site"),
        (1 <= config.machines <= 4, f"machines: {config.machines} is not between 1 and 4"),
        (config.tests.scale >= 0, f"tests.scale: {config.tests.scale:g} is below 0"),
        (config.tests.effect > -1, f"tests.effect: {config.tests.effect:g} leaves no rate"),
        (config.seed >= 0, f"seed: {config.seed} is below 0"),
        (config.tests.longest_s <= 300, f"tests.longest_s: {config.tests.longest_s:g} is above 300"),
        (config.tests.scale <= 1000, f"tests.scale: {config.tests.scale:g} is above 1000"),
        (
            len(config.downloads.peaks_bps)
            == len(config.downloads.weights)
            == len(config.downloads.frequent_weights)
            > 0,
            "downloads: there are not as many weights and frequent_weights as peaks_bps",
        ),
        (
            set(config.metrics) <= set(platform.METRICS) and bool(config.metrics),
            f"metrics: they are like {platform.METRICS[0]}",
        ),
        (len(config.metros) <= 4, "there are more than 4 metros"),
    ]
    rules += [(site in config.sites, f"only_sites: there is no sites.{site}") for site in config.only_sites]
    rules += [(site[:3] in config.metros, f"sites.{site}: there is no metros.{site[:3]}") for site in config.sites]
    known = zoneinfo.available_timezones()
    rules += [
        (metro.time_zone in known, f"metros.{name}: there is no time zone {metro.time_zone}")
        for name, metro in config.metros.items()
    ]
    for fits, reason in rules:
        if not fits:
            message = f"synthetic data: {reason}; change it"
            raise UsageError(message)
    return config


def _merge(defaults: dict[str, Any], changes: dict[str, Any], path: Path, place: tuple[str, ...]) -> dict[str, Any]:
    merged = dict(defaults)
    for key, value in changes.items():
        # Sites and metros may be added; what is not given of a new one is as msgspec has it.
        if key not in defaults and place not in (("sites",), ("metros",)):
            near = difflib.get_close_matches(key, defaults, n=1, cutoff=0.0)
            message = f"{path}: {'.'.join((*place, key))}: there is no such key; did you mean {near[0]}?"
            raise UsageError(message)
        known = defaults.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merge(known, value, path, (*place, key))
        else:
            merged[key] = value
    return merged
