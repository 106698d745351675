"""The committed example records, and runs made of them."""

from pathlib import Path

import msgspec
from brimful.records import RunFile, read_run

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
EXAMPLES = sorted(path.stem for path in (SCHEMAS / "examples").glob("*.jsonl"))


def example(name: str) -> RunFile:
    """Read an example; its path is relative, as snapshots show it."""
    path = SCHEMAS / "examples" / f"{name}.jsonl"
    return msgspec.structs.replace(read_run(path), path=path.relative_to(ROOT))


def with_run(file: RunFile, **changes: object) -> RunFile:
    """Change what the first line of a run says."""
    return msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, **changes))
