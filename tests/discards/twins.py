"""Every question once more, slowly and plainly: dictionaries and loops over rows that are dictionaries."""

import datetime
import math
from collections import Counter, defaultdict
from statistics import fmean, median, stdev

from brimful.discards import analysis
from brimful.discards.modes import Mode

TEN_S = datetime.timedelta(seconds=10)
HALF_AN_HOUR, HOUR = datetime.timedelta(minutes=30), datetime.timedelta(hours=1)
EPOCH = datetime.datetime(1970, 1, 1)


def nearest_rank(values):
    """Quantile 49/101: the first value that at least this share of all are not above."""
    ordered = sorted(values)
    return next(value for n, value in enumerate(ordered, 1) if 101 * n >= 49 * len(ordered))


def grouped(rows, *keys):
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


def pieces(samples, metric):
    """Bins of 10 s; a sample of several is cut, one of more than 180 stays whole with `whole` set."""
    for row in samples:
        if row["metric"] != metric:
            continue
        count = max(1, math.floor(row["span_s"] / 10 + 0.5))
        whole = count > 180
        for part in range(1 if whole else count):
            yield row | {
                "start": row["bin_start"] + part * TEN_S,
                "value": (row["value"] if whole else row["value"] / count) if row["usable"] else None,
                "covered_s": row["span_s"] / (1 if whole else count),
                "whole": whole,
            }


def delivered(samples, metric):
    for row in samples:
        value = row["value"] if row["reported"] is None else float(row["reported"])
        if row["machine"] == "mlab1" and row["metric"] == metric and value is not None:
            yield row | {"value": value}


def of_one_machine(rows, samples):
    """The machine with the most usable samples of a site and day, whatever they are of; else the most bins."""
    polls = Counter(
        (row["site"], row["day"], row["machine"])
        for row in samples
        if row["usable"] and row["metric"] in (analysis.OCTETS, analysis.UNICAST, analysis.DISCARDS)
    )
    best = {}
    for key, row in sorted(rows.items()):
        site, day, _machine = key
        rank = (polls[key], row["bins"])
        if (site, day) not in best or rank > best[site, day][0]:
            best[site, day] = (rank, row)
    return [row for _, row in best.values()]


def daily_uplink_rate(samples, mode):
    if mode is Mode.REPORT:
        groups = grouped(delivered(samples, analysis.OCTETS), "site", "day")
        return [
            {
                "site": site,
                "day": day,
                "rate_bps": nearest_rank([row["value"] * 0.8 for row in rows]),
                "bins": len(rows),
            }
            for (site, day), rows in groups.items()
        ]
    rates = defaultdict(list)
    for piece in pieces(samples, analysis.OCTETS):
        if piece["value"] is not None and not piece["whole"]:
            count = max(1, math.floor(piece["span_s"] / 10 + 0.5))
            rate = piece["value"] * count / piece["span_s"] * 8
            rates[piece["site"], piece["start"].date(), piece["machine"]].append(rate)
    return of_one_machine(
        {
            key: {
                "site": key[0],
                "day": key[1],
                "machine": key[2],
                "rate_bps": median(values),
                "bins": len(values),
            }
            for key, values in rates.items()
        },
        samples,
    )


def daily_loss_ratio(samples, mode):
    days = defaultdict(
        lambda: {
            "discards": 0.0 if mode is Mode.REPORT else None,
            "packets": 0.0 if mode is Mode.REPORT else None,
            "bins": 0,
            "bins_with_discards": 0,
            "covered_s": 0.0,
            "excluded_bins": 0,
        }
    )
    if mode is Mode.REPORT:
        for name, metric in (("discards", analysis.DISCARDS), ("packets", analysis.UNICAST)):
            for row in delivered(samples, metric):
                day = days[row["site"], row["day"], row["machine"]]
                day.setdefault("seen", set()).add(name)
                day[name] += row["value"]
                if name == "discards":
                    day["bins"] += 1
                    day["covered_s"] += 10
                    day["bins_with_discards"] += row["value"] > 0
    else:
        bins = defaultdict(lambda: {"whole": False, "covered_s": math.inf})
        for name, metric in (("discards", analysis.DISCARDS), ("packets", analysis.UNICAST)):
            for piece in pieces(samples, metric):
                one = bins[piece["site"], piece["machine"], piece["start"]]
                one["whole"] |= piece["whole"]
                one["covered_s"] = min(one["covered_s"], piece["covered_s"])
                if piece["value"] is not None:
                    one[name] = one.get(name, 0.0) + piece["value"]
        for (site, machine, start), one in bins.items():
            day = days[site, start.date(), machine]
            if "discards" not in one:
                day["excluded_bins"] += 1
                continue
            day["discards"] = (day["discards"] or 0.0) + one["discards"]
            if "packets" in one:
                day["packets"] = (day["packets"] or 0.0) + one["packets"]
                day["paired"] = day.get("paired", 0.0) + one["discards"]
            day["bins"] += not one["whole"]
            day["covered_s"] += 0 if one["whole"] else one["covered_s"]
            day["bins_with_discards"] += not one["whole"] and one["discards"] > 0
    found = {}
    for (site, date, machine), day in days.items():
        seen = day.pop("seen", None)
        ratio = day.pop("paired", day["discards"]) / day["packets"] if day["packets"] else None
        day.pop("paired", None)
        if mode is Mode.REPORT and not (
            seen == {"discards", "packets"} and day["discards"] < day["packets"] and ratio < 0.01
        ):
            continue
        found[site, date, machine] = {"site": site, "day": date, "machine": machine, "loss_ratio": ratio} | day
    return list(found.values()) if mode is Mode.REPORT else of_one_machine(found, samples)


