"""Builds the wheel: one for all Python versions from 3.11 on, for every Linux whose C library is new enough.

usage: wheel.py DIRECTORY
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(directory: str) -> None:
    """Build it with what `make test` has installed."""
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Without this the wheel is for the Linux that it was built on alone.
    environment = {**os.environ, "PATH": places, "MATURIN_PEP517_ARGS": "--compatibility pypi"}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", directory, ROOT], env=environment, check=True
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
