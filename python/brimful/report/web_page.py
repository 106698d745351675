"""Web pages from templates: one file that needs nothing else, no scripts, no network."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from brimful.errors import UsageError
from brimful.report import palette, words

TEMPLATES = Path(__file__).parent / "templates"


def check_packages() -> None:
    """Look whether pages can be made here, as what they show takes long to measure.

    Raises
    ------
    UsageError
        Naming the extra that is not installed.
    """
    missing = next((name for name in ("jinja2", "matplotlib") if find_spec(name) is None), None)
    if missing is not None:
        raise UsageError(_without(missing))


def _without(package: str | None) -> str:
    return f"an HTML report needs {package}; install it with: pip install 'brimful[report]'"


def render_page(template: Path, **values: object) -> str:
    """Fill a template, which may extend those of this package; what comes from records is escaped."""
    try:
        import jinja2
    except ImportError as error:
        raise UsageError(_without(error.name)) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: words.keep_units(value) if type(value) is str else value,
    )
    environment.filters["options"] = _options
    environment.globals.update(
        count=words.count, style=(TEMPLATES / "page.css").read_text(), goal_colour=_goal_variable
    )
    return environment.get_template(template.name).render(**values)


def _options(text: str) -> str:
    """Keep lines from breaking within an option: browsers break after every hyphen."""
    import markupsafe

    escaped = str(markupsafe.escape(words.keep_units(text)))
    return markupsafe.Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<span class="option">\g<0></span>', escaped))


def _goal_variable(number: int) -> str:
    return f"var(--goal-{number % len(palette.GOALS)})"
