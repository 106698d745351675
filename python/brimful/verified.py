"""What recomputing the claims of a record gave."""

from __future__ import annotations

import msgspec


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """A record held against itself, ready to be shown."""

    holds: bool
    """Whether every claim does."""
    text: str
    """For a terminal, without an end of line."""
    facts: object
    """Everything recomputed, as `msgspec` writes it."""
