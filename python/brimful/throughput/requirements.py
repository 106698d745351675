"""What the MLRsearch specification demands, and which test or report satisfies it."""

from __future__ import annotations

import textwrap
import tomllib
from importlib import resources
from typing import Any

from brimful.records import SPECIFICATION


def requirements() -> list[dict[str, Any]]:
    """Read the list of requirements, each with what satisfies it."""
    text = resources.files("brimful.throughput").joinpath("compliance.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["requirement"]
    return found


def table() -> str:
    """Write the list for a terminal."""
    lines = [SPECIFICATION]
    for row in requirements():
        lines.append(f"{row['number']:>3}  {row['level'].upper():<12} {row['section']}")
        lines.extend(textwrap.wrap(row["text"], 100, initial_indent=" " * 5, subsequent_indent=" " * 5))
        lines.extend(f"       by {where}" for where in row["satisfied_by"])
    return "\n".join(lines)
