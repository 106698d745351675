"""Draws the figures of the documents: from records that are in the project, and from searches in virtual time."""

from __future__ import annotations

from pathlib import Path

import published_figures
from brimful.files import write_atomically
from brimful.records import read_run
from brimful.report.throughput import figures, model

ROOT = Path(__file__).resolve().parent.parent

_OF_ITS_OWN = (
    'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" style="background: #fff; padding: 8px"'
)


def search_time() -> str:
    """Draw the search-time graph of the first screen: as on a page, but with what the page would give it."""
    drawn = figures.draw_search_time(model.build(read_run(ROOT / "schemas" / "examples" / "regular.jsonl")))
    return _on_its_own(drawn)


def _on_its_own(drawn: str) -> str:
    return drawn.replace("<svg ", f"<svg {_OF_ITS_OWN} ", 1)


def all_figures() -> dict[str, str]:
    """Give every figure by the name of its file."""
    drawn = {graph.name: _on_its_own(published_figures.draw(graph)) for graph in published_figures.GRAPHS}
    return {"search-time": search_time(), **drawn}


if __name__ == "__main__":
    for name, figure in all_figures().items():
        write_atomically(ROOT / "docs" / "images" / f"{name}.svg", figure.encode())
