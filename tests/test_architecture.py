"""The arrows of ARCHITECTURE.md are the only imports there are."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

CRATES = {
    "trial": set(),
    "search": {"trial"},
    "sim": {"trial"},
    "fit": set(),
    "frame": set(),
    "netdev": set(),
    "openflow": {"frame"},
    "pipeline": {"openflow", "frame"},
    "jit": {"pipeline", "openflow", "frame"},
    "switch": {"openflow", "pipeline", "jit", "frame", "netdev"},
    "tester": {"trial", "frame", "netdev"},
    "python": {"trial", "search", "sim", "fit"},
}
"""Crate: the crates it may import. `sim` never sees `search`, or the oracle would be circular."""

MODULES = {
    "errors": set(),
    "units": {"errors"},
    "records": {"errors", "files"},
    "lab": {"errors"},
    "machine": {"records", "units"},
    "measurers": {"_core", "errors", "records", "lab"},
    "alarm": set(),
    "attempts": {"errors", "measurers", "records"},
    "runs": {"", "errors", "records"},
    "verified": set(),
    "statistics": set(),
    "throughput": {
        "_core",
        "alarm",
        "attempts",
        "errors",
        "machine",
        "measurers",
        "records",
        "runs",
        "units",
    },
    "campaign": {"errors", "measurers", "records", "runs", "throughput", "units"},
    "delay": {"alarm", "attempts", "errors", "measurers", "records", "runs", "statistics", "units"},
    "discards": {"", "errors", "files", "records"},
    "files": {"errors"},
    "iocost": {"", "_core", "errors", "kernel", "records"},
    "kernel": {"errors", "records"},
    "report": {"", "_core", "errors", "files", "kernel", "records", "statistics", "units"},
}
"""Part of the package: the parts it may import ("" is the package itself). `cli` may import all. Reports read records
and nothing else."""

CLI_PARTS = {"cli", "__main__", "__init__"}


def crate_names() -> list[str]:
    return sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))


@pytest.mark.parametrize("crate", crate_names())
def test_crates_import_only_what_they_may(crate):
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    imported = {
        name.removeprefix("brimful-") for name in manifest.get("dependencies", {}) if name.startswith("brimful-")
    }
    assert imported <= CRATES[crate]


def test_there_are_at_most_thirteen_crates():
    assert len(crate_names()) <= 13


def parts() -> list[tuple[str, Path]]:
    package = ROOT / "python" / "brimful"
    files = sorted(package.rglob("*.py"))
    return [(file.relative_to(package).parts[0].removesuffix(".py"), file) for file in files]


def imported_parts(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "brimful":
            names = [
                f"brimful.{alias.name}" if alias.name[0] != "_" or alias.name == "_core" else "brimful"
                for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        found |= {[*name.split("."), ""][1] for name in names if name.split(".")[0] == "brimful"}
    return found


@pytest.mark.parametrize(("part", "file"), [pytest.param(*row, id=str(row[1].relative_to(ROOT))) for row in parts()])
def test_modules_import_only_what_they_may(part, file):
    if part in CLI_PARTS:
        return
    assert imported_parts(file) - {part} <= MODULES[part]


def test_unsafe_code_lives_in_netdev_and_jit_alone():
    with_unsafe = {
        path.relative_to(ROOT).parts[1]
        for path in ROOT.glob("crates/*/src/**/*.rs")
        if any(line.strip().startswith("unsafe ") or " unsafe {" in line for line in path.read_text().splitlines())
    }
    assert with_unsafe <= {"netdev", "jit"}


def test_files_can_be_held_in_mind():
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("python/**/*.py"), *ROOT.glob("tests/**/*.py")]
    too_long = {
        str(path.relative_to(ROOT)): length for path in sources if (length := len(path.read_text().splitlines())) > 600
    }
    assert not too_long
