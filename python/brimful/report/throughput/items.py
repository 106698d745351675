"""What a report has to state, in one place: MLRsearch-15 by the rows of our checklist, and RFC 2544 section 26.

Tests and `python/brimful/throughput/compliance.toml` name an item as ``report:<id>``.
"""

from __future__ import annotations

import msgspec


class Item(msgspec.Struct, frozen=True):
    """One thing that a report states."""

    id: str
    row: int | None
    """Row of the MLRsearch-15 checklist; null for RFC 2544 alone."""
    level: str
    """``must``, ``should`` or ``advice``."""
    source: str
    """Section of the draft or of the RFC."""
    asks: str
    section: str
    """Key of what says more about it in a page."""


ITEMS: tuple[Item, ...] = (
    Item("units", 1, "must", "Quantities", "The unit of every quantity.", "meaning"),
    Item(
        "trial-procedure",
        2,
        "must",
        "Relationship to RFC 2544; Trial",
        "Every deviation from the RFC 2544 trial procedure.",
        "deviations",
    ),
    Item(
        "load-reaction",
        6,
        "must",
        "Trial Load",
        "How traffic that is not constant and even follows the load value.",
        "set-up",
    ),
    Item(
        "load-scope",
        7,
        "must",
        "Trial Load",
        "Whether loads are per interface, of a subset or in total; the factor to aggregate values.",
        "meaning",
    ),
    Item(
        "traffic-profile",
        10,
        "must",
        "Traffic Profile",
        "Directions, mesh, modifiers and mix of IP versions, where they apply.",
        "set-up",
    ),
    Item(
        "loss-denominator",
        12,
        "must",
        "Trial Forwarding Ratio",
        "What the loss ratio is a share of.",
        "meaning",
    ),
    Item(
        "effective-duration",
        14,
        "must",
        "Trial Effective Duration",
        "How the effective duration comes about where it is not the trial duration.",
        "trials",
    ),
    Item("width-definition", 20, "must", "Goal Width", "Which quantity serves as width.", "meaning"),
    Item(
        "regular-results",
        27,
        "must",
        "Regular Goal Result",
        "The relevant lower bound; the relevant upper bound and the conditional throughput should be there too.",
        "goals",
    ),
    Item(
        "irregular-results",
        28,
        "must",
        "Irregular Goal Result",
        "Irregular results marked as irregular, with the values that exist.",
        "goals",
    ),
    Item("result-kind", 29, "must", "Goal Result", "Regular told apart from irregular.", "goals"),
    Item("one-result-per-goal", 30, "must", "Search Result", "One entry for each goal.", "goals"),
    Item(
        "measurer",
        31,
        "should",
        "Measurer",
        "How duplicates and reordering are handled; the tester measured alone; unsent counted as loss.",
        "trials",
    ),
    Item(
        "configuration",
        32,
        "must",
        "Manager",
        "The configuration of the system under test in full, and all goal attributes.",
        "set-up",
    ),
    Item("rfc2544-format", 33, "must", "Test Report", "The paragraphs of RFC 2544 on reporting.", "rfc2544"),
    Item(
        "isolation",
        34,
        "must",
        "Security Considerations",
        "A test network apart from production and management; no benchmark-only modes of the device.",
        "set-up",
    ),
    Item(
        "warm-up",
        35,
        "advice",
        "Consequences",
        "Whether the system under test and the tester were warmed up before the search.",
        "trials",
    ),
    Item("frame-size", None, "should", "RFC 2544 26.1", "The size of the frames.", "rfc2544"),
    Item("theoretical-rate", None, "should", "RFC 2544 26.1", "The limit of the medium at that frame size.", "rfc2544"),
    Item("protocol", None, "should", "RFC 2544 26.1", "Protocol, format of the stream and type of medium.", "rfc2544"),
    Item("trial-duration", None, "should", "RFC 2544 24", "The duration of the trials behind a result.", "rfc2544"),
    Item("directions", None, "should", "RFC 2544 14", "Whether traffic ran in one direction or in both.", "rfc2544"),
)


def item(item_id: str) -> Item:
    """Give the item with an id.

    Raises
    ------
    KeyError
        When there is none.
    """
    for candidate in ITEMS:
        if candidate.id == item_id:
            return candidate
    raise KeyError(item_id)
