"""Everything that a report of one run shows, computed once from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from brimful.errors import one_line
from brimful.records import NONE_PASSES, SPECIFICATION, Bound, Goal, GoalResult, Machine, Run, RunFile, Sums
from brimful.report import facts, ports, words
from brimful.report.blocks import Block
from brimful.report.throughput.trials import Pause, TrialStatistics, TrialView, meeting, total, view_trials
from brimful.report.throughput.undecided import so_far
from brimful.units import format_delay, format_duration, format_load

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH_DEFINITION = "(upper bound - lower bound) / upper bound"
RFC2544_TRIAL_S = 60.0
"""RFC 2544 section 24: trials behind a result last at least this long."""
RFC2544_WAIT_S = 7.0
"""RFC 2544 section 23: 2 s for the last frames to arrive, 5 s before the next trial."""


class BoundView(msgspec.Struct, frozen=True, kw_only=True):
    """A relevant bound with what it rests on."""

    load: float
    aggregate_load: float
    sums: Sums | None


class GoalView(msgspec.Struct, frozen=True, kw_only=True):
    """A goal with its result."""

    goal: Goal
    regular: bool
    reason: str
    explanation: str
    headline: str
    sentence: str
    lower: BoundView | None
    upper: BoundView | None
    conditional_throughput: float | None
    aggregate_throughput: float | None
    reached_width: float | None
    """(upper - lower) / upper; null without both bounds."""
    theoretical_share: float | None
    """Conditional throughput as a share of the theoretical rate of the link."""
    bits_per_second: float | None
    """Conditional throughput in bits of frames a second."""
    rfc2544: str
    """What RFC 2544 says of a result of this goal."""


class Step(msgspec.Struct, frozen=True):
    """From a time on, a bound is at a load; null: there is none."""

    at_s: float
    load: float | None


class BoundTrace(msgspec.Struct, frozen=True, kw_only=True):
    """How a bound of a goal moved."""

    goal: str
    side: str
    steps: list[Step]


class PhaseMark(msgspec.Struct, frozen=True):
    """When the search first reached a phase, or trials of a greater length where phases are not recorded."""

    at_s: float
    label: str


class Note(msgspec.Struct, frozen=True):
    """A warning, once, however often it came."""

    code: str
    text: str
    times: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a run."""

    run: Run
    title: str
    outcome: str
    """How the run ended, in a sentence."""
    complete: bool
    goals: list[GoalView]
    trials: list[TrialView]
    pauses: list[Pause]
    phases: list[PhaseMark]
    traces: list[BoundTrace]
    statistics: TrialStatistics
    search_s: float
    axis_end_s: float
    frame_size: float | None
    link_bps: float | None
    theoretical_rate: float | None
    deviations: list[str]
    warnings: list[Note]
    machine: Machine | None
    """How quiet the machine was; null where nothing was watched."""
    device: dict[str, Any]
    """What is known of the device, and what its programs used."""
    ports: list[Block] = []
    """What each of more ports than two sent and received."""

    @property
    def limits_delay(self) -> bool:
        """Whether a goal has a delay limit, so that delays belong in the tables."""
        return any(view.goal.delay_limit_s is not None for view in self.goals)

    @property
    def found_nothing(self) -> bool:
        """Whether measuring failed before any goal had a bound: all there is to say is why."""
        return bool(self.goals) and all(
            view.reason == "measurement-failed" and view.lower is None and view.upper is None for view in self.goals
        )

    @property
    def is_restless(self) -> bool:
        """Whether the machine was watched and was not quiet: a result that reached its goal is no good one yet."""
        return self.machine is not None and not self.machine.quiet


def build(file: RunFile) -> Report:
    """Compute what a report shows.

    Parameters
    ----------
    file
        The records of a run, complete or not.
    """
    run = file.run
    trials, pauses = view_trials(file.trials, run.goals)
    statistics = total(file.trials)
    results = {result.goal: result for result in file.goal_results}
    goals = [_goal(run, goal, results.get(goal.name), trials) for goal in run.goals]
    axis_end = max((trial.end_s for trial in trials), default=0.0)
    return Report(
        run=run,
        title=_title(run),
        outcome=_outcome(file),
        complete=bool(file.ends) and file.ends[-1].reason == "done",
        goals=goals,
        trials=trials,
        pauses=pauses,
        phases=_phases(trials),
        traces=_traces(file.bounds, run.goals, trials),
        statistics=statistics,
        search_s=max((end.search_s for end in file.ends), default=statistics.elapsed_s),
        axis_end_s=axis_end,
        frame_size=facts.frame_size(run),
        link_bps=facts.link_bps(run),
        theoretical_rate=facts.theoretical_rate(run) if facts.counts_frames(run) else None,
        deviations=_deviations(run, statistics),
        warnings=_warnings(file),
        machine=facts.machine(file.ends),
        device=facts.device(run, file.trials),
        ports=ports.blocks(file.trials, run.load_unit),
    )


