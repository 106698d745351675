"""Text of OpenMetrics with times, as ``promtool`` dumps it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from brimful.discards.telemetry.agents import Sample, read_samples
from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.source import Source

_LINE = re.compile(r"([A-Za-z_:][\w:]*)?\{(.*)\}\s+(\S+)(?:\s+(\S+))?(?:\s+#.*)?", re.ASCII)
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')


def read_text(source: Source) -> Iterator[Decoded]:
    """Read the series in a file; raises what `agents.read_agents` does."""
    return read_samples(source, _exposed)


def _exposed(content: bytes) -> Iterator[Sample]:
    for line in content.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            tags = dict(_LABEL.findall(match[2]))
            yield tags, match[1] or tags.get("__name__", ""), match[4] or "", match[3]
