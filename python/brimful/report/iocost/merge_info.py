"""What was merged, and what was not and why, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brimful.records import RunFile
from brimful.report.iocost.header import model_parameters


def render(runs: list[RunFile]) -> str:
    """Give a block for each group: what its sources share, then the sources, ``+`` counted and ``-`` not."""
    lines: list[str] = []
    for number, run in enumerate(runs):
        merge = run.run.source["merge"]
        lines += _group(merge, f"[{number}]")
        basis = run.run.source["scale_basis"]
        parameters = " ".join(model_parameters(run.run.source["base_model"]))
        lines.append(f"  scaled: the {basis} base model of the sources: {parameters}")
        for dropped in merge["dropped"]:
            lines += _group(dropped, "[-]")
    return "\n".join(lines) + "\n"


def _group(merge: dict[str, Any], mark: str) -> Iterator[str]:
    key = merge["group"]
    yield f"{mark} iocost-tune{'[' + key['id'] + ']' if key['id'] else ''}"
    versions = key["versions"]
    if len(set(versions)) == 1:
        yield f"  version: {versions[0]}"
    else:
        yield from (
            f"  {name}-version: {version}" for name, version in zip(("bench", "agent", "hashd"), versions, strict=False)
        )
    yield f"  memory-profile: {key['memory_profile_gib']}"
    yield f"  storage: {key['model']}"
    yield f"  firmware: {key['firmware']}"
    if key["classifier"]:
        yield f"  classifier: {key['classifier']}"
    yield "  sources:"
    for source in merge["sources"]:
        reason = source["rejected"]
        yield f"    {'+' if reason is None else '-'} {Path(source['file']).name}{f' ({reason})' if reason else ''}"
