"""What came out, in a few sentences; the findings about single sites, below them, say the rest."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import Finding
from brimful.report import words
from brimful.report.discards import numbers
from brimful.report.discards.model import Change, View, format_day, number

_IN_TABLES = (
    "discards-begin",
    "discards-stop",
    "coverage",
    "conflicts",
    "excluded",
    "before-after",
    "minimum-detectable",
    "dose-response",
)
"""What the codes of findings begin with that tables show in full."""
_GROUPS = (("Discards", ("discards-", "affected", "pauses-", "ratio-")), ("Other", ("",)))
"""Title of a group of findings, and what their codes begin with."""


def sentences(view: View) -> list[str]:
    """Say what came out for all sites together."""
    said = [_discards(view), _affected(view), *_compared(view)]
    return [text for text in said if text] or ["The record has nothing to say anything of."]


def findings(view: View) -> list[tuple[str, list[str]]]:
    """Give the findings in words, by what they are about."""
    groups: dict[str, list[str]] = {title: [] for title, _ in _GROUPS}
    for finding in view.file.findings:
        if not finding.code.startswith(_IN_TABLES):
            title = next(title for title, beginnings in _GROUPS if finding.code.startswith(beginnings))
            groups[title].append(finding.text)
    return [(title, texts) for title, texts in groups.items() if texts]


def _discards(view: View) -> str:
    seen = [site for site in view.sites if view.of("loss_ratio", site) or view.of("discards", site)]
    if not seen:
        return "There is no telemetry of discards: whether there were any is not known."
    totals = {site: sum(y for _, y in view.of("discards", site) or view.of("loss_ratio", site)) for site in seen}
    hit = [site for site in seen if totals[site] > 0]
    if not hit:
        return (
            f"No uplink discarded anything of what it sent: {words.count(len(seen), 'site')} with telemetry."
            + _inbound(view)
        )
    packets = sum(totals[site] for site in hit if view.of("discards", site))
    text = f"{len(hit)} of {words.count(len(seen), 'site')} discarded packets on the uplink"
    text += f", {words.group(round(packets))} in all." if packets else "."
    for kind, verb in (("begin", "began"), ("stop", "stopped")):
        text += _when(verb, [change for change in view.changes if change.kind == kind])
    return text + _inbound(view)


def _inbound(view: View) -> str:
    """Say what is known of discards of what uplinks received: silence would be taken for none."""
    known = [site for site in view.sites if view.of("inbound_discards", site)]
    if not known:
        return " Inbound discards are not known."
    counted = sum(y for site in known for _, y in view.of("inbound_discards", site))
    if not counted:
        return f" There were no inbound discards ({words.count(len(known), 'site')})."
    return f" Of what they received, {words.group(round(counted))} packets were discarded."


def _when(verb: str, changes: Sequence[Change]) -> str:
    if not changes:
        return ""
    first, last = format_day(changes[0].at_s), format_day(changes[-1].at_s)
    sites = len({change.site for change in changes})
    days = f"on {first}" if first == last else f"between {first} and {last}"
    return f" They {verb} {days} ({words.count(sites, 'site')})."


def _affected(view: View) -> str:
    sums = {
        variant: sum(y for site in view.sites for _, y in view.of("tests", site, variant))
        for variant in ("non-zero", "zero", "unknown")
    }
    total = sum(sums.values())
    if not total:
        return "There are no speed tests: whom discards hurt is not known." if not view.has("download_rate") else ""
    known = total - sums["unknown"]
    if not known:
        return f"What discards did to {words.count(round(total), 'test')} is not known: telemetry is missing."
    text = (
        f"Discards overlapped {words.group(round(sums['non-zero']))} of {words.count(round(known), 'test')} "
        f"({words.share(sums['non-zero'] / known)})"
    )
    return text + f"; of {words.group(round(sums['unknown']))} more it is not known." if sums["unknown"] else text + "."


def _compared(view: View) -> list[str]:
    said = []
    for code, what in (("before-after", "of all clients"), ("before-after-paired", "of the same clients")):
        found = [finding for finding in view.findings(code) if number(finding.data.get("p_value")) is not None]
        if found:
            said.append(_verdict(found, what))
    return said


def _verdict(found: Sequence[Finding], what: str) -> str:
    changed = [finding for finding in found if _rejects(finding)]
    equivalent = sum(finding.data.get("equivalent") is True for finding in found)
    many = words.count(len(found), "comparison")
    text = f"Downloads {what} before and after, {many}: "
    if changed:
        sites = sorted({finding.subject or "" for finding in changed})
        names = ", ".join(sites[:5]) + (f" and {len(sites) - 5} more" if len(sites) > 5 else "")
        text += f"{len(changed)} found a change ({names})"
    else:
        text += "none found a change, which does not show that there was none"
    margin = number(found[0].data.get("margin"))
    if equivalent:
        text += f"; {equivalent} showed that the typical rate changed by less than {numbers.percent(margin)}"
        text += ", which does not say that discards did no harm"
    detectable = [each for finding in found if (each := number(finding.data.get("detectable_80"))) is not None]
    if detectable:
        least, most = numbers.percent(min(detectable)), numbers.percent(max(detectable))
        text += f". The least change that they would have found in 8 of 10 cases is {least}"
        text += f" to {most}, by site" if least != most else ""
    return text + "."


def _rejects(finding: Finding) -> bool:
    """Whether the corrected test rejects; ``level`` is for the least p value of all ``tests``."""
    corrected, level = number(finding.data.get("holm_p")), number(finding.data.get("level"))
    tests = number(finding.data.get("tests")) or 1.0
    return corrected is not None and corrected < (0.01 if level is None else level * tests)
