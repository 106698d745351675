"""The report on delay as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path

from brimful.records import RunFile
from brimful.report import facts
from brimful.report.delay import figures, model, numbers
from brimful.report.figures import NARROW, WIDE
from brimful.report.web_page import render_page


def render(file: RunFile) -> str:
    """Write the report as a page.

    Parameters
    ----------
    file
        A record with the subject ``delay``.
    """
    view = model.build(file)
    return render_page(
        Path(__file__).with_name("page.html"),
        view=view,
        run=file.run,
        cards=[result for result in view.delays if result.direction == "all"],
        mean=numbers.mean,
        median=numbers.median,
        name_of=model.name_of,
        figures=_figures(view) if view.delays else [],
        set_up=facts.set_up(file.run),
    )


def _figures(view: model.View) -> list[dict[str, str]]:
    units = view.distribution_names[0]
    what = "Through the device minus over the bare wire" if view.plan.wire else "With the tester's own delay"
    return [
        {
            "id": "means",
            "title": "Delay over load",
            "wide": figures.draw_means(view, WIDE),
            "narrow": figures.draw_means(view, NARROW),
            "caption": f"{what}: mean and 95 % interval of all {units}, and of each direction. Marks at one load stand "
            "beside each other so that none hides another.",
        },
        {
            "id": "percentiles",
            "title": "Percentiles over load",
            "wide": figures.draw_percentiles(view, WIDE),
            "narrow": figures.draw_percentiles(view, NARROW),
            "caption": f"How long the {units} of both directions took, on a logarithmic scale, the tester's own delay "
            f"included: through the device, and dashed over the bare wire. {model.PERCENTILES}",
        },
    ]
