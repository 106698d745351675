"""Random numbers that depend on what they are for, not on what was drawn before."""

from __future__ import annotations

import datetime
import zlib

import numpy as np


def stream(seed: int, purpose: str, place: str, day: datetime.date | None = None) -> np.random.Generator:
    """Give the numbers for one purpose at one place (a site, a machine of it, a metro) on one day.

    Any part of a world can so be made alone, and in any order.
    """
    # Not hash(), which differs from process to process.
    names = [zlib.crc32(text.encode()) for text in (purpose, place)]
    return np.random.Generator(np.random.SFC64([seed, *names, day.toordinal() if day else 0]))
