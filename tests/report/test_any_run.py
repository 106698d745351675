"""A report never raises, whatever valid run it is about."""

from pathlib import Path

import msgspec
from brimful.errors import UsageError
from brimful.records import Bound, End, Goal, GoalResult, MeasurerFacts, Run, RunFile, Sums, Trial, Warning
from brimful.report import rendering
from brimful.report.throughput import compared, comparison, model
from brimful.report.throughput.items import ITEMS
from brimful.report.throughput.statements import make_statements
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = st.sampled_from(["ndr", "pdr", "$x$", "_hidden", "<b>&", "goal 3", "ü"])
LOADS = st.floats(1e-3, 1e13)
SECONDS = st.floats(0, 1e6)
RATIOS = st.floats(0, 0.999)
COUNTS = st.integers(0, 2**62)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
FACTS = st.dictionaries(
    st.sampled_from(
        ["name", "frame_size", "direction", "link_bps", "simulated", "contract", "ceiling", "warm_up", "x"]
    ),
    st.one_of(st.none(), st.booleans(), st.integers(-1, 10**11), LOADS, TEXTS, st.lists(st.integers(), max_size=2)),
    max_size=5,
)
MEASURERS = st.builds(
    MeasurerFacts,
    spec=TEXTS,
    name=TEXTS,
    contract=TEXTS | st.just(msgspec.UNSET),
    ceiling=st.none() | LOADS | st.just(msgspec.UNSET),
    extra=FACTS.map(lambda facts: {key: value for key, value in facts.items() if key not in ("name", "contract")}),
)
REASONS = st.sampled_from(
    ["regular", "max-load-is-lower-bound", "min-load-is-upper-bound", "width-not-reached", "time-budget", "new-reason"]
)