def daily_other_counts(samples, mode):
    found = {}
    for row in samples:
        kind, scope, way = row["metric"].split(".")[1:]
        if row["usable"] and (kind == "pause" or (kind == "discards" and (scope, way) != ("uplink", "tx"))):
            key = {name: row[name] for name in ("site", "day", "machine", "metric")}
            start = key | {"counted": 0.0, "samples": 0, "samples_with": 0}
            one = found.setdefault(tuple(key.values()), start)
            one["counted"] += row["value"]
            one["samples"] += 1
            one["samples_with"] += row["value"] > 0
    return list(found.values())


def valid_downloads(tests, excluded, mode):
    for row in tests:
        if row["direction"] != "download" or row["client"] is None or row["client"] in excluded:
            continue
        size, sending = row["bytes"], row["sending_s"]
        if mode is Mode.REPORT:
            if size is not None and sending is not None and size >= 1_000_000 and 9 <= sending < 600:
                yield row | {"day": row["logged"].date(), "rate_bps": 8 * size / sending}
        elif (
            (size is None or size >= 1_000_000)
            and 9 <= ((row["end"] - row["start"]).total_seconds() if sending is None else sending) < 600
            and row["rate_bps"] is not None
        ):
            yield row


def daily_download_rate(tests, excluded, mode):
    of_client = max if mode is Mode.REPORT else median
    middle = nearest_rank if mode is Mode.REPORT else median
    clients = defaultdict(list)
    for (site, day, _client), rows in grouped(valid_downloads(tests, excluded, mode), "site", "day", "client").items():
        clients[site, day].append(of_client([row["rate_bps"] for row in rows]))
    return [
        {"site": site, "day": day, "rate_bps": middle(rates), "clients": len(rates)}
        for (site, day), rates in clients.items()
    ]


def daily_retransmission_ratio(tests, excluded, mode):
    name = "server_name" if mode is Mode.REPORT else "retransmission_unit"
    middle = nearest_rank if mode is Mode.REPORT else median
    counted = [
        row for row in valid_downloads(tests, excluded, mode) if row["retransmitted"] is not None and row["sent"]
    ]
    found = []
    for (site, day, kind), rows in grouped(counted, "site", "day", name).items():
        worst = [max(row["retransmitted"] / row["sent"] for row in of) for of in grouped(rows, "client").values()]
        found.append(
            {
                "site": site,
                "day": day,
                name: kind,
                "worst_ratio": middle(worst),
                "clients": len(worst),
                "total_ratio": sum(row["retransmitted"] for row in rows) / sum(row["sent"] for row in rows),
            }
        )
    return found


def clients_before_after(tests, before, after, minimum_tests, excluded, mode):
    report = mode is Mode.REPORT
    chosen = {}
    for number, row in enumerate(valid_downloads(tests, excluded, mode)):
        for period, (first, last) in (("before", before), ("after", after)):
            if first <= row["day"] <= last:
                origin = ("server_name", "logged", "client", "client_port", "server", "server_port", "machine", "site")
                key = (tuple(row[name] for name in origin), row["rate_bps"]) if report else number
                chosen[key] = row | {"period": period, "metro": row["site"][:3].upper()}
    rows = list(chosen.values())
    place = "metro" if report else "site"
    counts = {key: len(of) for key, of in grouped(rows, place, "client", "period").items()}
    rows = [
        row
        for row in rows
        if all(counts.get((row[place], row["client"], period), 0) >= minimum_tests for period in ("before", "after"))
    ]
    keys = ["site", "machine", "period", "client"] if report else ["site", "period", "client"]
    found = []
    for key, of in grouped(rows, *keys).items():
        rates = [row["rate_bps"] for row in of]
        if report and len(rates) == 1:
            continue
        found.append(
            dict(zip(keys, key, strict=True))
            | {
                "tests": len(rates),
                "max_bps": max(rates),
                "min_bps": min(rates),
                "mean_bps": fmean(rates),
                "stddev_bps": stdev(rates) if len(rates) > 1 else None,
                "median_bps": nearest_rank(rates) if report else median(rates),
            }
        )
    return found


