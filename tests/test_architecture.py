"""The arrows of ARCHITECTURE.md are the only imports there are."""

import ast
import tomllib
from pathlib import Path

import pytest
from rust_modules import imports

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "brimful"

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
    "blockio": {"trial"},
    "extension": {"trial", "search", "sim", "fit"},
}
"""Crate: the crates it may import. `sim` never sees `search`, or the oracle would be circular."""

WRITTEN = {"compression", "json_texts", "table_texts", "texts", "times", "values"}
"""Modules of `discards` that know how files are written."""

SUBJECT = {
    "ceilings",
    "errors",
    "machine",
    "managed",
    "measurers",
    "policies",
    "records",
    "runs",
    "session",
    "statistics",
    "throughput",
    "units",
}
"""What most subjects import."""

MODULES = {
    "errors": set(),
    "units": {"errors"},
    "records": {"errors", "files"},
    "changes": {"errors"},
    "lab": {"changes", "errors"},
    "machine": {"records", "units"},
    "measurers": {"_core", "errors", "records", "lab", "units"},
    "cards": {"errors", "measurers"},
    "alarm": set(),
    "policies": {"errors"},
    "ceilings": {"records", "units"},
    "session": {"alarm", "ceilings", "errors", "machine", "measurers", "policies", "records", "units"},
    "runs": {"errors", "records", "run_index", "version"},
    "run_index": {"errors", "files", "records", "version"},
    "managed": {"errors", "measurers", "records", "runs", "units"},
    "version": set(),
    "verified": set(),
    "statistics": set(),
    "throughput": {
        "_core",
        "alarm",
        "ceilings",
        "managed",
        "policies",
        "session",
        "errors",
        "machine",
        "measurers",
        "files",
        "records",
        "run_index",
        "runs",
        "statistics",
        "units",
    },
    "assertion": {"errors", "records", "report", "runs", "units"},
    "suite_assertion": {"assertion", "errors", "records", "report", "runs"},
    "testing": {"assertion", "errors", "paired", "records", "report", "run_index", "throughput"},
    "pytest_plugin": {"errors", "files", "paired", "testing", "throughput"},
    "robot": {"files", "paired", "testing", "throughput", "units", "version"},
    "mlrsearch": {"_core", "records", "throughput"},
    "bisection": {
        "errors",
        "files",
        "machine",
        "managed",
        "measurers",
        "paired",
        "policies",
        "records",
        "runs",
        "session",
        "statistics",
        "units",
    },
    "campaign": {
        "burst",
        "errors",
        "loss",
        "managed",
        "measurers",
        "records",
        "recovery",
        "run_index",
        "runs",
        "statistics",
        "throughput",
        "units",
    },
    "burst": SUBJECT | {"alarm"},
    "loss": SUBJECT | {"alarm"},
    "suites": {
        "burst",
        "delay",
        "errors",
        "loss",
        "managed",
        "measurers",
        "policies",
        "records",
        "recovery",
        "run_index",
        "runs",
        "session",
        "switching",
        "throughput",
        "units",
    },
    "switching": {"errors", "machine", "managed", "measurers", "policies", "records", "session", "throughput", "units"},
    "recovery": SUBJECT - {"machine", "statistics"},
    "delay": (SUBJECT | {"_core", "alarm"}) - {"throughput"},
    "paired": (SUBJECT | {"alarm"}) - {"throughput"},
    "discards": {"", "errors", "files", "records", "statistics"},
    "files": {"errors"},
    "iocost": {
        "",
        "_core",
        "alarm",
        "policies",
        "changes",
        "errors",
        "files",
        "kernel",
        "lab",
        "measurers",
        "records",
        "runs",
        "throughput",
        "units",
    },
    "kernel": {"errors", "records"},
    "trend": {"_core", "errors", "files", "paired", "records", "statistics", "units"},
    "switch": {"errors"},
    "report": {"", "_core", "errors", "files", "kernel", "records", "statistics", "units"},
}
"""Part of the package: the parts it may import ("" is the package itself). `cli` may import all. Reports read records
and nothing else."""

ALSO = {
    "report.verdicts": {
        "bisection",
        "burst",
        "campaign",
        "delay",
        "loss",
        "paired",
        "recovery",
        "switching",
        "throughput",
        "verified",
    },
    **{
        f"report.trend.{name}": {"trend"} for name in ("badge", "feed", "index_file", "reported", "series_file", "site")
    },
}
"""Module: what it may import beside. A report on whether a record holds is what each subject computes again; the record
of histories is their store."""

_FORMS = {
    "compared",
    "facts",
    "figures",
    "lines",
    "pages",
    "palette",
    "scales",
    "styles",
    "web_page",
    "words",
}
"""What reports of all subjects are made with: they never see a subject."""