@st.composite
def goals(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    return [
        Goal(
            name=name,
            loss_ratio=draw(RATIOS),
            exceed_ratio=draw(RATIOS),
            final_trial_duration_s=draw(st.floats(1e-3, 1e4)),
            duration_sum_s=draw(st.floats(1e-3, 1e4)),
            initial_trial_duration_s=draw(st.floats(1e-3, 1e4)),
            width=draw(st.none() | st.floats(1e-4, 0.9)),
            delay_limit_s=draw(st.none() | st.floats(1e-9, 1e3)),
        )
        for name in names
    ]


@st.composite
def trials(draw, seq):
    sent = draw(COUNTS)
    return Trial(
        seq=seq,
        load=draw(LOADS),
        duration_s=draw(st.floats(1e-3, 1e4)),
        intended=draw(COUNTS),
        sent=sent,
        lost=draw(st.integers(0, sent)),
        effective_duration_s=draw(st.none() | st.floats(1e-3, 1e4)),
        start_s=draw(SECONDS),
        elapsed_s=draw(SECONDS),
        stopped_early=draw(st.booleans()),
        delay_p99_s=draw(st.none() | st.floats(0, 1e3)),
        phase=draw(st.none() | st.integers(0, 5)),
        invalid=draw(st.none() | st.just("warm-up") | TEXTS),
        duplicated=draw(st.none() | COUNTS),
        warnings=draw(st.lists(st.fixed_dictionaries({"code": TEXTS}), max_size=1)),
    )


@st.composite
def results(draw, goal):
    sums = st.none() | st.builds(Sums, SECONDS, SECONDS, SECONDS, SECONDS)
    return GoalResult(
        goal=goal.name,
        regular=draw(st.booleans()),
        reason=draw(REASONS),
        lower_bound=draw(st.none() | LOADS),
        upper_bound=draw(st.none() | LOADS),
        conditional_throughput=draw(st.none() | LOADS | st.just(0.0)),
        lower_bound_sums=draw(sums),
        upper_bound_sums=draw(sums),
    )


@st.composite
def run_files(draw, with_goals=None):
    asked = draw(goals()) if with_goals is None else with_goals
    run = Run(
        schema=1,
        run_id=draw(TEXTS),
        started="2026-01-01T00:00:00Z",
        tool=draw(st.sampled_from([{}, {"name": "brimful", "version": "0.1.0"}])),
        command=["brimful", "search"],
        host={} if with_goals else draw(FACTS),
        measurer=MeasurerFacts() if with_goals else draw(MEASURERS),
        goals=asked,
        min_load=1.0,
        max_load=draw(LOADS),
        strategy="bisect",
        load_unit="frames/s" if with_goals else draw(st.sampled_from(["frames/s", "IO/s", "%", "bits/s"])),
        conversion_factor=1.0 if with_goals else draw(st.sampled_from([1.0, 2.0, 0.5])),
        traffic={} if with_goals else draw(FACTS),
        device=draw(FACTS),
        hint=draw(st.none() | LOADS),
        budget_s=draw(st.none() | SECONDS),
        early_termination=draw(st.booleans()),
        deviations=draw(st.lists(TEXTS, max_size=2)),
        labels=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
    )
    made = [draw(trials(seq)) for seq in range(draw(st.integers(0, 6)))]
    names = st.sampled_from([goal.name for goal in asked])
    bounds = st.builds(
        Bound, goal=names, side=st.sampled_from(["lower", "upper"]), load=st.none() | LOADS, seq=st.integers(0, 7)
    )
    ends = st.builds(
        End,
        reason=st.sampled_from(["done", "time-budget", "interrupted", "measurement-failed", "other"]),
        trials=st.integers(0, 9),
        search_s=SECONDS,
        text=TEXTS,
    )
    return RunFile(
        path=Path("run.jsonl"),
        run=run,
        trials=made,
        bounds=draw(st.lists(bounds, max_size=6)),
        goal_results=[draw(results(goal)) for goal in asked if draw(st.booleans())],
        warnings=draw(st.lists(st.builds(Warning, code=TEXTS, text=TEXTS), max_size=2)),
        ends=draw(st.lists(ends, max_size=2)),
    )


@given(run_files())
def test_text_and_json_take_any_run(file):
    shown = rendering.text(file)
    stated = {statement.item.id for statement in make_statements(model.build(file))}
    assert stated == {item.id for item in ITEMS} or file.run.load_unit == "IO/s"  # a disk has no frames
    assert all(item in shown for item in stated)
    assert rendering.to_json(file).startswith("{")
    assert rendering.summary(file)


@given(run_files())
@settings(max_examples=12)
def test_html_takes_any_run(file):
    page = rendering.page(file)
    assert page.endswith("</html>\n")
    assert "<b>&" not in page


@st.composite
def comparable(draw):
    asked = draw(goals())
    sides = [[draw(run_files(with_goals=asked)) for _ in range(draw(st.integers(1, 3)))] for _ in range(2)]
    return sides


@st.composite
def comparable_with_values(draw):
    """Runs none of which failed or was left unfinished: those are refused."""
    sides = draw(comparable())
    return [
        [msgspec.structs.replace(file, goal_results=[draw(values(goal)) for goal in file.run.goals]) for file in side]
        for side in sides
    ]


@st.composite
def values(draw, goal):
    found = draw(results(goal))
    if found.reason == "min-load-is-upper-bound":
        return found
    reason = "time-budget" if found.reason in comparison.UNFINISHED else found.reason
    throughput = found.conditional_throughput
    if throughput is None:
        throughput = draw(LOADS | st.just(0.0))
    return msgspec.structs.replace(found, reason=reason, conditional_throughput=throughput)


@given(comparable())
def test_any_runs_are_compared_or_refused(sides):
    try:
        said = rendering.text_of(compared.document(comparison.build(*sides)))
    except UsageError as refusal:
        said = str(refusal)
    # Lines are wrapped at words, which may be those looked for.
    words = " ".join(said.split())
    assert "; tolerance 1 %" in words or "it has no value for goal" in words


@given(comparable_with_values())
@settings(max_examples=30)
def test_comparison_takes_any_runs(sides):
    shown = compared.document(comparison.build(*sides))
    assert rendering.text_of(shown)
    assert rendering.facts_as_json(shown).startswith("{")


@given(comparable_with_values())
@settings(max_examples=6)
def test_comparison_html_takes_any_runs(sides):
    assert rendering.page_of(compared.document(comparison.build(*sides))).endswith("</html>\n")