_LONGEST_COMMAND = 60
_LAB_DEVICES = {"xdp": "XDP forwarder", "ovs": "Open vSwitch", "testpmd": "testpmd", "switch": "OpenFlow switch"}


def _title(run: Run) -> str:
    for place in (run.device, run.labels):
        name = place.get("name") or place.get("title")
        if name:
            return str(name)
    if run.device.get("simulated"):
        return f"Simulated: {str(run.device['simulated']).partition(',')[0]}"
    if run.device.get("run"):
        return f"{one_line(run.device['run'], longest=_LONGEST_COMMAND)} in a lab"
    if run.device.get("device"):
        device = str(run.device["device"])
        return f"{_LAB_DEVICES.get(device, device.capitalize())} in a lab"
    return run.measurer.name or run.run_id


def _outcome(file: RunFile) -> str:
    if not file.ends:
        return "The run has not ended: it is still active, or it was killed. Everything up to then is shown."
    last = file.ends[-1]
    how = words.CLOCK_WORDS.get(last.reason, f"ended ({last.reason})")
    parts = [f"The search {how} after {words.count(last.trials, 'trial')} in {format_duration(last.search_s)}."]
    if len(file.ends) > 1:
        parts.append(f"It was resumed {words.count(len(file.ends) - 1, 'time')}.")
    if last.text:
        parts.append(words.as_sentence(last.text))
    if file.passes_nothing:
        parts.append(words.as_sentence(NONE_PASSES))
    return " ".join(parts)


def _goal(run: Run, goal: Goal, result: GoalResult | None, trials: Sequence[TrialView]) -> GoalView:
    lower = _bound(run, result.lower_bound, result.lower_bound_sums) if result else None
    upper = _bound(run, result.upper_bound, result.upper_bound_sums) if result else None
    throughput = result.conditional_throughput if result else None
    limit = facts.theoretical_rate(run) if facts.counts_frames(run) else None
    size = facts.frame_size(run) if facts.counts_frames(run) else None
    return GoalView(
        goal=goal,
        regular=result.regular if result else False,
        reason=result.reason if result else words.NO_RESULT,
        explanation=_explanation(run, goal, result, trials),
        headline=_headline(run, result),
        sentence=words.sentence(goal, result, run.load_unit),
        lower=lower,
        upper=upper,
        conditional_throughput=throughput,
        aggregate_throughput=None if throughput is None else throughput * run.conversion_factor,
        reached_width=(upper.load - lower.load) / upper.load if lower and upper and upper.load > 0 else None,
        theoretical_share=throughput / limit if throughput is not None and limit else None,
        bits_per_second=throughput * size * 8 if throughput is not None and size else None,
        rfc2544=_rfc2544(goal),
    )


def _explanation(run: Run, goal: Goal, result: GoalResult | None, trials: Sequence[TrialView]) -> str:
    explanation = words.explain(result.reason if result else words.NO_RESULT)
    is_open = result is None or result.reason in words.CUT_SHORT
    if not is_open or (result is not None and result.lower_bound is not None and result.upper_bound is not None):
        return explanation
    return f"{explanation} {so_far(goal, result, trials, run.load_unit)}".rstrip()


def _headline(run: Run, result: GoalResult | None) -> str:
    found = words.headline(result, run.load_unit)
    in_bytes = facts.bytes_per_second(run, result.conditional_throughput if result and result.regular else None)
    return found if in_bytes is None else f"{found}, {format_load(in_bytes, 'B/s')}"


def _bound(run: Run, load: float | None, sums: Sums | None) -> BoundView | None:
    if load is None:
        return None
    return BoundView(load=load, aggregate_load=load * run.conversion_factor, sums=sums)


