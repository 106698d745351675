"""Findings as an Atom feed (RFC 4287): an entry for each, with the same id for as long as it is the same. Pure."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Sequence
from xml.etree import ElementTree

from brimful.errors import one_line
from brimful.report.trend.reported import Reported
from brimful.trend.judging import describe

_MOST_ENTRIES, _MOST_LINES = 100, 20
_NAMESPACE = uuid.UUID("c1b5a7a2-6a0e-5c5f-9d0e-2f6d3b6f1a55")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(title: str, found: Sequence[Reported], *, origin: str, now: float) -> bytes:
    """Write the feed, newest reports first.

    Parameters
    ----------
    title
        Of the feed.
    found
        Findings with their first reports.
    origin
        Something of the store that never changes: makes ids that other stores do not have.
    now
        When the feed was last changed if nothing was found, in seconds since 1970.
    """
    feed = ElementTree.Element("feed", xmlns="http://www.w3.org/2005/Atom")
    newest = sorted(found, key=lambda each: each.first.at, reverse=True)[:_MOST_ENTRIES]
    _add(feed, "title", title)
    _add(feed, "id", _id(origin))
    _add(feed, "updated", _time(newest[0].first.at if newest else now))
    ElementTree.SubElement(feed, "link", rel="self", href="feed.xml")
    ElementTree.SubElement(feed, "link", href="index.html")
    _add(ElementTree.SubElement(feed, "author"), "name", "brimful")
    for each in newest:
        _add_entry(feed, each, origin)
    content: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _add_entry(feed: ElementTree.Element, each: Reported, origin: str) -> None:
    finding = each.finding
    largest = finding.changes[0]
    lines = [f"{one_line(change.name)}: {one_line(describe(change.change))}" for change in finding.changes]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES:,} more series"]
    series = "1 series" if len(finding.changes) == 1 else f"{len(finding.changes):,} series"
    entry = ElementTree.SubElement(feed, "entry")
    _add(entry, "title", f"{finding.kind} of {series} with {one_line(finding.version)}")
    _add(entry, "id", _id(f"{origin}\0{finding.kind}\0{largest.device}\0{each.first.version}"))
    _add(entry, "updated", _time(each.first.at))
    ElementTree.SubElement(entry, "link", href=f"index.html#series={largest.series}")
    ElementTree.SubElement(entry, "category", term=finding.kind)
    _add(entry, "content", "\n".join(lines))


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _NOT_IN_XML.sub("\ufffd", text)


def _id(text: str) -> str:
    return f"urn:uuid:{uuid.uuid5(_NAMESPACE, text)}"


def _time(at: float) -> str:
    return f"{datetime.datetime.fromtimestamp(int(at), datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
