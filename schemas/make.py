"""Writes the JSON Schema of the record format and the example records: ``python schemas/make.py``.

The examples are searches of simulated systems in virtual time, small enough to be checked by hand.
"""

from pathlib import Path

from brimful import records
from brimful.measurers.base import InvalidTrialError, TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Goal, MeasurerFacts, Record, Run, Warning, read_run
from brimful.throughput.run_loop import Plan, SearchLoop

HERE = Path(__file__).parent
GOALS = [
    Goal("ndr", 0.0, 0.5, 1.0, 3.0, 1.0, 0.05),
    Goal("pdr", 0.005, 0.5, 1.0, 3.0, 1.0, 0.05),
]


class Troubled:
    """A simulated system whose tester spoils, or is stopped at, the calls with these numbers."""

    def __init__(self, spec: str, *, spoiled: tuple[int, ...] = (), stopped_at: int | None = None) -> None:
        self._inner = SimulatedMeasurer(spec)
        self._spoiled = spoiled
        self._stopped_at = stopped_at
        self._calls = 0

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Measure, spoil or stop."""
        call = self._calls
        self._calls += 1
        if call == self._stopped_at:
            raise KeyboardInterrupt
        output = self._inner.measure(load, duration_s, stop_above=stop_above)
        if call in self._spoiled:
            message = "fell 12 ms behind schedule"
            sent = round(0.9 * output.sent)
            raise InvalidTrialError(message, {"intended": output.intended, "sent": sent, "lost": 0})
        return output

    def __getattr__(self, name: str) -> object:
        """Be the simulated system in everything else."""
        return getattr(self._inner, name)


def make_example(name: str, measurer: Troubled, *, max_load: float = 2e6, warm_up_s: float = 0.0) -> None:
    """Write one example."""
    path = HERE / "examples" / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    begun = Plan(goals=GOALS, min_load=1e4, max_load=max_load, strategy="bisect", warm_up_s=warm_up_s)
    description = measurer.describe()
    run = Run(
        schema=records.SCHEMA,
        run_id=f"example-{name}",
        started="2026-01-01T00:00:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful", "search", "--measurer", str(description.name)],
        host={"kernel": "6.1.0", "machine": "x86_64", "cpu_model": "an example", "cpus": 2},
        measurer=MeasurerFacts(description.name, description.name, description.contract),
        goals=GOALS,
        min_load=begun.min_load,
        max_load=begun.max_load,
        strategy=begun.strategy,
        device=description.device,
        traffic=description.traffic,
        early_termination=begun.early_termination,
        warm_up_s=begun.warm_up_s,
        labels={"example": "yes"},
    )
    # Without digests, so that tests and people may change a line.
    with path.open("wb", buffering=0) as file:

        def write(record: Record) -> None:
            file.write(records.encode(record))

        write(run)
        loop = SearchLoop(begun, measurer, sink=write)
        result = loop.run()
        if result.end.reason == "interrupted":
            loop = SearchLoop(begun, SimulatedMeasurer(str(description.device["simulated"])), sink=write)
            saved = read_run(path)
            loop.resume(saved.trials, saved.bounds)
            loop.run()
        spoiled = sum(trial.invalid not in (None, "warm-up") for trial in result.trials)
        if spoiled:
            text = f"{spoiled} of {len(result.trials)} trials were invalid and not counted"
            write(Warning(code="invalid-trials", text=text))


def main() -> None:
    """Write everything."""
    (HERE / "record-v1.json").write_bytes(records.json_schema())
    (HERE / "examples").mkdir(exist_ok=True)
    make_example("regular", Troubled("sharp,capacity=1Mpps"))
    make_example("irregular", Troubled("sharp,capacity=1Mpps"), max_load=1.002e6)
    make_example("resumed", Troubled("soft-knee,capacity=1Mpps,seed=7", stopped_at=9))
    make_example("invalid", Troubled("sharp,capacity=1Mpps", spoiled=(4, 5, 11)), warm_up_s=2.0)


if __name__ == "__main__":
    main()
