"""What makes runs the same experiment: for a comparison, for a series, and for --resume."""

import msgspec
import pytest
from brimful.records import MeasurerFacts
from brimful.records.experiment import differences, key, other_traffic, question
from cases import example, with_run

REGULAR = example("regular")


def run(**changes):
    return with_run(REGULAR, **changes).run


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": {"name": "brimful", "version": "99"}},
        {"host": {"kernel": "7.0"}},
        {"labels": {"build": "5"}},
        {"device": {**REGULAR.run.device, "kernel": "7.0", "firmware": "2"}},
        {"measurer": msgspec.structs.replace(REGULAR.run.measurer, ceiling=5e6, contract="in other words")},
        {"measurer": MeasurerFacts("sim:sharp,capacity=1Mpps,seed=9", "sim:sharp,capacity=1Mpps,seed=9")},
        {"traffic": {"ports": ["eth1"], "seed": 4}},
        {"run_id": "another", "started": "2031-01-01T00:00:00Z", "max_load": 5.0, "hint": 3.0, "budget_s": 60.0},
    ],
)
def test_versions_places_and_seeds_make_no_other_experiment(changes):
    assert key(run(**changes)) == key(REGULAR.run)
    assert key(run(**changes)).digest == key(REGULAR.run).digest
    assert differences(run(**changes), REGULAR.run) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": "straddle"},
        {"device": {"simulated": "sharp,capacity=2Mpps"}},
        {"measurer": MeasurerFacts("sim:sharp,capacity=2Mpps", REGULAR.run.measurer.name)},
    ],
)
def test_another_device_is_another_series_of_the_same_question(changes):
    assert key(run(**changes)).digest != key(REGULAR.run).digest
    assert differences(run(**changes), REGULAR.run) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "burst"},
        {"load_unit": "IO/s"},
        {"goals": REGULAR.run.goals[:1]},
        {"traffic": {"frame_size": 512}},
        {"traffic": {"profile": "sha256:1"}},
        {"measurer": MeasurerFacts("lab:bridge", "brimful-tester")},
    ],
)
def test_another_question_is_another_experiment(changes):
    other = run(**changes)
    found = differences(other, REGULAR.run)
    assert len(found) == 1
    assert [each.what for each in differences(REGULAR.run, other)] == [found[0].what]
    assert question(other) != question(REGULAR.run)
    assert key(other).digest != key(REGULAR.run).digest


def test_a_series_goes_on_where_the_throughput_before_it_was_another():
    from brimful.records import BurstPlan

    plans = [
        BurstPlan(load=1e6, tests=2, longest=100, throughput=value, throughput_run=str(value)) for value in (1e3, 2e3)
    ]
    one, other = (run(subject="burst", burst=plan) for plan in plans)
    assert key(one) == key(other)
    longer = run(subject="burst", burst=msgspec.structs.replace(plans[0], longest=200))
    assert key(longer) != key(one)


def test_traffic_that_a_result_depends_on_is_named():
    assert other_traffic({"flows": 1, "mtu": 1500}, {"flows": 2, "mtu": 9000}) == ["flows"]
