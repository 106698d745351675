"""Its records."""

from brimful.records.record import Record


class Bucket(Record, frozen=True, tag="bucket"):
    """A bucket poured in."""

    litres: int
    spilled: int = 0
