"""A campaign that nobody measured, with everything in it that a report has to show."""

from pathlib import Path

from brimful.records import End, GoalResult, MeasurerFacts, Member, Run, RunFile, Warning
from support import NDR_AND_PDR

RESULTS = {
    # measurer, frame size: NDR and PDR of each repeat, in frames/s
    ("lab:bridge", "64"): [(812e3, 840e3), (815e3, 842e3), (809e3, 838e3)],
    ("lab:bridge", "1518"): [(79.1e3, 80.2e3), (79.3e3, 80.3e3), (78.9e3, 80.4e3)],
    ("lab:bridge", "imix"): [(310e3, 322e3), (311e3, 322e3), (308e3, 321e3)],
    ("lab:router", "64"): [(512e3, 533e3), (None, 530e3), (515e3, 531e3)],
    ("lab:router", "1518"): [(None, None), (None, None), (None, None)],
    ("lab:router", "imix"): [(201e3, 209e3), "the lab is on fire", (204e3, 211e3)],
}
"""None: limited by the max load, 81 kpps. A text: measuring failed."""
MAX_LOAD = 81e3
IMIX = [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594]


def member_run(measurer, size, repeat):
    return Run(
        schema=1,
        run_id=f"invented-{measurer[4:]}-{size}-{repeat}",
        started="2026-01-01T00:00:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful", "search"],
        host={},
        measurer=MeasurerFacts(measurer, "brimful-tester", ceiling=900e3),
        goals=NDR_AND_PDR,
        min_load=1e3,
        max_load=MAX_LOAD if size == "1518" else 900e3,
        strategy="straddle",
        conversion_factor=2.0,
        traffic={"frame_size": size, "direction": "bi"} | ({"frame_sizes": IMIX} if size == "imix" else {}),
        device={"device": measurer[4:], "link_bps": 1e9},
        hint=None if repeat == 1 else 800e3,
    )


def result(goal, value):
    if value is None:
        return GoalResult(goal, False, "max-load-is-lower-bound", MAX_LOAD, None, MAX_LOAD)
    return GoalResult(goal, True, "regular", value, value * 1.004, value)


def members(results):
    made = []
    for repeat in (1, 2, 3):
        for (measurer, size), repeats in results.items():
            found = repeats[repeat - 1]
            failed = found if isinstance(found, str) else ""
            name = f"{len(made) + 1:03}-{measurer.replace(':', '-')}-{size}"
            made.append(
                Member(
                    name=name,
                    measurer=measurer,
                    repeat=repeat,
                    path=name,
                    end=End(
                        reason="measurement-failed" if failed else "done",
                        trials=0 if failed else 60 + len(made),
                        search_s=0.0 if failed else 61.5 + len(made),
                        text=failed,
                    ),
                    frame_size=size,
                    run=None if failed else member_run(measurer, size, repeat),
                    goal_results=[]
                    if failed
                    else [result(goal, value) for goal, value in zip(("ndr", "pdr"), found, strict=True)],
                    warnings=[Warning(code="near-tester-ceiling", text="it may be the tester's limit")]
                    if size == "64" and measurer == "lab:bridge"
                    else [],
                )
            )
    return made


def campaign(results=None, **changes):
    results = RESULTS if results is None else results
    measurers, sizes = (list(dict.fromkeys(key[place] for key in results)) for place in (0, 1))
    made = members(results)
    run = Run(
        schema=1,
        run_id="invented",
        started="2026-01-01T00:00:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful", "search", "-m", *measurers, "--sizes", ",".join(sizes), "--repeat", "3"],
        host={"kernel": "6.1.0", "cpus": 2},
        subject="campaign",
        goals=NDR_AND_PDR,
        strategy="straddle",
        source={"measurers": measurers, "frame_sizes": sizes, "repeats": 3, "shared_guesses": True},
        preset="csit",
    )
    end = End(
        reason="done",
        trials=sum(each.end.trials for each in made),
        search_s=sum(each.end.search_s for each in made),
    )
    fields = {
        "path": Path("runs/invented/run.jsonl"),
        "run": run,
        "trials": [],
        "bounds": [],
        "goal_results": [],
        "warnings": [],
        "ends": [end],
        "members": made,
    }
    return RunFile(**(fields | changes))
