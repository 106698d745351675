"""Telemetry as collectors of the second generation write it: a file of JSON lines each five minutes."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np

from brimful.discards.synthetic.archives import Member, write_archive
from brimful.discards.synthetic.config import BIN_S, BINS_PER_DAY, BINS_PER_HOUR, Config
from brimful.discards.synthetic.counters import Polls, Position, poll
from brimful.discards.synthetic.faults import CAN_CONFLICT, faults
from brimful.discards.synthetic.platform import SECOND_GENERATION
from brimful.discards.synthetic.streams import stream
from brimful.discards.synthetic.telemetry import first_delivery, increments
from brimful.discards.synthetic.world import SiteDay

_FILE_S = 300
_POLLS = _FILE_S // BIN_S
_FILES = BINS_PER_DAY // _POLLS
_FILES_PER_HOUR = BINS_PER_HOUR // _POLLS
_SECOND = datetime.timedelta(seconds=1)
_HOUR = 3600 * _SECOND

Positions = dict[str, Position]
"""Of each counter of a machine."""


def render_v2(config: Config, directory: Path, world: SiteDay, machine: str, begin: Positions) -> tuple[Positions, int]:
    """Write the archives of a day of a machine: all files, and again those that are delivered twice.

    Give where the counters are afterwards, and how many samples there are, each counted once.
    """
    found = faults(config, world.site, machine, world.day)
    polls = {metric: poll(config, world, machine, metric, begin[metric]) for metric in SECOND_GENERATION}
    end = {metric: series.end for metric, series in polls.items()}
    text = _DayText(config, world.site, machine, world.day)
    samples = {metric: text.samples(series, begin[metric].sample) for metric, series in polls.items()}
    different = {hour: dict(samples) for hour in found.conflicts}
    for hour, changed in different.items():
        for metric in CAN_CONFLICT:
            series = first_delivery(increments(config, world, machine, metric), found, metric, hour)
            changed[metric] = text.samples(
                poll(config, world, machine, metric, begin[metric], series), begin[metric].sample
            )
    files, again = [], []
    for index in range(_FILES):
        hour = index // _FILES_PER_HOUR
        files += text.file(index, different.get(hour, samples))
        if hour in found.repeated:
            again += text.file(index, samples)
    if world.day == config.last_day:
        files += _last_file(config, world, machine, end)
    midnight = datetime.datetime.combine(world.day, datetime.time(), datetime.UTC)
    for members, sent in ((files, midnight + 25 * _HOUR), (again, midnight + 31 * _HOUR)):
        if members:
            write_archive(config, directory, world.site, machine, sent, members, level=6)
    return end, sum(int(series.present.sum()) for series in polls.values())


def _last_file(config: Config, world: SiteDay, machine: str, end: Positions) -> list[Member]:
    """Give the file that a collector leaves when it is stopped, just after the poll of the last bin."""
    text = _DayText(config, world.site, machine, world.day + datetime.timedelta(1))
    samples = {metric: [text.sample(0, here.sample)] for metric, here in end.items()}
    return text.file(0, samples, length_s=BIN_S)


class _DayText:
    """The polls of a machine on a day as text; poll i is 10 i seconds after midnight, at the end of bin i - 1."""

    def __init__(self, config: Config, site: str, machine: str, day: datetime.date) -> None:
        self._mislabelled = config.delivery.mislabelled_octets
        self._host = f"{machine}-{site}.mlab-oti.measurement-lab.org"
        self._experiment = f"s1-{site}.measurement-lab.org"
        self._midnight = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
        numbers = stream(config.seed, "polls", f"{site} {machine}", day)
        stamps = int(self._midnight.timestamp()) + BIN_S * np.arange(BINS_PER_DAY)
        starts = stamps * 1_000_000_000 + numbers.integers(900_000, 1_600_000, size=BINS_PER_DAY)
        ends = starts + numbers.integers(30_000_000, 120_000_000, size=BINS_PER_DAY)
        self._heads = [
            f'{{"timestamp":{stamp},"collectstart":{start},"collectend":{end},"value":'
            for stamp, start, end in zip(stamps.tolist(), starts.tolist(), ends.tolist(), strict=True)
        ]
        # As the map of the collector has no order.
        self._orders = numbers.permuted(np.tile(np.arange(len(SECOND_GENERATION)), (_FILES, 1)), axis=1)

    def samples(self, polls: Polls, before: tuple[int, int] | None) -> list[str]:
        """Give the text of each poll of a series, empty where there is none."""
        texts = [self.sample(0, before)]
        rows = zip(
            self._heads[1:], polls.values.tolist(), polls.counters.tolist(), polls.present.tolist(), strict=False
        )
        texts += [f'{head}{value},"counter":{counter}}}' if here else "" for head, value, counter, here in rows]
        return texts

    def sample(self, index: int, polled: tuple[int, int] | None) -> str:
        """Give the text of one poll."""
        return f'{self._heads[index]}{polled[0]},"counter":{polled[1]}}}' if polled else ""

    def file(self, index: int, samples: dict[str, list[str]], *, length_s: int = _FILE_S) -> list[Member]:
        """Give the file of five minutes, or none where there was no poll."""
        lines = []
        for place in self._orders[index].tolist():
            metric = SECOND_GENERATION[place]
            texts = [text for text in samples[metric][index * _POLLS : (index + 1) * _POLLS] if text]
            if texts:
                lines.append(self._line(metric, texts))
        if not lines:
            return []
        start = self._midnight + index * _FILE_S * _SECOND
        end = start + length_s * _SECOND
        directory = f"switch/{end.strftime('%Y/%m/%d')}/{self._host}"
        name = f"{start.strftime('%Y-%m-%dT%H:%M:%S')}-to-{end.strftime('%Y-%m-%dT%H:%M:%S')}-switch.jsonl"
        return [Member(f"{directory}/{name}", "".join(lines).encode(), end)]

    def _line(self, metric: str, texts: list[str]) -> str:
        if self._mislabelled and metric == "switch.octets.local.rx":
            metric = "switch.octets.local.tx"
        return (
            f'{{"experiment":"{self._experiment}","hostname":"{self._host}","metric":"{metric}",'
            f'"sample":[{",".join(texts)}]}}\n'
        )
