"""Records as long as one likes, made without waiting for a disk: of a search that was killed."""

from pathlib import Path

import msgspec
from attacking import dice
from brimful.cli.goal_options import parsed_goals
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import encode
from brimful.records.digest import Digest
from brimful.session import trial_of
from brimful.throughput.goals import named_goals
from brimful.throughput.manager import SearchRequest, _begin
from brimful.throughput.verify import TrialLog

SYSTEM = "sim:noisy,capacity=1Mpps,seed=11"
GOALS = ("loss=0,trial=1s,sum=1s,exceed=0%", "loss=0.5%,trial=1s,sum=1s,exceed=0%")
SEARCH = ("search", "-m", SYSTEM, *(word for goal in GOALS for word in ("--goal", goal)))


def request(strategy):
    """What `SEARCH` asks for."""
    goals = named_goals(parsed_goals(GOALS))
    return SearchRequest(measurer=SYSTEM, goals=goals, strategy=strategy, traffic={"arguments": []})


def write_record(path: Path, *, trials: int, loads: int, strategy: str = "straddle") -> None:
    """Write the record of a search that was killed after so many trials at so many loads.

    Most loads are within 5 % of the capacity, where a search spends its time.
    """
    asked = request(strategy)
    measurer = SimulatedMeasurer(SYSTEM.removeprefix("sim:"))
    run = _begin(asked, measurer.describe(), None)
    chance = dice("large", loads)
    places = [chance.uniform(0.95e6, 1.05e6) for _ in range(loads)]
    made = []
    for seq in range(trials):
        load, start_s = places[seq * loads // trials], measurer.now()
        output = measurer.measure(load, 1.0)
        made.append(
            trial_of(
                output,
                seq=seq,
                load=load,
                duration_s=1.0,
                start_s=start_s,
                end_s=measurer.now(),
                invalid=None,
                phase=None,
            )
        )
    moves = {}
    for move in TrialLog(run.goals, made, (run.min_load, run.max_load)).moves:
        moves.setdefault(move.seq, []).append(move)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(Digest().line(msgspec.structs.replace(run, command=["brimful", *SEARCH])))
        for trial in made:
            file.writelines(map(encode, [trial, *moves.get(trial.seq, [])]))
