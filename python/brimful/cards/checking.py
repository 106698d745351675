"""Checks interfaces before a test: what the kernel says, what the tester can do there, and what that means."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from brimful.cards.card import Card, Finding
from brimful.cards.judging import back_end_of, judge
from brimful.cards.reading import read_card
from brimful.measurers.back_ends import list_back_ends


class Checked(msgspec.Struct, frozen=True):
    """An interface, and what would matter for a test on it."""

    card: Card
    findings: list[Finding]


class Check(msgspec.Struct, frozen=True):
    """Interfaces that are to be used together."""

    back_end: str
    """The way into the kernel that the tester takes by itself."""
    back_end_remark: str
    interfaces: list[Checked]

    def is_clean(self) -> bool:
        """Whether a test is possible, and nothing would falsify it."""
        return all(finding.level == "notice" for checked in self.interfaces for finding in checked.findings)


def check(names: Sequence[str], processors: Sequence[int] = ()) -> Check:
    """Check interfaces of this network namespace. Those that are not in use are opened and closed; nothing is changed.

    Parameters
    ----------
    names
        Of the interfaces.
    processors
        Those that the tester is given, the senders' and the receiver's; none: all that this process may use.

    Raises
    ------
    UsageError
        When there is no such interface, or the tester is not installed.
    MeasureError
        When the tester does not answer.
    """
    # Before they are opened: a driver may restart the link for a program.
    cards = [read_card(name) for name in names]
    found = {each.interface: each for each in list_back_ends(names, force=False)}
    cards = [
        msgspec.structs.replace(card, used_for=each.used_for, back_ends=each.back_ends)
        for card in cards
        if (each := found.get(card.interface)) is not None
    ]
    allowed = processors or sorted(os.sched_getaffinity(0))
    back_end, remark = back_end_of(cards)
    return Check(back_end, remark, [Checked(card, judge(card, allowed, processors)) for card in cards])
