"""The two ways in which a trial can fail."""

from __future__ import annotations

import re


class CannotMeasureError(Exception):
    """Nothing can be measured before somebody changes something."""


class SpoiledError(Exception):
    """A trial that says nothing about the device under test; another one may."""


class LostSessionError(SpoiledError):
    """The server does not know this client any more, or is gone: the next trial needs a new session."""


def one_line(error: object) -> str:
    """Give what an error of TRex says, without colours and stars."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).replace("***", " ").split()) or type(error).__name__
