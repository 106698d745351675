"""What is packed: the programs that the build lists are those of the workspace, and brimful finds each of them."""

import hashlib
import importlib.util
import json
import re
import subprocess
import tomllib

import pytest
from brimful.lab.programs import find_own_program
from support import ROOT


def listed():
    specification = importlib.util.spec_from_file_location("build_backend", ROOT / "tools" / "build_backend.py")
    backend = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(backend)
    return backend._BINARIES


def test_every_program_of_the_workspace_is_packed():
    told = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    packages = json.loads(told.stdout)["packages"]
    programs = [one["name"] for package in packages for one in package["targets"] if "bin" in one["kind"]]
    assert sorted(programs) == sorted(listed())


@pytest.mark.parametrize("program", listed())
def test_a_program_is_found_and_says_what_it_is(program):
    shown = subprocess.run([find_own_program(program), "--help"], capture_output=True, text=True, timeout=60)
    assert program in shown.stdout + shown.stderr


def test_code_of_others_comes_unchanged_with_its_licence():
    vendor = ROOT / "python" / "brimful" / "report" / "trend" / "vendor"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packed = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert vendor / "uPlot.LICENSE" in packed
    assert "MIT" in project["license"]
    version = re.search(r"uPlot \(v([\d.]+)\)", (vendor / "uPlot.iife.min.js").read_text())[1]
    text = (vendor / "README.md").read_text()
    assert f"version {version}" in " ".join(text.split())
    for path in (vendor / "uPlot.iife.min.js", vendor / "uPlot.min.css"):
        assert f"`{path.name}` {hashlib.sha256(path.read_bytes()).hexdigest()}" in text


def test_the_wheel_is_for_all_pythons_that_the_project_supports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    oldest = project["requires-python"].removeprefix(">=").replace(".", "")
    assert f"abi3-py{oldest}" in workspace["dependencies"]["pyo3"]["features"]
