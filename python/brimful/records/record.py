"""What every record is."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """One line of a file; its ``kind`` says which."""
