"""What is packed: the programs that the build lists are those of the workspace, and brimful finds each of them."""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import tomllib
import unittest.mock

import pytest
from brimful.lab.programs import find_own_program
from support import ROOT


def backend(file=ROOT / "tools" / "build_backend.py"):
    specification = importlib.util.spec_from_file_location("build_backend", file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def listed():
    return backend()._BINARIES


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


PROGRAM = """
include!(concat!(env!("OUT_DIR"), "/made.rs"));
unsafe extern "C" { fn of_c() -> *const u8; }
fn main() {
    std::process::exit(unsafe { *of_c() } as i32 + made(std::env::args().count()) + of_others::get(0));
}
"""
OF_A_BUILD = """
use std::{env, fs, process::Command};
fn main() {
    let made = env::var("OUT_DIR").unwrap();
    fs::write(format!("{made}/made.rs"), "fn made(at: usize) -> i32 { [1, 2][at] }").unwrap();
    fs::write(format!("{made}/of_c.c"), "const char *of_c(void) { return __FILE__ __TIME__; }").unwrap();
    let flags = env::var("CFLAGS").unwrap();
    let compile = format!("cc {flags} -g -c -o '{made}/of_c.o' '{made}/of_c.c'");
    assert!(Command::new("sh").args(["-c", &compile]).status().unwrap().success());
    println!("cargo:rustc-link-arg={made}/of_c.o");
}
"""


CARGO_TOML = """
[package]
name = "small"
edition = "2024"
[dependencies]
of_others = "1"
[profile.release]
debug = 1
"""
CARGO_LOCK = f"""
version = 4
[[package]]
name = "of_others"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "{"0" * 64}"
[[package]]
name = "small"
version = "0.0.0"
dependencies = ["of_others"]
"""
CONFIG = """
[source.crates-io]
replace-with = "here"
[source.here]
directory = "{}"
"""
OF_OTHERS = "pub fn get(at: usize) -> i32 { [3, 4][at + std::env::args().count()] }"


def test_a_released_program_is_the_same_wherever_it_is_built(tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "RUSTUP_HOME") if name in os.environ}
    built = []
    for name in ("here", "in a longer place"):
        root, cargo = tmp_path / name / "source", tmp_path / name / "cargo"
        registry = cargo / "registry"
        registry.mkdir(parents=True)
        if built:
            registry.rename(tmp_path / "elsewhere")
            registry.symlink_to(tmp_path / "elsewhere")
        of_others = registry / "src/host/of_others-1.0.0"
        for path, text in {
            root / "tools/build_backend.py": (ROOT / "tools/build_backend.py").read_text(),
            root / "src/main.rs": PROGRAM,
            root / "build.rs": OF_A_BUILD,
            root / "Cargo.toml": CARGO_TOML,
            root / "Cargo.lock": CARGO_LOCK,
            root / ".cargo/config.toml": CONFIG.format(of_others.parent),
            of_others / "src/lib.rs": OF_OTHERS,
            of_others / "Cargo.toml": '[package]\nname = "of_others"\nversion = "1.0.0"\nedition = "2024"\n',
            of_others / ".cargo-checksum.json": f'{{"files": {{}}, "package": "{"0" * 64}"}}',
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = {**kept, "BRIMFUL_BINARIES": "small", "CARGO_HOME": str(cargo), "CFLAGS": "-O1"}
        with unittest.mock.patch.dict(os.environ, environment, clear=True):
            backend(root / "tools/build_backend.py")._build_binaries()
        built.append((root / "build/wheel.data/scripts/small").read_bytes())
    assert str(tmp_path).encode() not in built[0]
    assert b"registry/src/host/of_others-1.0.0/src/lib.rs" in built[0]
    assert b"/out/of_c.c" in built[0]
    assert built[0] == built[1]


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
