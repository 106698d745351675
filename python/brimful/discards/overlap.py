"""What the samples of an uplink know of each test: an interval join, exact to the microsecond.

Engines join on equality in linear time, on inequalities some hundred times slower. So samples and tests are put into
cells of Unix time, joined by cell, and only pairs that do overlap are kept, each in the first cell that both are in.
"""

from __future__ import annotations

import ibis
from ibis import _
from ibis.expr.types import Table

from brimful.discards.expressions import TEST, lasting_us, parts, seconds, without

CELL_S = 10
LONGEST_SAMPLE_S = 1800
"""A sample of a longer span says nothing of when within it: twice 15 minutes, the slowest polling."""
LONGEST_TEST_S = 3600
"""What overlaps a longer test is unknown."""


def known_of_tests(tests: Table, samples: Table) -> Table:
    """Give for each test of which something is known: what the machine of its site that knows most of it counted.

    All machines of a site poll the same port, so one counts. Of those that know equally much it is the test's own, else
    the first by name.

    Parameters
    ----------
    tests
        With ``site``, ``day``, ``test_id``, ``machine``, ``start`` and ``end``.
    samples
        Of one metric, usable ones only; each counts whole, however little of it the test has.

    Returns
    -------
    Table
        ``site``, ``day``, ``test_id``; ``coverage``: the share of the time of the test that is known; ``intervals``:
        samples that it overlaps; ``intervals_with_discards``, ``discards``, ``worst_discards``.
    """
    pairs = _pairs(tests, samples)
    # Where two samples of a machine overlap, their common time counts once.
    earlier = ibis.window(group_by=[*TEST, "polled_by"], order_by="known_from", preceding=(None, 1))
    reached = _.known_to.max().over(earlier).coalesce(_.known_from)
    timed = pairs.mutate(reached=reached).mutate(
        new_us=ibis.greatest(0, lasting_us(ibis.greatest(_.known_from, _.reached), _.known_to))
    )
    of_machines = timed.group_by([*TEST, "polled_by", "is_own"]).agg(
        coverage=_.new_us.sum() / _.lasting_us.max(),
        intervals=_.count(),
        intervals_with_discards=(_.value > 0).sum(),
        discards=_.value.sum(),
        worst_discards=_.value.max(),
    )
    order = ibis.window(group_by=TEST, order_by=[ibis.desc("coverage"), ibis.desc("is_own"), "polled_by"])
    best = of_machines.mutate(place=ibis.row_number().over(order)).filter(_.place == 0)
    return without(best, "place", "polled_by", "is_own")


def _pairs(tests: Table, samples: Table) -> Table:
    """Give a row for each test and sample that overlap, with the time that they share."""
    polled = samples.filter(_.span_s <= LONGEST_SAMPLE_S)
    polled = polled.select("site", "value", polled_by=_.machine, begin=_.bin_start, end=_.bin_end)
    # A test of no length is taken to last a microsecond, so that it lies in an interval.
    end = ibis.greatest(_.end, _.start + ibis.interval(microseconds=1))
    run = tests.select(*TEST, "machine", begin=_.start, end=end)
    run = run.filter(_.end <= _.begin + ibis.interval(seconds=LONGEST_TEST_S))
    served = _in_cells(polled, LONGEST_SAMPLE_S)
    probes = _in_cells(run, LONGEST_TEST_S).rename(test_begin="begin", test_end="end", test_first="first")
    met = probes.join(served, ["site", "cell"])
    overlapping = met.filter(_.begin < _.test_end, _.end > _.test_begin, _.cell == ibis.greatest(_.first, _.test_first))
    return overlapping.select(
        *TEST,
        "polled_by",
        "value",
        is_own=(_.polled_by == _.machine).cast("int64"),
        lasting_us=lasting_us(_.test_begin, _.test_end),
        known_from=ibis.greatest(_.begin, _.test_begin),
        known_to=ibis.least(_.end, _.test_end),
    )


def _in_cells(rows: Table, longest_s: int) -> Table:
    """Repeat rows in every cell that they touch, ``first`` of them."""
    last = seconds(_.end - ibis.interval(microseconds=1)) // CELL_S
    counted = rows.mutate(first=seconds(_.begin) // CELL_S).mutate(parts=last - _.first + 1)
    cells = counted.join(parts(longest_s // CELL_S + 1), "parts").mutate(cell=_.first + _.part)
    return without(cells, "parts", "part")
