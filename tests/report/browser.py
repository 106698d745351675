"""A headless browser that looks at a page."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
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
    console: list[str]
    requests: list[str]


WRAPPER = """<!doctype html><html><body style="margin:0">
<iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>
<script>
window.onload = () => {{
  const page = document.getElementById("page").contentDocument;
  const root = page.documentElement;
  const over = [...page.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > {width} + 0.5 && !e.closest(".scroll") && !e.closest("svg"));
  const figures = [...page.querySelectorAll("svg[data-figure]")].filter((e) => e.getBoundingClientRect().width > 0);
  const seen = {{
    scrollWidth: root.scrollWidth,
    widest: over.slice(0, 3).map((e) => e.tagName + "." + e.className).join(" "),
    figures: figures.map((e) => e.dataset.figure),
    requests: document.getElementById("page").contentWindow.performance.getEntriesByType("resource").map((e) => e.name),
  }};
  document.body.setAttribute("data-seen", JSON.stringify(seen));
}};
</script></body></html>"""


def show(page: str, width: int) -> Seen:
    """Show a page in a frame so wide (a window cannot be narrower than 500 pixels) and say what came of it."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "wrapper.html").write_text(WRAPPER.format(width=width, page=html.escape(page)), encoding="utf-8")
        finished = subprocess.run(
            [
                CHROMIUM,
                *FLAGS,
                f"--user-data-dir={place / 'profile'}",
                f"--window-size={max(width, 600)},1000",
                "--dump-dom",
                (place / "wrapper.html").as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=90,
        )
        match = re.search(r'data-seen="([^"]*)"', finished.stdout)
        assert match, finished.stderr[-2000:]
        seen = json.loads(html.unescape(match[1]))
        return Seen(
            scroll_width=seen["scrollWidth"],
            widest=seen["widest"],
            shown_figures=seen["figures"],
            console=[line for line in finished.stderr.splitlines() if "CONSOLE" in line],
            requests=seen["requests"],
        )
