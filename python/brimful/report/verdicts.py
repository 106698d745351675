"""What ``brimful verify`` says of a record, by its subject."""

from __future__ import annotations

from collections.abc import Sequence

from brimful import units
from brimful.bisection.verification import verify_bisection
from brimful.burst.verification import verify_burst
from brimful.campaign.verification import verify_campaign, verify_runs
from brimful.delay.verification import verify_delay
from brimful.errors import UsageError
from brimful.loss.verification import verify_loss
from brimful.paired.verification import verify_comparison
from brimful.records import SPECIFICATION, Goal, RunFile, planned_members, subjects
from brimful.records.subjects import subject_of
from brimful.recovery.verification import verify_recovery
from brimful.report import words
from brimful.report.suite.results import results_of
from brimful.switching.verification import verify_switching
from brimful.throughput.verify import Verification, open_run, verify
from brimful.verified import Verified

_RECOMPUTED = {
    "burst-campaign": ("burst", "every length, average and buffer time"),
    "loss-campaign": ("trial", "every loss ratio"),
    "recovery-campaign": ("trial", "every time"),
}
"""Subject of a campaign: what its trials are, and what is computed again of them."""
_MARKS = {"lower-bound": "lower", "upper-bound": "upper", "undecided": "-"}


def of_search(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the verdicts of a search."""
    return of_trials(verify(open_run(file, goals)), file.run.load_unit)


def of_campaign(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the verdicts of every search of a campaign."""
    found = verify_campaign(file, goals)
    lines = []
    for member in found:
        lines.append(f"{member.name}: {_trials_at_loads(member.trials, member.loads)}")
        lines.extend(f"  does not hold: {finding.text}" for finding in member.findings)
    faults = _faults_of_campaign(file)
    lines.extend(f"does not hold: {text}" for text in faults)
    trials = sum(member.trials for member in found)
    searches = words.count(len(found), "search", "searches")
    lines.append(f"{searches}, {words.count(trials, 'trial')}: every verdict recomputed by {SPECIFICATION}")
    lines.extend(_notes_of_campaign(file))
    holds = not faults and not any(member.findings for member in found)
    return Verified(holds=holds, text="\n".join(lines), facts=found)


def of_delay(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the delays of a run; goals say nothing of them."""
    found = verify_delay(file)
    trials, delays = words.count(found.trials, "trial"), words.count(len(found.delays), "delay")
    return _recomputed(
        f"{trials}, {delays}: every mean, interval and percentile recomputed", found, found.findings, found.notes
    )


def of_burst(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the tests of a run on back-to-back frames; goals say nothing of them."""
    found = verify_burst(file)
    trials, tests = words.count(found.trials, "burst"), words.count(len(found.tests), "test")
    return _recomputed(
        f"{trials}, {tests}: every length, average and buffer time recomputed", found, found.findings, found.notes
    )


def of_run_campaign(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute what every run claims of a campaign of runs that are no searches; goals say nothing of it."""
    found = verify_runs(file)
    things, recomputed = _RECOMPUTED[file.run.subject]
    trials = words.count(sum(run.trials for run in found.values()), things)
    findings = [f"{name}: {text}" for name, run in found.items() for text in run.findings]
    notes = [f"{name}: {text}" for name, run in found.items() for text in run.notes]
    return _recomputed(
        f"{words.count(len(found), 'run')}, {trials}: {recomputed} recomputed",
        found,
        [*findings, *_faults_of_campaign(file)],
        [*notes, *_notes_of_campaign(file)],
    )


def _notes_of_campaign(file: RunFile) -> list[str]:
    """Say what is to be known of the lines of a campaign itself."""
    return [note for note in (file.unended(), file.unsigned()) if note]


def _faults_of_campaign(file: RunFile) -> list[str]:
    """Say what does not hold of the lines of a campaign itself."""
    faults = [] if (change := file.change()) is None else [change]
    members = sum(member.end.trials for member in file.members)
    if file.is_ended() and file.ends[-1].trials != members:
        faults.append(f"an end is recorded after {file.ends[-1].trials} trials, but its members have {members}")
    if not file.ends and len(file.members) == planned_members(file.run):
        faults.append("all members are recorded, but no end: it was removed, or the run was killed as it ended")
    return faults


def of_recovery(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the times of a run on recovery; goals say nothing of them."""
    found = verify_recovery(file)
    trials, rounds = words.count(found.trials, "trial"), words.count(len(found.recoveries), "round")
    return _recomputed(f"{trials}, {rounds}: every time recomputed", found, found.findings, found.notes)


def of_loss(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute the loss ratios of a run; goals say nothing of them."""
    found = verify_loss(file)
    trials, loads = words.count(found.trials, "trial"), words.count(len(found.losses), "load")
    return _recomputed(f"{trials} at {loads}: every loss ratio recomputed", found, found.findings, found.notes)


def of_switching(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Take every decision of a test of a switch again; goals say nothing of it."""
    found = verify_switching(file)
    trials, results = words.count(found.trials, "trial"), words.count(len(found.results), "result")
    return _recomputed(f"{trials}, {results}: every decision recomputed", found, found.findings, found.notes)


def of_comparison(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Run a comparison again from its trials; goals say nothing of it."""
    found = verify_comparison(file)
    trials, pairs = words.count(found.trials, "trial"), words.count(found.pairs, "pair")
    return _recomputed(f"{trials}, {pairs}: every ratio and verdict recomputed", found, found.findings, found.notes)


def of_bisection(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Run a bisection again from its trials; goals say nothing of it."""
    found = verify_bisection(file)
    trials, visits = words.count(found.trials, "trial"), words.count(found.visits, "visit")
    return _recomputed(
        f"{trials}, {visits}: every mean, decision and the answer recomputed", found, found.findings, found.notes
    )


def of_suite(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Recompute what every test of a suite claims, each from its own record; goals say nothing of it.

    Raises
    ------
    RecordError
        When the record of a test cannot be read.
    """
    faults = [] if (change := file.change()) is None else [change]
    lines, facts = [], {}
    for result in results_of(file):
        name = f"{result.size}, {result.test}"
        if result.file is None:
            needs_none = result.trials == 0 and result.text != ""
            if result.reason != "measurement-failed" and not needs_none:
                faults.append(f"{name}: its record is not there")
            continue
        verify_one = subjects.load(subject_of(result.file.run, str(result.file.path)).verify or "")
        found: Verified = verify_one(result.file, None)
        facts[name] = found.facts
        said = found.text.splitlines()
        lines.append(f"{name}: {next((text for text in said if 'recomputed' in text), said[-1])}")
        if not found.holds:
            faults.extend(f"{name}: {text}" for text in found.text.splitlines() if "does not hold" in text)
    lines += [f"does not hold: {text}" for text in faults]
    return Verified(holds=not faults, text="\n".join(lines), facts=facts)


def of_lines(file: RunFile, goals: list[Goal] | None) -> Verified:
    """Check the digests of a measurement whose results are no verdicts; goals say nothing of it.

    Raises
    ------
    UsageError
        When it is an analysis, made of other files: it has no trials, and a digest of its first line only.
    """
    if not file.trials:
        plural = subject_of(file.run, where=str(file.path)).plural
        message = f"{file.path}: the subject of this run is {plural}: it has no trials to judge"
        raise UsageError(message)
    faults = [text for text in (file.change(), file.disorder()) if text is not None]
    notes = [note for note in (file.unsigned(), file.unended()) if note]
    what = f"{words.count(len(file.trials), 'trial')}: lines and digests checked; nothing is recomputed of this subject"
    return _recomputed(what, {"trials": len(file.trials), "findings": faults}, faults, notes)


def _recomputed(what: str, found: object, findings: Sequence[str], notes: Sequence[str] = ()) -> Verified:
    lines = [what, *(f"does not hold: {text}" for text in findings), *notes]
    return Verified(holds=not findings, text="\n".join(lines), facts=found)


def of_trials(found: Verification, unit: str = "frames/s") -> Verified:
    """Say what the trials of a log give."""
    return Verified(holds=not found.findings and not found.lacks_end, text=_table(found, unit), facts=found)


def _table(found: Verification, unit: str) -> str:
    names = [goal.name for goal in found.goals]
    widths = [max(len(name), 9) for name in names]
    heads = "  ".join(f"{name:<{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"           load  {heads.rstrip()}"]
    for index, load in enumerate(found.loads):
        marks = [_MARKS[found.assessments[name][index].verdict] for name in names]
        cells = "  ".join(f"{mark:<{width}}" for mark, width in zip(marks, widths, strict=True))
        lines.append(f"{units.format_load(load, unit, digits=6):>15}  {cells}".rstrip())
    lines.append("")
    for result in found.goal_results:
        lines.append(f"{result.goal}: {_sentence(result.lower_bound, result.upper_bound, unit)}; {result.reason}")
    lines.append(f"{_trials_at_loads(found.trials, len(found.loads))}: every verdict recomputed by {SPECIFICATION}")
    if found.unsent:
        lines.append(f"{words.count(found.unsent, 'trial')} sent less than intended: what was not sent counts as loss")
    if found.rest_on_unsent:
        bounds = words.count(len(found.rest_on_unsent), "upper bound")
        lines.append(f"{bounds} ({', '.join(found.rest_on_unsent)}): only because units were not sent, none for loss")
    lines.extend(f"does not hold: {finding.text}" for finding in found.findings)
    if found.unsigned:
        lines.append(found.unsigned)
    if found.unended:
        lines.append(f"{'does not hold: ' if found.lacks_end else ''}{found.unended}")
    return "\n".join(lines)


def _trials_at_loads(trials: int, loads: int) -> str:
    return f"{words.count(trials, 'trial')} at {words.count(loads, 'load')}"


def _sentence(lower: float | None, upper: float | None, unit: str) -> str:
    below, above = ("none" if load is None else units.format_load(load, unit, digits=6) for load in (lower, upper))
    return f"lower bound {below}, upper bound {above}"
