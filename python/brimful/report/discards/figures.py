"""The seven figures of the report: what is on them. `brimful.report.discards.plotting` draws them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from brimful.report.discards.model import Facet, View, Window
from brimful.report.discards.numbers import p_value, ratio_with_interval
from brimful.report.discards.pages import Axis, Layer, Page, Panel, choose_limits, paged

MBPS = 1e-6
"""Makes Mbit/s of bit/s."""


def make_pages(view: View) -> list[Page]:
    """Give all figures that the record has data for, in the order of the published report.

    Parameters
    ----------
    view
        From `brimful.report.discards.model.build`.
    """
    makers: tuple[Callable[[View], list[Page]], ...] = (
        _uplink_rate,
        _download_rate,
        _loss_ratio,
        _retransmission_ratio,
        _combined,
        _distributions,
        _test_counts,
        *(functools.partial(_others, key=key, what=what) for key, what in _OTHERS.items()),
    )
    return [page for maker in makers for page in maker(view)]


def _uplink_rate(view: View) -> list[Page]:
    caption = "Median over a day of what the uplink carried towards clients."
    if view.mode == "report":
        caption = (
            "Median over the 10 s bins of a day of what the uplink carried towards clients, in bit/s: the axis of the "
            "published figure says Mbps, its values are bit/s as well. Quantile 49/101, as published."
        )
    return _by_facet(
        view,
        key="1-uplink-rate",
        title="Daily median uplink rate",
        caption=caption,
        height_in=6.6,
        axis=_axis(view, ["uplink_rate"], "bit/s", is_log=True),
        quantities=["uplink_rate"],
    )


def _download_rate(view: View) -> list[Page]:
    return _by_facet(
        view,
        key="2-download-rate",
        title="Daily median download rate",
        caption=f"Median over the clients of a day of the {'fastest' if view.mode == 'report' else 'median'} download "
        "of each.",
        height_in=6.6,
        axis=_axis(view, ["download_rate"], "Mbit/s", factor=MBPS),
        quantities=["download_rate"],
        factor=MBPS,
    )


def _loss_ratio(view: View) -> list[Page]:
    rule = (
        "Days with a ratio of 1 % or more are left out, as published."
        if view.mode == "report"
        else "Samples that cannot be right are left out, days never."
    )
    return _by_facet(
        view,
        key="3-loss-ratio",
        title="Daily loss ratio of the uplink",
        caption=f"Discarded packets over unicast packets sent, both summed over the day. {rule} "
        "Days without discards stand in the strip below the axis.",
        height_in=6.6,
        axis=_axis(view, ["loss_ratio"], "ratio", is_log=True),
        quantities=["loss_ratio"],
    )


_OTHERS = {
    "8-inbound-discards": ("inbound_discards", "Inbound discards of the uplink", "packets", "received and discarded"),
    "9-machine-discards": (
        "machine_discards",
        "Discards towards machines",
        "packets",
        "discarded on ports of machines",
    ),
    "10-pauses-received": (
        "pauses_received",
        "Pause frames received",
        "frames",
        "received on the uplink (802.3x, PFC)",
    ),
    "11-pauses-sent": ("pauses_sent", "Pause frames sent", "frames", "sent on the uplink (802.3x, PFC)"),
}


def _others(view: View, *, key: str, what: tuple[str, str, str, str]) -> list[Page]:
    """Draw what else was counted, where there was any."""
    quantity, title, unit, way = what
    if not any(y > 0 for site in view.sites for _, y in view.of(quantity, site)):
        return []
    return _by_facet(
        view,
        key=key,
        title=title,
        caption=f"{unit.capitalize()} {way}, summed over each day. Days without any stand in the strip below the axis.",
        height_in=6.6,
        axis=_axis(view, [quantity], unit, is_log=True),
        quantities=[quantity],
    )


def _retransmission(view: View) -> tuple[str, str]:
    """Give the quantity that stands for retransmissions, and its definition."""
    if view.mode != "report" and view.has("retransmission_ratio_total"):
        return "retransmission_ratio_total", "Retransmitted over sent, both summed over all downloads of the day."
    return "retransmission_ratio", "Median over the clients of a day of the worst download of each, as published."


def _retransmission_ratio(view: View) -> list[Page]:
    quantity, definition = _retransmission(view)
    return _by_facet(
        view,
        key="4-retransmission-ratio",
        title="Daily retransmission ratio of downloads",
        caption=definition,
        height_in=6.6,
        axis=_axis(view, [quantity], "ratio", is_log=True),
        quantities=[quantity],
    )


def _combined(view: View) -> list[Page]:
    quantity, definition = _retransmission(view)
    if not (view.has("loss_ratio") and view.has(quantity)):
        return []
    unlike = " It is a median of the worst, beside a mean over all packets: levels do not compare."
    return _by_facet(
        view,
        key="5-loss-and-retransmission",
        title="Loss ratio of the uplink and retransmission ratio of downloads",
        caption="Strong marks: discarded over unicast packets. Pale marks of the same look: retransmissions. "
        + definition
        + (unlike if quantity == "retransmission_ratio" else ""),
        height_in=6.6,
        axis=_axis(view, ["loss_ratio", quantity], "ratio", is_log=True),
        quantities=[quantity, "loss_ratio"],
    )


def _axis(
    view: View,
    quantities: Sequence[str],
    label: str,
    *,
    factor: float = 1.0,
    is_log: bool = False,
) -> Axis:
    values = [y * factor for (quantity, _, _), found in view.points.items() if quantity in quantities for _, y in found]
    limits = choose_limits(values, is_log=is_log)
    return Axis(label, *limits, is_log, has_zeros=is_log and any(value <= 0 for value in values))


def _by_facet(
    view: View,
    *,
    key: str,
    title: str,
    caption: str,
    height_in: float,
    axis: Axis,
    quantities: Sequence[str],
    factor: float = 1.0,
) -> list[Page]:
    """Make a panel for each facet that has data, three a page; the last quantity is the one that is named."""
    panels = [_facet_panel(view, facet, axis, quantities, factor) for facet in view.facets]
    panels = [panel for panel in panels if any(layer.points for layer in panel.layers)]
    return paged(view, panels, key=key, title=title, caption=caption, height_in=height_in, rows=3, columns=1)


def _facet_panel(view: View, facet: Facet, axis: Axis, quantities: Sequence[str], factor: float) -> Panel:
    layers = [
        Layer(
            label=site if quantity == quantities[-1] else "",
            style=style,
            points=[(x, y * factor) for x, y in view.of(quantity, site)],
            faint=quantity != quantities[-1],
        )
        for quantity in quantities
        for style, site in enumerate(facet.sites)
    ]
    return Panel(
        title=facet.title,
        layers=layers,
        axis=axis,
        changes=[(facet.sites.index(change.site), change) for change in view.changes if change.site in facet.sites],
    )


def _distributions(view: View) -> list[Page]:
    test = "two-sided Kolmogorov-Smirnov test" if view.mode == "report" else "signed-rank test of the same clients"
    pages = []
    for quantity, which in (("download_median", "median"), ("download_max", "fastest"), ("download_mean", "mean")):
        panels = [_distribution(view, quantity, site) for site in view.sites]
        panels = [panel for panel in panels if panel.layers]
        periods = " and ".join(f"{window.name} ({_period(window)})" for window in view.windows)
        tested = (
            f"p: {test}, as it is and with Holm's correction for all tests made; a large p does not show that nothing "
            "changed, the ratio and its interval say how much may have."
            if any(panel.note for panel in panels)
            else "Not tested: it changes with how many tests a client has."
        )
        pages += paged(
            view,
            panels,
            key=f"6-download-{quantity.removeprefix('download_')}",
            title=f"Distribution of downloads: {which} of each client",
            caption=f"Density over decades of the {which} download of each client with enough tests in both windows"
            f"{': ' + periods if periods else ''}. {tested}",
            height_in=6.0,
            rows=3,
            columns=2,
            kind="density",
        )
    return pages


def _distribution(view: View, quantity: str, site: str) -> Panel:
    layers = [
        Layer(label=variant, style=style, points=view.of(quantity, site, variant))
        for style, variant in enumerate(("before", "after"))
        if view.of(quantity, site, variant)
    ]
    top = max((y for layer in layers for _, y in layer.points), default=1.0)
    return Panel(
        title=site, note=_comparison(view, quantity, site), layers=layers, axis=Axis("density", 0.0, top * 1.1 or 1.0)
    )


def _comparison(view: View, quantity: str, site: str) -> str:
    for finding in view.findings("before-after", "before-after-paired"):
        if finding.subject == site and finding.data.get("quantity") == quantity:
            data = finding.data
            parts = [
                f"p {p_value(data.get('p_value'))}",
                f"Holm {p_value(data.get('holm_p'))}",
                f"ratio {ratio_with_interval(data.get('shift_ratio'), data.get('shift_interval'))}",
            ]
            return ", ".join(parts)
    return ""


def _period(window: Window) -> str:
    from brimful.report.discards.model import DAY_S, format_day

    return f"{format_day(window.start_s)} to {format_day(window.end_s - DAY_S)}"


def _test_counts(view: View) -> list[Page]:
    values = [y for (quantity, _, _), found in view.points.items() if quantity == "tests" for _, y in found]
    axis = Axis("tests per day", *choose_limits(values))
    panels = []
    for site in view.sites:
        layers = [
            Layer(label=label, style=style, points=view.of("tests", site, variant))
            for variant, style, label in (
                ("unknown", 5, "unknown: telemetry is missing"),
                ("zero", 0, "without discards"),
                ("non-zero", 3, "with discards"),
            )
        ]
        changes = [(3, change) for change in view.changes if change.site == site]
        if any(layer.points for layer in layers):
            panels.append(Panel(title=site, layers=layers, axis=axis, changes=changes))
    return paged(
        view,
        panels,
        key="7-test-counts",
        title="Tests per day with and without discards on the uplink",
        caption="With discards: in at least one interval between polls that the test overlaps. "
        + (
            "Matched as published: two bins at most, tests without telemetry count as without discards."
            if view.mode == "report"
            else "Unknown: telemetry is missing for some of its time, and there are no discards in the rest."
        ),
        height_in=6.4,
        rows=3,
        columns=2,
    )
