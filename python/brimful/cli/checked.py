"""Types of values, stricter than those of click: there an empty path is the current directory, and nan in any range."""

from __future__ import annotations

import math
from typing import Any

import click


class Named(click.ParamType[str]):
    """A text that is not empty: a path, a command, or what can stand in its place."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Give the text."""
        if not str(value).strip():
            self.fail(f"{value!r} names nothing", param, ctx)
        return str(value)


NAMED = Named()


class NamedPath(click.Path):
    """A path that is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Give the path."""
        return super().convert(NAMED.convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """A number within limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Give the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number", param, ctx)
        return number
