"""The page itself: style, scripts and the chart library in one file. Pure, but for reading its parts."""

from __future__ import annotations

from pathlib import Path

from brimful.report.web_page import render_page

_HERE = Path(__file__).parent
_SCRIPTS = ("words.js", "figure.js", "series.js", "index.js", "start.js")


def render(title: str, data: str, now: float) -> str:
    """Write the page.

    Parameters
    ----------
    title
        What the store is called.
    data
        Name of the directory beside the page with the scripts that hold the data.
    now
        Time of day, in seconds since 1970.
    """
    import markupsafe

    vendor = _HERE / "vendor"
    licence = (vendor / "uPlot.LICENSE").read_text()
    library = f"/*\nuPlot\n\n{licence}*/\n{(vendor / 'uPlot.iife.min.js').read_text()}"
    return render_page(
        _HERE / "page.html",
        title=title,
        data=data,
        made=int(now),
        looks=markupsafe.Markup((vendor / "uPlot.min.css").read_text() + (_HERE / "page.css").read_text()),
        library=markupsafe.Markup(library),
        script=markupsafe.Markup("\n".join((_HERE / name).read_text() for name in _SCRIPTS)),
    )
