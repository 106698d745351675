"""A small store with all that a page shows, and its page."""

from brimful.report.trend import site
from brimful.trend.checking import check
from brimful.trend.judgement import Settings, Word
from brimful.trend.measured import Measured, Point
from brimful.trend.store import Store
from histories import levels

DAY = 86400
BEGUN = 1_780_272_000
VERSIONS = 40
CHANGE = 30
HOSTILE = '<img src=x onerror="hacked=1">&\'</script>'
VALUES = {
    "login": levels((1.0, CHANGE), (1.08, VERSIONS - CHANGE)),
    "logout": levels((2.0, CHANGE), (2.3, VERSIONS - CHANGE), seed=2),
    "faster": levels((3.0, 20), (2.5, VERSIONS - 20), seed=3),
    "search": levels((4.0, VERSIONS), seed=4),
    HOSTILE: levels((5.0, VERSIONS), seed=5),
}
NOW = BEGUN + VERSIONS * DAY


def runs(reports=None, versions=VERSIONS):
    """Give a run for each version; the kernel changes at the 10th, the 5th of `search` fails."""
    for number in range(versions):
        points = [
            Point(
                key={"name": name},
                worse="higher",
                unit="s",
                value=None if (name, number) == ("search", 5) else values[number],
                error=0.002,
                problem="timed out <b>" if (name, number) == ("search", 5) else None,
            )
            for name, values in VALUES.items()
        ]
        yield Measured(
            source=f"run {number}",
            version=f"1.{number}",
            at=BEGUN + number * DAY,
            labels={"kernel": "6.1" if number < 10 else "6.12", "version": f"1.{number}"},
            report=str(reports / f"{number} & more.html") if reports else "",
            points=points,
        )


def checked_store(path, reports=None):
    """Fill a store and check it on the last days."""
    store = Store.create(path)
    *earlier, last = runs(reports)
    for added in (earlier[: CHANGE + 5], earlier[CHANGE + 5 :], [last]):
        check_after(store, added)
    return store


def check_after(store, added):
    """Add runs and check as on the day of the last."""
    store.add(added, now=added[-1].at)
    check(store, Settings(), now=added[-1].at + 60, today="2026-07-01")


def accept(store, series, version):
    """Let somebody accept a change."""
    word = Word(series=series, kind="accept", version=version, reason="as <i>meant</i>", who="ada", said="2026-07-01")
    store.say([word], now=NOW)


def page_of(store, directory, now=NOW):
    """Write the page of a store."""
    return site.write(store, directory, now=now)
