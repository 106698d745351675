"""A measurement: its steps one after the other, each on disk before the next one begins."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.changes import put_back
from brimful.errors import BrimfulError, MeasureError
from brimful.iocost.controller import CostController, find_control_group
from brimful.iocost.measure import confirmation, protection, searches, solutions
from brimful.iocost.measure import plan as planning
from brimful.iocost.measure.disk import Disk
from brimful.iocost.measure.plan import (
    CONFIRMATION,
    DESCRIBE,
    PREPARE,
    PROBES,
    SEARCHES,
    STEADY,
    VALIDATION,
    VRATE,
    Step,
)
from brimful.iocost.measure.protection import Groups, Protection, VrateMeasurer
from brimful.iocost.measure.searches import Search
from brimful.iocost.measure.wanted import Wanted
from brimful.measurers.base import Description
from brimful.records import Done, End, MeasurerFacts, Record, Run, RunFile, Trial, Warning, read_run
from brimful.runs import open_record, run_identity, saved_run
from brimful.units import format_duration

METHOD = "searches of the disk (brimful iocost measure)"
_ROUND_S = 10.0
_TRIAL_SHARE = 1 / 30
"""Of the time of a search for late IOs: its trials."""
_WIDTH = 0.05
_VRATE_TRIAL_SHARE = 1 / 19
_LEAST_TRIAL_S = 1.0
_MIX = "--read-share=70%"
_VALIDATION_ROUNDS = 2
_CONFIRMATION_GRACE = 0.5
"""A trial of the confirmation may go on for this part of its length after the time of its step."""


def open_controller(disk: Disk, *, dry_run: bool = False) -> tuple[CostController | None, str | None]:
    """Give the controller of a disk, or why vrate cannot be searched; a dry run looks only whether there is one."""
    if not disk.writes:
        return None, "a model needs writes: give --destroy-data"
    if not disk.device_number:
        return None, f"{disk.path} is no whole disk, and io.cost is for whole disks"
    try:
        if not dry_run:
            return CostController(disk.device_number), None
        find_control_group()
    except BrimfulError as error:
        return None, str(error)
    return None, None


def lacks(disk: Disk, reason: str | None, *, quick: bool) -> list[str]:
    """Say what is not measured, and why."""
    found = []
    if not disk.writes:
        found.append("writes, and so the model: give --destroy-data to overwrite the disk")
    if quick:
        found.append("the steady state of writes, and the vrate at which groups are protected: --quick leaves them out")
    elif reason is not None:
        found.append(f"the vrate at which groups are protected: {reason}")
    return found


def measure(
    wanted: Wanted,
    disk: Disk,
    steps: list[Step],
    *,
    controller: CostController | None,
    lacking: list[str],
    out: Path | None,
    resume: bool,
    note: Callable[[str], None],
) -> RunFile:
    """Measure a disk, or go on with a measurement that was interrupted.

    Parameters
    ----------
    wanted, disk, steps
        What is done, and to what.
    controller
        Of the disk, where the kernel has it. It is set back as it was, however this ends.
    lacking
        What cannot be measured, and why, for the record.
    out
        Directory of the record; none: a new one under ``runs/``.
    resume
        Whether to go on with an earlier run of the same measurement.
    note
        Gets what happens, in words.

    Raises
    ------
    MeasureError
        When nothing more can be measured.
    MeasurementInterrupted
        When it was interrupted; what was measured is in the record.
    """
    for text in put_back():
        note(text)
    saved = saved_run(out, wanted.fingerprint(), resume=resume, what="measurement", note=note)
    if saved is not None and saved.is_done():
        note(f"{saved.path}: this measurement is complete; its result is shown again")
        return saved
    described = _describe(disk)
    head: list[Record] = [
        Run(
            **run_identity(),
            subject="block-device",
            measurer=MeasurerFacts(wanted.device, "brimful-disk"),
            load_unit="IO/s",
            load_scope="total",
            device=_device_facts(disk, described),
            traffic=described.traffic,
            source={
                "method": METHOD,
                "deadline_s": wanted.deadline_s,
                "undo": [*disk.undo, *(controller.undo if controller is not None else [])],
            },
            deviations=[str(text) for text in described.traffic.get("deviations", [])],
            fingerprint=wanted.fingerprint(),
        ),
        *(Warning(code="not-measured", text=text) for text in lacking),
    ]
    with open_record(out, saved, head) as (writer, file):
        run = _Measurement(disk, steps, controller, wanted, file, writer.write, note)
        try:
            run.perform()
        except KeyboardInterrupt as error:
            raise MeasurementInterrupted(file.path, run.steps_done) from error
        path = file.path
    return read_run(path)


class MeasurementInterrupted(KeyboardInterrupt):
    """A measurement was interrupted, after a number of ``steps``; the record at ``path`` has them."""

    def __init__(self, path: Path, steps: int) -> None:
        super().__init__()
        self.path, self.steps = path, steps


class _Measurement:
    def __init__(
        self,
        disk: Disk,
        steps: list[Step],
        controller: CostController | None,
        wanted: Wanted,
        file: RunFile,
        write: Callable[[Record], None],
        note: Callable[[str], None],
    ) -> None:
        self._disk, self._steps, self._controller, self._wanted = disk, steps, controller, wanted
        self._write_record, self._note = write, note
        self._trials = list(file.trials)
        self._done = {record.name: record for record in file.of(Done)}
        ends = [end.search_s for end in file.ends] + [done.start_s + done.elapsed_s for done in self._done.values()]
        self._start_s = time.monotonic() - max(ends, default=0.0)

    @property
    def steps_done(self) -> int:
        """How many steps came to their end."""
        return len(self._done)

    def perform(self) -> None:
        """Perform what is not done yet, and end the record."""
        reason, text = "done", ""
        try:
            for number, step in enumerate(self._steps, start=1):
                if step.name not in self._done:
                    left_s = planning.total_s([each for each in self._steps if each.name not in self._done])
                    self._note(f"step {number} of {len(self._steps)}: {step.text} ({format_duration(left_s)} left)")
                    self._perform(step)
            with undisturbed():
                for record in solutions.conclude(self._results(), deadline_s=self._wanted.deadline_s):
                    self._write_record(record)
        except KeyboardInterrupt:
            reason = "interrupted"
            raise
        except MeasureError as error:
            reason, text = "measurement-failed", str(error)
            raise
        finally:
            with undisturbed():
                self._write_record(End(reason, len(self._trials), self._elapsed_s(), text))

    def _results(self) -> dict[str, dict[str, Any]]:
        return {name: done.result for name, done in self._done.items()}

    def _targets(self) -> dict[str, int]:
        return solutions.targets_us(self._results(), deadline_s=self._wanted.deadline_s)

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._start_s

    def _perform(self, step: Step) -> None:
        began_s = self._elapsed_s()
        result = self._result_of(step, began_s)
        done = Done(name=step.name, start_s=began_s, elapsed_s=self._elapsed_s() - began_s, result=result)
        with undisturbed():
            self._write_record(done)
            self._done[step.name] = done

    def _result_of(self, step: Step, began_s: float) -> dict[str, Any]:
        if step.name in PROBES:
            return self._probe(step)
        if step.name in SEARCHES:
            return self._search(step, began_s)
        if step.name == PREPARE:
            return self._disk.prepare()
        if step.name == STEADY:
            return self._disk.prepare(f"--steady-rounds={step.seconds / _ROUND_S:.0f}")
        if step.name == VRATE:
            return self._search_vrate(step, began_s)
        if step.name == CONFIRMATION:
            return self._confirm(step)
        if step.name == VALIDATION:
            return self._validate(step)
        assert step.name == DESCRIBE
        return {}

    def _probe(self, step: Step) -> dict[str, Any]:
        pattern, size, _ = PROBES[step.name]
        with self._disk.unmerged():
            found = self._disk.probe(pattern, size, step.seconds)
        return msgspec.structs.asdict(found)

    def _search(self, step: Step, began_s: float) -> dict[str, Any]:
        pattern, _ = SEARCHES[step.name]
        measurer = self._disk.measurer(pattern, *([_MIX] if pattern == "randrw" else []))
        try:
            described = measurer.describe()
            limits = [limit for limit in (described.max_load, described.overload) if limit is not None]
            trial_s = max(step.seconds * _TRIAL_SHARE, _LEAST_TRIAL_S)
            search = Search(
                step=step.name,
                goals=searches.goals(list(searches.GOALS), trial_s=trial_s, first_trial_s=trial_s / 2, width=_WIDTH),
                min_load=max(min(limits) / 1000, 2 / trial_s),
                max_load=min(limits),
                budget_s=step.seconds,
            )
            result = search.run(measurer, self._saved(step), began_s=self._begun(step, began_s), sink=self._keep)
        finally:
            measurer.close()
        return searches.summary(result)

    def _search_vrate(self, step: Step, began_s: float) -> dict[str, Any]:
        trial_s = max(step.seconds * _VRATE_TRIAL_SHARE, _LEAST_TRIAL_S)
        model = solutions.base_model(self._results())
        targets = self._targets()
        with self._protection() as (tester, controller):
            measurer = VrateMeasurer(tester, lambda vrate: controller.set(model, solutions.pinned(vrate, targets)))
            search = Search(
                step=step.name,
                goals=searches.goals(["p999", "p99"], trial_s=trial_s, first_trial_s=trial_s, width=_WIDTH),
                min_load=solutions.least_vrate(self._results()),
                max_load=protection.GREATEST_VRATE,
                budget_s=step.seconds,
            )
            result = search.run(measurer, self._saved(step), began_s=self._begun(step, began_s), sink=self._keep)
        trials = [protection.facts(trial.load, trial) for trial in result.trials if trial.invalid is None]
        return {**searches.summary(result), "load": solutions.protected_load(self._results()), "trials": trials}

    def _confirm(self, step: Step) -> dict[str, Any]:
        results = self._results()
        seconds = self._validation_trial_s()
        model, targets = solutions.base_model(results), self._targets()
        end_s = time.monotonic() + step.seconds
        with self._protection() as (tester, controller):

            def try_at(vrate: float, stop_above: float) -> dict[str, Any] | None:
                if time.monotonic() + protection.SETTLE_S + seconds > end_s + _CONFIRMATION_GRACE * seconds:
                    return None
                controller.set(model, solutions.pinned(vrate, targets))
                return tester.facts_beside_hog(vrate, seconds, stop_above=stop_above)

            return confirmation.confirm(results[VRATE], try_at, least_vrate=solutions.least_vrate(results))

    def _validation_trial_s(self) -> float:
        """Give the length of trials that judge a setting: those that select one are as long."""
        step_s = next((step.seconds for step in self._steps if step.name == VALIDATION), 0.0)
        return max(step_s / (3 * _VALIDATION_ROUNDS) - protection.SETTLE_S, _LEAST_TRIAL_S)

    def _validate(self, step: Step) -> dict[str, Any]:
        results = self._results()
        vrate = solutions.found_vrate(results)
        if vrate is None:
            return {}
        seconds = self._validation_trial_s()
        model, targets = solutions.base_model(results), self._targets()
        found: dict[str, list[dict[str, Any]]] = {"off": [], "pinned": [], "dynamic": []}
        with self._protection() as (tester, controller):
            settings = {
                "off": (0.0, controller.turn_off),
                "pinned": (vrate, lambda: controller.set(model, solutions.pinned(vrate, targets))),
                "dynamic": (vrate, lambda: controller.set(model, solutions.dynamic(vrate, targets))),
            }
            for _ in range(_VALIDATION_ROUNDS):
                for name, (at, apply) in settings.items():
                    apply()
                    facts = tester.facts_beside_hog(at, seconds)
                    if facts is not None:
                        found[name].append(facts)
        return found

    @contextlib.contextmanager
    def _protection(self) -> Iterator[tuple[Protection, CostController]]:
        """Give what tries settings; whatever is set is set back, however the block ends."""
        controller = self._controller
        assert controller is not None
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._disk.claimed())
            groups = Groups(controller.directory)
            stack.callback(groups.close)
            stack.callback(controller.restore)
            tester = Protection(self._disk, groups, controller, solutions.protected_load(self._results()))
            stack.callback(tester.close)
            try:
                yield tester, controller
            finally:
                # A second signal has to wait until everything is as it was.
                with undisturbed():
                    stack.close()

    def _saved(self, step: Step) -> list[Trial]:
        return [trial for trial in self._trials if trial.step == step.name]

    def _begun(self, step: Step, began_s: float) -> float:
        saved = self._saved(step)
        return saved[0].start_s if saved else began_s

    def _keep(self, trial: Trial) -> None:
        numbered = msgspec.structs.replace(trial, seq=len(self._trials))
        self._write_record(numbered)
        self._trials.append(numbered)


def _describe(disk: Disk) -> Description:
    measurer = disk.measurer("randread")
    try:
        return measurer.describe()
    finally:
        measurer.close()


def _device_facts(disk: Disk, described: Description) -> dict[str, Any]:
    facts = {**disk.lab_facts(), **described.device}
    if "bytes" in facts:
        facts["size_bytes"] = facts["bytes"]
    if disk.device_number:
        facts["device_number"] = disk.device_number
    return facts
