"""Print the requirements of the package and its extras, for `make lock`: all but the engines for many machines."""

from __future__ import annotations

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = [
    line
    for name, lines in project["optional-dependencies"].items()
    if name not in ("spark", "bigquery")
    for line in lines
]
print(*project["dependencies"], *extras)
