"""Prints docs/reference/record-fields.md: the kinds of records with the fields that they may have, as the code says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import brimful.records

HEAD = """# The fields of a record

Every line of [the record of a run](record.md), by its `kind`, and the objects in lines. `=` gives the default of a
field that may be left out (`none`: it is not known then). Written by `make docs` from `python/brimful/records`.
"""
MODULES = (
    *("run", "measurer", "throughput", "delay", "burst", "recovery", "loss", "paired", "bisection"),
    *("suite", "switching", "campaign", "analysis"),
)
"""Those that define records, in the order of the page."""


def structs() -> list[ast.ClassDef]:
    """Give the classes that are a line or a part of one."""
    folder = Path(brimful.records.__file__).parent
    found = [node for name in MODULES for node in ast.parse((folder / f"{name}.py").read_text()).body]
    return [node for node in found if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def kind(struct: ast.ClassDef) -> str | None:
    """Give what lines of a class have in ``kind``; none if it is a part of a line."""
    return next((ast.literal_eval(word.value) for word in struct.keywords if word.arg == "tag"), None)


def fields(struct: ast.ClassDef) -> list[tuple[ast.AnnAssign, str]]:
    """Give the fields of a class, each with its docstring; a field without one is an error."""
    found = []
    for field, after in zip(struct.body, [*struct.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
                message = f"{struct.name}.{ast.unparse(field.target)} has no docstring"
                raise ValueError(message)
            found.append((field, " ".join(str(after.value.value).split())))
    return found


def default(field: ast.AnnAssign) -> str:
    """Give the default of a field as JSON spells it; empty if it must be there."""
    if field.value is None:
        return ""
    text = ast.unparse(field.value)
    spelled = {"None": "null", "True": "true", "False": "false", "''": '""', "MeasurerFacts()": "{}", "UNSET": "none"}
    return f" (= `{spelled.get(text, text)}`)".replace("'", '"')


def places(structs: list[ast.ClassDef]) -> dict[str, list[str]]:
    """Give for each class the fields whose values it is, from the line on: ``run.paired.devices``."""
    found: dict[str, list[str]] = {}

    def visit(struct: ast.ClassDef, path: str) -> None:
        for field, _ in fields(struct):
            words = re.findall(r"\w+", ast.unparse(field.annotation))
            for other in structs:
                if other.name in words and kind(other) is None:
                    found.setdefault(other.name, []).append(f"`{path}.{ast.unparse(field.target)}`")
                    visit(other, f"{path}.{ast.unparse(field.target)}")

    for struct in structs:
        name = kind(struct)
        if name is not None:
            visit(struct, name)
    return found


def render() -> str:
    """Give the whole page."""
    every = structs()
    found = places(every)
    parts = [HEAD]
    for struct in sorted(every, key=lambda struct: (kind(struct) is None, found.get(struct.name, []))):
        name = kind(struct)
        title = f"`{name}`" if name is not None else ", ".join(found[struct.name])
        lines = [f"- `{ast.unparse(field.target)}`{default(field)}: {text}" for field, text in fields(struct)]
        about = " ".join((ast.get_docstring(struct) or "").split())
        parts.append(f"## {title}\n\n{about}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts).replace("``", "`")


if __name__ == "__main__":
    print(render(), end="")
