"""The tool that makes Debian packages, and a wheel for it."""

import importlib
import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest
from support import ROOT

PROGRAMS = ("brimful-tester", "brimful-forwarder", "brimful-switchd", "brimful-disk")


@pytest.fixture(scope="session")
def deb():
    """Give `tools/deb.py`, which imports what lies beside it."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("deb")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Give a wheel of what the tests are run with; test_wheel.py looks at the one that is built."""
    version = importlib.metadata.version("brimful")
    path = tmp_path_factory.mktemp("wheel") / f"brimful-{version}-cp311-abi3-manylinux_2_34_x86_64.whl"
    package = ROOT / "python" / "brimful"
    with zipfile.ZipFile(path, "w") as archive:
        for file in package.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(package.parent))
        for program in PROGRAMS:
            archive.write(Path(sys.executable).with_name(program), f"brimful-{version}.data/scripts/{program}")
        for file in importlib.metadata.files("brimful"):
            if ".dist-info" in str(file):
                archive.write(file.locate(), file)
    return path
