"""Histories for tests of what is said of them."""

import random

from brimful.trend.judgement import Settings, Word
from brimful.trend.judging import judge
from brimful.trend.series import assemble

SETTINGS = Settings()


def levels(*parts, deviation=0.004, seed=1):
    """Values at levels, each given with how many there are."""
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, deviation)) for level, count in parts for _ in range(count)]


def series_of(values, *, worse="higher", labels=None, key=None, versions=None):
    versions = versions or [str(number) for number in range(len(values))]
    sets = dict(enumerate(labels or [{}]))
    rows = [
        (version, None, value, 0.0, None if value else "failed", number if labels else 0, "")
        for number, (version, value) in enumerate(zip(versions, values, strict=True))
    ]
    return assemble(id=1, key=key or {"name": "s"}, unit="", worse=worse, rows=rows, label_sets=sets)


def said(values, *words, settings=SETTINGS, today="2026-06-01", all_series=1, **options):
    return judge(series_of(values, **options), words, settings, all_series=all_series, today=today)


def word(kind, version, *, versions=(), until=None):
    return Word(
        series=1,
        kind=kind,
        version=version,
        versions=list(versions),
        reason="r",
        who="w",
        said="2026-01-01",
        until=until,
    )
