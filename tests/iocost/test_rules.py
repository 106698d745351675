"""Job specs and rules: what the benchmark accepts, and what is refused."""

import pytest
from brimful.errors import UsageError
from brimful.iocost import rules, selectors
from brimful.iocost.rules import DEFAULT, parse_job_spec, parse_rule


def target(text):
    return parse_rule(f"name=x,{text}").target


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("vrate=75-100", "vrate=75-100, rpct=99, wpct=99"),
        ("vrate=75-100,rpct=50", "vrate=75-100, rpct=50, wpct=99"),
        ("vrate=75-100,rpct=50,wpct=0", "vrate=75-100, rpct=50"),
        ("rpct=0.0,wpct=max,vrate=5.5-100", "vrate=5.5-100, wpct=100"),
        ("mof=max", "MOF=max"),
        ("aMOF=max", "aMOF=max"),
        ("amof=max-vrate", "aMOF=max-vrate"),
        ("amof-delta=min", "aMOF-delta=min"),
        ("isolation", "aMOF-delta=min"),
        ("isolated-bandwidth", "(aMOF=right-max).clamp(isolation, bandwidth)"),
        ("rlat-99=q2", "rlat-99=0.5-0.75"),
        ("rlat-99=50%-75%", "rlat-99=0.5-0.75"),
        ("wlat-99.9=0-1", "wlat-99.9=0-1"),
        ("", "vrate=75-100, rpct=99, wpct=99"),
    ],
)
def test_targets(given, meant):
    assert target(given).text == meant


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("vrate=100-75", "must rise"),
        ("vrate=75", "is no range"),
        ("vrate=75-100,mof=max", "has 2 targets"),
        ("mof=max,rpct=50", "rpct go with vrate"),
        ("mof=min", "no target is called mof=min"),
        ("rlat-98=q1", "no latency percentile '98'"),
        ("vrate=75-100,rpct=fast", "no latency percentile 'fast'"),
        ("rlat-99=q5", "is no range"),
    ],
)
def test_contradictory_rules_are_refused(given, says):
    with pytest.raises(UsageError, match=says):
        target(given)


def test_a_rule_needs_a_name():
    with pytest.raises(UsageError, match="has no name"):
        parse_rule("mof=max")


def test_job_specs():
    task = parse_job_spec("iocost-tune:scale-min=5%,scale-max=0.5,rlat-99.9,isol-mean,id=mine")
    assert (task.scale_min, task.scale_max, task.rules) == (0.05, 0.5, DEFAULT)
    assert [selector.name for selector in task.selectors] == ["rlat-99.9-mean", "isol-mean"]
    task = parse_job_spec("iocost-tune::name=a,mof=max:name=b")
    assert [(rule.name, rule.target.text) for rule in task.rules] == [
        ("a", "MOF=max"),
        ("b", "vrate=75-100, rpct=99, wpct=99"),
    ]
    assert selectors.latency("r", "90") in parse_job_spec("iocost-tune::name=a,vrate=75-100,rpct=90").wanted
    assert parse_job_spec("iocost-tune") == rules.Task()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("iocst-tune", "starts with 'iocst-tune'"),
        ("iocost-tune:rlta-99", "did you mean rlat-99"),
        ("iocost-tune:scale-min=0.5,scale-max=0.2", "scale-min 0.5 must lie above 0 and below scale-max 0.2"),
        ("iocost-tune:scale-max=1x", "'1x' is not a fraction"),
        ("iocost-tune:mof=max", "takes no value"),
        ("iocost-tune::name=a:name=a", "two rules are named 'a'"),
    ],
)
def test_job_specs_that_are_refused(given, says):
    with pytest.raises(UsageError, match=says):
        parse_job_spec(given)


def test_selectors_are_shown_in_their_order():
    names = [
        "wlat-50",
        "rlat-99-99",
        "rlat-50",
        "rlat-100",
        "missing",
        "isol-mean",
        "isol-10",
        "isol-05",
        "aMOF",
        "mof",
    ]
    ordered = sorted(map(selectors.parse, names), key=lambda selector: selector.order)
    assert [selector.name for selector in ordered] == [
        *("MOF", "aMOF", "isol-05", "isol-10", "isol-mean", "missing"),
        *("rlat-50-mean", "rlat-100-mean", "rlat-99-99", "wlat-50-mean"),
    ]
