"""Any bytes as a file or archive of telemetry: rows, or reasons of one line. Run by fuzz/run, with Atheris."""

import io
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["brimful"]):
    import numpy as np
    from brimful.discards import archives
    from brimful.discards.telemetry import cleaning, disco, mislabelled
    from brimful.discards.telemetry.rows import from_table

NAMES = ("x-switch.json", "x-switch.jsonl", "x.tar")
CEILINGS = cleaning.ceilings_per_s(10e9)


def test_one_input(content: bytes) -> None:
    """Read, clean and read back as an ingest does; the first byte chooses the name."""
    if not content:
        return
    name = NAMES[content[0] % len(NAMES)]
    for item in archives.pieces(Path(name), io.BytesIO(content[1:])):
        if isinstance(item, archives.Unread):
            assert "\n" not in item.reason, item
            continue
        decoded = disco.decode([item], 2e9)
        assert not any("\n" in refused.reason for refused in decoded.refused), decoded.refused
        for (_, machine, _), rows in decoded.rows.items():
            kept = mislabelled.tell_apart(cleaning.merge(rows, CEILINGS)[0])
            table = cleaning.clean(kept, cleaning.NO_TAIL, CEILINGS, machine)
            again = mislabelled.tell_apart(cleaning.merge(from_table(table), CEILINGS)[0])
            assert np.array_equal(again, kept)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
