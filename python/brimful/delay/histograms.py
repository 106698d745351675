"""Histograms of delays, as measurers report them: decoded, merged, and asked for percentiles."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brimful.errors import RecordError, UsageError

_PLAIN, _COMPRESSED = 0x1C849313, 0x1C849314
"""Cookies of the V2 encoding (HdrHistogram, `AbstractHistogram.java`), words of 8 bytes."""

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
        UsageError
            When the library is not installed.
        """
        try:
            from hdrh.histogram import HdrHistogram
        except ImportError as error:
            message = f"percentiles of delays need {error.name}; install it with: pip install 'brimful[delay]'"
            raise UsageError(message) from error
        try:
            found = HdrHistogram.decode(_compressed(text))
            counts = np.ctypeslib.as_array(found.counts).astype(np.int64)
            seen = np.flatnonzero(counts)
            values = [found.get_highest_equivalent_value(found.get_value_from_index(int(index))) for index in seen]
            return cls(np.array(values, dtype=np.int64), counts[seen])
        except Exception as error:
            # The library raises classes of its own, IndexError and those of zlib, all for the same reason.
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


def _compressed(text: str) -> bytes:
    """Give an encoding that the library decodes: it knows the compressed one alone."""
    content = base64.b64decode(text, validate=True)
    if int.from_bytes(content[:4], "big") != _PLAIN:
        return text.encode()
    packed = zlib.compress(content)
    return base64.b64encode(_COMPRESSED.to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed)
