"""Comparisons whose tester cannot offer what overloads a device: a smaller load, or no verdict."""

import msgspec
import pytest
from brimful.managed import Place
from brimful.measurers.base import InvalidTrialError
from brimful.paired.beds import OwnBeds
from brimful.paired.manager import run_comparison
from brimful.paired.verification import verify_comparison
from brimful.records import read_run
from brimful.report import rendering
from comparing import Drifting, request


class Slow(Drifting):
    """A device behind a tester that cannot offer more than a load, from a trial on."""

    def __init__(self, capacity, most, *, seed, after=0):
        super().__init__(capacity, None, seed=seed, noise=0.003)
        self._most, self._left, self._first = most, after, 10 * capacity

    def describe(self):
        return msgspec.structs.replace(super().describe(), max_load=self._first, overload=None)

    def measure(self, load, duration_s, *, stop_above=None):
        self._left -= 1
        if load > self._most and self._left < 0:
            raise InvalidTrialError("the tester was late by 3 ms")
        return super().measure(load, duration_s)


def compared(directory, most, *, capacities=(1e6, 0.95e6), after=0, resume=False):
    made = [Slow(capacity, most, seed=seed, after=after) for seed, capacity in enumerate(capacities)]
    asked = msgspec.structs.replace(request("sim:sharp", "sim:sharp"), on_invalid="retry:1", budget_s=3600.0)
    return run_comparison(asked, OwnBeds(made.__getitem__, 2), place=Place(out=directory, resume=resume))


def test_the_load_of_a_device_is_looked_for_below_one_that_cannot_be_offered(tmp_path):
    done = compared(tmp_path / "run", 2e6)
    (ratio,) = done.outcome.ratios
    assert ratio.verdict == "regression"
    assert ratio.low <= 0.95 <= ratio.high
    file = read_run(done.path)
    assert file.ceilings
    assert verify_comparison(file).findings == []
    text = " ".join(rendering.text(file).split())
    assert "the tester could not offer 9.500 Mpps on schedule" in text
    assert "the load of B is at most" in text


def test_a_comparison_below_a_ceiling_goes_on_from_any_line(tmp_path):
    whole = compared(tmp_path / "whole", 2e6)
    lines = (tmp_path / "whole" / "run.jsonl").read_bytes().splitlines(keepends=True)
    calibration = [number for number, line in enumerate(lines) if b'"calibration"' in line or b"ceiling" in line]
    for number in {*calibration[::15], *calibration[-2:]}:
        cut = tmp_path / f"cut{number}"
        cut.mkdir()
        (cut / "run.jsonl").write_bytes(b"".join(lines[: number + 1]))
        done = compared(cut, 2e6, resume=True)
        assert done.outcome.ratios[0].verdict == whole.outcome.ratios[0].verdict
        assert read_run(cut).ceilings == read_run(tmp_path / "whole").ceilings
        assert verify_comparison(read_run(cut)).findings == []


@pytest.mark.parametrize("capacities", [(1e6, 1e6), (1e6, 0.5e6)])
def test_a_device_that_takes_all_that_can_be_offered_has_no_ratio(tmp_path, capacities):
    done = compared(tmp_path / "run", 0.9e6, capacities=capacities)
    assert (done.outcome.end.reason, done.outcome.ratios) == ("measurement-failed", [])
    assert "all that the tester can offer" in done.outcome.end.text
    assert verify_comparison(read_run(done.path)).findings == []


def test_no_verdict_rests_on_loads_that_a_tester_offers_no_more(tmp_path):
    done = compared(tmp_path / "run", 1.1e6, after=40)
    assert done.outcome.end.reason == "measurement-failed"
    assert "the ratio would be that of the tester" in done.outcome.end.text
    assert all(ratio.low <= 0.95 <= ratio.high for ratio in done.outcome.ratios)
    assert verify_comparison(read_run(done.path)).findings == []


def test_a_ceiling_that_was_changed_is_found(tmp_path):
    done = compared(tmp_path / "run", 2e6)
    file = read_run(done.path)
    first, *rest = file.warnings
    changed = msgspec.structs.replace(file, warnings=[msgspec.structs.replace(first, load=1e6), *rest])
    assert any("was lowered to" in text for text in verify_comparison(changed).findings)
    fewer = msgspec.structs.replace(file, warnings=rest)
    assert verify_comparison(fewer).findings


def test_a_tester_that_offers_nothing_ends(tmp_path):
    done = compared(tmp_path / "run", 0.0)
    assert done.outcome.end.reason == "measurement-failed"
