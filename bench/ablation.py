"""What each mechanism of `straddle` earns: its search time with one of them switched off, divided by the time with all.

A mechanism is switched off by constants: the table says which ones and what they become. Each variant is built from a
copy of the crates under `build/ablation`. All variants search the same systems in the same weather; ratios are by
search, given as geometric means with their standard errors.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import statistics
import subprocess
from pathlib import Path

from searches import HELD_OUT, KINDS, STRENGTHS, straddle

ROOT = Path(__file__).resolve().parents[1]
STRATEGY = Path("crates/search/src/strategy/straddle")
FAMILIES = {"kinds": KINDS, "strengths": STRENGTHS, "held-out": HELD_OUT, "drawn": ["drawn"]}
NEVER = "1e9"
# name: (file, constant, value that switches it off)
MECHANISMS: dict[str, list[tuple[str, str, str]]] = {
    "knees and gaps are looked for": [("belief/mod", "EARLY_SHARE", "0.0")],
    "a rival without amounts": [
        ("belief/rival", "PRIOR_ODDS", NEVER),
        ("belief/rival", "PRIOR_ODDS_SHORT", NEVER),
    ],
    "trials share their weather": [("goals", "WEATHERS", NEVER)],
    "units that are lost one by one": [("belief/stray", "UNIT_PRIOR", "0.0")],
    "buffers are estimated": [("belief/buffer", "APART", NEVER)],
    "a finer scale of softness": [("belief/curve", "LIKELY_SOFT", NEVER)],
    "goals share loads": [("plan/mod", "SHARING_PASSES", "0")],
    "attempts take turns": [("plan/turns", "ATTEMPT", "2.0")],
    "upper goals wait for other weather": [("plan/turns", "OTHER_WEATHER_TRIALS", "0")],
    "upper goals settle the lower bound first": [("plan/mod", "LOWER_FIRST", "1.0")],
    "attempts that end after the same time": [("account/alike", "STEP_FROM", NEVER)],
    "attempts that lose the same time": [("account/alike", "AGREEMENT", "-1.0")],
    "min load once steps are wide": [("account/plain", "WIDE_STEP", "1_000_000")],
    "losses that come with changes of the load": [("account/mod", "RECOVERED", "1_000_000")],
    # Not endless, as some searches would be then.
    "the account": [
        ("account/mod", "CREDIT", "100.0"),
        ("account/alike", "STEP_FROM", NEVER),
        ("account/alike", "AGREEMENT", "-1.0"),
        ("account/mod", "RECOVERED", "1_000_000"),
    ],
    "the middle of a wide gap first": [("looks", "WIDE_GAP", NEVER)],
    "the lowest load where several lost a little": [("looks", "IN_VAIN", "1_000_000")],
    "medium trials before long ones": [("looks", "MEDIUM_SHARE", "1")],
}


def switched_off(source: str, constant: str, value: str) -> str:
    """The source with another value of a constant."""
    pattern = rf"^((?:pub\(super\) )?const {constant}: [^=]+ = )[^;]+;$"
    changed, found = re.subn(pattern, rf"\g<1>{value};", source, flags=re.MULTILINE)
    if found != 1:
        raise ValueError(f"{constant}: {found} definitions; correct the table in bench/ablation.py")
    return changed


def build(work: Path, off: list[tuple[str, str, str]]) -> Path:
    """The example `search_time` with these constants changed."""
    tree = work / "tree"
    if not tree.exists():
        tree.mkdir(parents=True)
        for name in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"]:
            shutil.copy(ROOT / name, tree)
    # Not with the times of the files: what is older than the last build would not be built again.
    shutil.copytree(ROOT / "crates", tree / "crates", dirs_exist_ok=True, copy_function=shutil.copy)
    for file, constant, value in off:
        path = tree / STRATEGY / f"{file}.rs"
        path.write_text(switched_off(path.read_text(), constant, value))
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "brimful-search", "--example", "search_time"]
    subprocess.run([*command, "--target-dir", str(work / "target")], cwd=tree, check=True)
    return work / "target/release/examples/search_time"


def times(binary: Path, options: argparse.Namespace, family: str, goals: str) -> list[float]:
    """Seconds of each search; the random family has as many draws as one of the others has searches."""
    kinds = FAMILIES[family]
    seeds = options.seeds * len(KINDS) // len(kinds) or 1
    found = [straddle(str(binary), "straddle", kind, goals, options.first, seeds) for kind in kinds]
    return [each["time"] for searches in found for each in searches]


def describe(without: list[float], whole: list[float]) -> str:
    logarithms = [math.log(off / on) for off, on in zip(without, whole, strict=True)]
    mean = math.exp(statistics.fmean(logarithms))
    return f"{mean:6.3f} ±{mean * statistics.stdev(logarithms) / math.sqrt(len(logarithms)):6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--goals", default="production,e0-21,e0-60,rfc2544-full", help="names of goal sets")
    parser.add_argument("--first", type=int, default=80001, help="the first seed")
    parser.add_argument("--seeds", type=int, default=100, help="searches of each of the eight kinds")
    parser.add_argument("--only", default="", help="only mechanisms whose names have one of these in them, | between")
    parser.add_argument("--work", type=Path, default=ROOT / "build/ablation")
    options = parser.parse_args()
    cells = [(family, goals) for family in options.families.split(",") for goals in options.goals.split(",")]
    binary = build(options.work, [])
    whole = {cell: times(binary, options, *cell) for cell in cells}
    print("time without the mechanism / with it: " + ", ".join(f"{family} {goals}" for family, goals in cells))
    for name, off in MECHANISMS.items():
        if any(part in name for part in options.only.split("|")):
            binary = build(options.work, off)
            row = [describe(times(binary, options, *cell), whole[cell]) for cell in cells]
            print(f"{name:54} " + "  ".join(row), flush=True)


if __name__ == "__main__":
    main()
