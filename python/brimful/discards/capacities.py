"""How much the uplinks of sites carry, and since when."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brimful.discards.store import Store
from brimful.errors import UsageError

CEILING_BPS = 10e9
"""What no port of a site carries more than, where nothing else is said."""
ANY_SITE = "*"
_FILE = "capacities.csv"
_COLUMNS = ["site", "since", "capacity"]
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_CAPACITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kMGT]?)(?:bps|bit/s)\s*")


@dataclass(frozen=True, order=True)
class Capacity:
    """What the uplink of a site (``*``: of all) carries from a day on."""

    site: str
    since: datetime.date
    bps: float


class Capacities:
    """What uplinks carry, as far as it is known."""

    def __init__(self, entries: Iterable[Capacity] = ()) -> None:
        self.entries = sorted(entries)

    def given(self, site: str, day: datetime.date) -> float | None:
        """Give the capacity of a site on a day in bit/s; nothing where none was given.

        >>> ten = Capacities.parse("10Gbps")
        >>> ten.given("dfw02", datetime.date(2018, 2, 1))
        10000000000.0
        """
        for name in (site, ANY_SITE):
            known = [entry.bps for entry in self.entries if entry.site == name and entry.since <= day]
            if known:
                return known[-1]
        return None

    def at(self, site: str, day: datetime.date) -> float:
        """Give what the uplink of a site can carry on a day at the most, in bit/s."""
        given = self.given(site, day)
        return CEILING_BPS if given is None else given

    @classmethod
    def parse(cls, text: str) -> Capacities:
        """Read what was given on the command line: ``10Gbps``, or the name of a table ``site,since,capacity``.

        Raises
        ------
        UsageError
            When it is neither, or a line of the table is wrong.
        """
        if _CAPACITY.fullmatch(text):
            return cls([Capacity(ANY_SITE, datetime.date.min, _bps(text, "--capacity"))])
        return cls.read(Path(text))

    @classmethod
    def read(cls, path: Path) -> Capacities:
        """Read a table ``site,since,capacity``.

        Raises
        ------
        UsageError
            When it cannot be read, or a line is wrong.
        """
        try:
            return cls._of(path.read_bytes(), str(path))
        except OSError as error:
            message = f"{path}: is neither a capacity like 10Gbps nor a table that can be read: {error}"
            raise UsageError(message) from error

    @classmethod
    def _of(cls, content: bytes, place: str) -> Capacities:
        try:
            lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
        except (UnicodeDecodeError, csv.Error) as error:
            message = f"{place}: is neither a capacity like 10Gbps nor a table that can be read: {error}"
            raise UsageError(message) from error
        if not lines or [name.strip() for name in lines[0]] != _COLUMNS:
            message = f"{place}: the first line must be {','.join(_COLUMNS)}"
            raise UsageError(message)
        return cls(_entry(line, f"{place} line {number}") for number, line in enumerate(lines[1:], 2) if line)

    @classmethod
    def of_store(cls, store: Store) -> Capacities:
        """Read the capacities of a store; nothing where it has none."""
        content = store.document(_FILE)
        return cls() if content is None else cls._of(content, f"{store.path}/{_FILE}")

    def keep(self, store: Store) -> None:
        """Write the capacities of a store."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((entry.site, entry.since.isoformat(), f"{entry.bps:.15g}bps") for entry in self.entries)
        store.keep(_FILE, text.getvalue().encode())


def _entry(line: list[str], where: str) -> Capacity:
    try:
        site, since, capacity = (cell.strip() for cell in line)
        return Capacity(site, datetime.date.fromisoformat(since), _bps(capacity, where))
    except ValueError as error:
        message = f"{where}: {','.join(line)!r} is not like dfw02,2018-06-01,10Gbps"
        raise UsageError(message) from error


def _bps(text: str, where: str) -> float:
    match = _CAPACITY.fullmatch(text)
    if match is None or not float(match[1]):
        message = f"{where}: {text!r} is not a capacity; write it like 10Gbps"
        raise UsageError(message)
    return float(match[1]) * _PREFIXES[match[2]]
