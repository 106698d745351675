"""Each sample becomes a row, or is named as repeated, left out or refused; each row has a value or a reason."""

import json
import random

import pytest
from brimful.discards.telemetry.source import Reading
from telemetry import MIDNIGHT, content, line1, line2, put
from test_prometheus import answer, rows_of, series

LATEST = MIDNIGHT + 10**7
DISCARDS, OCTETS = "switch.discards.uplink.tx", "switch.octets.uplink.tx"


def counters(chance, count):
    """Give polls, most of a counter as it should be; the rest as files of all kinds have them."""
    at, counter = MIDNIGHT + chance.choice([0, 3600, 86_390]), chance.choice([0, 1000, 2**32 - 5000])
    odd = chance.choice([0, 0.1, 0.5])
    for _ in range(count):
        at += chance.choice([60, 60, 60, 60, 10, 600])
        counter += chance.choice([0, 7, 1500, 10**6])
        shown, when = str(counter), at
        if chance.random() < odd:
            shown = chance.choice(["NaN", "", "-5", "1.5", "x", "0", "3", str(2**64), str(2**32 + counter), "1e30"])
            when = chance.choice([at, at, at - 60, at - 86_400, LATEST + at, 10**8, at + 0.5])
            counter = chance.choice([counter, counter, 5])
        yield when, shown


def generic(chance, *, differences=False, spans=False):
    lines, samples = [], 0
    for (at, first), (_, second) in zip(counters(chance, 30), counters(chance, 30), strict=True):
        moment = chance.choice(["2021-03-28 02:30:00", "soon"]) if chance.random() < 0.05 else at
        age = chance.choice(["", "1000", "-3", "x"])
        cells = [first, second, age]
        samples += max(1, sum(cell not in {"", "NaN"} for cell in cells))
        lines.append(",".join([str(moment), "edge", "1", chance.choice(["tx"] * 20 + ["up"]), *cells, "60" * spans]))
    text = "\n".join(["timestamp,device,port,direction,octets,discards,uptime,span_s", *lines, ""])
    return {"a.csv": text}, samples, Reading(LATEST, counters=not differences, zone="Europe/Berlin")


def differences(chance):
    return generic(chance, differences=True)


def lengths(chance):
    return generic(chance, differences=True, spans=True)


def alone(chance):
    """A row for each of some ports, around a midnight."""
    at = [MIDNIGHT + chance.choice([0, 5, 3600, 86_400]) for _ in range(20)]
    lines = [f"{one},edge,{chance.randrange(8)},tx,{chance.randrange(9)},{n}" for n, one in enumerate(at)]
    text = "\n".join(["timestamp,device,port,direction,octets,discards", *lines, ""])
    return {"a.csv": text}, 2 * len(lines), Reading(LATEST, counters=False)


def flat(chance):
    lines = [
        f"mlab1-dfw02,{chance.choice([DISCARDS, OCTETS, OCTETS, 'x'])},{int(at)},{value}"
        for at, value in counters(chance, 60)
    ]
    return {"a.csv": "\n".join(["hostname,metric,timestamp,value", *lines, ""])}, 60, Reading(LATEST, counters=False)


def prometheus(chance):
    names = ["ifHCOutOctets", "ifOutOctets", "ifOutDiscards", "ifOutDiscards", "sysUpTime", "hrSystemUptime", "up"]
    found = [series(name, [[at, shown] for at, shown in counters(chance, 30)]) for name in names]
    found[3]["metric"]["replica"] = "b"
    return {"a.json": json.dumps(answer(*found))}, 30 * len(names), Reading(LATEST)


def telegraf(chance):
    lines = [
        {
            "fields": {"ifHCOutOctets": first, "ifOutDiscards": second},
            "name": "interface",
            "tags": {"agent_host": "edge", "ifName": "1"},
            "timestamp": chance.choice([at] * 20 + ["", "soon", "2021-03-28 02:30:00"]),
        }
        for (at, first), (_, second) in zip(counters(chance, 30), counters(chance, 30), strict=True)
    ]
    return {"a.json": "\n".join(map(json.dumps, lines))}, 60, Reading(LATEST, zone="Europe/Berlin")


def points(chance):
    lines = []
    for at, shown in counters(chance, 40):
        moment = "" if chance.random() < 0.05 else f" {round(at * 1e9)}"
        lines.append(f"interface,agent_host=edge,ifName=1 ifHCOutOctets={shown or 'NaN'}{moment}")
    return {"a.lp": "\n".join(lines)}, 40, Reading(LATEST)


def first_generation(chance):
    lines = [
        line1(metric, [(int(at), float(value or "nan")) for at, value in counters(chance, 30) if value != "x"])
        for metric in (DISCARDS, OCTETS, OCTETS, "switch.x")
    ]
    text = content(*(line.replace("NaN", "-1") for line in lines)).decode()
    return {"a-switch.json": text}, text.count("timestamp"), Reading(LATEST)


def second_generation(chance):
    lines = []
    for metric in (DISCARDS, OCTETS, OCTETS, "switch.octets.local.tx", "switch.octets.local.tx", "switch.x"):
        last, found = 0, []
        for at, value in counters(chance, 30):
            counter = int(value) % 2**64 if value.isdecimal() else last
            found.append((int(at), (counter - last) % 2**64, counter))
            last = counter
        lines.append(line2(metric, found))
    return {"a-switch.jsonl": content(*lines).decode()}, 30 * len(lines), Reading(LATEST)


def both_generations(chance):
    (one,), (other,) = (list(make(chance)[0].values()) for make in (first_generation, second_generation))
    files = {"a-switch.json": one, "b-switch.jsonl": other}
    return files, one.count("timestamp") + other.count("timestamp"), Reading(LATEST)


FORMATS = [
    generic,
    differences,
    lengths,
    alone,
    flat,
    prometheus,
    telegraf,
    points,
    first_generation,
    second_generation,
    both_generations,
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_what_is_in_the_files_is_kept_or_named(tmp_path, make, seed):
    files, samples, reading = make(random.Random(seed))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    summary = put(tmp_path / "store", *(tmp_path / name for name in files), reading=reading, workers=1)
    assert summary.unreadable == 0, summary.unreadable_places
    assert summary.samples == samples
    not_kept = summary.repeated_samples + sum(summary.left_out.values()) + summary.refused_samples
    assert summary.rows_new + summary.rows_known + summary.rows_conflicting + not_kept == samples
    assert 0 not in summary.left_out.values()
    rows = rows_of(tmp_path / "store") if summary.rows_new else []
    assert len(rows) == summary.rows_new == summary.values + sum(summary.without_value.values())
    assert sum(row["value"] is not None for row in rows) == summary.values
    assert sum(row["usable"] for row in rows) >= summary.values - summary.flags.get("ceiling", 0)
