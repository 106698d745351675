"""The figures of a store in report mode beside those of the report of 2018, under ``build/discards-figures``.

``discards_figures.py RUN``: what ``brimful discards report --mode report --out RUN`` kept. The published figures are
read from ``$BRIMFUL_SHARED/discards/reference-figures``; neither they nor what is made of them is ever committed.
Prints the levels of the run at the times for which those of the published figures are known.
"""

import io
import os
import statistics
import sys
from pathlib import Path

from brimful.records import read_run
from brimful.report.discards import figures, model, png

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "discards" / "reference-figures"
OUT = ROOT / "build" / "discards-figures"
PUBLISHED = {
    "1-uplink-rate": "fig1-uplink-median.png",
    "2-download-rate": "fig2-ndt-download-median.png",
    "3-loss-ratio": "fig3-discard-ratio.png",
    "4-retransmission-ratio": "fig4-retrans-ratio.png",
    "5-loss-and-retransmission": "fig5-combined.png",
    "6-download-max": "fig6-download-max.png",
    "6-download-mean": "fig6-download-avg.png",
    "7-test-counts": "fig7-test-counts.png",
}
"""Ours, of which the first page is taken, and theirs."""
LEVELS = (
    ("uplink, bit/s", "uplink_rate", "dfw", "2016-06", "5e6 to 3e7"),
    ("uplink, bit/s", "uplink_rate", "dfw", "2018-06", "1e8 to 3e8"),
    ("uplink, bit/s", "uplink_rate", "lga", "2016-06", "1e7 to 5e7"),
    ("uplink, bit/s", "uplink_rate", "lga", "2018-06", "1e8 to 3e8"),
    ("uplink, bit/s", "uplink_rate", "nuq", "2016-06", "1e5 to 3e6"),
    ("uplink, bit/s", "uplink_rate", "nuq", "2018-06", "1e8"),
    ("download, bit/s", "download_rate", "dfw", "2016-09", "2e7 to 3e7"),
    ("download, bit/s", "download_rate", "dfw", "2017-06", "1.4e7"),
    ("download, bit/s", "download_rate", "dfw", "2018-06", "2.3e7"),
    ("download, bit/s", "download_rate", "lga", "2016-09", "3e7 to 4e7"),
    ("download, bit/s", "download_rate", "lga", "2017-06", "2.2e7"),
    ("download, bit/s", "download_rate", "nuq", "2016-09", "3e7 to 3.8e7"),
    ("download, bit/s", "download_rate", "nuq", "2017-06", "1.8e7"),
    ("loss ratio", "loss_ratio", "dfw", "2017-06", "3e-5"),
    ("loss ratio", "loss_ratio", "dfw", "2018-02", "4e-4"),
    ("loss ratio", "loss_ratio", "lga", "2018-02", "1e-6 to 1e-4"),
    ("loss ratio", "loss_ratio", "nuq", "2018-02", "4e-5 to 8e-5"),
    ("loss ratio", "loss_ratio", "nuq02", "2018-03", "2e-6 to 5e-6"),
    ("loss ratio", "loss_ratio", "dfw", "2018-05", "none"),
    ("retransmission ratio", "retransmission_ratio", "dfw", "2016-09", "3e-4 to 1e-3"),
    ("retransmission ratio", "retransmission_ratio", "dfw", "2017-09", "1.5e-3"),
    ("tests a day without", "tests/zero", "dfw02", "2018-01", "4400"),
    ("tests a day with", "tests/non-zero", "dfw02", "2018-01", "2100"),
    ("tests a day without", "tests/zero", "dfw02", "2018-02", "3200"),
    ("tests a day with", "tests/non-zero", "dfw02", "2018-02", "2800"),
    ("tests a day without", "tests/zero", "dfw02", "2018-05", "12000 and more"),
)
"""Name, series, sites, month, and the level read off the published figure, good to a factor."""


def monthly_level(view, series, sites, month):
    """Give the least and greatest median of the days of a month over sites; none without data above 0."""
    quantity, _, variant = series.partition("/")
    medians = []
    for site in view.sites:
        days = [y for x, y in view.of(quantity, site, variant) if model.format_day(x).startswith(month)]
        if site.startswith(sites) and any(days):
            medians.append(statistics.median(days))
    return (min(medians), max(medians)) if medians else None


def print_levels(view):
    print(f"{'level':<22}{'sites':<8}{'month':<9}{'published':>15}{'here':>22}")
    for name, series, sites, month, published in LEVELS:
        found = monthly_level(view, series, sites, month)
        here = "none" if found is None else f"{found[0]:.2g} to {found[1]:.2g}"
        print(f"{name:<22}{sites:<8}{month:<9}{published:>15}{here:>22}")


def put_side_by_side(page, published, path):
    """Write both images into one, as high as the higher of them."""
    from matplotlib import image
    from matplotlib.figure import Figure

    images = [image.imread(io.BytesIO(png.render(page)), format="png"), image.imread(SHARED / published)]
    height = max(one.shape[0] for one in images) / 100
    widths = [one.shape[1] / one.shape[0] * height for one in images]
    figure = Figure(figsize=(sum(widths), height))
    for axes, one in zip(figure.subplots(1, 2, width_ratios=widths), images, strict=True):
        axes.imshow(one)
        axes.set_axis_off()
    figure.subplots_adjust(0, 0, 1, 1, wspace=0)
    figure.savefig(path, dpi=100)


def main():
    if len(sys.argv) != 2:
        print("usage: discards_figures.py RUN", file=sys.stderr)
        return 2
    view = model.build(read_run(Path(sys.argv[1])))
    print_levels(view)
    if not SHARED.is_dir():
        print("the published figures are not here; set BRIMFUL_SHARED", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    pages = {page.key.removesuffix("-1"): page for page in figures.make_pages(view)}
    for key, published in PUBLISHED.items():
        if key in pages:
            put_side_by_side(pages[key], published, OUT / f"{key}.png")
            print(f"wrote {OUT / f'{key}.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
