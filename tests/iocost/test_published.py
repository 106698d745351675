"""Published results come out as published."""

import math

import pytest
from brimful.iocost import merge, read, record
from brimful.iocost.analysis import analyse
from brimful.iocost.rules import Task
from iocost.results import EXPECTED, MERGES, needs_shared, raw_path, read_expected

pytestmark = needs_shared


def close(ours, theirs):
    if isinstance(theirs, dict):
        return set(ours) == set(theirs) and all(close(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-9)


def check(run, solutions, fits):
    solved = {solution.name: solution for solution in run.solutions if solution.unsolved is None}
    assert set(solved) == set(solutions)
    for name, expected in solutions.items():
        assert solved[name].model == expected["model"]
        assert solved[name].qos == expected["qos"]
        assert close(solved[name].info, expected["info"])
        assert close(solved[name].scale_factor, expected["scale"])
    assert {fit.series for fit in run.fits} == set(fits)
    for fit in run.fits:
        expected = fits[fit.series]
        assert close(fit.vertices, expected["points"])
        assert close(sorted(fit.rejected), sorted(expected["rejected"]))
        assert close(fit.error, expected["error"])


def records_of(result, **options):
    analysis = analyse(result, Task(), method="compatible", **options)
    return record.to_run(analysis, command=[], started="", resamples=0)


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_solutions_and_lines_of_published_results(path):
    expected = read_expected(path)
    (result,) = read.read_results(raw_path(expected))
    check(records_of(result), expected["resolved_solutions"], expected["resolved_fit"])
    assert result.isolation_percentile == expected["isol_pct"]


@pytest.mark.parametrize("path", MERGES, ids=lambda path: path.stem)
def test_published_merges(path):
    expected = read_expected(path)
    sources = [result for name in expected["sources"] for result in read.read_results(raw_path(expected, name))]
    groups = merge.group_results(sources, merge.Rules(multiple=expected["multiple"]))
    assert len(groups) == len(expected["results"])
    for group, theirs in zip(groups, expected["results"], strict=True):
        check(records_of(merge.merged(group), basis="first"), theirs["solutions"], theirs["fit"])
        assert {name: getattr(group.median_model, name) for name in theirs["sysinfo_model"]} == theirs["sysinfo_model"]
    kept = [(len(group.sources), len(group.dropped)) for group in groups]
    assert kept == [(len(entry["srcs"]), len(entry["dropped"])) for entry in expected["merge_info"]]
