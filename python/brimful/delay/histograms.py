"""Histograms of delays, as measurers report them: decoded, merged, and asked for percentiles."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brimful._core import decode_histogram
from brimful.errors import RecordError

_COMPRESSED = b"\x1c\x84\x93\x14"
"""How the V2 encoding begins where it is compressed; its length follows (HdrHistogram, `AbstractHistogram.java`)."""
_MOST_BYTES = 1 << 26
"""No histogram of five significant digits is longer."""

Integers = npt.NDArray[np.int64]


class DelayHistogram:
    """How often each delay was seen, in nanoseconds; neighbouring delays are distinguished to a thousandth."""

    def __init__(self, values: Integers, counts: Integers) -> None:
        order = np.argsort(values, kind="stable")
        self._values, self._counts = values[order], counts[order]

    @classmethod
    def decode(cls, text: str, *, where: str) -> DelayHistogram:
        """Read the V2 encoding in base64, compressed or not.

        Parameters
        ----------
        text
            The encoding.
        where
            Names its place in an error.

        Raises
        ------
        RecordError
            When it cannot be decoded.
        """
        try:
            values, counts = decode_histogram(_plain(base64.b64decode(text, validate=True)))
            return cls(np.array(values, dtype=np.int64), np.array(counts, dtype=np.int64))
        except (ValueError, OverflowError, zlib.error) as error:
            message = f"{where}: the histogram of delays cannot be decoded: {error}"
            raise RecordError(message) from error

    @classmethod
    def merged(cls, parts: Sequence[DelayHistogram]) -> DelayHistogram:
        """Add up histograms, of whatever ranges."""
        return cls(
            np.concatenate([part._values for part in parts]),
            np.concatenate([part._counts for part in parts]),
        )

    def total(self) -> int:
        """Give the number of frames."""
        return int(self._counts.sum())

    def percentile_s(self, thousandths: int) -> float:
        """Give the least delay that at least this number of thousandths of the frames do not exceed, in seconds."""
        rank = max(1, -(-self.total() * thousandths // 1000))
        at = int(np.searchsorted(np.cumsum(self._counts), rank))
        return float(self._values[at]) / 1e9

    def mean_wait_s(self, quickest_s: float, longest_s: float) -> float:
        """Give how much longer than the quickest frames took, in the mean; of each, the longest counts at most."""
        waits = np.clip(self._values / 1e9 - quickest_s, 0.0, longest_s)
        return float((waits * self._counts).sum() / self.total())


def _plain(content: bytes) -> bytes:
    """Give an encoding without compression."""
    if content.startswith(_COMPRESSED):
        return zlib.decompressobj().decompress(content[8:], _MOST_BYTES)
    return content
