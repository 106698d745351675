"""Many devices, one line each."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report.iocost.solutions import COMMON_RULES
from brimful.report.styles import Style, plain

_HEAD = (
    ("", "", "", "", "", "", "isolated", "", ""),
    ("file", "model", "firmware", "runs", "naive", "bandwidth", "bandwidth", "isolation", "remarks"),
)
_MODEL_COLUMNS = 24
_FILE_COLUMNS = 9
"""The least that is left of the name of a file."""
_GAP = 2
_WORD_COLUMNS = 2


def render_table(rows: Sequence[RunFile], *, style: Style = plain, columns: int = 100) -> str:
    """Write one line a device: what it is, how much was measured, and the scale of its solutions in per cent.

    Parameters
    ----------
    rows
        Records with the subject ``block-device``.
    style
        How roles look; the default leaves text plain.
    columns
        Width of the table. Names of files give way to keep it.
    """
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*(line[1:] for line in _HEAD), *cells, strict=True)]
    free = columns - sum(widths) - _GAP * len(widths)
    names = [_file(row, max(free, _FILE_COLUMNS)) for row in rows]
    heads = [line[0] for line in _HEAD]
    width = max(map(len, heads + names))
    lines = [
        (" " * _GAP).join([name.ljust(width), *_align(line, widths)]).rstrip()
        for name, line in zip(heads + names, [*(line[1:] for line in _HEAD), *cells], strict=True)
    ]
    return "\n".join([*(style(line, "title") for line in lines[: len(_HEAD)]), *lines[len(_HEAD) :]]) + "\n"


def _align(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Put words at the left edge of their columns and numbers at the right."""
    return [
        cell.ljust(width) if number < _WORD_COLUMNS else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _cells(row: RunFile) -> tuple[str, ...]:
    run = row.run
    scales = {solution.name: solution.scale_factor for solution in row.solutions}
    return (
        _cut(str(run.device.get("model") or "-").strip(), _MODEL_COLUMNS),
        str(run.device.get("firmware") or "-").strip(),
        str(run.source.get("runs", "-")),
        *(_scale(scales.get(rule)) for rule in COMMON_RULES),
        str(sum(finding.code == "remark" for finding in row.findings)),
    )


def _scale(scale: float | None) -> str:
    return "-" if scale is None else f"{scale * 100:.1f}"


def _file(row: RunFile, width: int) -> str:
    """Name the result without what all names of results have, and say how many more there are."""
    files = row.run.source.get("files") or [row.path.name]
    name = str(files[0]).rsplit("/", 1)[-1].removeprefix("result-")
    for suffix in (".gz", ".json", ".jsonl"):
        name = name.removesuffix(suffix)
    more = f"+{len(files) - 1}" if len(files) > 1 else ""
    return _cut(name, width - len(more)) + more


def _cut(text: str, width: int) -> str:
    """Cut a text that is too long.

    >>> _cut("SAMSUNG MZVLB512HAJQ-00000H1", 24)
    'SAMSUNG MZVLB512HAJQ-00…'
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"
