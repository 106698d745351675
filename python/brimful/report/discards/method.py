"""How the numbers of a report on discards came about, and what it is about, in words."""

from __future__ import annotations

from brimful.report import facts, words
from brimful.report.discards.model import DAY_S, View, format_day

_MODES = {
    "correct": "correct: medians are medians, samples that cannot be right are left out, tests are matched with every "
    "interval between polls that they overlap",
    "report": "report: the definitions of the published report, with its quantile 49/101, its two bins a test and its "
    "limit of 1 % on the loss ratio of a day",
}
_DEFINITIONS = (
    ("Uplink rate", "bits that the switch sent on the uplink, by the length of what the sample covers"),
    ("Loss ratio", "discards over unicast packets sent on the uplink, both summed over a day"),
    ("Download rate", "bits acknowledged over the time of sending; first of the tests of a client, then of clients"),
    ("Retransmission ratio", "retransmitted over sent, in segments or bytes as the source has it"),
    ("Overlap", "a test from s to e overlaps an interval from b to c where b < e and c > s"),
    ("Unknown", "a test without discards in the time that telemetry covers, where it does not cover all of the test"),
)
_KNOWN = {"store", "mode", "before", "after", "days", "sites", "samples", "tests", "capacities", "seed", "splits"}


TITLE = "Switch discards"


def about(view: View) -> str:
    """Say in one line what was looked at."""
    source = view.file.run.source
    parts = [words.count(len(view.sites), "site")]
    if view.days:
        parts.append(f"{format_day(view.days[0])} to {format_day(view.days[1])}")
    for key, noun in (("samples", "sample"), ("tests", "speed test")):
        if isinstance(source.get(key), int):
            parts.append(words.count(source[key], noun))
    return ", ".join(parts)


def rows(view: View) -> list[tuple[str, str]]:
    """Give the settings and definitions, as rows of name and value."""
    source = view.file.run.source
    found = [("Mode", _MODES.get(view.mode, view.mode)), ("Store", facts.text(source.get("store", "")))]
    found += [
        (f"Window {window.name}", f"{format_day(window.start_s)} to {format_day(window.end_s - DAY_S)}, both included")
        for window in view.windows
    ]
    capacities = source.get("capacities")
    found.append(
        ("Capacity of uplinks", facts.text(capacities) if capacities else "not given: there is no utilisation")
    )
    if source.get("seed") is not None:
        found.append(("Seed", facts.text(source["seed"])))
    found += _DEFINITIONS
    found += [
        (str(key).replace("_", " ").capitalize(), facts.text(value))
        for key, value in source.items()
        if key not in _KNOWN
    ]
    return [(name, shown) for name, shown in found if shown]
