"""Telemetry as collectors of the first generation exported it: a file of JSON an hour, each compressed."""

from __future__ import annotations

import datetime
import gzip
import json
from pathlib import Path

import numpy as np

from brimful.discards.synthetic.archives import Member, write_archive
from brimful.discards.synthetic.config import BIN_S, BINS_PER_DAY, BINS_PER_HOUR, Config
from brimful.discards.synthetic.faults import CAN_CONFLICT, Faults, faults
from brimful.discards.synthetic.telemetry import deliver, first_delivery, first_generation, increments
from brimful.discards.synthetic.world import SiteDay

_HOUR = datetime.timedelta(hours=1)


def render_v1(config: Config, directory: Path, world: SiteDay, following: SiteDay) -> int:
    """Write the archives of a day of a site, one for each machine and one for what is delivered again.

    ``following`` is the day after: the last file of a day ends with its first sample.
    Give how many samples there are, each counted once.
    """
    samples = 0
    midnight = datetime.datetime.combine(world.day, datetime.time(), datetime.UTC)
    for machine in config.machine_names:
        found = faults(config, world.site, machine, world.day)
        series = _DaySeries(config, world, following, machine, found)
        ends = _previous_export(config, world.site, machine, world.day)
        files, again = [], []
        for hour in np.flatnonzero(found.hours).tolist():
            end = midnight + (hour + 1) * _HOUR
            start = end - _HOUR if ends is None else ends
            ends = end
            name = _name(machine, world.site, start, end)
            # Exported at ten past the hour.
            exported = end + datetime.timedelta(minutes=10)
            if hour in found.repeated:
                again.append(Member(name, series.file(hour, final=True), exported))
            files.append(Member(name, series.file(hour, final=False), exported))
        for members, sent in ((files, midnight + 25 * _HOUR), (again, midnight + 31 * _HOUR)):
            if members:
                # The members are compressed; level 1 wraps them.
                write_archive(config, directory, world.site, machine, sent, members, level=1)
        samples += int(found.present.sum()) * len(first_generation(config, world.day))
    return samples


def _name(machine: str, site: str, start: datetime.datetime, end: datetime.datetime) -> str:
    span = f"{start.strftime('%Y%m%dT%H:%M:%S')}-to-{end.strftime('%Y%m%dT%H:%M:%S')}"
    return f"switch/{start.strftime('%Y/%m/%d')}/{machine}.{site}.measurement-lab.org/{span}-switch.json.gz"


def _previous_export(config: Config, site: str, machine: str, day: datetime.date) -> datetime.datetime | None:
    """Give the end of the last file before a day, which is where the next one starts."""
    while day > config.first_day:
        day -= datetime.timedelta(1)
        hours = np.flatnonzero(faults(config, site, machine, day).hours)
        if len(hours):
            return datetime.datetime.combine(day, datetime.time(), datetime.UTC) + (int(hours[-1]) + 1) * _HOUR
    return None


class _DaySeries:
    """The samples of all metrics of a machine on a day, as text."""

    def __init__(self, config: Config, world: SiteDay, following: SiteDay, machine: str, found: Faults) -> None:
        self._found = found
        midnight = int(datetime.datetime.combine(world.day, datetime.time(), datetime.UTC).timestamp())
        stamps = range(midnight, midnight + (BINS_PER_DAY + 1) * BIN_S, BIN_S)
        self._heads = [f'{{"timestamp": {stamp}, "value": ' for stamp in stamps]
        self._zeros = [f"{head}0.0}}" for head in self._heads]
        self._host = (
            f'"hostname": "{machine}.{world.site}.measurement-lab.org", '
            f'"experiment": "s1.{world.site}.measurement-lab.org"'
        )
        after = faults(config, following.site, machine, following.day)
        self._present = np.append(found.present, after.present[0])
        self._increments: dict[str, np.ndarray] = {}
        self._next: dict[str, float] = {}
        self._texts: dict[str, list[str]] = {}
        for metric in first_generation(config, world.day):
            series = increments(config, world, machine, metric)
            first = deliver(increments(config, following, machine, metric), after, metric).values[0]
            self._increments[metric] = series
            self._next[metric] = float(first)
            self._texts[metric] = self._text(metric, series)

    def file(self, hour: int, *, final: bool) -> bytes:
        """Give the file of an hour; where it is delivered twice, ``final`` is the second time."""
        lines = []
        kept = slice(hour * BINS_PER_HOUR, (hour + 1) * BINS_PER_HOUR + 1)
        present = self._present[kept]
        for metric, texts in self._texts.items():
            if not final and hour in self._found.conflicts and metric in CAN_CONFLICT:
                texts = self._text(metric, first_delivery(self._increments[metric], self._found, metric, hour))
            samples = (
                texts[kept]
                if present.all()
                else [text for text, here in zip(texts[kept], present, strict=True) if here]
            )
            lines.append(f'{{"sample": [{", ".join(samples)}], "metric": {json.dumps(metric)}, {self._host}}}\n')
        return gzip.compress("".join(lines).encode(), compresslevel=6, mtime=0)

    def _text(self, metric: str, series: np.ndarray) -> list[str]:
        values = np.append(deliver(series, self._found, metric).values, self._next[metric])
        if not values.any():
            return self._zeros
        # repr() is how Python, which wrote these files, prints a float.
        return [f"{head}{value!r}}}" for head, value in zip(self._heads, values.tolist(), strict=True)]