INSIDE = {
    "report": {
        "words": set(),
        "facts": set(),
        "styles": set(),
        "palette": set(),
        "scales": set(),
        "lines": {"blocks", "styles", "words"},
        "compared": {"facts", "styles"},
        "figures": {"palette"},
        "paper": set(),
        "web_page": {"palette", "words"},
        "run_list": {"web_page"},
        "collection": {"web_page"},
        "junit": {"words"},
        "verdicts": {"suite", "words"},
        "exports": set(),
        "csit_uti": set(),
        "blocks": {"facts", "figures", "words"},
        "ports": {"blocks", "words"},
        "lone_ports": {"words"},
        "rendering": {"blocks", "facts", "figures", "lines", "styles", "web_page"},
        "throughput": {*_FORMS, "blocks", "ports", "rendering"},
        "campaign": {*_FORMS, "blocks", "rendering", "throughput"},
        "delay": {*_FORMS, "blocks"},
        "burst": {*_FORMS, "blocks", "ports"},
        "recovery": {*_FORMS, "blocks", "ports"},
        "bisection": {*_FORMS, "blocks"},
        "loss": {*_FORMS, "blocks", "lone_ports", "ports"},
        "run_campaign": {*_FORMS, "blocks", "burst", "loss", "recovery"},
        "paired": {*_FORMS, "blocks", "junit"},
        "suite": {*_FORMS, "blocks", "burst", "delay", "junit", "lone_ports", "loss", "recovery", "switching"},
        "switching": {*_FORMS, "blocks"},
        "iocost": {*_FORMS, "blocks"},
        "discards": {*_FORMS, "blocks"},
        "trend": _FORMS,
    },
    "records": {
        "record": set(),
        "throughput": {"record"},
        "delay": {"record"},
        "bisection": {"record"},
        "burst": {"record"},
        "recovery": {"record"},
        "loss": {"record"},
        "suite": {"record"},
        "switching": {"record"},
        "paired": {"record"},
        "analysis": {"record"},
        "measurer": set(),
        "experiment": {"run"},
        "run": {
            "bisection",
            "record",
            "throughput",
            "delay",
            "burst",
            "recovery",
            "loss",
            "suite",
            "switching",
            "paired",
            "measurer",
        },
        "campaign": {"record", "run", "throughput", "burst", "loss", "recovery"},
        "subjects": {
            "bisection",
            "record",
            "run",
            "throughput",
            "delay",
            "burst",
            "recovery",
            "loss",
            "paired",
            "suite",
            "switching",
            "analysis",
            "campaign",
        },
        "format": {"record", "run", "campaign", "measurer", "subjects"},
        "digest": {"record", "run", "format"},
        "writing": {"record", "digest"},
        "reading": {
            "record",
            "run",
            "throughput",
            "delay",
            "burst",
            "recovery",
            "loss",
            "paired",
            "analysis",
            "campaign",
            "format",
            "digest",
        },
        "stated": {"bisection", "burst", "loss", "paired", "recovery", "reading"},
    },
    "throughput": {
        "goals": set(),
        "engine": set(),
        "foreign_log": set(),
        "limits": set(),
        "requirements": set(),
        "remaining": set(),
        "result": set(),
        "run_loop": {"engine", "goals", "remaining", "result", "unsent"},
        "search": {"goals", "manager", "result", "run_loop"},
        "steadiness": set(),
        "manager": {"limits", "result", "run_loop", "steadiness", "verify"},
        "verify": {"engine", "foreign_log", "goals"},
        "explain": {"verify"},
        "unsent": {"verify"},
        "strategies": {"goals"},
        "found": {"manager", "run_loop", "verify"},
    },
    "trend": {
        "series": set(),
        "measured": set(),
        "judgement": set(),
        "detection": {"judgement"},
        "standing": {"detection", "judgement", "series"},
        "judging": {"detection", "judgement", "series", "standing"},
        "replaying": {"judgement", "judging", "series"},
        "findings": {"judgement", "series"},
        "confirmation": {"judgement", "series"},
        "runs": {"measured", "series"},
        "reading": set(),
        "tables": {"measured", "reading"},
        "formats": {"measured", "reading", "series"},
        "chaining": {"measured"},
        "adding": {"chaining", "measured", "series"},
        "store": {"adding", "judgement", "measured", "series"},
        "checking": {"confirmation", "detection", "findings", "judgement", "judging", "store"},
    },
    "iocost": {"controller": set(), "measure": {"controller"}},
    "discards": {
        "telemetry": WRITTEN | {"archives", "capacities", "identity", "schema", "store"},
        "speed_tests": WRITTEN | {"archives", "schema", "store"},
        "synthetic": {"schema", "store"},
    },
}
"""Package: of each part, the other parts of the package that it may import. Of `discards` its folders."""

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
    return [(file.relative_to(PACKAGE).parts[0].removesuffix(".py"), file) for file in sorted(PACKAGE.rglob("*.py"))]


