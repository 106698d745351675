"""What is shown of its records."""

import json

from brimful.report.compared import Compared
from brimful.verified import Verified

from toy.kinds import Bucket


def held(file):
    return sum(bucket.litres - bucket.spilled for bucket in file.others if isinstance(bucket, Bucket))


def line(file):
    return f"{held(file)} l"


def text(file, *, style, columns):
    return style(f"The barrel holds {held(file)} l.", "title") + "\n"


def page(file):
    return f"<p>{text(file, style=lambda said, role: said, columns=100)}</p>"


def to_json(file):
    return json.dumps({"held": held(file)})


def verify(file, goals):
    wrong = [bucket for bucket in file.others if bucket.spilled > bucket.litres]
    return Verified(holds=not wrong, text=f"{len(wrong)} buckets spilled more than they had", facts={"wrong": wrong})


def compare(new, baseline, *, tolerance):
    ours, theirs = (sum(map(held, side)) / len(side) for side in (new, baseline))
    return Compared(
        regressed=ours < theirs * (1 - (tolerance or 0)),
        text=lambda style, columns: f"{ours:g} l against {theirs:g} l\n",
        json=lambda: json.dumps({"new": ours, "baseline": theirs}),
    )
