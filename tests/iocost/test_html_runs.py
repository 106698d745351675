"""Small invented runs on block devices, and that any of them becomes a page."""

from pathlib import Path

import msgspec
import pytest
from brimful.records import Finding, Fit, Run, RunFile, Series, Solution, Warning
from brimful.report import rendering
from hypothesis import given, settings
from hypothesis import strategies as st

BASE_MODEL = {
    "rbps": 10**9,
    "rseqiops": 90000,
    "rrandiops": 80000,
    "wbps": 5 * 10**8,
    "wseqiops": 9000,
    "wrandiops": 8000,
}
HOSTILE = "<script>alert('$x$')</script>&\u4e2d\u6587\x07 " + "wide" * 60


def made_solution(name, scale, *, interval=None, target="aMOF=max"):
    if scale is None:
        return Solution(name=name, target=target, unsolved="aMOF has no data")
    latency = {"50": {"mean": 0.0002, "99": 0.001, "100": 0.02}, "99": {"mean": 0.003, "99": 0.04}, "100": {"100": 1.5}}
    return Solution(
        name=name,
        target=target,
        scale_factor=scale,
        interval=interval,
        model={key: round(value * scale) for key, value in BASE_MODEL.items()},
        qos={"rpct": 0.0, "rlat": 3000, "wpct": 99.0, "wlat": 4567, "min": 75.0, "max": 100.0},
        info={"MOF": 1.5, "aMOF": 1.25, "aMOF_delta": 0.25, "isol": 0.95, "rlat": latency, "wlat": latency},
    )


def made_series(name, points, *, rejected=(), unit=""):
    line = [points[0], points[-1]] if len(points) > 1 else list(points)
    fit = Fit(series=name, method="exact", shape="any", vertices=line, error=0.1, rejected=list(rejected))
    return Series(name=name, points=sorted([*points, *rejected]), y_unit=unit), fit


def made_run(*, run_id="made", solutions=None, series=None, findings=(), warnings=(), device=None, **source):
    if series is None:
        series = [
            made_series(
                "rlat-99-mean", [(10.0, 0.001), (50.0, 0.002), (100.0, 0.003)], rejected=[(20.0, 9.0)], unit="s"
            ),
            made_series("isol", [(10.0, 0.98), (50.0, 0.95), (100.0, 0.4)]),
            made_series("MOF", [(10.0, 1.1), (50.0, 1.3), (100.0, 1.5)]),
            made_series("aMOF", []),
        ]
    facts = {"name": "nvme0n1", "device_number": "259:0", "model": "Made 1", "firmware": "F1", "size_bytes": 10**12}
    run = Run(
        schema=1,
        run_id=run_id,
        started="2026-01-01T00:00:00+00:00",
        tool={"name": "brimful", "version": "0"},
        command=["brimful", "iocost"],
        host={},
        subject="block-device",
        device=facts if device is None else device,
        source={
            "fit": "exact",
            "isolation_percentile": "05",
            "isolation_threshold": 0.9,
            "base_model": BASE_MODEL,
            **source,
        },
    )
    if solutions is None:
        solutions = [
            made_solution("naive", 1.0),
            made_solution("bandwidth", 0.7, interval=(0.65, 0.75)),
            made_solution("isolation", 0.7, interval=(0.65, 0.75)),
            made_solution("mine", None),
        ]
    return RunFile(
        path=Path(f"{run_id}.jsonl"),
        run=run,
        trials=[],
        bounds=[],
        goal_results=[],
        warnings=list(warnings),
        ends=[],
        series=[each for each, _ in series],
        fits=[fit for _, fit in series],
        solutions=list(solutions),
        findings=list(findings),
    )


def hostile_run():
    device = dict.fromkeys(["name", "model", "firmware", "scheduler"], HOSTILE) | {"device_number": "1:2' ; reboot #"}
    return made_run(
        run_id=HOSTILE,
        device=device,
        solutions=[made_solution(HOSTILE, 0.5, target=HOSTILE), made_solution(HOSTILE, None, target=HOSTILE)],
        series=[made_series(HOSTILE, [(10.0, 1.0), (20.0, 2.0)], unit=HOSTILE), made_series("isol", [(10.0, 0.5)])],
        findings=[
            Finding(code="remark", text=HOSTILE),
            Finding(code="measure-next", text=HOSTILE, subject=HOSTILE, data={"job_spec": HOSTILE}),
        ],
        warnings=[Warning(code=HOSTILE, text=HOSTILE)],
        files=[HOSTILE],
        system={HOSTILE: HOSTILE},
        fit=HOSTILE,
    )


EDGES = {
    "made": made_run(findings=[Finding(code="measure-next", text="more", data={"job_spec": "iocost-qos:vrate-max=9"})]),
    "no-series": made_run(series=[], solutions=[]),
    "no-points": made_run(series=[made_series("MOF", [])], solutions=[made_solution("naive", None)], device={}),
    "one-point": made_run(series=[made_series("MOF", [(50.0, 1.2)]), made_series("isol", [(50.0, 0.0)])]),
    "many-rules": made_run(solutions=[made_solution(f"rule-{number}", 0.3 + number / 60) for number in range(40)]),
    "hostile": hostile_run(),
}

NUMBERS = st.floats(-1e308, 1e308, allow_nan=False) | st.floats(-200, 200)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def any_runs(draw):
    names = st.sampled_from(
        ["MOF", "isol", "isol-mean", "isol-", "aMOF", "rlat-99-mean", "wlat-x-nan", "rlat--", "other"]
    )
    points = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=5)
    series = []
    for name in draw(st.lists(names, max_size=3)):
        made, fit = made_series(name, draw(points), rejected=draw(points), unit=draw(st.sampled_from(["", "s"])))
        series.append((made, msgspec.structs.replace(fit, vertices=sorted(draw(points)))))
    source = st.sampled_from(
        [
            "isolation_percentile",
            "isolation_threshold",
            "period_s",
            "files",
            "base_model",
            "memory",
            "scale_min",
            "merge",
        ]
    )
    return made_run(
        series=series,
        solutions=[made_solution("a", draw(st.none() | st.floats(0, 1e3)))],
        device=draw(st.dictionaries(st.sampled_from(["name", "model", "size_bytes", "device_number"]), ANYTHING)),
        **draw(st.dictionaries(source, ANYTHING, max_size=4)),
    )


@settings(max_examples=40)
@given(any_runs())
def test_any_run_becomes_a_page(file):
    assert rendering.page(file).endswith("</html>\n")


@pytest.mark.parametrize("name", EDGES)
def test_the_same_run_gives_the_same_page(name):
    assert rendering.page(EDGES[name]) == rendering.page(EDGES[name])
