"""Records for other programs: trials as a table, results in the Prometheus text format."""

from __future__ import annotations

import csv
import io
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import UsageError
from brimful.records import GoalResult, Ratio, Run, RunFile, Trial

_NUMBERS = {"load", "duration_s", "effective_duration_s", "start_s", "elapsed_s", "delay_p99_s"}
_COUNTS = {"seq", "intended", "sent", "lost", "phase", "round", "instance", "duplicated", "reordered", "late"}


def trial_rows(trials: list[Trial]) -> list[dict[str, Any]]:
    """Give a row for each trial, columns as in the record; what is nested there is JSON text here.

    >>> trial_rows([Trial(seq=0, load=1e3, duration_s=1.0, intended=1000, sent=1000, lost=2)])[0]["lost"]
    2
    """
    names = msgspec.structs.fields(Trial)
    return [{field.name: _cell(getattr(trial, field.name)) for field in names} for trial in trials]


def _cell(value: Any) -> Any:  # noqa: ANN401 - any value of a record
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def trials_as_csv(file: RunFile) -> bytes:
    """Write the trials as CSV with a header; what is not known is empty."""
    target = io.StringIO()
    writer = csv.DictWriter(target, [field.name for field in msgspec.structs.fields(Trial)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(trial_rows(file.trials))
    return target.getvalue().encode()


def trials_as_parquet(file: RunFile) -> bytes:
    """Write the trials as Parquet.

    Raises
    ------
    UsageError
        When DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        message = "Parquet needs duckdb; install it with: pip install 'brimful[parquet]'"
        raise UsageError(message) from error
    columns = ", ".join(f'"{field.name}" {_column_type(field.name)}' for field in msgspec.structs.fields(Trial))
    with tempfile.TemporaryDirectory() as directory, duckdb.connect() as connection:
        source, target = Path(directory) / "trials.csv", Path(directory) / "trials.parquet"
        source.write_bytes(trials_as_csv(file))
        connection.execute(f"CREATE TABLE trials ({columns})")
        connection.execute(f"COPY trials FROM '{source}' (HEADER)")
        connection.execute(f"COPY trials TO '{target}' (FORMAT parquet)")
        return target.read_bytes()


def _column_type(name: str) -> str:
    if name in _NUMBERS:
        return "DOUBLE"
    if name in _COUNTS:
        return "BIGINT"
    return "BOOLEAN" if name == "stopped_early" else "VARCHAR"


def results_as_prometheus(file: RunFile) -> bytes:
    """Write the results of a search, of each search of a campaign, or of a comparison, in the Prometheus text format.

    Loads are per second, in the scope of the run. A value that is not known has no line.
    """
    searches = [(member.run, member.goal_results) for member in file.members if member.run is not None]
    searches = searches or [(file.run, file.goal_results)]
    lines = []
    for name, meaning in _METRICS.items():
        samples = [sample for run, results in searches for result in results if (sample := _sample(name, run, result))]
        if samples:
            lines += [f"# HELP brimful_{name} {meaning}", f"# TYPE brimful_{name} gauge", *samples]
    lines += _ratio_lines(file)
    return ("\n".join(lines) + "\n").encode()


_RATIO_METRICS = {
    "ratio": "Capacity of a device divided by that of the first one.",
    "low": "Lower end of its interval.",
    "high": "Upper end of its interval.",
}


def _ratio_lines(file: RunFile) -> list[str]:
    """Give the ratios of a comparison, and which of them are regressions."""
    ratios = file.latest(Ratio, "device")
    lines = []
    for name, meaning in _RATIO_METRICS.items():
        values = [(ratio.device, getattr(ratio, name)) for ratio in ratios]
        lines += _gauge(f"comparison_{name}", meaning, file.run, values)
    verdicts = [(ratio.device, float(ratio.verdict == "regression")) for ratio in ratios]
    return lines + _gauge(
        "comparison_regression", "1 where the device is slower by more than is tolerated.", file.run, verdicts
    )


def _gauge(name: str, meaning: str, run: Run, values: Sequence[tuple[str, float | None]]) -> list[str]:
    samples = [
        f"brimful_{name}{{{_labels(run, device=device)}}} {value!r}" for device, value in values if value is not None
    ]
    return [f"# HELP brimful_{name} {meaning}", f"# TYPE brimful_{name} gauge", *samples] if samples else []


_METRICS = {
    "conditional_throughput": "Load per second that meets the goal (MLRsearch-15 Conditional Throughput).",
    "lower_bound": "Relevant lower bound, as a load per second.",
    "upper_bound": "Relevant upper bound, as a load per second.",
    "regular": "1 where the goal was reached, else 0.",
}


def _sample(name: str, run: Run, result: GoalResult) -> str | None:
    value = getattr(result, name)
    if value is None:
        return None
    return f"brimful_{name}{{{_labels(run, goal=result.goal)}}} {float(value)!r}"


def _labels(run: Run, **first: str) -> str:
    labels = {
        **first,
        "measurer": run.measurer.title,
        "frame_size": str(run.traffic.get("frame_size", "")),
        "unit": run.load_unit,
        "run_id": run.run_id,
        **{f"label_{name}": run.labels[key] for key, name in _names(run.labels).items()},
    }
    return ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items() if text)


def _names(keys: Iterable[str]) -> dict[str, str]:
    """Give each key a name of its own: where keys differ only in what a name cannot have, what they had is added.

    >>> _names(["a-b", "a_b", "a.b", "c-d"])
    {'a_b': 'a_b', 'a-b': 'a_b_2d', 'a.b': 'a_b_2e', 'c-d': 'c_d'}
    """
    given = sorted(keys, key=lambda key: (key != _name(key), key))
    shared = Counter(map(_name, given))
    names: dict[str, str] = {}
    for key in given:
        plain = _name(key)
        lost = "_".join(f"{ord(letter):x}" for letter in key if _name(letter) != letter)
        wanted = f"{plain}_{lost}" if shared[plain] > 1 and lost else plain
        numbered = (f"{wanted}_{number}" for number in itertools.count(2))
        names[key] = next(name for name in itertools.chain([wanted], numbered) if name not in names.values())
    return names


def _name(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
