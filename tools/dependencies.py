"""Print the requirements of the package and its extras, for `make lock`."""

from __future__ import annotations

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = [line for lines in project["optional-dependencies"].values() for line in lines]
print(*project["dependencies"], *extras)
