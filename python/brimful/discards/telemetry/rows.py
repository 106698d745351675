"""Polls of counters before they are cleaned, as arrays; and what a store keeps, read back as polls.

Everything that depends on the polls around one (span, wrap, which of two directions) is made anew from these whenever
a day changes, so that the order of delivery does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brimful.discards.schema import WIDTHS, Flag

TYPES = ("broadcast", "discards", "errors", "multicast", "octets", "pause", "unicast")
METRICS = (
    *(
        f"switch.{kind}.{scope}.{direction}"
        for kind in TYPES
        for scope in ("local", "uplink")
        for direction in ("rx", "tx")
    ),
    "switch.uptime",
)
"""Every metric there is, sorted; its place is its code."""
CODES = {name: code for code, name in enumerate(METRICS)}
LOCAL_OCTETS_RX, LOCAL_OCTETS_TX = CODES["switch.octets.local.rx"], CODES["switch.octets.local.tx"]
LOCAL_UNICAST_RX, LOCAL_UNICAST_TX = CODES["switch.unicast.local.rx"], CODES["switch.unicast.local.tx"]
UPTIME = CODES["switch.uptime"]
"""How many seconds the device was up: it counts nothing, but distinguishes resets from wraps."""
UNKNOWN_DIRECTION = len(METRICS)
"""Code of local octets that were delivered under the name of one direction whichever it was."""

FIXED, DELTA, ABSOLUTE, SINCE = 0, 1, 2, 3
"""Kinds of rows: a value of a bin that is known; a counter and its difference to that of the poll before; a counter;
what was counted since the row before."""

ROW = np.dtype(
    [
        ("end_us", np.int64),
        ("start_us", np.int64),  # of FIXED
        ("value", np.float64),  # of FIXED
        ("delivered", np.uint64),  # of DELTA and SINCE
        ("counter", np.uint64),  # of DELTA and ABSOLUTE
        ("metric", np.int16),
        ("flags", np.int16),  # what is known without the rows around it
        ("kind", np.uint8),
    ]
)

Rows = NDArray[np.void]
_PLAIN = np.dtype(f"V{ROW.itemsize}")

KEPT_FLAGS = int(Flag.CONFLICT | Flag.MISLABELLED | Flag.REPLACED | WIDTHS)
"""Flags that do not follow from the rows of the day."""
SECOND_US = 1_000_000
BIN_US = 10 * SECOND_US
DAY_US = 86_400 * SECOND_US
EXACT = 2**53
"""Integers above are not exact in a float."""


def empty_rows(count: int) -> Rows:
    """Make rows that are all zero."""
    return np.zeros(count, ROW)


def joined(parts: Sequence[Rows]) -> Rows:
    """Put rows behind each other: numpy copies plain bytes many times faster than records."""
    return np.concatenate([part.view(_PLAIN) for part in parts]).view(ROW)


def day_of(end_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the day (since 1970) that a sample is filed under: that of its last ten seconds.

    It must not depend on where the bin begins, which a late poll may change.
    """
    return (end_us - BIN_US) // DAY_US


def from_table(table: pa.Table) -> Rows:
    """Read back what was stored as what was delivered."""
    table = table.combine_chunks()
    rows = empty_rows(len(table))
    names = table["metric"].chunk(0) if len(table) else None
    if names is None:
        return rows
    codes = np.array([CODES[name] for name in names.dictionary.to_pylist()], np.int16)
    rows["metric"] = codes[as_numbers(names.indices)]
    rows["end_us"] = as_numbers(table["bin_end"])
    rows["start_us"] = as_numbers(table["bin_start"])
    has_value, has_reported, has_counter = (present(table[name]) for name in ("value", "reported", "counter"))
    value, reported, counter = (filled(table[name]) for name in ("value", "reported", "counter"))
    flags = as_numbers(table["flags"])
    rows["value"] = np.where(has_value, value, np.nan)
    rows["counter"] = counter
    # See `to_table` for what is where.
    # A collector's difference across a dip may equal the counter: then there is a value in spite of the flag.
    across = has_value & ((flags & int(Flag.DIP)) != 0)
    rows["kind"] = np.where(
        has_counter,
        np.where(has_reported & (reported == counter) & ~across, ABSOLUTE, DELTA),
        np.where(has_reported, SINCE, FIXED),
    )
    small = np.where(has_value & (value < EXACT), value, 0).astype(np.uint64)
    rows["delivered"] = np.where(has_reported, reported, np.where(has_value, small, counter))
    fixed = rows["kind"] == FIXED
    rows["flags"] = np.where(fixed, flags & ~int(Flag.CEILING), flags & KEPT_FLAGS)
    mislabelled = (flags & int(Flag.MISLABELLED)) != 0
    rows["metric"][mislabelled] = UNKNOWN_DIRECTION
    for name in ("start_us", "value"):
        rows[name][~fixed] = 0
    rows["delivered"][(rows["kind"] != DELTA) & (rows["kind"] != SINCE)] = 0
    return rows


def as_numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Give the numbers of a column without nulls as they lie; times are integers.

    Arrow's own way imports pandas first, which takes half a second.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    width = array.type.bit_width // 8
    kind = "f" if pa.types.is_floating(array.type) else "u" if pa.types.is_unsigned_integer(array.type) else "i"
    values = np.frombuffer(array.buffers()[1], f"{kind}{width}", count=array.offset + len(array))
    return values[array.offset :]


def present(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Say where a column has a value."""
    array = column.combine_chunks()
    bits = array.buffers()[0]
    if not array.null_count or bits is None:
        return np.ones(len(array), bool)
    every = np.unpackbits(np.frombuffer(bits, np.uint8), count=array.offset + len(array), bitorder="little")
    return every[array.offset :].view(np.bool_)


def filled(column: pa.ChunkedArray) -> NDArray[Any]:
    """Give the numbers of a column, 0 where there are none."""
    values = as_numbers(column)
    return values if not column.null_count else np.where(present(column), values, values.dtype.type(0))
