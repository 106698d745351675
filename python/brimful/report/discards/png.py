"""The figures of the report on discards, a file each."""

from __future__ import annotations

import io
from pathlib import Path

from brimful.errors import BrimfulError
from brimful.files import write_atomically
from brimful.records import RunFile
from brimful.report.discards import figures, model, plotting, splits
from brimful.report.discards.pages import Page

DOTS_PER_INCH = 120


def write(run_file: RunFile, directory: Path) -> list[Path]:
    """Write each page of each figure as a PNG file and give their paths.

    Parameters
    ----------
    run_file
        A record with the subject ``switch-discards``.
    directory
        Made where it is not there; what else is in it stays.

    Raises
    ------
    UsageError
        When a package is missing.
    BrimfulError
        When a file cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{directory}: cannot make the directory: {error.strerror}; choose another one"
        raise BrimfulError(message) from error
    paths = []
    view = model.build(run_file)
    for page in [*figures.make_pages(view), *splits.make_pages(view)]:
        path = directory / f"{page.key}.png"
        write_atomically(path, render(page))
        paths.append(path)
    return paths


def render(page: Page) -> bytes:
    """Give a page as the bytes of a PNG file: the same records always give the same."""
    target = io.BytesIO()
    with plotting.drawn(page) as figure:
        figure.savefig(target, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return target.getvalue()
