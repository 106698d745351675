"""Searches of the CSIT library, `classic` and `bisect`, kept under `build/`: only a changed strategy is searched anew.

A file holds the searches of one strategy on one specification of systems, a line a seed, so that other ranges of seeds
add to it. What is kept belongs to the sources that it was computed with; a digest of them names the folder.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from searches import csit, straddle, with_parameters

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build/references"
SYSTEMS = ("bench/searches.py", "crates/trial/src", "crates/sim/src", "crates/search/examples/search_time")
ENGINE = (*SYSTEMS, "crates/search/src")
NOT_ENGINE = "crates/search/src/strategy/straddle"


@cache
def digest(sources: tuple[str, ...]) -> str:
    """Of all files below these paths but those of `straddle`."""
    found = hashlib.sha256()
    for source in sources:
        path = ROOT / source
        for file in sorted(path.rglob("*.rs")) if path.is_dir() else [path]:
            if not file.is_relative_to(ROOT / NOT_ENGINE):
                found.update(file.read_bytes())
    return found.hexdigest()[:16]


def searches(binary: str, strategy: str, kind: str, goals: str, first: int, count: int) -> list[dict]:
    """One search for each seed, in their order; those that did not end are left out."""
    sources = SYSTEMS if strategy == "csit" else ENGINE
    file = KEPT / digest(sources) / f"{strategy}_{goals}_{with_parameters(kind, goals)}.jsonl".replace("/", "-")
    kept = {each["seed"]: each for each in map(json.loads, file.read_text().splitlines())} if file.exists() else {}
    wanted = range(first, first + count)
    new = []
    for begin, length in runs([seed for seed in wanted if seed not in kept]):
        new += found(binary, strategy, kind, goals, begin, length)
    if new:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as output:
            output.writelines(json.dumps(each) + "\n" for each in new)
        kept |= {each["seed"]: each for each in new}
    return [kept[seed] for seed in wanted if seed in kept]


def found(binary: str, strategy: str, kind: str, goals: str, first: int, count: int) -> list[dict]:
    if strategy != "csit":
        return straddle(binary, strategy, kind, goals, first, count)
    results = csit(binary, kind, goals, first, count)
    return [{"seed": first + index} | each for index, each in enumerate(results)]


def runs(seeds: list[int]) -> list[tuple[int, int]]:
    """Seeds as (first, count) of those that follow each other."""
    found: list[tuple[int, int]] = []
    for seed in seeds:
        if found and sum(found[-1]) == seed:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found