def _rfc2544(goal: Goal) -> str:
    if goal.loss_ratio > 0:
        return "no throughput in the sense of RFC 2544: some loss is allowed"
    if goal.delay_limit_s is not None:
        return "no throughput in the sense of RFC 2544: the delay is limited"
    if goal.exceed_ratio > 0:
        return "no throughput in the sense of RFC 2544: some of the trials may lose frames"
    if goal.final_trial_duration_s < RFC2544_TRIAL_S:
        return "throughput, conditionally compliant: trials are shorter than 60 s"
    return "throughput, unconditionally compliant"


def _phases(trials: list[TrialView]) -> list[PhaseMark]:
    counted = [trial for trial in trials if trial.invalid is None]
    numbered = any(trial.phase is not None for trial in counted)
    marks: list[PhaseMark] = []
    furthest = -1.0
    for trial in counted:
        stage = float(trial.phase if trial.phase is not None else -1) if numbered else trial.duration_s
        if stage > furthest:
            furthest = stage
            label = f"phase {trial.phase}" if numbered else f"{format_duration(trial.duration_s)} trials"
            marks.append(PhaseMark(trial.start_s, label))
    return marks


def _traces(bounds: list[Bound], goals: list[Goal], trials: list[TrialView]) -> list[BoundTrace]:
    ends = {trial.seq: trial.end_s for trial in trials}
    return [
        BoundTrace(
            goal=goal.name,
            side=side,
            steps=[
                Step(ends[bound.seq], bound.load)
                for bound in bounds
                if bound.goal == goal.name and bound.side == side and bound.seq in ends
            ],
        )
        for goal in goals
        for side in ("lower", "upper")
    ]


def _deviations(run: Run, statistics: TrialStatistics) -> list[str]:
    found = [words.as_sentence(text) for text in run.deviations]
    finals = [goal.final_trial_duration_s for goal in run.goals]
    if finals and min(finals) < RFC2544_TRIAL_S:
        lengths = [words.exact_seconds(length) for length in sorted(set(finals))]
        found.append(f"The trials behind a result last {' and '.join(lengths)}; RFC 2544 asks for at least 60 s.")
    limited = [goal for goal in run.goals if goal.delay_limit_s is not None]
    if limited:
        limits = ", ".join(f"{goal.name} {format_delay(goal.delay_limit_s or 0.0)}" for goal in limited)
        found.append(
            "A trial whose 99th percentile of the delay is above the limit of a goal counts as a high-loss trial "
            f"for it ({limits}); neither RFC 2544 nor {SPECIFICATION} has such a limit."
        )
    if statistics.stopped_early:
        found.append(
            f"{words.count(statistics.stopped_early, 'trial was', 'trials were')} stopped early; "
            "what such a trial did not send any more is not counted as loss."
        )
    elif run.early_termination:
        found.append("Trials could be stopped early; none was.")
    waits = None if facts.is_simulated(run) else statistics.wait_per_trial_s
    if waits is not None and waits < RFC2544_WAIT_S:
        found.append(
            f"A trial takes {format_duration(waits)} beyond its sending time (median), all waits "
            f"included; RFC 2544 waits 2 s for the last {facts.units(run)} and 5 s before the next trial."
        )
    return list(dict.fromkeys(found))


def _warnings(file: RunFile) -> list[Note]:
    said = [(warning.code, warning.text) for warning in file.warnings]
    for trial in file.trials:
        said += [(str(note.get("code", "warning")), str(note.get("text", ""))) for note in trial.warnings]
    bounds = {result.goal: result.lower_bound for result in file.goal_results}
    for goal in file.run.goals:
        load = bounds.get(goal.name)
        if load:
            texts = ports.beyond(goal, load, meeting(file.trials, goal))
            said += [("port-beyond-goal", text) for text in texts]
    alike: dict[tuple[str, str], list[str]] = {}
    for code, text in said:
        count, what = _leading_count(text)
        alike.setdefault((code, what), []).append(count)
    return [Note(code, _span(counts) + what, len(counts)) for (code, what), counts in alike.items()]


def _leading_count(text: str) -> tuple[str, str]:
    """Part the count that warnings of a trial begin with from the rest: they differ in nothing else."""
    what = text.lstrip("0123456789")
    count = text[: len(text) - len(what)]
    return (count, what) if what.startswith(" ") else ("", text)


def _span(counts: Sequence[str]) -> str:
    ordered = sorted(set(counts), key=lambda count: (len(count), count))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
