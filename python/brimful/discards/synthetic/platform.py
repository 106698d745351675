"""The sites of the report, with levels read off its figures."""

from __future__ import annotations

import datetime
import itertools
from typing import Annotated

import msgspec

FIRST_DAY = datetime.date(2016, 6, 1)
LAST_DAY = datetime.date(2018, 7, 31)

Positive = Annotated[float, msgspec.Meta(gt=0)]
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]
PositiveRatio = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Curve = Annotated[tuple[tuple[datetime.date, Positive], ...], msgspec.Meta(min_length=1)]
"""Values on days, which are in order; exponential in between, level outside."""


def _metrics(*types: str) -> tuple[str, ...]:
    return tuple(f"switch.{'.'.join(parts)}" for parts in itertools.product(types, ("local", "uplink"), ("rx", "tx")))


METRICS = _metrics("octets", "unicast", "multicast", "broadcast", "errors", "discards", "pause")
WITHOUT_PAUSE = METRICS[:-4]
SECOND_GENERATION = _metrics("octets", "unicast", "errors", "discards")
"""What collectors of the second generation poll, before 2022-01-11."""


class Metro(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the sites of a city share."""

    time_zone: str
    uplink_bps: Curve
    """Median rate of an uplink."""
    tests_per_day: Curve
    """Of a site."""
    download_median_bps: Curve
    retransmission_median: Curve


class Site(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site has of its own."""

    capacity_bps: Annotated[float, msgspec.Meta(gt=0, le=1e13)] = 1e9
    uplink_factor: Curve = ((FIRST_DAY, 1.0),)
    """Of the rate of the metro."""
    discards: tuple[tuple[datetime.date, PositiveRatio, PositiveRatio], ...] = ()
    """Day, loss ratio, share of bins with discards; none before the first day, none at all if empty."""
    sparse_from: datetime.date | None = None
    """Few discards on few days from then on, until the first day of ``discards``."""
    flow_control_from: datetime.date = datetime.date(2018, 3, 7)
    """First day without discards; pause frames in their place."""


def _curve(*points: tuple[str, float]) -> Curve:
    return tuple((datetime.date.fromisoformat(day), value) for day, value in points)


# Figure 7, whose months were digitised.
_TESTS_PER_DAY = _curve(
    *(("2016-06-01", 1000), ("2016-06-28", 1300), ("2016-07-20", 2400), ("2016-08-01", 3700), ("2016-09-15", 4400)),
    *(("2016-11-10", 3700), ("2016-12-10", 6100), ("2017-02-01", 6600), ("2017-03-28", 6700), ("2017-04-10", 3800)),
    *(("2017-05-15", 4100), ("2017-07-01", 5000), ("2017-11-15", 4900), ("2017-12-20", 6200), ("2018-01-05", 6500)),
    *(("2018-02-01", 6050), ("2018-03-05", 6200), ("2018-03-08", 9500), ("2018-04-15", 12000), ("2018-05-31", 13200)),
    *(("2018-06-15", 15000), ("2018-07-31", 20000)),
)

METROS = {
    "dfw": Metro(
        time_zone="America/Chicago",
        uplink_bps=_curve(
            *(("2016-06-01", 1.2e7), ("2016-07-25", 1.2e7), ("2016-08-05", 1.8e7), ("2016-11-20", 1.8e7)),
            *(("2016-12-05", 2.5e7), ("2017-03-20", 5e7), ("2017-04-10", 2.2e7), ("2017-08-01", 2.5e7)),
            *(("2018-02-28", 7e7), ("2018-03-08", 1.4e8), ("2018-07-31", 2.2e8)),
        ),
        tests_per_day=_TESTS_PER_DAY,
        download_median_bps=_curve(
            *(("2016-06-01", 30e6), ("2016-07-20", 27e6), ("2016-08-01", 21e6), ("2016-10-25", 20e6)),
            *(("2016-11-01", 17e6), ("2016-12-20", 23e6), ("2017-02-15", 27e6), ("2017-03-25", 27e6)),
            *(("2017-04-15", 17e6), ("2017-06-01", 14.5e6), ("2017-08-15", 14.5e6), ("2017-12-01", 17e6)),
            *(("2018-02-01", 22e6), ("2018-04-10", 22e6), ("2018-05-10", 23e6)),
        ),
        retransmission_median=_curve(
            *(("2016-06-01", 1e-4), ("2016-07-20", 3e-4), ("2016-10-25", 4e-4), ("2016-11-05", 8e-4)),
            *(("2016-12-20", 4e-4), ("2017-03-25", 3e-4), ("2017-05-01", 1.5e-3)),
        ),
    ),
    "lga": Metro(
        time_zone="America/New_York",
        uplink_bps=_curve(
            *(("2016-06-01", 2e7), ("2016-07-25", 2e7), ("2016-08-05", 4e7), ("2016-11-20", 4e7)),
            *(("2016-12-05", 5e7), ("2017-03-20", 6e7), ("2017-04-10", 4e7), ("2017-08-01", 4e7)),
            *(("2018-02-28", 9e7), ("2018-03-08", 1.6e8), ("2018-07-31", 2.4e8)),
        ),
        tests_per_day=_TESTS_PER_DAY,
        download_median_bps=_curve(
            *(("2016-06-01", 42e6), ("2016-07-20", 40e6), ("2016-08-01", 30e6), ("2016-10-25", 31e6)),
            *(("2016-11-01", 26e6), ("2016-12-20", 36e6), ("2017-03-25", 36e6), ("2017-04-15", 25e6)),
            *(("2017-05-10", 22e6), ("2017-09-01", 22e6), ("2017-12-01", 26e6), ("2018-02-01", 30e6)),
            *(("2018-04-10", 30e6), ("2018-05-10", 35e6)),
        ),
        retransmission_median=_curve(
            *(("2016-06-01", 1e-4), ("2016-07-20", 2e-4), ("2017-03-25", 3e-4), ("2017-05-01", 7e-4)),
            *(("2017-12-01", 9e-4),),
        ),
    ),
    "nuq": Metro(
        time_zone="America/Los_Angeles",
        uplink_bps=_curve(
            *(("2016-06-01", 6e5), ("2016-07-25", 6e5), ("2016-08-05", 3e6), ("2016-11-20", 3e6)),
            *(("2016-12-05", 6e6), ("2017-03-20", 1.5e7), ("2017-04-10", 4e6), ("2017-08-01", 2e6)),
            *(("2018-02-28", 1.3e7), ("2018-03-08", 4e7), ("2018-07-31", 1e8)),
        ),
        tests_per_day=_TESTS_PER_DAY,
        download_median_bps=_curve(
            *(("2016-06-01", 45e6), ("2016-07-20", 43e6), ("2016-08-01", 31e6), ("2016-10-25", 31e6)),
            *(("2016-11-01", 25e6), ("2016-12-20", 36e6), ("2017-03-25", 38e6), ("2017-04-15", 20e6)),
            *(("2017-05-10", 18e6), ("2017-09-01", 20e6), ("2017-12-01", 23e6), ("2018-02-01", 25e6)),
            *(("2018-04-10", 25e6), ("2018-05-10", 26e6)),
        ),
        retransmission_median=_curve(
            *(("2016-06-01", 5e-5), ("2016-07-20", 1e-4), ("2017-03-25", 5e-5), ("2017-04-20", 7e-4)),
        ),
    ),
}


def _discards(*points: tuple[str, float, float]) -> tuple[tuple[datetime.date, float, float], ...]:
    return tuple((datetime.date.fromisoformat(day), ratio, share) for day, ratio, share in points)


_6, _7, _8 = (datetime.date(2018, 3, day) for day in (6, 7, 8))
# Loss ratios from figure 3; shares so that tests in overlap are as many as in figure 7 (DFW), else so that a bin with
# discards loses about 2e-3 of its packets.
_NUQ = _discards(("2017-06-15", 4.5e-5, 0.012), ("2017-12-01", 5e-5, 0.012), ("2018-03-05", 7e-5, 0.016))

SITES = {
    "dfw01": Site(
        capacity_bps=1e10,
        uplink_factor=_curve(
            ("2016-06-01", 1.3), ("2017-06-08", 1.3), ("2017-06-12", 4.5), ("2017-10-01", 2.5), ("2018-03-01", 1.0)
        ),
        flow_control_from=_6,
    ),
    "dfw02": Site(
        uplink_factor=_curve(("2016-06-01", 0.8), ("2017-09-01", 1.0), ("2017-10-20", 2.0), ("2018-02-28", 2.3)),
        discards=_discards(
            *(("2017-06-10", 4e-5, 0.016), ("2017-08-10", 1.1e-4, 0.055), ("2017-10-31", 1.1e-4, 0.06)),
            *(("2017-11-15", 1.1e-4, 0.10), ("2017-12-20", 1.3e-4, 0.12), ("2018-01-15", 2e-4, 0.16)),
            *(("2018-02-14", 3e-4, 0.27), ("2018-03-05", 3.5e-4, 0.30)),
        ),
        flow_control_from=_7,
    ),
    "dfw03": Site(
        uplink_factor=_curve(("2016-06-01", 0.5), ("2016-09-01", 0.8)),
        discards=_discards(
            *(("2017-06-20", 4e-5, 0.02), ("2017-10-01", 6e-5, 0.025), ("2018-01-15", 9e-5, 0.06)),
            *(("2018-02-14", 1.8e-4, 0.09), ("2018-03-05", 1.5e-4, 0.08)),
        ),
        flow_control_from=_8,
    ),
    "dfw04": Site(
        uplink_factor=_curve(("2016-06-01", 0.4), ("2016-09-01", 0.9)),
        sparse_from=datetime.date(2016, 10, 1),
        discards=_discards(
            *(("2017-06-10", 3e-5, 0.015), ("2017-08-10", 8e-5, 0.025), ("2017-11-15", 1.2e-4, 0.06)),
            *(("2018-01-15", 1.6e-4, 0.075), ("2018-02-14", 3e-4, 0.09), ("2018-03-05", 4e-4, 0.10)),
        ),
        flow_control_from=_6,
    ),
    "dfw05": Site(
        uplink_factor=_curve(("2016-06-01", 1.5), ("2017-12-01", 1.3), ("2018-03-01", 1.1)),
        discards=_discards(
            *(("2017-06-20", 4e-5, 0.02), ("2017-08-15", 1e-4, 0.045), ("2017-11-20", 1e-4, 0.06)),
            *(("2018-01-10", 1.7e-4, 0.10), ("2018-02-05", 4e-4, 0.13), ("2018-03-05", 4.3e-4, 0.14)),
        ),
        flow_control_from=_7,
    ),
    "dfw06": Site(
        uplink_factor=_curve(("2016-06-01", 1.0), ("2017-03-20", 0.8), ("2017-04-10", 0.35), ("2018-03-01", 0.45)),
        discards=_discards(
            *(("2017-03-25", 1.5e-5, 0.006), ("2017-04-15", 3e-5, 0.013), ("2017-08-01", 4.5e-5, 0.018)),
            *(("2018-01-15", 5.5e-5, 0.03), ("2018-03-05", 6.5e-5, 0.05)),
        ),
        flow_control_from=_8,
    ),
    "dfw07": Site(flow_control_from=_8),
    "lga02": Site(
        uplink_factor=_curve(("2016-06-01", 0.4), ("2017-07-01", 0.8), ("2017-08-01", 1.8), ("2018-03-01", 1.2)),
        discards=_discards(("2017-07-25", 5e-6, 0.002), ("2018-01-15", 9e-6, 0.003), ("2018-03-05", 1e-5, 0.003)),
        flow_control_from=_6,
    ),
    "lga03": Site(
        uplink_factor=_curve(("2016-06-01", 0.7)),
        discards=_discards(("2017-07-25", 4e-5, 0.012), ("2017-11-01", 7e-5, 0.02), ("2018-03-05", 9e-5, 0.025)),
        flow_control_from=_7,
    ),
    "lga04": Site(
        uplink_factor=_curve(("2016-06-01", 0.003), ("2016-08-05", 0.1), ("2017-08-01", 0.25), ("2018-03-01", 0.7)),
        discards=_discards(("2017-07-25", 2e-6, 0.001), ("2017-12-01", 6e-6, 0.002), ("2018-03-05", 2.5e-5, 0.008)),
        flow_control_from=_8,
    ),
    "lga05": Site(
        uplink_factor=_curve(("2016-06-01", 0.9)),
        discards=_discards(("2017-07-25", 6e-6, 0.002), ("2018-01-15", 3e-6, 0.001), ("2018-03-05", 1.3e-5, 0.004)),
        flow_control_from=_6,
    ),
    "lga06": Site(
        uplink_factor=_curve(("2016-06-01", 1.6), ("2018-03-01", 1.2)),
        discards=_discards(("2017-07-25", 6e-5, 0.018), ("2017-11-01", 6e-5, 0.018), ("2018-03-05", 6e-5, 0.018)),
        flow_control_from=_7,
    ),
    "lga07": Site(
        uplink_factor=_curve(("2016-06-01", 0.3), ("2018-03-01", 0.6)),
        sparse_from=datetime.date(2016, 10, 25),
        discards=_discards(("2017-07-10", 4e-5, 0.012), ("2018-03-05", 5e-5, 0.015)),
        flow_control_from=_8,
    ),
    "nuq02": Site(
        capacity_bps=1e10,
        uplink_factor=_curve(
            ("2016-06-01", 4.0), ("2017-03-01", 1.5), ("2017-04-20", 20.0), ("2018-02-28", 14.0), ("2018-03-10", 1.2)
        ),
        discards=_discards(("2018-02-01", 2e-6, 0.001), ("2018-04-10", 4.5e-6, 0.002)),
        flow_control_from=datetime.date(2018, 4, 16),
    ),
    "nuq03": Site(uplink_factor=_curve(("2016-06-01", 0.8)), discards=_NUQ, flow_control_from=_6),
    "nuq04": Site(uplink_factor=_curve(("2016-06-01", 0.6)), discards=_NUQ, flow_control_from=_7),
    "nuq05": Site(
        uplink_factor=_curve(("2016-06-01", 1.8)),
        sparse_from=datetime.date(2016, 10, 1),
        discards=_NUQ,
        flow_control_from=_8,
    ),
    "nuq06": Site(
        uplink_factor=_curve(("2016-06-01", 0.4)),
        sparse_from=datetime.date(2016, 10, 1),
        discards=_NUQ,
        flow_control_from=_6,
    ),
    "nuq07": Site(uplink_factor=_curve(("2016-06-01", 0.9)), discards=_NUQ, flow_control_from=_7),
}
