"""Run a bisection again from its trials, and hold what it did and found against what the record claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from brimful.bisection.decisions import Answer, Next
from brimful.bisection.log import Log, history_of, plan_of, recorded
from brimful.bisection.manager import check_record
from brimful.bisection.visiting import summarise
from brimful.errors import RecordError
from brimful.records import Bisected, BisectionPlan, Build, RunFile, Trial, Visit
from brimful.session import DONE

_TOLERANCE = 1e-7


class BisectionVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    answer: Bisected | None
    visits: int
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end."""


def verify_bisection(file: RunFile) -> BisectionVerification:
    """Recompute every visit, every decision and the answer of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan, log = plan_of(file), Log.of(file)
    findings, notes = file.checked()
    claimed = file.last(Bisected)
    try:
        check_record(file)
        findings += _visits(log.visits, file.trials)
        answer = decided_again(plan, file, findings)
    except RecordError as error:
        return BisectionVerification(None, len(log.visits), len(file.trials), [*findings, str(error)], notes)
    if file.ends and file.ends[-1].reason == DONE:
        if answer is None:
            findings.append("the run is recorded as done, but its visits leave it open which build it is")
        elif claimed is None or not _is_same(claimed, answer):
            findings.append(f"the answer is recorded as {_said(claimed)}, but the visits give {_said(answer)}")
    return BisectionVerification(answer, len(log.visits), len(file.trials), findings, notes)


def decided_again(plan: BisectionPlan, file: RunFile, findings: list[str]) -> Bisected | None:
    """Decide again what was to be done at each point of the record; gives the answer at its end, if there is one."""
    history, log = history_of(plan), Log([], [])
    for record in file.others:
        if isinstance(record, Build):
            log.builds.append(record)
        elif isinstance(record, Visit):
            step, _ = log.decide(plan, history)
            due = (step.build, step.beside, step.purpose) if isinstance(step, Next) else ("no visit",)
            if due != (record.build, record.beside, record.purpose):
                made = f"build {record.build} beside {record.beside} ({record.purpose})"
                findings.append(f"visit {record.visit} is of {made}, but due was {due}")
            log.visits.append(record)
    step, belief = log.decide(plan, history)
    return recorded(step, belief) if isinstance(step, Answer) else None


def _visits(visits: Sequence[Visit], trials: Sequence[Trial]) -> Iterator[str]:
    for visit in visits:
        found = summarise([trial for trial in trials if trial.instance == visit.visit], visit.queue)
        if found is None:
            yield f"visit {visit.visit}: its trials are not there"
            continue
        for name in ("mean", "deviation", "pairs"):
            ours, theirs = getattr(found, name), getattr(visit, name)
            if not math.isclose(ours, theirs, rel_tol=_TOLERANCE, abs_tol=1e-12):
                yield f"visit {visit.visit}: its {name} is recorded as {theirs!r}, but the trials give {ours!r}"


def _is_same(claimed: Bisected, found: Bisected) -> bool:
    numbers = [(claimed.probability, found.probability), (claimed.change, found.change), (claimed.none, found.none)]
    numbers += list(zip(claimed.belief, found.belief, strict=False))
    same = claimed.answer == found.answer and claimed.builds == found.builds and claimed.reason == found.reason
    return same and all(math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6) for one, other in numbers)


def _said(answer: Bisected | None) -> str:
    return "none" if answer is None else f"{answer.answer} of builds {answer.builds} ({answer.probability:.4f})"
