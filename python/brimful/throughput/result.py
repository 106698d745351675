"""What a search found, as Python programs and notebooks use it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from brimful import units
from brimful.errors import UsageError, shown
from brimful.records import End, GoalResult, Trial

if TYPE_CHECKING:
    import pandas


class SearchResult(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """What a search found.

    ``result["ndr"]`` is the result of the goal of that name.
    """

    goal_results: list[GoalResult]
    """One a goal, in the order of the goals."""
    trials: list[Trial]
    """In the order they were made, invalid ones included."""
    end: End
    load_unit: str = "frames/s"
    path: Path | None = None
    """Of the record; null where none was kept."""

    @property
    def regular(self) -> bool:
        """Whether every goal was reached."""
        return all(result.regular for result in self.goal_results)

    def __getitem__(self, goal: str) -> GoalResult:
        """Give the result of the goal of this name.

        Raises
        ------
        UsageError
            When there is no such goal.
        """
        for result in self.goal_results:
            if result.goal == goal:
                return result
        message = f"there is no goal {shown(goal)}; there is {', '.join(result.goal for result in self.goal_results)}"
        raise UsageError(message)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as values that JSON can hold; the fields are those of the record."""
        facts: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, path=None))
        return {**facts, "path": None if self.path is None else str(self.path), "regular": self.regular}

    def to_frame(self) -> pandas.DataFrame:
        """Give the trials as a data frame, a row each; its columns are the fields of the record.

        Raises
        ------
        UsageError
            When pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            message = "a data frame needs pandas; install it with: pip install pandas"
            raise UsageError(message) from error
        names = [field.name for field in msgspec.structs.fields(Trial)]
        return pandas.DataFrame([msgspec.structs.asdict(trial) for trial in self.trials], columns=names)

    def __repr__(self) -> str:
        """Give the results in one line."""
        found = ", ".join(f"{result.goal}: {self._value(result)}" for result in self.goal_results)
        return f"<SearchResult {found}; {len(self.trials)} trials in {units.format_duration(self.end.search_s)}>"

    def _repr_html_(self) -> str:
        """Give the results as a table, for notebooks."""
        heads = ("goal", "throughput", "lower bound", "upper bound")
        rows = [
            (result.goal, self._value(result), self._load(result.lower_bound), self._load(result.upper_bound))
            for result in self.goal_results
        ]
        head = "".join(f"<th>{name}</th>" for name in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        caption = f"{len(self.trials)} trials in {units.format_duration(self.end.search_s)}"
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _value(self, result: GoalResult) -> str:
        value = self._load(result.conditional_throughput)
        return value if result.regular else f"{value} ({result.reason})"

    def _load(self, load: float | None) -> str:
        return "unknown" if load is None else units.format_load(load, self.load_unit)
