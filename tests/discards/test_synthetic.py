"""Synthetic worlds: always the same, in any part, at the levels of the report, with a truth that is true."""

import collections
import datetime
import json
import math

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from brimful.discards.synthetic.clients import MONITORS
from brimful.discards.synthetic.config import (
    BINS_PER_DAY,
    Clients,
    Config,
    Delivery,
    Downloads,
    Tests,
    at,
    check,
    read_config,
)
from brimful.discards.synthetic.faults import faults
from brimful.discards.synthetic.generate import estimate, generate
from brimful.discards.synthetic.load import correlated_noise, day_shape
from brimful.discards.synthetic.tables import flat_tests_table
from brimful.discards.synthetic.telemetry import DISCARDS, deliver, increments
from brimful.discards.synthetic.world import site_day
from brimful.errors import BrimfulError, UsageError

DEFAULT = Config()


def on(text):
    return datetime.date.fromisoformat(text)


def write(out, *, renderings=("flat",), workers=1, **changes):
    out.mkdir(exist_ok=True)
    generate(Config(**changes), frozenset(renderings), out, workers=workers, progress=lambda _: None)
    return {
        file.relative_to(out).as_posix(): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file() and file.name != "synthetic.json"
    }


SMALL = {"machines": 2, "tests": Tests(scale=0.05), "clients": Clients(count=500)}


def test_the_same_seed_gives_the_same_bytes_however_it_is_run(tmp_path):
    world = {
        "first_day": on("2018-02-01"),
        "last_day": on("2018-02-01"),
        "only_sites": ("nuq02", "dfw02"),
        "tests": Tests(scale=0.05),
    }
    every = {"renderings": ("v1", "v2", "flat", "store")}
    alone = write(tmp_path / "alone", **world, **every)
    assert alone == write(tmp_path / "parallel", workers=2, **world, **every)
    other = write(tmp_path / "other", seed=2, **world)
    assert alone["tests/dfw02-201802.parquet"] != other["tests/dfw02-201802.parquet"]


def test_a_part_is_the_same_as_in_the_whole(tmp_path):
    whole = write(tmp_path / "whole", first_day=on("2018-01-31"), last_day=on("2018-02-02"), **SMALL)
    part = write(
        tmp_path / "part", first_day=on("2018-02-01"), last_day=on("2018-02-02"), only_sites=("dfw05", "lga02"), **SMALL
    )
    for site in ("dfw05", "lga02"):
        for table in ("flat", "tests"):
            assert part[f"{table}/{site}-201802.parquet"] == whole[f"{table}/{site}-201802.parquet"]
    of_both = [
        {row["test_id"]: row for row in pq.read_table(tmp_path / name / "truth" / "tests.parquet").to_pylist()}
        for name in ("whole", "part")
    ]
    assert of_both[1]
    assert of_both[1].items() <= of_both[0].items()


# Many faults, long tests, and tests on a machine without a collector.
ROUGH = Config(
    seed=3,
    first_day=on("2018-02-14"),
    last_day=on("2018-02-15"),
    only_sites=("dfw02",),
    machines=2,
    delivery=Delivery(missing_hours=0.2, missed_polls=1e-3),
    tests=Tests(scale=0.1, long_share=0.3, longest_s=250.0, spread_from=on("2018-01-01"), spread_machines=3),
)


def telemetry_by_bin(config, days):
    """Discards by (machine, start in Unix seconds), missed polls as two pieces."""
    found = {}
    for day in days:
        world = site_day(config, "dfw02", day)
        start = int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp())
        for machine in config.machine_names:
            trouble = faults(config, "dfw02", machine, day)
            bins = deliver(increments(config, world, machine, DISCARDS), trouble, DISCARDS)
            for index in range(BINS_PER_DAY):
                if bins.present[index]:
                    found[machine, start + 10 * index] = float(bins.values[index])
    return found


