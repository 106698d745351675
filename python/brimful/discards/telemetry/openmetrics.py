"""Text of OpenMetrics with times, as ``promtool`` dumps it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from brimful.discards.telemetry.agents import Problem, Sample, read_samples
from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.source import Settled, Source
from brimful.discards.texts import decoded

_LINE = re.compile(r"([A-Za-z_:][\w:]*)?(?:\{(.*)\})?\s+(\S+)(?:\s+(\S+))?(?:\s+#.*)?", re.ASCII)
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')


def read_text(source: Source) -> Iterator[Decoded | Settled]:
    """Read the series in a file; raises what `agents.read_agents` does."""
    return read_samples(source, _exposed)


def _exposed(text: io.BufferedReader, problems: list[Problem]) -> Iterator[Sample]:
    for number, line in enumerate(text, start=1):
        exposed = decoded(line).strip()
        match = _LINE.fullmatch(exposed)
        if match is None and exposed and not exposed.startswith("#"):
            problems.append((number, "is no line of OpenMetrics", exposed[:1000]))
        if match is not None:
            tags = dict(_LABEL.findall(match[2] or ""))
            yield tags, match[1] or tags.get("__name__", ""), match[4] or "", match[3]
