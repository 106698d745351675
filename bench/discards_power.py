"""What the statistics of `brimful discards` find and miss, on series and clients whose truth is known.

Clients are as in the synthetic set: medians lognormal about 7, 25, 85 and 250 Mbit/s, tests of a client lognormal about
its median with sigma 0.35, at least 11 tests of each client in each period.
"""

import os
import sys
import time
from collections import Counter
from datetime import date, timedelta
from unittest.mock import patch

import numpy as np
from brimful.discards.comparisons import before_after
from brimful.discards.modes import Mode
from brimful.records import Finding
from brimful.statistics import power
from brimful.statistics.before_after import SIGNIFICANCE, compare_paired, compare_samples, dose_response
from brimful.statistics.change_points import change_points
from brimful.statistics.power import detectable_paired_shift, detectable_shift
from scipy import stats

SEEDS = int(os.environ.get("SEEDS", "200"))
SERIES = int(os.environ.get("SERIES", "1000"))
WORLDS = int(os.environ.get("WORLDS", "1500"))
"""Without effect: of 200, a share of 1 % cannot be told from 2 %."""
PEAKS_BPS = np.array([7e6, 25e6, 85e6, 250e6])
PEAK_SIGMA = 0.4
CLIENT_SIGMA = 0.35
TESTS = 11
FIRST = date(2016, 6, 1)
DAYS = 791
SPARSE, DENSE, STOP, RESIDUAL = (
    (day - FIRST).days for day in (date(2016, 10, 1), date(2017, 6, 1), date(2018, 3, 8), date(2018, 4, 15))
)


def clients(size, generator):
    """Give the median rate of each client."""
    return generator.choice(PEAKS_BPS, size) * np.exp(generator.normal(0, PEAK_SIGMA, size))


def best_of_tests(medians, generator):
    """Give the greatest of the tests of each client in one period."""
    tests = TESTS + generator.poisson(6, medians.size)
    scatter = np.exp(CLIENT_SIGMA * generator.normal(size=(medians.size, tests.max())))
    scatter[np.arange(tests.max())[None, :] >= tests[:, None]] = np.nan
    return medians * np.nanmax(scatter, axis=1)


def periods(size, seed, *, ratio=1.0, paired=False):
    """Give the best test of each client before and after a change of all rates by a ratio."""
    generator = np.random.default_rng(seed)
    first = clients(size, generator)
    second = first if paired else clients(size, generator)
    return best_of_tests(first, generator), ratio * best_of_tests(second, generator)


def ks_p_values(size, seeds, *, ratio=1.0, paired=False):
    """Give the p value for each seed."""
    method = "exact" if 2 * size <= 1000 else "asymp"
    return [stats.ks_2samp(*periods(size, seed, ratio=ratio, paired=paired), method=method).pvalue for seed in seeds]


def signed_rank_p_values(size, seeds, *, ratio=1.0):
    """Give the p value for each seed, same clients in both periods."""
    found = []
    for seed in seeds:
        before, after = periods(size, seed, ratio=ratio, paired=True)
        found.append(stats.wilcoxon(np.log(after / before), method="asymptotic", correction=True).pvalue)
    return found


