"""Which modules of a crate use which, as far as `use` and paths say; what tests use is left out."""

import re
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"
Module = tuple[str, ...]
"""The names from the root of the crate: none is the root itself."""


def imports(crate: str) -> dict[Module, set[Module]]:
    """Give for each module of the library the others that it uses, whatever their way through re-exports."""
    source = CRATES / crate / "src"
    files = {module_of(path.relative_to(source)): path for path in source.rglob("*.rs")}
    texts = {
        module: code(path.read_text()) for module, path in files.items() if module[:1] not in (("bin",), ("main",))
    }
    exported = dict(re_exports(texts))
    found = {}
    for module, text in texts.items():
        reached = {resolve(path, texts, exported) for path in used(text, module, texts)}
        # The root names everything to hand it on, and a module may use what the one around it defines.
        found[module] = {other for other in reached if module and module[: len(other)] != other}
    return found


def module_of(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts


def code(text: str) -> str:
    """Give a file without comments and tests, which stand last."""
    return re.sub(r"//.*", "", re.split(r"#\[cfg\((?:all\()?test", text)[0])


def used(text: str, module: Module, modules) -> list[Module]:
    trees = [re.sub(r"\s+", " ", tree) for tree in re.findall(r"\buse\s+([^;]+);", text)]
    paths = [path for tree in trees for path in flat(tree)]
    paths += [tuple(path.split("::")) for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", text)]
    return [found for path in paths if (found := absolute(path, module, modules)) is not None]


def flat(tree: str, before: Module = ()) -> list[Module]:
    """Give the paths of a tree of `use`.

    >>> flat("crate::{a, b::{c, d as e}}")
    [('crate', 'a'), ('crate', 'b', 'c'), ('crate', 'b', 'd')]
    """
    tree = tree.strip()
    group = re.fullmatch(r"((?:\w+::)*)\{(.*)\}", tree)
    if group is None:
        return [before + tuple(tree.split(" as ")[0].split("::"))] if tree else []
    before += tuple(filter(None, group[1].split("::")))
    parts, depth = [""], 0
    for letter in group[2]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [path for part in parts for path in flat(part, before)]


def absolute(path: Module, module: Module, modules) -> Module | None:
    """Give a path from the root of the crate; none where it leads out of it."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return module + path[1:]
    around = module
    while path[0] == "super":
        around, path = around[:-1], path[1:]
        if path[:1] != ("super",):
            return around + path
    return module + path if module + path[:1] in modules else None


def re_exports(texts):
    for module, text in texts.items():
        for tree in re.findall(r"\bpub(?:\([a-z ]+\))?\s+use\s+([^;]+);", text):
            for path in flat(re.sub(r"\s+", " ", tree)):
                found = absolute(path, module, texts)
                if found is not None and found != (*module, path[-1]):
                    yield (*module, path[-1]), found


def resolve(path: Module, modules, exported) -> Module:
    """Give the module that a path reaches."""
    for length in range(len(path), 0, -1):
        if path[:length] in modules:
            return path[:length]
        if path[:length] in exported:
            return resolve(exported[path[:length]] + path[length:], modules, exported)
    return ()
