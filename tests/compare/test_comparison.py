"""Two sets of runs: what is refused, what is said, and the exit code."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.records import Machine, MeasurerFacts, encode
from brimful.report import rendering, words
from brimful.report.throughput import compared, comparison
from support import brimful

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
from cases import SCHEMAS, example, with_run


def scaled(factor, run_id="scaled", name="regular"):
    """The example with all of its results moved."""
    file = example(name)
    results = [
        msgspec.structs.replace(
            result,
            lower_bound=result.lower_bound * factor,
            upper_bound=None if result.upper_bound is None else result.upper_bound * factor,
            conditional_throughput=result.conditional_throughput * factor,
        )
        for result in file.goal_results
    ]
    return msgspec.structs.replace(with_run(file, run_id=run_id), goal_results=results)


def text_of(report):
    return rendering.text_of(compared.document(report))


def page_of(report):
    return rendering.page_of(compared.document(report))


def write(path, file):
    records = [file.run, *file.trials, *file.bounds, *file.goal_results, *file.ends]
    path.write_bytes(b"".join(encode(record) for record in records))
    return path


@pytest.mark.parametrize(
    ("name", "new", "baseline"),
    [
        ("regression", (0.9, 0.901, 0.899), (1.0, 1.001, 0.999)),
        ("same", (1.0, 1.0005), (1.0, 0.9995)),
        ("one run a side", (1.0,), (1.0,)),
        ("one run a side, another baseline", (1.0,), (1.2,)),
    ],
)
def test_text(name, new, baseline, snapshot):
    tolerance = None if name.endswith("another baseline") else 0.05
    report = comparison.build([scaled(part) for part in new], [scaled(part) for part in baseline], tolerance=tolerance)
    assert text_of(report) == snapshot
    assert report.regressed == (name == "regression")


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.2])
def test_what_so_many_repeats_could_have_shown_is_said_whatever_the_verdict(factor):
    new, baseline = ([scaled(part * side) for part in (1.0, 1.001, 0.999)] for side in (factor, 1.0))
    report = comparison.build(new, baseline, tolerance=0.05)
    detectable = words.share(report.goals[0].comparison.detectable)
    assert f"only a loss of {detectable} or more would be detected" in text_of(report).replace("\n  ", " ")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reason": "measurement-failed"}, "measurement-failed"),
        ({"reason": "interrupted"}, "interrupted"),
        ({"reason": "time-budget", "lower_bound": None, "conditional_throughput": None}, "time-budget"),
        (None, "no-result"),
    ],
)
@pytest.mark.parametrize("side", ["new", "baseline"])
def test_a_run_without_a_value_is_refused_by_its_name(changes, reason, side):
    ndr, pdr = example("regular").goal_results
    results = [ndr] if changes is None else [ndr, msgspec.structs.replace(pdr, regular=False, **changes)]
    broken = msgspec.structs.replace(example("regular"), path=Path("broken"), goal_results=results)
    sides = ([broken], [scaled(1.0)]) if side == "new" else ([scaled(1.0)], [broken])
    with pytest.raises(UsageError, match=f"^broken cannot be compared: it has no value for goal pdr .{reason}.;"):
        comparison.build(*sides)


def test_less_than_the_min_load_is_a_value():
    results = [
        msgspec.structs.replace(
            result, reason="min-load-is-upper-bound", regular=False, lower_bound=None, conditional_throughput=None
        )
        for result in example("regular").goal_results
    ]
    least = msgspec.structs.replace(example("regular"), goal_results=results)
    assert comparison.build([least], [scaled(1.2)], tolerance=0.01).regressed


def test_an_interval_of_95_percent_is_called_so_only_where_the_spread_is_known():
    def shown(runs):
        report = comparison.build([scaled(1.0)] * runs, [scaled(1.0)] * runs)
        return [text.replace("\xa0", " ") for text in (text_of(report), page_of(report))]

    assert all("95 %" not in text and "range by bounds" in text.lower() for text in shown(1))
    assert all("95 % interval" in text and "range by bounds" not in text.lower() for text in shown(2))


def test_a_least_value_against_a_value(snapshot):
    irregular = with_run(example("irregular"), max_load=2e6)
    assert text_of(comparison.build([irregular], [example("regular")])) == snapshot


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load_unit": "IO/s"}, "load unit is frames/s in one and IO/s in the other"),
        ({"load_scope": "total"}, "load scope"),
        ({"conversion_factor": 2.0}, "conversion factor is 1 in one and 2 in the other"),
        ({"measurer": MeasurerFacts(name="brimful-tester")}, "measurer is sim in one and brimful-tester in the other"),
        ({"traffic": {"frame_size": 64}}, "traffic.frame_size"),
        ({"goals": example("regular").run.goals[:1]}, "goal pdr is in one only"),
        (
            {"goals": [msgspec.structs.replace(goal, duration_sum_s=4.0) for goal in example("regular").run.goals]},
            "goal ndr: duration sum is 3 in one and 4 in the other",
        ),
    ],
)
def test_runs_that_asked_something_else_are_refused(changes, words):
    with pytest.raises(UsageError, match="cannot be compared") as refusal:
        comparison.build([with_run(example("regular"), **changes)], [example("regular")])
    assert words in str(refusal.value)


def test_where_the_tester_stood_does_not_matter():
    one, other = ({"frame_size": 64, "ports": [{"interface": name}]} for name in ("eth1", "eth2"))
    runs = [with_run(example("regular"), traffic=traffic) for traffic in (one, other)]
    assert comparison.build([runs[0]], [runs[1]])


def test_the_command(tmp_path):
    regular = SCHEMAS / "examples" / "regular.jsonl"
    again = write(tmp_path / "again.jsonl", scaled(1.0, "again"))
    worse, worse_again = (write(tmp_path / f"{name}.jsonl", scaled(0.9, name)) for name in ("worse", "worse-again"))
    same = brimful("compare", regular, again, "--against", regular, again, "--tolerance", "5%", cwd=tmp_path, check=0)
    assert "The same." in same.stdout
    bad = brimful("compare", worse, worse_again, "--against", regular, again, "--html", "c.html", cwd=tmp_path, check=1)
    assert "A regression." in bad.stdout
    assert (tmp_path / "c.html").read_text().endswith("</html>\n")
    one_a_side = ("compare", worse, "--against", regular, "--json")
    assert not json.loads(brimful(*one_a_side, cwd=tmp_path, check=0).stdout)["regressed"]
    facts = json.loads(brimful(*one_a_side, "--tolerance", "1%", cwd=tmp_path, check=1).stdout)
    assert facts["regressed"]
    for sides in ((regular, regular, "--against", again), (again, "--against", regular, regular)):
        twice = brimful("compare", *sides, cwd=tmp_path, check=2)
        assert f"{regular} is the same run as {regular}" in twice.stderr
    brimful("compare", regular, cwd=tmp_path, check=2)
    unread = brimful("compare", regular, "--against", regular, "--tolerance", "x", cwd=tmp_path, check=2)
    assert unread.stderr.startswith("brimful: error: --tolerance: ratio 'x' is not a number")
    other = write(tmp_path / "other.jsonl", with_run(example("regular"), load_unit="IO/s"))
    assert "load unit" in brimful("compare", other, "--against", regular, cwd=tmp_path, check=2).stderr


def test_loads_of_a_page_have_one_unit():
    page = page_of(comparison.build([scaled(1.0)], [scaled(1.05)])).replace("\xa0", " ")
    assert "kpps" not in page
    assert "0.9739 Mpps" in page
    assert "1.0226 Mpps" in page


def test_no_line_breaks_within_an_option():
    page = page_of(comparison.build([scaled(1.0)], [scaled(1.05)]))
    assert 'give a <span class="option">--tolerance</span> above' in page


def test_runs_whose_machine_was_not_quiet_are_named():
    def with_machine(file, quiet):
        machine = Machine(others_share=0.31, speed_spread=0.042, quiet=quiet)
        return msgspec.structs.replace(file, ends=[msgspec.structs.replace(file.ends[-1], machine=machine)])

    busy, calm = with_machine(scaled(1.0, "busy"), False), with_machine(scaled(1.0, "calm"), True)
    report = comparison.build([busy, calm], [example("regular")])
    line = "The machine of busy was not quiet: others took 31 % of the processors, CPU speed varied by 4.2 %."
    assert report.not_quiet == [line]
    assert line in " ".join(text_of(report).split())
    assert words.keep_units(line) in page_of(report)
    assert json.loads(rendering.facts_as_json(compared.document(report)))["not_quiet"] == [line]
    assert comparison.build([calm], [example("regular")]).not_quiet == []
