"""Build backend of the wheel: builds the binaries, then lets maturin build the extension and pack everything.

maturin packs either an extension or a binary; what lies in its data folder goes along with both.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403 - the hooks that need no change

_ROOT = Path(__file__).resolve().parent.parent
_SCRIPTS = _ROOT / "build" / "wheel.data" / "scripts"
_BINARIES = ("brimful-tester", "brimful-forwarder", "brimful-switchd", "brimful-disk")


def _build_binaries() -> None:
    packages = [word for name in _BINARIES for word in ("--bin", name)]
    subprocess.run(["cargo", "build", "--release", "--locked", *packages], cwd=_ROOT, check=True)
    _SCRIPTS.mkdir(parents=True, exist_ok=True)
    for name in _BINARIES:
        shutil.copy2(_ROOT / "target" / "release" / name, _SCRIPTS / name)


def build_wheel(directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """Build the wheel that `pip install .` installs."""
    _build_binaries()
    return maturin.build_wheel(directory, settings, metadata)


def build_editable(directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """Build the wheel that `pip install --editable .` installs."""
    _build_binaries()
    return maturin.build_editable(directory, settings, metadata)


def prepare_metadata_for_build_wheel(directory: str, settings: dict[str, Any] | None = None) -> str:
    """Write the metadata; maturin wants its data folder to be there."""
    _SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(directory, settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