def test_overlap(tests, samples, mode):
    found = []
    for test in tests:
        if test["direction"] != "download":
            continue
        if mode is Mode.REPORT:
            size, sending = test["bytes"] or 0, test["sending_s"] or 0
            if test["machine"] == "mlab1" and size >= 1_000_000 and 9 <= sending < 600:
                found.append(_overlap_of_the_report(test, samples))
        else:
            found.append(_overlap(test, samples))
    return found


test_overlap.__test__ = False


def _row(test, values, coverage, otherwise):
    names = ("test_id", "site", "day", "machine", "client", "start", "end", "rate_bps")
    return {name: test[name] for name in names} | {
        "intervals": len(values),
        "coverage": coverage,
        "intervals_with_discards": sum(value > 0 for value in values),
        "discards": math.fsum(values),
        "worst_discards": max(values, default=0.0),
        "overlap": "non-zero" if any(value > 0 for value in values) else "zero" if coverage == 1 else otherwise,
    }


def _overlap(test, samples):
    """Look at every sample of each machine of the site, and take the machine that knows most of the test."""
    begin, end = test["start"], max(test["end"], test["start"] + datetime.timedelta(microseconds=1))
    machines = defaultdict(list)
    for row in samples:
        if row["metric"] != analysis.DISCARDS or row["site"] != test["site"] or not row["usable"]:
            continue
        if row["bin_end"] - row["bin_start"] > HALF_AN_HOUR:
            continue
        if row["bin_start"] < end and row["bin_end"] > begin:
            machines[row["machine"]].append(row)
    best = (0.0, [])
    for machine in sorted(machines, key=lambda name: (name != test["machine"], name)):
        known, reached = datetime.timedelta(0), begin
        for row in sorted(machines[machine], key=lambda row: row["bin_start"]):
            until = min(row["bin_end"], end)
            known += max(until - max(row["bin_start"], reached), datetime.timedelta(0))
            reached = max(reached, until)
        if known / (end - begin) > best[0]:
            best = (known / (end - begin), [row["value"] for row in machines[machine]])
    coverage, values = best if end - begin <= HOUR else (0.0, [])
    return _row(test, values, coverage, "unknown")


def _overlap_of_the_report(test, samples):
    begin = EPOCH + (test["start"] - EPOCH) // TEN_S * TEN_S
    values = [
        row["value"]
        for row in delivered(samples, analysis.DISCARDS)
        if row["site"] == test["site"] and row["bin_start"] in (begin + TEN_S, begin + 2 * TEN_S)
    ]
    rate = 8 * test["bytes"] / test["sending_s"] if test["bytes"] is not None and test["sending_s"] else None
    return _row(test | {"day": test["logged"].date(), "rate_bps": rate}, values, min(len(values), 2) / 2, "zero")


def daily_test_counts(overlap):
    return [
        {"site": site, "day": day, "overlap": kind, "tests": len(rows)}
        for (site, day, kind), rows in grouped(overlap, "site", "day", "overlap").items()
    ]


def dose_response(overlap):
    told = [
        row | {"hour": row["start"].hour}
        for row in overlap
        if row["overlap"] != "unknown" and row["client"] is not None and (row["rate_bps"] or 0) > 0
    ]
    days = defaultdict(list)
    for row in told:
        if row["overlap"] == "non-zero":
            days[row["site"]].append(row["day"])
    told = [row for row in told if days[row["site"]] and min(days[row["site"]]) <= row["day"] <= max(days[row["site"]])]
    clients = defaultdict(list)
    for (site, client, _hour), rows in grouped(told, "site", "client", "hour").items():
        tainted = [row for row in rows if row["overlap"] == "non-zero"]
        clean = [row for row in rows if row["overlap"] == "zero"]
        if tainted and clean:
            clients[site, client].append((tainted, clean))
    found = []
    for (site, client), hours in clients.items():
        weights = [1 / (1 / len(tainted) + 1 / len(clean)) for tainted, clean in hours]
        means = [[fmean(math.log10(row["rate_bps"]) for row in rows) for rows in hour] for hour in hours]
        tainted = [row for hour in hours for row in hour[0]]
        found.append(
            {
                "site": site,
                "client": client,
                "tests_with": len(tainted),
                "tests_without": sum(len(clean) for _, clean in hours),
                "mean_log10_bps_with": fmean([mean[0] for mean in means], weights),
                "mean_log10_bps_without": fmean([mean[1] for mean in means], weights),
                "discards_per_test_with": fmean(row["discards"] for row in tainted),
            }
        )
    return found