def world(seed, volume, *, ratio=1.0, sites=7, size=100):
    """Give what clients of some sites saw before and after, as the analysis does, and nothing but volumes changed.

    ``volume`` says how many times the tests each client has after; ``mixed``: each client another number of times.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for site in range(sites):
        for client, median in enumerate(clients(size, generator)):
            times = generator.choice([0.5, 1, 2]) if volume == "mixed" else volume
            mean = (TESTS + 1) * np.exp(generator.exponential(0.7))
            for period, expected, change in (("before", mean, 1.0), ("after", mean * times, ratio)):
                tests = TESTS + generator.poisson(max(expected - TESTS, 1))
                rates = change * median * np.exp(CLIENT_SIGMA * generator.normal(size=tests))
                seen = {"max_bps": rates.max(), "mean_bps": rates.mean(), "median_bps": np.median(rates)}
                rows.append({"site": f"site{site}", "period": period, "client": str(client), **seen})
    return rows


def found_in_world(rows):
    """Give how many sites of a report are said to have changed."""
    with patch.object(power, "SIMULATIONS", 1):  # The power is not looked at.
        records = list(before_after(rows, mode=Mode.CORRECT, seed=1))
    p_values = [line.data["holm_p"] for line in records if isinstance(line, Finding) and "holm_p" in line.data]
    return sum(value < SIGNIFICANCE for value in p_values), len(p_values)


def telemetry(generator):
    """Give the bins with telemetry of each day: some missing, a few days missing whole."""
    bins = 8640 - generator.binomial(8640, 0.005, DAYS)
    bins[generator.random(DAYS) < 0.004] = 0
    return bins


def autocorrelated(generator, sigma):
    """Give a factor for each day: lognormal, correlated by one half from day to day, less at weekends; mean about 1."""
    scatter = np.empty(DAYS)
    scatter[0] = generator.normal()
    for day, step in enumerate(generator.normal(0, np.sqrt(0.75), DAYS - 1), start=1):
        scatter[day] = scatter[day - 1] / 2 + step
    return np.exp(sigma * scatter - sigma**2 / 2) * np.where(np.arange(DAYS) % 7 >= 5, 0.8, 1.0)


def constant_series(seed, level, size, *, correlated=False):
    """Give bins with discards and bins of each day, where nothing changes; the variance is mean + mean^2 / size."""
    generator = np.random.default_rng(seed)
    bins = telemetry(generator)
    factor = (
        autocorrelated(generator, np.sqrt(np.log1p(1 / size))) if correlated else generator.gamma(size, 1 / size, DAYS)
    )
    return np.minimum(generator.poisson(bins * level * factor), bins), bins


def discards_series(seed, site):
    """Give bins with discards and bins of each day, and the days on which discards really begin and stop.

    Growth tenfold from June 2017, a day without any amid them and a false day before.
    """
    generator = np.random.default_rng(seed)
    bins = telemetry(generator)
    days = np.arange(DAYS)
    level = np.where((days >= DENSE) & (days < STOP), 0.03 * 10 ** ((days - DENSE) / 280), 0.0)
    if site == "sparse onset":
        level[SPARSE:DENSE] = 4e-4
    if site == "residual":
        level[STOP:RESIDUAL] = 1e-3
    hits = np.minimum(generator.poisson(bins * level * autocorrelated(generator, 0.3)), bins)
    false_day = generator.integers(SPARSE)
    hits[false_day] = min(generator.integers(1, 500), bins[false_day])
    hits[generator.integers(DENSE + 5, STOP - 5)] = 0
    truth = {"begin": SPARSE if site == "sparse onset" else DENSE, "stop": RESIDUAL if site == "residual" else STOP}
    return hits, bins, truth


def found_changes(hits, bins):
    return change_points([FIRST + timedelta(day) for day in range(DAYS)], hits, bins)


def date_errors(site, seeds):
    """Count how many days off each begin and stop is (None: not found, or more than one), and intervals that hold."""
    errors, holding = Counter(), Counter()
    for seed in seeds:
        hits, bins, truth = discards_series(seed, site)
        points = found_changes(hits, bins)
        for kind, day in truth.items():
            fitting = [point for point in points if point.kind == kind]
            true_day = FIRST + timedelta(day)
            errors[kind, (fitting[0].day - true_day).days if len(fitting) == 1 else None] += 1
            holding[kind] += any(point.first_day <= true_day <= point.last_day for point in fitting)
    return errors, holding


def dose_coverage(seeds, effect, size=300):
    """Give the share of intervals of the dose response that hold the truth; the effect differs between clients."""
    inside = 0
    for seed in seeds:
        generator = np.random.default_rng(seed)
        n_with, n_without = 1 + generator.zipf(2.0, (2, size)).clip(max=60)
        own = np.log10(clients(size, generator))
        mean = [generator.normal(own, CLIENT_SIGMA / np.log(10) / np.sqrt(count)) for count in (n_with, n_without)]
        found = dose_response(mean[0] + np.log10(effect) + generator.normal(0, 0.05, size), mean[1], n_with, n_without)
        inside += found.interval[0] <= effect <= found.interval[1]
    return inside / len(seeds)


def holds(interval, value):
    return interval[0] <= value <= interval[1]


def unpaired_results(size, seeds, ratio):
    with patch.object(power, "SIMULATIONS", 1):  # The power is not looked at.
        return [compare_samples(*periods(size, seed, ratio=ratio), seed=seed) for seed in seeds]


def paired_results(size, seeds, ratio):
    with patch.object(power, "SIMULATIONS", 1):
        return [compare_paired(*periods(size, seed, ratio=ratio, paired=True), seed=seed) for seed in seeds]


def print_null(seeds):
    print("\nno effect: p values against the uniform distribution, over seeds (p; share of p < 0.01 and < 0.05)")
    rows = (
        ("KS, other clients, n = 300", ks_p_values(300, seeds)),
        ("KS, other clients, n = 3000", ks_p_values(3000, seeds)),
        ("KS, same clients, n = 300", ks_p_values(300, seeds, paired=True)),
        ("signed rank, same clients, n = 300", signed_rank_p_values(300, seeds)),
    )
    for name, values in rows:
        shares = [np.mean(np.array(values) < level) for level in (0.01, 0.05)]
        print(f"  {name:<40}{stats.kstest(values, 'uniform').pvalue:>8.3f}{shares[0]:>8.3f}{shares[1]:>8.3f}")


def print_power(seeds):
    print("\nall rates -10 %: power at p < 0.01, and the least change found with 95 % power as the report would say it")
    print(f"  {'clients in each period':<24}{'KS':>8}{'found':>9}{'signed rank':>14}{'found':>9}")
    for size in (100, 300, 1000, 3000, 6000, 8000, 10_000):
        ks = np.mean(np.array(ks_p_values(size, seeds, ratio=0.9)) < 0.01)
        least = detectable_shift(*map(np.log10, periods(size, 1)), level=0.01, powers=(0.95,), seed=1)[0]
        text = f"  {size:<24,}{ks:>8.3f}{10**least - 1 if least else np.nan:>9.1%}"
        if size <= 3000:
            rank = np.mean(np.array(signed_rank_p_values(size, seeds, ratio=0.9)) < 0.01)
            before, after = map(np.log10, periods(size, 1, paired=True))
            found = detectable_paired_shift(after - before, level=0.01, powers=(0.95,), seed=1)[0]
            text += f"{rank:>14.3f}{10**found - 1:>9.1%}"
        print(text, flush=True)


def print_worlds(seeds):
    counts = f"{WORLDS} without effect, {len(seeds)} with one"
    print(f"\nreports on 7 sites of 100 clients, {counts}: what is found at Holm < {SIGNIFICANCE}")
    for volume in (0.5, 1, 2, "mixed"):
        found = sum(found_in_world(world(seed, volume))[0] > 0 for seed in range(WORLDS))
        low, high = stats.binomtest(found, WORLDS).proportion_ci(0.95)
        share = f"{found / WORLDS:.4f} (95 % interval {low:.4f} to {high:.4f}; bar {SIGNIFICANCE})"
        print(f"  no effect, tests x {volume}: reports with any finding {share}", flush=True)
    for volume in (1, 2, "mixed"):
        found, sites = np.sum([found_in_world(world(seed, volume, ratio=0.9)) for seed in seeds], axis=0)
        print(f"  all rates -10 %, tests x {volume}: sites found {found / sites:.3f} (bar 0.8)", flush=True)


def print_kept_promises(seeds):
    print("\nthe change that is said to be found with 95 % (80 %) power: how often it is found")
    for size in (100, 300, 3000):
        shares = []
        for wanted in (0.95, 0.80):
            least = detectable_shift(*map(np.log10, periods(size, 1)), level=0.01, powers=(wanted,), seed=1)[0]
            shares.append(np.mean(np.array(ks_p_values(size, seeds, ratio=10**-least)) < 0.01))
        text = f"  n = {size:<20,}KS {shares[0]:.3f} ({shares[1]:.3f})"
        before, after = map(np.log10, periods(size, 1, paired=True))
        shares = []
        for wanted in (0.95, 0.80):
            least = detectable_paired_shift(after - before, level=0.01, powers=(wanted,), seed=1)[0]
            shares.append(np.mean(np.array(signed_rank_p_values(size, seeds, ratio=10**-least)) < 0.01))
        print(f"{text}   signed rank {shares[0]:.3f} ({shares[1]:.3f})", flush=True)


def print_intervals(seeds):
    print("\nshare of 95 % intervals that hold the truth")
    for size, ratio in ((30, 1.0), (300, 1.0), (300, 0.9), (3000, 0.9)):
        unpaired, paired = unpaired_results(size, seeds, ratio), paired_results(size, seeds, ratio)
        shares = [
            np.mean([holds(interval(found), ratio) for found in results])
            for results, interval in (
                (unpaired, lambda found: found.ratio_interval),
                (unpaired, lambda found: found.shift_interval),
                (paired, lambda found: found.median_interval),
                (paired, lambda found: found.shift_interval),
            )
        ]
        print(
            f"  n = {size:<5} ratio {ratio}:  ratio of medians {shares[0]:.3f}  shift {shares[1]:.3f}  "
            f"paired median {shares[2]:.3f}  paired shift {shares[3]:.3f}",
            flush=True,
        )
    for effect in (1.0, 0.8):
        print(f"  dose response, 300 clients, ratio {effect}:  {dose_coverage(seeds, effect):.3f}")


def print_equivalence(seeds):
    print("\nshare called equivalent within 5 % (at p < 0.05)")
    for name, results, size in (
        ("paired", paired_results, 300),
        ("paired", paired_results, 1000),
        ("unpaired", unpaired_results, 300),
        ("unpaired", unpaired_results, 3000),
    ):
        shares = [np.mean([found.equivalent for found in results(size, seeds, ratio)]) for ratio in (1.0, 1.05, 0.9)]
        print(
            f"  {name:<9} n = {size:<7,} same {shares[0]:.3f} (power)  at the margin {shares[1]:.3f} (bar 0.05)  "
            f"-10 % {shares[2]:.3f}",
            flush=True,
        )


def print_change_points(seeds):
    print("\nchange points: days off (number of seeds); intervals that hold the truth")
    for site in ("plain", "sparse onset", "residual"):
        errors, holding = date_errors(site, seeds)
        for kind in ("begin", "stop"):
            told = ", ".join(
                f"{'none' if off is None else off}: {number}"
                for (of_kind, off), number in sorted(errors.items(), key=str)
                if of_kind == kind
            )
            print(f"  {site:<14}{kind:<7}{told}; {holding[kind] / len(seeds):.3f}", flush=True)


def print_false_alarms(seeds):
    print(
        f"\nconstant series with any change point, of {len(seeds)} each (bar 1 %); shares 0, 1e-5 to 0.3, cv 0 to 1.4"
    )
    kinds = [(level, size) for level in (0.0, 1e-5, 1e-4, 1e-3, 0.03, 0.3) for size in (0.5, 2.0, 10.0, 1e5)]
    for correlated in (False, True):
        alarms = Counter(
            kinds[seed % len(kinds)]
            for seed in seeds
            if found_changes(*constant_series(seed, *kinds[seed % len(kinds)], correlated=correlated))
        )
        told = ", ".join(f"share {level:g} cv {size**-0.5:.1f}: {number}" for (level, size), number in alarms.items())
        name = "correlated days" if correlated else "independent days"
        print(f"  {name:<18}{alarms.total() / len(seeds):>8.2%}  {told}", flush=True)


def print_speed():
    generator = np.random.default_rng(1)
    before, after = np.exp(generator.normal(16, 1, (2, 100_000)))
    times = [time.perf_counter()]
    compare_samples(before, after, seed=1)
    times.append(time.perf_counter())
    compare_paired(before, after, seed=1)
    times.append(time.perf_counter())
    found_changes(*constant_series(1, 0.03, 10.0))
    times.append(time.perf_counter())
    unpaired_s, paired_s, change_s = np.diff(times)
    print(
        f"\ntime: 100,000 values a side {unpaired_s:.2f} s, 100,000 pairs {paired_s:.2f} s, "
        f"change points of {DAYS} days {change_s:.2f} s"
    )


def main():
    seeds = range(SEEDS)
    print(f"{SEEDS} seeds, {SERIES} series")
    print_null(seeds)
    print_worlds(seeds)
    print_power(seeds)
    print_kept_promises(seeds)
    print_intervals(seeds)
    print_equivalence(seeds)
    print_change_points(seeds)
    print_speed()
    print_false_alarms(range(SERIES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
