"""Build backend of the wheel: builds the binaries, then lets maturin build the extension and pack everything.

maturin packs either an extension or a binary; what lies in its data folder goes along with both. `BRIMFUL_PROFILE` is
the profile (`release` by default; `make test` says `dev`, which its tests are compiled with too), and
`BRIMFUL_BINARIES` lists the binaries (all by default).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403 - the hooks that need no change

_ROOT = Path(__file__).resolve().parent.parent
_SCRIPTS = _ROOT / "build" / "wheel.data" / "scripts"
_BINARIES = ("brimful-tester", "brimful-forwarder", "brimful-switchd", "brimful-disk")
_FOLDERS = {"dev": "debug"}
"""Where cargo puts what a profile built, if not in the folder of its name."""


def _leave_out_place_and_time() -> None:
    """Have compilers write neither paths nor the time, so that a commit gives the same bytes wherever it is built.

    Panics name source files, the hash that a linker puts into a program covers those of its debugging lines, and
    mimalloc says when it was compiled.
    """
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).absolute()
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")).absolute()
    registry = cargo / "registry"
    # The last that matches holds. What is behind a link has both names.
    places = {_ROOT: ".", target: "target", registry.resolve(): "registry", registry: "registry"}
    flags = os.environ.get("CARGO_ENCODED_RUSTFLAGS", "\x1f".join(os.environ.get("RUSTFLAGS", "").split()))
    remapped = [f"--remap-path-prefix={path}={name}" for path, name in places.items()]
    os.environ["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join([*filter(None, [flags]), *remapped])
    remapped = [shlex.quote(f"-ffile-prefix-map={path}={name}") for path, name in places.items()]
    os.environ["CFLAGS"] = " ".join([os.environ.get("CFLAGS", ""), *remapped])
    os.environ["CC_SHELL_ESCAPED_FLAGS"] = "1"
    # The first day that a wheel can have, and has without this.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")


def _build_binaries() -> None:
    profile = os.environ.get("BRIMFUL_PROFILE", "release")
    if profile == "release":
        _leave_out_place_and_time()
    names = tuple(os.environ.get("BRIMFUL_BINARIES", "").split()) or _BINARIES
    packages = [word for name in names for word in ("--bin", name)]
    if profile == "dev":
        # With what the tests depend on, so that each crate is compiled once for both.
        packages = ["--workspace", "--lib", "--bins", "--examples", "--tests"]
    subprocess.run(["cargo", "build", "--profile", profile, "--locked", *packages], cwd=_ROOT, check=True)
    shutil.rmtree(_SCRIPTS, ignore_errors=True)
    _SCRIPTS.mkdir(parents=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target"), os.environ.get("CARGO_BUILD_TARGET", ""))
    for name in names:
        shutil.copy2(target / _FOLDERS.get(profile, profile) / name, _SCRIPTS / name)
        if profile == "release":
            # Lines for profilers are four fifths of a program; those in `target` keep them.
            subprocess.run([os.environ.get("STRIP", "strip"), "--strip-debug", _SCRIPTS / name], check=True)
    os.environ["MATURIN_PEP517_ARGS"] = f"{os.environ.get('MATURIN_PEP517_ARGS', '')} --profile {profile}"


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
