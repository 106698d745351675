"""One row a test, before it is put into its partition; and what is said of results that give none."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from brimful.discards.schema import TESTS
from brimful.discards.times import EPOCH


def _plain(schema: pa.Schema) -> pa.Schema:
    """Spell words out: dictionaries differ from batch to batch."""
    fields = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type, one.nullable)
        for one in schema
    ]
    return pa.schema(fields)


ROWS = pa.schema([pa.field("site", pa.string(), nullable=False), *_plain(TESTS)])
"""The columns of a store's tests, and the site that they are filed under."""

FIRST_TIME = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
LAST_TIME = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
LONGEST_S = 3600.0
"""What starts outside these years, or lasts longer than that, was written by a clock in another unit: seconds read as
microseconds are of 1970, nanoseconds of the year 50,000."""

KEPT_PER_REASON = 1000
"""The results of one source and reason that are kept in the quarantine; all are counted."""
KEPT_TEXT = 500

_MICROSECOND = datetime.timedelta(microseconds=1)


class Server(NamedTuple):
    """Where a test was run against."""

    machine: str
    site: str
    name: str
    """As it was delivered."""


_MLAB = re.compile(r"((mlab[1-4])[.-]([a-z]{3}[0-9][0-9t]))(?![a-z0-9])")
_MACHINE_AND_SITE = re.compile(r"([^-./\s]+)-([^/\s]+)")


def find_server(text: str) -> Server | None:
    """Find the name of an M-Lab server in the name of an archive or host; the last one, as archives lie in archives.

    >>> find_server("20191201T020011.395772Z-ndt5-mlab1-bcn01-ndt.tgz")
    Server(machine='mlab1', site='bcn01', name='mlab1-bcn01')
    >>> find_server("ndt.iupui.mlab2.dfw02.measurement-lab.org").site
    'dfw02'
    """
    found = _MLAB.findall(text)
    return Server(found[-1][1], found[-1][2], found[-1][0]) if found else None


def parse_server(text: str) -> Server | None:
    """Read the name of a server that somebody gave: of M-Lab, or any MACHINE-SITE.

    >>> parse_server("probe3-fra")
    Server(machine='probe3', site='fra', name='probe3-fra')
    """
    found = find_server(text)
    if found:
        return Server(found.machine, found.site, text)
    match = _MACHINE_AND_SITE.fullmatch(text)
    return Server(match[1], match[2], text) if match else None


FIRST_US = (FIRST_TIME - EPOCH) // _MICROSECOND
LAST_US = (LAST_TIME - EPOCH) // _MICROSECOND


def time_trouble(start_us: int, end_us: int) -> str | None:
    """Say what is wrong with the times of a test, if anything."""
    if not FIRST_US <= start_us < LAST_US:
        return OUT_OF_YEARS
    if end_us < start_us:
        return ENDS_BEFORE_START
    if end_us - start_us > LONGEST_S * 1e6:
        return TOO_LONG
    return None


OUT_OF_YEARS = "starts before 2000 or after 2100: a clock in another unit"
ENDS_BEFORE_START = "ends before it starts"
TOO_LONG = "lasts longer than an hour: a clock in another unit"


class SpeedTest(NamedTuple):
    """A row of `ROWS`; times in microseconds since 1970."""

    site: str
    test_id: str
    protocol: str
    direction: str
    machine: str
    server_name: str
    start: int
    end: int
    logged: int
    client: str | None = None
    client_port: int | None = None
    server: str | None = None
    server_port: int | None = None
    bytes: int | None = None
    sending_s: float | None = None
    rate_bps: float | None = None
    retransmitted: int | None = None
    sent: int | None = None
    retransmission_unit: str | None = None
    congestion_control: str | None = None


def to_table(tests: list[SpeedTest]) -> pa.Table:
    """Turn rows into columns."""
    columns = zip(*tests, strict=True) if tests else [()] * len(ROWS)
    return pa.table(
        [pa.array(column, one.type) for column, one in zip(columns, ROWS, strict=True)],
        schema=ROWS,
    )


COUNTED_OUT = ("empty", "without_transfer", "traces", "observed")
"""Counts of a tally: results that can be read and are no tests."""


@dataclass
class Tally:
    """What became of the results of one source."""

    source: str
    names_clients: bool = True
    """What cannot be read may name clients, and so may members: neither is kept where they must not be known."""
    results: int = 0
    """Files, lines or rows that are results of speed tests, or should be."""
    tests: int = 0
    """Transfers in them: one result may hold a download and an upload."""
    empty: int = 0
    """Results without content: the program that wrote them was stopped."""
    without_transfer: int = 0
    """Results in which no transfer took place."""
    traces: int = 0
    """Of connections: what a kernel said of them, not results themselves."""
    observed: int = 0
    """Connections of SideStream: whatever a server did, but for tests of several streams."""
    bad: Counter[str] = field(default_factory=Counter)
    """Results that could not be read, by reason."""
    unread: list[dict[str, Any]] = field(default_factory=list)
    """Of these, what goes to the quarantine."""

    def counts(self) -> dict[str, Any]:
        """Give what the ledger of a store keeps."""
        kept = ("results", "tests", *COUNTED_OUT)
        return {"name": self.source} | {name: getattr(self, name) for name in kept} | {"bad": dict(self.bad)}

    def reject(self, reason: str, *, member: str = "", line: int | None = None, text: str = "", count: int = 1) -> None:
        """Count results that cannot be read, and keep the first ones."""
        if not count:
            return
        before = self.bad[reason]
        self.bad[reason] += count
        if before < KEPT_PER_REASON:
            said = {"member": member, "line": line, "reason": reason, "text": text[:KEPT_TEXT]}
            hidden = {} if self.names_clients else {"member": "", "text": ""}
            self.unread.append({"source": self.source} | said | hidden)