def imported_modules(file: Path) -> set[str]:
    """Give the modules of the package that a file imports, as paths of names below the package; "" is itself."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [name_of(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        found |= {name.partition(".")[2] for name in names if name.split(".")[0] == "brimful"}
    return found


def name_of(module: str, name: str) -> str:
    """Give the module that an import of a name from a module reaches."""
    below = PACKAGE.parent / module.replace(".", "/") / name
    return f"{module}.{name}" if below.is_dir() or below.with_suffix(".py").exists() or name == "_core" else module


@pytest.mark.parametrize(("part", "file"), [pytest.param(*row, id=str(row[1].relative_to(ROOT))) for row in parts()])
def test_modules_import_only_what_they_may(part, file):
    if part in CLI_PARTS:
        return
    allowed = MODULES[part] | ALSO.get(module_name(file), set())
    assert {name.partition(".")[0] for name in imported_modules(file)} - {part} <= allowed


def rows_inside() -> list[tuple[str, str]]:
    return [(package, part) for package, table in INSIDE.items() for part in table]


@pytest.mark.parametrize(("package", "part"), rows_inside())
def test_parts_of_a_package_import_only_what_they_may(package, part):
    files = [*(PACKAGE / package / part).rglob("*.py"), PACKAGE / package / f"{part}.py"]
    imported = set().union(*(imported_modules(file) for file in files if file.exists()))
    inside = {name.split(".")[1] for name in imported if name.startswith(f"{package}.")}
    assert inside - {part} <= INSIDE[package][part]


@pytest.mark.parametrize("package", ["report", "records", "throughput", "trend"])
def test_every_part_of_a_package_has_its_row(package):
    found = {path.stem for path in (PACKAGE / package).iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert found - {"__init__"} == set(INSIDE[package])


def test_no_modules_import_each_other_in_a_circle():
    files = {module_name(file): file for _, file in parts()}
    graph = {name: imported_modules(file) & files.keys() - {name} for name, file in files.items()}
    assert list(circles(graph)) == []


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def circles(graph):
    """Give the sets of nodes that reach each other."""
    reached = {node: reachable(graph, node) for node in graph}
    seen = set()
    for node in graph:
        if node in reached[node] and node not in seen:
            circle = {other for other in reached[node] if node in reached[other]}
            seen |= circle
            yield sorted(circle)


def reachable(graph, start):
    found, left = set(), [*graph[start]]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += graph[node]
    return found


@pytest.mark.parametrize("crate", crate_names())
def test_no_modules_of_a_crate_use_each_other_in_a_circle(crate):
    assert list(circles(imports(crate))) == []


TESTER_FLOORS = [
    {"accounting", "attribution", "clock", "cost", "division", "failure", "question", "test_frames", "traffic_pattern"},
    {"delay", "exchange", "lots", "ramp_up", "routes", "stations", "threads"},
    {"early_stop", "flows", "schedule", "turn"},
    {"pacing", "profile", "receiving_lane"},
    {"sharing"},
    {"plan", "sending_lane", "station"},
    {"lane", "receiving_side"},
    {"ports", "sending_side"},
    {"warnings"},
    {"outcome", "trial"},
    {"protocol", "tester"},
    {"calibrate"},
    {"serve"},
]
"""Modules of the tester from the ground up: each uses only those below. What decides stands below what does."""


def test_modules_of_the_tester_use_only_what_lies_below_them():
    floors = {name: floor for floor, names in enumerate(TESTER_FLOORS) for name in names}
    graph = {(module[0], other[0]) for module, others in imports("tester").items() for other in others if module}
    assert {name for pair in graph for name in pair} <= set(floors)
    assert [pair for pair in sorted(graph) if pair[0] != pair[1] and floors[pair[0]] <= floors[pair[1]]] == []


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e"}}
    assert list(circles(graph)) == [["b", "c"], ["e"]]


def test_unsafe_code_lives_in_netdev_blockio_and_jit_alone():
    with_unsafe = {
        path.relative_to(ROOT).parts[1]
        for path in ROOT.glob("crates/*/src/**/*.rs")
        if any(line.strip().startswith("unsafe ") or " unsafe {" in line for line in path.read_text().splitlines())
    }
    assert with_unsafe <= {"netdev", "blockio", "jit"}


def test_files_can_be_held_in_mind():
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("python/**/*.py"), *ROOT.glob("tests/**/*.py")]
    too_long = {
        str(path.relative_to(ROOT)): length for path in sources if (length := len(path.read_text().splitlines())) > 500
    }
    assert not too_long
