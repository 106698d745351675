"""What is said of a system that did not stay the same during a search, or between repeats of one."""

import itertools
import json
import math
import random
import re

import msgspec
import pytest
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.statistics import steadiness
from brimful.statistics.steadiness import Outcome, find_move, find_two_groups, find_two_modes
from brimful.throughput.goals import PRESETS, named_goals
from brimful.throughput.manager import SearchRequest, run_search
from hypothesis import given
from hypothesis import strategies as st
from support import brimful

CAPACITIES = (33e3, 48e3)


class Turns(SimulatedMeasurer):
    """Two sharp systems of which one is there at a time."""

    def __init__(self, which):
        super().__init__("sharp,capacity=40kpps,link=100kpps")
        self._which = which

    def measure(self, load, duration_s, *, stop_above=None):
        capacity = CAPACITIES[self._which(self.now())]
        super().measure(load, duration_s)
        return SimulatedMeasurer(f"sharp,capacity={capacity}pps").measure(load, duration_s, stop_above=stop_above)


def searched(path, which):
    goals = named_goals(PRESETS["csit"].goals)
    return run_search(SearchRequest(measurer="system", goals=goals, strategy="straddle"), Turns(which), out=path)


def said(outcome):
    return {warning.code: warning.text for warning in outcome.warnings}


def test_a_capacity_that_moved_is_told_with_the_second_and_the_amount(tmp_path):
    found = said(searched(tmp_path / "run", lambda now: int(now >= 20)))
    assert found.keys() == {"capacity-moved"}
    assert found["capacity-moved"].startswith("20 s after the start the capacity")
    assert "from 32.99 kpps to 48.04 kpps (+45.6 %)" in found["capacity-moved"]


class TurnsInPercent(Turns):
    """The same behind a tester whose loads are percent of 100 kpps."""

    def describe(self):
        return msgspec.structs.replace(super().describe(), load_unit="%", max_load=100.0, overload=None)

    def measure(self, load, duration_s, *, stop_above=None):
        return super().measure(1e3 * load, duration_s, stop_above=stop_above)


def seconds_at_random(now):
    """Which of the two is there in a second: about every second search meets both at one load often enough."""
    return random.Random(int(now) + 1000).randrange(2)


@pytest.mark.parametrize(
    ("which", "code", "text"),
    [
        (lambda now: 0, None, ""),
        (lambda now: int(now >= 20), "capacity-moved", "from 32.99 % to 48.04 % (+45.6 %)"),
        (seconds_at_random, "two-modes", "forwarded about 33.00 % ("),
    ],
)
def test_loads_in_percent_are_judged_as_those_in_frames(tmp_path, which, code, text):
    goals = named_goals(PRESETS["csit"].goals)
    request = SearchRequest(measurer="x", goals=goals, strategy="straddle", min_load=1.0, max_load=100.0)
    found = said(run_search(request, TurnsInPercent(which), out=tmp_path / "run"))
    assert list(found) == ([] if code is None else [code])
    assert text in found.get(code, "")


def test_report_page_and_json_say_it_too(tmp_path):
    told = said(searched(tmp_path / "run", lambda now: int(now >= 20)))["capacity-moved"]
    page = tmp_path / "page.html"
    shown = brimful("report", "run", "--html", page, cwd=tmp_path, check=0).stdout
    assert told.split(":")[0] in " ".join((shown or brimful("report", "run", cwd=tmp_path, check=0).stdout).split())
    assert told.split(",")[0] in " ".join(page.read_text().replace("\N{NO-BREAK SPACE}", " ").split())
    notes = json.loads(brimful("report", "run", "--json", cwd=tmp_path, check=0).stdout)["warnings"]
    assert {"code": "capacity-moved", "text": told, "times": 1} in notes


def test_two_modes_are_told_with_both(tmp_path):
    found = said(searched(tmp_path / "run", seconds_at_random))
    assert found.keys() == {"two-modes"}
    share = re.search(r"forwarded about 33\.00 kpps \((\d+) % of the time\)", found["two-modes"])
    assert 20 < int(share[1]) < 80


@pytest.mark.parametrize("kind", ["sharp", "soft-knee", "noisy", "livelock", "stalls"])
def test_steady_systems_are_not_called_moving(tmp_path, kind):
    for seed in range(3):
        measurer = SimulatedMeasurer(f"{kind},seed={seed}")
        request = SearchRequest(measurer="sim", goals=named_goals(PRESETS["csit"].goals), strategy="straddle")
        assert said(run_search(request, measurer, out=tmp_path / str(seed))).keys() <= {"below-resolution"}


