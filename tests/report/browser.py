"""A headless browser that looks at a page."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")


@dataclass
class Seen:
    """What came of showing a page in a frame of some width."""

    scroll_width: int
    widest: str
    shown_figures: list[str]
    requests: list[str]
    background: str
    console: list[str]
    """Of all pages that were shown together."""


WRAPPER = """<!doctype html><html><body style="margin:0">
{frames}
<script>
window.onload = () => {{
  const seen = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument;
    const width = frame.clientWidth;
    const over = [...page.querySelectorAll("body *")].filter(
      (e) => e.getBoundingClientRect().right > width + 0.5 && !e.closest(".scroll") && !e.closest("svg"));
    const figures = [...page.querySelectorAll("svg[data-figure]")].filter((e) => e.getBoundingClientRect().width > 0);
    return {{
      scroll_width: page.documentElement.scrollWidth,
      widest: over.slice(0, 3).map((e) => e.tagName + "." + e.className).join(" "),
      shown_figures: figures.map((e) => e.dataset.figure),
      requests: frame.contentWindow.performance.getEntriesByType("resource").map((e) => e.name),
      background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    }};
  }});
  document.body.setAttribute("data-seen", JSON.stringify(seen));
}};
</script></body></html>"""
FRAME = '<iframe style="border:0;display:block;width:{width}px;height:900px" srcdoc="{page}"></iframe>'
SCHEMES = {"dark": 0, "light": 1}
"""Colour schemes, by the browser's own numbers."""


def show(page: str, width: int) -> Seen:
    """Show a page in a frame so wide (a window cannot be narrower than 500 pixels) and say what came of it."""
    return show_all([(page, width)])[0]


class ShownTogether:
    """Pages by name and width, shown with one start of the browser once the first is asked for."""

    def __init__(self, page_of: Callable[[str], str], wanted: list[tuple[str, int]]) -> None:
        self.wanted = wanted
        self._page_of = page_of

    @cached_property
    def _seen(self) -> dict[tuple[str, int], Seen]:
        pages = [(self._page_of(name), width) for name, width in self.wanted]
        return dict(zip(self.wanted, show_all(pages), strict=True))

    def __getitem__(self, wanted: tuple[str, int]) -> Seen:
        return self._seen[wanted]


def show_all(pages: list[tuple[str, int]], scheme: str = "light") -> list[Seen]:
    """Show pages, each in a frame of its width, and say what came of each."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        frames = "\n".join(FRAME.format(width=width, page=html.escape(page)) for page, width in pages)
        (place / "wrapper.html").write_text(WRAPPER.format(frames=frames), encoding="utf-8")
        finished = subprocess.run(
            [
                CHROMIUM,
                *FLAGS,
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                f"--user-data-dir={place / 'profile'}",
                "--window-size=1300,1000",
                "--dump-dom",
                (place / "wrapper.html").as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=240,
        )
        match = re.search(r'data-seen="([^"]*)"', finished.stdout)
        assert match, finished.stderr[-2000:]
        console = [line for line in finished.stderr.splitlines() if "CONSOLE" in line]
        return [Seen(**seen, console=console) for seen in json.loads(html.unescape(match[1]))]


PLAYER = """<!doctype html><html><body style="margin:0">
{frames}
<script>
const plays = {plays};
const pause = () => new Promise((done) => setTimeout(done, 20));
async function until(is) {{
  for (let count = 0; count < 100 && !is(); count++) await pause();
  if (!is()) throw new Error("waited in vain for " + is);
}}
window.onload = async () => {{
  const seen = [];
  for (const frame of document.querySelectorAll("iframe")) {{
    const view = frame.contentWindow, page = frame.contentDocument;
    const overflow = () => page.documentElement.scrollWidth - frame.clientWidth;
    seen.push(await plays[seen.length](view, page, until, overflow).catch((error) => ({{failed: String(error)}})));
  }}
  document.body.setAttribute("data-seen", JSON.stringify(seen));
}};
</script></body></html>"""
PLAYED = '<iframe style="border:0;display:block;width:{width}px;height:1000px" src="{address}"></iframe>'


def play(page: Path, plays: list[tuple[int, str, str]], scheme: str = "light") -> tuple[list[dict], list[str]]:
    """Click through a page that is a file, in frames one after the other; give what each script gave, and the console.

    Parameters
    ----------
    page
        The file.
    plays
        Width of the frame, part of the address after the file, and body of an asynchronous function of `view` (the
        window), `page` (the document), `until` (waits for a function to be true) and `overflow` (pixels too wide).
    scheme
        ``light`` or ``dark``.
    """
    frames = "\n".join(PLAYED.format(width=width, address=page.as_uri() + at) for width, at, _ in plays)
    bodies = ",\n".join(f"async (view, page, until, overflow) => {{ {body} }}" for _, _, body in plays)
    with tempfile.TemporaryDirectory() as directory:
        wrapper = Path(directory) / "player.html"
        wrapper.write_text(PLAYER.format(frames=frames, plays=f"[{bodies}]"), encoding="utf-8")
        finished = subprocess.run(
            [
                CHROMIUM,
                *(flag for flag in FLAGS if "virtual-time" not in flag),
                "--virtual-time-budget=20000",
                "--allow-file-access-from-files",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                f"--user-data-dir={Path(directory) / 'profile'}",
                "--window-size=1700,1000",
                "--dump-dom",
                wrapper.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=240,
        )
    match = re.search(r'data-seen="([^"]*)"', finished.stdout)
    assert match, finished.stderr[-2000:]
    return json.loads(html.unescape(match[1])), [line for line in finished.stderr.splitlines() if "CONSOLE" in line]
