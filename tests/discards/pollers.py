"""Counters that are known in each second, and pollers that see them as real ones do: late, stale, with gaps."""

from dataclasses import dataclass

from telemetry import MIDNIGHT
from test_prometheus import series

TWO32 = 2**32


@dataclass
class History:
    """What a port counted in each second, and what its counter showed."""

    truth: list[int]
    shown: list[int]
    set_back: list[int]
    """Seconds in which it began again at 0."""

    def counted(self, begin, end):
        return self.truth[end] - self.truth[begin]

    def was_set_back(self, begin, end):
        return any(begin < second <= end for second in self.set_back)


def history(chance, seconds, *, rate, start, bits, set_back=(), bursts=False):
    """Give a history with ``rate`` a second, evenly or in bursts."""
    truth, shown, total, at, busy = [], [], 0, start, True
    for second in range(seconds):
        busy ^= bursts and chance.random() < 0.01
        step = (int(chance.random() < rate) if rate < 1 else chance.randrange(int(2 * rate) + 1)) * busy
        total += step
        at = 0 if second in set_back else (at + step) % 2**bits
        truth.append(total)
        shown.append(at)
    return History(truth, shown, sorted(set_back))


def polled(chance, seconds, *, every, jitter=0, missing=0.0):
    """Give the seconds in which a poller polls."""
    found, second = [], chance.randrange(every)
    while second < seconds:
        if chance.random() >= missing:
            found.append(second)
        second += max(1, every + chance.randint(-jitter, jitter))
    return found


def seen(name, one, moments, *, cache=1, **labels):
    """Give a series of what was shown at these moments, or up to ``cache`` seconds before."""
    return series(name, [[MIDNIGHT + at, str(one.shown[at // cache * cache])] for at in moments], **labels)


def intervals(rows):
    """Give the usable values: metric, begin and end in seconds since the history began, and value."""
    for row in rows:
        if row["usable"] and row["metric"] != "switch.uptime":
            begin, end = (round(row[name].timestamp()) - MIDNIGHT for name in ("bin_start", "bin_end"))
            yield row["metric"], begin, end, row["value"]