def test_truth_of_tests_is_what_brute_force_finds(tmp_path):
    generate(ROUGH, frozenset({"flat"}), tmp_path, workers=1, progress=lambda _: None)
    known = telemetry_by_bin(ROUGH, ROUGH.days)
    truth = {row["test_id"]: row for row in pq.read_table(tmp_path / "truth" / "tests.parquet").to_pylist()}
    tests = pq.read_table(tmp_path / "tests").to_pylist()
    assert len(tests) == len(truth) > 1000
    for test in tests:
        start = test["StartTimeStamp"]
        end = start + test["SndLimTimeRwin"] + test["SndLimTimeCwnd"] + test["SndLimTimeSnd"]
        own = test["server_hostname"].removeprefix("ndt.iupui.").split(".")[0]
        around = range(start // 10_000_000 * 10 - 20, end // 1_000_000 + 20, 10)
        overlapped = [bin_s for bin_s in around if bin_s * 1e6 < end and (bin_s + 10) * 1e6 > start]
        values, most_us = [], 0
        for name in (own, "mlab1", "mlab2"):
            covered = [bin_s for bin_s in overlapped if (name, bin_s) in known]
            known_us = sum(min(end, (bin_s + 10) * 10**6) - max(start, bin_s * 10**6) for bin_s in covered)
            if known_us > most_us:
                values, most_us = [known[name, bin_s] for bin_s in covered], known_us
        total = sum(values)
        expected = {
            "bins": len(overlapped),
            "covered_bins": len(values),
            "bins_with_discards": sum(value > 0 for value in values),
            "discards": total,
            "worst_discards": max(values, default=0.0),
            "overlap": "non-zero" if total else "zero" if len(values) == len(overlapped) else "unknown",
        }
        assert {key: truth[test["test_id"]][key] for key in expected} == expected
    assert {row["overlap"] for row in truth.values()} == {"zero", "non-zero", "unknown"}
    assert max(row["bins"] for row in truth.values()) > 20
    assert any(row["true_discards"] > row["discards"] for row in truth.values())


def test_truth_of_days_and_changes(tmp_path):
    write(tmp_path, first_day=on("2018-03-05"), last_day=on("2018-03-08"), only_sites=("dfw01", "dfw02"), **SMALL)
    days = pq.read_table(tmp_path / "truth" / "days.parquet").to_pylist()
    assert len(days) == 2 * 4 * 2
    discards = {(row["site"], row["day"].day, row["machine"]): row["discards"] for row in days}
    assert all(discards["dfw02", day, machine] > 1000 for day in (5, 6) for machine in ("mlab1", "mlab2"))
    assert not any(discards["dfw02", day, "mlab1"] for day in (7, 8))
    assert not any(count for (site, _, _), count in discards.items() if site == "dfw01")
    flat = pq.read_table(tmp_path / "flat").to_pylist()
    bins = {
        (row["hostname"], row["metric"], row["timestamp"]): row["value"] for row in flat if "discards" in row["metric"]
    }
    assert sum(bins.values()) == sum(discards.values())
    assert sum(value > 0 for value in bins.values()) == sum(row["bins_with_discards"] for row in days)
    changes = json.loads((tmp_path / "truth" / "changes.json").read_text())
    assert changes["dfw02"] == {
        "sparse_from": None,
        "begin": None,
        "stop": "2018-03-07",
        "flow_control_from": "2018-03-07",
    }
    assert changes["dfw01"]["stop"] is None


def levels(site, day):
    """Median rate, loss ratio, shares of bins and tests with discards, and medians over clients of a day."""
    world = site_day(DEFAULT, site, on(day))
    tests = world.tests
    first, last = tests.bins
    dropped = np.concatenate([[0], np.cumsum(np.append(world.discards, np.zeros(20)))])
    fastest, worst = collections.defaultdict(float), collections.defaultdict(float)
    rate = tests.octets * 8e6 / tests.duration_us
    ratio = world.retransmitted / (tests.segments + world.retransmitted)
    for index in np.flatnonzero(tests.duration_us >= 9e6).tolist():
        client = int(tests.client[index])
        fastest[client] = max(fastest[client], float(rate[index]))
        worst[client] = max(worst[client], float(ratio[index]))
    return {
        "rate": float(np.median(world.octets) * 0.8),
        "loss": world.discards.sum() / world.packets.sum(),
        "tests": len(rate),
        "non-zero": int((dropped[last + 1] > dropped[first]).sum()),
        "download": float(np.median(list(fastest.values()))),
        "retransmission": float(np.median(list(worst.values()))),
    }


# Read off the figures of the report; they hold within the factor that follows.
LEVELS = [
    ("dfw05", "2016-06-15", {"rate": 2e7, "tests": 1100, "download": 28e6, "retransmission": 1.5e-4}, 2),
    ("dfw06", "2017-04-20", {"loss": 3e-5, "download": 16e6, "tests": 3900}, 1.6),
    ("dfw03", "2017-08-15", {"rate": 2e7, "download": 14.5e6, "retransmission": 1.5e-3, "non-zero": 330}, 1.6),
    ("dfw02", "2018-01-16", {"rate": 1e8, "loss": 1.5e-4, "non-zero": 2100, "tests": 6500}, 1.6),
    ("dfw02", "2018-02-15", {"rate": 1.3e8, "loss": 3e-4, "non-zero": 2800, "tests": 6000, "download": 20e6}, 1.4),
    ("dfw05", "2018-03-02", {"loss": 4e-4, "retransmission": 1.5e-3}, 1.6),
    ("dfw04", "2018-06-15", {"rate": 1.5e8, "tests": 15_000, "download": 23e6}, 1.5),
    ("lga06", "2016-09-15", {"rate": 6e7, "download": 30e6, "retransmission": 2e-4}, 1.6),
    ("lga03", "2017-12-15", {"loss": 6e-5, "rate": 4e7, "download": 26e6}, 1.6),
    ("lga05", "2017-12-15", {"loss": 4e-6}, 3),
    ("lga06", "2018-06-15", {"rate": 2e8, "download": 35e6, "tests": 15_000}, 1.6),
    ("nuq04", "2016-06-15", {"rate": 4e5, "download": 40e6, "retransmission": 1e-4}, 2.5),
    ("nuq05", "2017-07-15", {"loss": 5e-5, "download": 18e6}, 1.7),
    ("nuq02", "2018-04-01", {"loss": 3.5e-6}, 3),
    ("nuq07", "2018-07-20", {"rate": 1e8, "download": 26e6, "tests": 18_000}, 1.6),
]


@pytest.mark.parametrize(("site", "day", "expected", "factor"), LEVELS, ids=[f"{row[0]}-{row[1]}" for row in LEVELS])
def test_levels_are_those_of_the_figures(site, day, expected, factor):
    found = levels(site, day)
    ratios = {name: found[name] / value for name, value in expected.items()}
    assert all(1 / factor < ratio < factor for ratio in ratios.values()), ratios


@pytest.mark.parametrize("site", [site for site, place in DEFAULT.sites.items() if place.discards])
def test_discards_begin_and_stop_on_their_days(site):
    place = DEFAULT.sites[site]
    begin, stop = place.discards[0][0], place.flow_control_from
    one = datetime.timedelta(1)
    for day, here in [(begin, True), (stop - one, True), (stop, False), (stop + 30 * one, False)]:
        world = site_day(DEFAULT, site, day)
        assert bool(world.discards.sum()) == here
        assert not (world.pause.any() and world.discards.any())
    assert site_day(DEFAULT, site, begin - one).discards.sum() <= (2000 if place.sparse_from else 0)
    assert site_day(DEFAULT, site, DEFAULT.last_day).pause.sum() > 0


def test_discards_are_sparse_at_first():
    days = [on("2017-01-01") + datetime.timedelta(index) for index in range(60)]
    with_discards = sum(site_day(DEFAULT, "nuq05", day).discards.any() for day in days)
    assert 5 <= with_discards <= 35


def test_load_follows_the_hours_of_the_place():
    load = DEFAULT.load
    winter, summer = (day_shape(load, "America/Chicago", on(day)) for day in ("2018-01-17", "2018-07-18"))
    # 21 h local is 3 h UTC with normal time, 2 h with daylight saving.
    assert winter.argmax() == 3 * 360
    assert summer.argmax() == 2 * 360
    assert winter.max() / winter.min() == pytest.approx(1.6 / 0.4)
    # Clocks went forward on 2018-03-11 at 8 h UTC: the hour from 2 to 3 does not exist.
    change = day_shape(load, "America/Chicago", on("2018-03-11"))
    before, after = (1 + 0.6 * math.cos(2 * math.pi * (hour - 21) / 24) for hour in (2, 3))
    assert change[8 * 360 - 1] / change[8 * 360] == pytest.approx(before / after, rel=0.01)


def test_load_is_correlated_from_bin_to_bin_and_never_above_the_capacity():
    world = site_day(DEFAULT, "dfw02", on("2018-02-15"))
    shape = day_shape(DEFAULT.load, "America/Chicago", on("2018-02-15"))
    noise = np.log(world.octets / shape)
    assert np.corrcoef(noise[:-1], noise[1:])[0, 1] == pytest.approx(0.6, abs=0.06)
    assert world.octets.max() == 1.25e9
    assert np.median(world.octets / world.packets) == pytest.approx(1340, abs=3)


def test_correlated_noise_is_what_a_loop_gives():
    for correlation in (0.0, 0.6, 0.999):
        fresh = np.random.default_rng(1).standard_normal(BINS_PER_DAY)
        expected = [float(fresh[0])]
        for value in fresh[1:].tolist():
            expected.append(correlation * expected[-1] + math.sqrt(1 - correlation**2) * value)
        found = correlated_noise(np.random.default_rng(1), correlation)
        assert found == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("metro", DEFAULT.metros)
def test_downloads_are_at_one_level_before_and_after_the_change(metro):
    curve = DEFAULT.metros[metro].download_median_bps
    assert len({round(at(curve, on("2018-02-01") + datetime.timedelta(index))) for index in range(68)}) == 1


def test_effect_slows_downloads_after_the_change_and_changes_nothing_else():
    slower = msgspec.structs.replace(DEFAULT, tests=Tests(effect=-0.1))
    for day, factor in (("2018-03-06", 1.0), ("2018-03-07", 0.9)):
        plain, changed = (site_day(config, "dfw02", on(day)).tests for config in (DEFAULT, slower))
        assert np.array_equal(plain.start_us, changed.start_us)
        assert np.array_equal(plain.client, changed.client)
        assert np.median(changed.octets / plain.octets) == pytest.approx(factor, rel=1e-4)


def test_levels_of_clients_stay_unless_they_are_to_be_redrawn():
    for redraw in (False, True):
        config = Config(downloads=Downloads(redraw_levels=redraw), clients=Clients(count=2000))
        medians = []
        for day in ("2018-03-05", "2018-03-08"):
            tests = site_day(config, "dfw02", on(day)).tests
            rates = np.log(tests.octets / tests.duration_us)
            medians.append({client: np.median(rates[tests.client == client]) for client in range(50)})
        moves = [abs(medians[0][client] - medians[1][client]) for client in range(50)]
        assert (np.median(moves) > 0.4) == redraw


def test_clients_are_many_some_frequent_some_moving_some_monitors():
    tables = {
        month: flat_tests_table(DEFAULT, site_day(DEFAULT, "dfw02", on(f"2018-{month}-10"))).to_pydict()
        for month in ("02", "03")
    }
    addresses = {month: collections.Counter(table["remote_ip"]) for month, table in tables.items()}
    assert set(MONITORS) <= set(addresses["02"])
    assert len(addresses["02"]) > 1000
    assert addresses["02"].most_common(1)[0][1] > 100
    often = {month: {name for name, tests in counts.items() if tests > 8} for month, counts in addresses.items()}
    stay = len(often["02"] & often["03"]) / len(often["02"])
    assert 0.6 < stay < 0.95
    names = collections.Counter(name.startswith("ndt.iupui.") for name in tables["02"]["server_hostname"])
    assert 0.9 < names[True] / names.total() < 0.98
    assert {name.split("mlab")[1][0] for name in tables["02"]["server_hostname"]} == {"1"}


def test_configuration_files_change_what_they_name(tmp_path):
    file = tmp_path / "world.toml"
    file.write_text(
        "seed = 9\n[tests]\nlong_share = 0.1\n[sites.dfw02]\ndiscards = [[2018-01-01, 1e-3, 0.5]]\n"
        "[sites.dfw09]\ncapacity_bps = 4e10\n"
    )
    config = read_config(file)
    assert (config.seed, config.tests.long_share, config.tests.short_share) == (9, 0.1, DEFAULT.tests.short_share)
    assert config.sites["dfw02"].discards == ((on("2018-01-01"), 1e-3, 0.5),)
    assert config.sites["dfw02"].uplink_factor == DEFAULT.sites["dfw02"].uplink_factor
    assert config.sites["dfw09"].capacity_bps == 4e10
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert read_config(empty) == DEFAULT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sede = 1", "sede: there is no such key; did you mean seed?"),
        ("[load]\nsigmas = 1", "load.sigmas: there is no such key; did you mean sigma?"),
        ("seed = 'x'", "Expected `int`, got `str` - at `$.seed`"),
        ("[sites.dfw02]\ncapacity = 1", "sites.dfw02.capacity: there is no such key; did you mean capacity_bps?"),
        ("seed = ", "is no TOML"),
        ("[tests]\nlong_share = 2", "Expected `float` <= 1.0 - at `$.tests.long_share`"),
        ("[sites.dfw02]\nuplink_factor = [[2018-01-01, 0]]", "Expected `float` > 0.0"),
        ("[sites.dfw02]\nuplink_factor = []", "length >= 1"),
        ("[metros.fra]\ntime_zone = 'Europe/Berlin'", "missing required field"),
        ("[metros.dfw]\ntime_zone = 'Europe/Atlantis'", "there is no time zone Europe/Atlantis"),
        ("[sites.fra01]", "sites.fra01: there is no metros.fra"),
        ("metrics = ['discards']", "metrics: they are like switch.octets.local.rx"),
        ("[downloads]\nweights = [1.0]", "not as many weights"),
    ],
)
def test_configuration_files_with_mistakes_are_refused(tmp_path, text, message):
    file = tmp_path / "world.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        check(read_config(file))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_written_is_said_in_a_line(tmp_path, workers):
    (tmp_path / "tests").write_text("in the way")
    days = {"first_day": on("2018-02-28"), "last_day": on("2018-03-01")}
    with pytest.raises(BrimfulError) as raised:
        write(tmp_path, only_sites=("dfw02",), workers=workers, **days, **SMALL)
    assert "cannot write" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_estimates_are_about_what_is_written(tmp_path):
    config = Config(
        first_day=on("2018-02-01"), last_day=on("2018-02-07"), only_sites=("lga03",), tests=Tests(scale=0.2)
    )
    kinds = frozenset({"flat", "store", "v1", "v2"})
    expected = estimate(config, kinds)
    written = generate(config, kinds, tmp_path, workers=1, progress=lambda _: None)
    assert expected.samples.keys() == written.samples.keys()
    for name, count in written.samples.items():
        assert 0.8 < expected.samples[name] / count < 1.2
    assert 0.8 < expected.tests / written.tests < 1.2
    assert 0.6 < expected.octets / written.octets < 1.6