outcomes = st.lists(
    st.builds(
        Outcome,
        at_s=st.just(0.0),
        duration_s=st.sampled_from([1.0, 60.0]),
        load=st.sampled_from([1.0, 2.0, 3.0, 4.0]),
        forwarded=st.just(1.0),
        lossy=st.booleans(),
    ),
    max_size=9,
)


def best_fit(found):
    """What `find_move` compares, of these trials alone."""
    cells = steadiness._cells(found)
    counts = [[0, 0] for _ in set(cells.of_trial)]
    for cell, outcome in zip(cells.of_trial, found, strict=True):
        counts[cell][outcome.lossy] += 1
    return steadiness._likelihood(counts, cells.lengths)


@given(outcomes)
def test_the_best_rising_chances_are_no_worse_than_any_on_a_grid(found):
    best = best_fit(found)
    chances = [0.0, 0.25, 0.5, 0.75, 1.0]
    for length in {outcome.duration_s for outcome in found}:
        chosen = [outcome for outcome in found if outcome.duration_s == length]
        of_length = best_fit(chosen)
        for rising in itertools.combinations_with_replacement(chances, 4):
            odds = [rising[int(outcome.load) - 1] if outcome.lossy else 1 - rising[int(outcome.load) - 1]
                    for outcome in chosen]  # fmt: skip
            if all(odds):
                assert of_length >= math.fsum(map(math.log, odds)) - 1e-9
    assert best <= 1e-12


def trials(*rows):
    return [Outcome(float(at), 1.0, load, forwarded, forwarded < load) for at, (load, forwarded) in enumerate(rows)]


def test_a_move_is_placed_between_the_trials_that_contradict_each_other():
    before = [(10.0, 10.0)] * 8 + [(11.0, 10.0)] * 8
    after = [(11.0, 11.0)] * 8 + [(12.0, 12.0)] * 8
    move = find_move(trials(*before, *after))
    assert (move.from_s, move.at_s, move.before, move.after) == (16.0, 16.0, math.sqrt(110), None)
    assert find_move(trials(*before, *before)) is None
    assert find_move([]) is None


def drawn(seed, count, loads, move_at):
    """Trials of a system that strays a little, at loads drawn from so many, with a lower capacity from a trial on."""
    chance = random.Random(seed)
    pool = [chance.uniform(8.0, 12.0) for _ in range(loads)]
    for at in range(count):
        load, capacity = chance.choice(pool), chance.gauss(10.0 if at < move_at else 9.0, 0.1)
        yield Outcome(float(at), chance.choice([1.0, 0.25]), load, min(load, capacity), load > capacity)


@pytest.mark.parametrize("seed", range(20))
def test_the_move_found_is_that_of_all_places_where_two_fits_explain_most(seed):
    count = 40 + 20 * seed
    found = list(drawn(seed, count, 3 + 10 * seed, count // 2))
    gains = {
        place: best_fit(found[:place]) + best_fit(found[place:]) - best_fit(found) for place in range(4, len(found) - 3)
    }
    alike = [place for place, gain in gains.items() if gain > max(gains.values()) - 1e-6]
    move = find_move(found)
    if max(gains.values()) < steadiness.MOVE_EVIDENCE * math.log(count):
        assert move is None
        return
    assert (move.from_s, move.at_s) == (found[min(alike)].at_s, found[max(alike)].at_s)
    assert move.evidence == pytest.approx(max(gains.values()))


def test_a_move_is_found_among_more_trials_and_loads_than_can_be_tried():
    move = find_move(list(drawn(1, 30_000, 30_000, 20_011)))
    assert abs(move.at_s - 20_011) < 30
    assert (move.before, move.after) == (pytest.approx(10.0, rel=0.02), pytest.approx(9.0, rel=0.02))
    assert find_move(list(drawn(1, 30_000, 30_000, 30_000))) is None


def test_modes_need_a_gap_between_them():
    clean, low = [(10.0, 10.0)] * 8, [(10.0, 7.0 + 0.01 * step) for step in range(8)]
    modes = find_two_modes(trials(*clean, *low))
    assert (modes.lower, modes.upper) == (7.035, 10.0)
    even = [(10.0, 10.0 - 0.3 * step) for step in range(16)]
    assert find_two_modes(trials(*even)) is None
    assert find_two_modes(trials(*clean, *low[:4])) is None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], False),
        ([1.0] * 9, False),
        ([1.0, 1.0, 2.0, 2.0], True),
        ([1.0, 1.0, 1.0, 2.0], False),
        ([1.0, 1.0, 1.02, 1.02], False),
        ([6.9, 8.0, 6.95, 7.98, 8.02, 6.92], True),
        ([6.9, 7.1, 7.3, 7.5, 7.6, 7.9], False),
    ],
)
def test_two_groups_are_far_apart_and_close_within(values, found):
    assert (find_two_groups(values, 0.01) is not None) == found
