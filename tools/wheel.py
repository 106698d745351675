"""Builds the wheel: one for all Python versions from 3.11 on, for every Linux whose C library is new enough.

usage: wheel.py DIRECTORY
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import bundled

ROOT = Path(__file__).resolve().parent.parent
ELF = b"\x7fELF"
NEEDED = re.compile(rb"\0GLIBC_(?:(\d+)\.(\d+)(?:\.\d+)?|PRIVATE)(?=\0)")
"""A version of the C library, as the names of a program have it that needs symbols of that version."""
TAG = re.compile(r"-manylinux_(\d+)_(\d+)_")


def broken_promises(name: str, files: dict[str, bytes]) -> list[str]:
    """Say which files of a wheel need another C library than the one that its name promises to do with.

    maturin asks this about the extension alone, not about the programs beside it.
    """
    tag = TAG.search(name)
    if tag is None:
        return [f"{name} is for the Linux that it was built on alone"]
    promised = int(tag[1]), int(tag[2])
    broken = []
    for file, content in files.items():
        versions = {match.groups() for match in NEEDED.finditer(content)} if content.startswith(ELF) else set()
        if (None, None) in versions:
            broken.append(f"{file} needs private parts of the C library that it was built with")
        newest = max(((int(major), int(minor)) for major, minor in versions if major), default=promised)
        if newest > promised:
            broken.append(
                f"{file} needs glibc {newest[0]}.{newest[1]}, and {name} promises {promised[0]}.{promised[1]}"
            )
    return broken


def files_that_name(places: Iterable[Path], files: dict[str, bytes]) -> list[str]:
    """Say which files of a wheel name directories of who built it: elsewhere they would be others."""
    return [f"{file} names {place}" for file, content in files.items() for place in places if bytes(place) in content]


def write_bill(path: Path) -> None:
    """List what extension and programs are linked with; maturin's own has no programs, and never the same bytes."""
    machine = os.environ.get("CARGO_BUILD_TARGET", platform.machine()).partition("-")[0]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(bundled.bill_of_materials(version, [*bundled.crates(machine), bundled.vendored()]))


def main(directory: str) -> None:
    """Build it with what `make test` has installed."""
    bill = "build/wheel.sbom/brimful.cdx.json"
    write_bill(ROOT / bill)
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Without the first the wheel is for the Linux that it was built on alone.
    options = f"--compatibility pypi --strip --sbom-include {bill}"
    environment = {**os.environ, "PATH": places, "MATURIN_PEP517_ARGS": options}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", directory, ROOT], env=environment, check=True
    )
    newest = max(Path(directory).glob("brimful-*.whl"), key=lambda wheel: wheel.stat().st_mtime_ns)
    with zipfile.ZipFile(newest) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    broken = broken_promises(newest.name, files)
    if os.environ.get("BRIMFUL_PROFILE", "release") == "release":
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).absolute()
        broken += files_that_name((ROOT, cargo), files)
    if broken:
        raise SystemExit(f"wheel.py: {newest}: {'; '.join(broken)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
