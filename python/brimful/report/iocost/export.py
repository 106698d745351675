"""Runs on block devices as JSON for other programs, and their series as tables."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile


def to_object(file: RunFile) -> dict[str, Any]:
    """Give solutions, series and remarks by name."""
    fits = {fit.series: fit for fit in file.fits}
    solutions: dict[str, Any] = {}
    for solution in file.solutions:
        if solution.unsolved is None:
            solutions[solution.name] = {
                "target": solution.target,
                "scale_factor": solution.scale_factor,
                "interval": solution.interval,
                "model": solution.model,
                "qos": solution.qos,
                "info": solution.info,
            }
    return {
        "device": file.run.device,
        "source": file.run.source,
        "solutions": solutions,
        "unsolved": {solution.name: solution.unsolved for solution in file.solutions if solution.unsolved is not None},
        "series": {
            series.name: {
                "unit": series.y_unit,
                "points": series.points,
                "rejected": fits[series.name].rejected,
                "fit": {
                    "method": fits[series.name].method,
                    "shape": fits[series.name].shape,
                    "vertices": fits[series.name].vertices,
                    "error": fits[series.name].error,
                },
            }
            for series in file.series
        },
        "remarks": [finding.text for finding in file.findings if finding.code == "remark"],
        "measure_next": [
            {"text": finding.text, **finding.data} for finding in file.findings if finding.code == "measure-next"
        ],
        "warnings": [warning.text for warning in file.warnings],
    }


def report_run(file: RunFile) -> str:
    """Give one record with the subject ``block-device`` as one object."""
    return to_json([file])


def to_json(files: list[RunFile]) -> str:
    """Give one object: that of the only run, or all under ``results``."""
    objects = [to_object(file) for file in files]
    content: Any = objects[0] if len(objects) == 1 else {"results": objects}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


COLUMNS = ("device", "series", "unit", "vrate", "value", "fitted", "rejected")


def series_rows(file: RunFile) -> list[tuple[str, str, str, float, float, float, bool]]:
    """Give a row for every point, with the value of the line there."""
    from brimful._core import Lines

    rows = []
    for series, fit in zip(file.series, file.fits, strict=True):
        lines = Lines(fit.vertices)
        rejected = set(fit.rejected)
        rows += [
            (
                str(file.run.device.get("model", "")),
                series.name,
                series.y_unit,
                x,
                y,
                lines.evaluate(x),
                (x, y) in rejected,
            )
            for x, y in series.points
        ]
    return rows


def series_csv(file: RunFile) -> bytes:
    """Give the series as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(series_rows(file))
    return text.getvalue().encode()


def series_parquet(file: RunFile) -> bytes:
    """Give the series as a Parquet file.

    Raises
    ------
    UsageError
        When the library that writes Parquet is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        message = "a Parquet table needs duckdb; install it with: pip install 'brimful[parquet]', or write .csv"
        raise UsageError(message) from error
    types = ("VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE", "DOUBLE", "DOUBLE", "BOOLEAN")
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(COLUMNS, types, strict=True))
    with tempfile.TemporaryDirectory() as directory, duckdb.connect() as database:
        database.execute(f"CREATE TABLE series ({columns})")
        if rows := series_rows(file):
            database.executemany(f"INSERT INTO series VALUES ({', '.join('?' * len(COLUMNS))})", rows)
        target = Path(directory) / "series.parquet"
        database.execute(f"COPY series TO '{target}' (FORMAT parquet)")
        return target.read_bytes()
