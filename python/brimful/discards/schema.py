"""The two tables of a store: samples of counters, and speed tests.

All times are UTC. ``site`` and ``day`` are in the path of a file, not in it: readers that know Hive partitions give
them as columns.
"""

from __future__ import annotations

import enum

import pyarrow as pa


class Flag(enum.IntFlag):
    """What is the matter with a sample."""

    WRAPPED = 1
    """The counter began again at 0; the value was computed across that."""
    RESET = 2
    """The counter was set back: what was counted since the poll before is unknown, there is no value."""
    MISSED_POLL = 4
    """The value covers more than one bin, because polls before it failed."""
    CEILING = 8
    """More than the port can carry: not used."""
    CONFLICT = 16
    """Another value was delivered for the same bin; the one ingested last is kept."""
    MISLABELLED = 32
    """The metric was delivered under the name of the other direction and is recognised by its counter."""
    AMBIGUOUS = 64
    """The metric was delivered under the name of the other direction and cannot be recognised: there is no value."""
    UNANCHORED = 128
    """The poll before is not known, so the value may cover more than its bin."""
    WIDE = 256
    """Nothing is the matter: the source says that the counter has 64 bits."""
    NARROW = 512
    """Nothing is the matter: the source says that the counter has 32 bits."""
    DIP = 1024
    """The counter read less than before and then went on from where it was: the poll is left out, or it has a value
    and its collector subtracted one that is left out."""
    WRAPS = 2048
    """A counter of 32 bits may have begun again more than once: there is no value."""
    SAWTOOTH = 4096
    """The counter falls so often that it counts nothing, or that its polls are of two counters: there is no value."""
    REPLACED = 8192
    """The counter is another one from this poll on, because the port got another index; or how long it was since the
    poll before is unknown, because the clock was set back: there is no value."""
    STEPPED = 16384
    """The device aged by more or less than the interval, because the clock of the poller was set: there is no value."""


WIDTHS = Flag.WIDE | Flag.NARROW
"""Flags that say what a counter is, not that anything is wrong with a sample."""


SAMPLES = pa.schema(
    [
        pa.field("machine", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("metric", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("bin_start", pa.timestamp("us"), nullable=False),
        pa.field("bin_end", pa.timestamp("us"), nullable=False),
        pa.field("span_s", pa.float64(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("counter", pa.uint64()),
        pa.field("reported", pa.uint64()),
        pa.field("flags", pa.int16(), nullable=False),
        pa.field("usable", pa.bool_(), nullable=False),
    ]
)
"""One row for each (machine, metric, bin_start), in this order.

``machine`` is the one that collected (``mlab1``; a port, where the source has ports); ``metric`` is like
``switch.discards.uplink.tx``. ``value`` is what was counted between ``bin_start`` and ``bin_end``, which are
``span_s`` seconds apart; ``counter`` the absolute counter at ``bin_end``, where the source has it; ``reported`` the
value as it was delivered where it is not kept: none, where it is ``value`` or, without one, equals ``counter``; equal
to ``counter`` where the source delivers bare counters. ``flags`` are of `Flag`. ``usable``: there is a value and it can
be right.
"""

SEVERAL_STREAMS = " -P "
"""In a protocol, before the number of streams, as in the command of iperf3: their rates are not those of one."""

TESTS = pa.schema(
    [
        pa.field("test_id", pa.string(), nullable=False),
        pa.field("protocol", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("direction", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("machine", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("server_name", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("start", pa.timestamp("us"), nullable=False),
        pa.field("end", pa.timestamp("us"), nullable=False),
        pa.field("logged", pa.timestamp("us"), nullable=False),
        pa.field("client", pa.string()),
        pa.field("client_port", pa.int32()),
        pa.field("server", pa.string()),
        pa.field("server_port", pa.int32()),
        pa.field("bytes", pa.int64()),
        pa.field("sending_s", pa.float64()),
        pa.field("rate_bps", pa.float64()),
        pa.field("retransmitted", pa.int64()),
        pa.field("sent", pa.int64()),
        pa.field("retransmission_unit", pa.dictionary(pa.int16(), pa.string())),
        pa.field("congestion_control", pa.dictionary(pa.int16(), pa.string())),
    ]
)
"""One row for each test_id, sorted by (start, test_id).

``protocol``: ``web100``, ``ndt5``, ``ndt7`` or the name of another speed test, with `SEVERAL_STREAMS` and their number
where it has several. ``direction``: ``download`` (server to
client, the way that discards of an uplink hurt) or ``upload``. ``machine`` is like ``mlab1``, ``server_name`` as it was
delivered. ``start`` and ``end`` bound the transfer, ``logged`` is the time of the test as its source files it.
``bytes`` were acknowledged within ``sending_s`` seconds; ``rate_bps`` is in bit/s. ``retransmitted`` of ``sent`` were
retransmitted, both in ``segments`` or ``bytes`` as ``retransmission_unit`` says. The day of the partition is that of
``start``.
"""
