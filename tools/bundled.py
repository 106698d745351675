"""What a package of brimful has of others: a list for programs (CycloneDX), and their licences for people."""

from __future__ import annotations

import email
import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LICENCE_FILES = re.compile(r"(un)?licen[sc]e|copying|notice", re.IGNORECASE)
CLASSIFIER = "License :: OSI Approved :: "
HEAD = """brimful {version}, Copyright the brimful developers, is licensed under the Apache License 2.0; see
/usr/share/common-licenses/Apache-2.0.

It comes with what it needs of others, under the copyright of their authors. The texts of these licences are in
{crates} for Rust, and in /usr/lib/brimful/*.dist-info for Python.
The chart library is in brimful's own.

"""


@dataclass(frozen=True, order=True)
class Component:
    """Something of others, in one version; `kind` is that of its package URL."""

    kind: str
    name: str
    version: str
    licence: str
    directory: Path
    """Where the texts of its licence are."""


def python_components(library: Path) -> list[Component]:
    """Give the distributions in a directory, but for brimful's."""
    found = []
    for file in library.glob("*.dist-info/METADATA"):
        facts = email.message_from_bytes(file.read_bytes())
        classifiers = [one for one in facts.get_all("Classifier", []) if one.startswith(CLASSIFIER)]
        stated = str(facts["License-Expression"] or facts["License"] or "")
        # Some have the whole text there.
        if not stated or "\n" in stated or len(stated) > 100:
            stated = " AND ".join(one.removeprefix(CLASSIFIER) for one in classifiers)
        if facts["Name"] != "brimful":
            found.append(Component("pypi", facts["Name"].lower(), facts["Version"], stated, file.parent))
    return sorted(found)


def crates(machine: str) -> list[Component]:
    """Give the crates that the programs and the extension for a machine are linked with."""
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    command.append(f"--filter-platform={machine}-unknown-linux-gnu")
    known: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    needs = {
        node["id"]: [one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
        for node in known["resolve"]["nodes"]
    }
    linked: set[str] = set()
    waiting = list(known["workspace_members"])
    while waiting:
        crate = waiting.pop()
        if crate not in linked:
            linked.add(crate)
            waiting += needs[crate]
    return sorted(
        Component("cargo", one["name"], one["version"], one["license"], Path(one["manifest_path"]).parent)
        for one in known["packages"]
        if one["id"] in linked and one["source"] is not None
    )


def vendored() -> Component:
    """Give the chart library of the pages of `brimful trend`."""
    directory = ROOT / "python/brimful/report/trend/vendor"
    version = re.search(r"uPlot \(v([\d.]+)\)", (directory / "uPlot.iife.min.js").read_text())
    assert version is not None, "the chart library says its version in its first line"
    return Component("npm", "uplot", version[1], "MIT", directory)


def bill_of_materials(version: str, components: Iterable[Component]) -> str:
    """List components as CycloneDX has it."""
    listed = []
    for one in components:
        address = f"pkg:{one.kind}/{one.name}@{one.version}"
        licence = re.sub(r" ?/ ?", " OR ", one.licence)
        is_expression = re.fullmatch(r"[\w.+() -]+", licence) and "License" not in licence
        licences = [{"expression": licence} if is_expression else {"license": {"name": licence}}]
        facts = {"name": one.name, "version": one.version, "licenses": licences}
        listed.append({"type": "library", "bom-ref": address, **facts, "purl": address})
    product = {"type": "application", "name": "brimful", "version": version, "licenses": [{"expression": "Apache-2.0"}]}
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": product}}
    return json.dumps({**bill, "components": listed}, indent=1) + "\n"


def copyright_notes(version: str, components: Iterable[Component], crates_file: str) -> str:
    """Say under which licence each component is."""
    lines = [f"{one.name} {one.version} ({one.kind}): {one.licence}\n" for one in components]
    return HEAD.format(version=version, crates=crates_file) + "".join(lines)


def licence_texts(components: Iterable[Component]) -> str:
    """Give the texts of licences, each once, after the components that have it.

    Some crates come without the text: they are named with those that have the same licence.
    """
    having: dict[str, list[str]] = {}
    of_licence: dict[str, list[str]] = {}
    without = []
    for one in components:
        files = [path for path in sorted(one.directory.iterdir()) if path.is_file() and LICENCE_FILES.match(path.name)]
        texts = [path.read_text().strip() for path in files]
        for text in texts:
            having.setdefault(text, []).append(f"{one.name} {one.version}")
        if texts:
            of_licence.setdefault(one.licence, texts)
        else:
            without.append(one)
    for one in without:
        for text in of_licence[one.licence]:
            having[text].append(f"{one.name} {one.version}")
    return "\n\n".join(f"=== {', '.join(names)}\n\n{text}" for text, names in having.items()) + "\n"
