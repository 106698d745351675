"""Draws the figures of the documents from records that are in the project."""

from __future__ import annotations

from pathlib import Path

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
    return drawn.replace("<svg ", f"<svg {_OF_ITS_OWN} ", 1)


if __name__ == "__main__":
    write_atomically(ROOT / "docs" / "images" / "search-time.svg", search_time().encode())
