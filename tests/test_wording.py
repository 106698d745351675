"""What people read is in the words of the field, and numbers have one form wherever they stand."""

import html
import re

import pytest
from report.gallery import makers, page
from support import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNAPSHOTS = sorted((ROOT / "tests").rglob("*.ambr"))
PRIVATE = {
    r"\bdo(es)? not tell\b|\bnot told\b": "say: inconclusive, or: not known",
    r"\bspeed moved\b": "say: CPU speed varied by",
    r"\bof five comparisons\b": "say: 80 % power",
    r"\b[Ss]o many\b": "say: N, or name the number",
    r"\btells? no\b|\btells? delays?\b": "say: does not report",
    r"\bspoke of\b|\bspeaks? of\b": "say: reports",
}
"""Phrases that nobody says, and what to say instead."""
NUMBERS = {
    r"\d[\u2009\u202f]\d": "thousands are parted by commas",
    r"\d \d{3}\b(?=[ ,.;:)]*(frames|bytes|clients|tests|samples|entries|addresses|prefixes|flows))": "write 10,000",
    r"(?<![\w=:.-])[\d.,]*\d%(?![\w-])": "write 5 %, but for what is typed",
    r"(?<![\d.])([1-9][\d,]*\.\d{3,}|0\.[1-9]\d{2,}) %": "no more than two decimals of a per cent",
}
"""Other forms of numbers, and the one that holds."""


def prose(path):
    """A page without what is code; what was is an empty line each."""
    text = re.sub(r"^ *```.*?^ *```", lambda code: "\n" * code[0].count("\n"), path.read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`]*`", "``", text)


def shown(source):
    """The text of a page of a report, without what is typed."""
    source = re.sub(r"<(style|svg|code|pre)\b.*?</\1>", " ", source, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "\n", source))


TEXTS = {
    **{str(path.relative_to(ROOT)): prose(path) for path in PAGES},
    **{str(path.relative_to(ROOT)): path.read_text() for path in SNAPSHOTS},
}
PAGES_OF_REPORTS = {f"page of {name}": name for name in makers()}


def text_of(name):
    return TEXTS[name] if name in TEXTS else shown(page(PAGES_OF_REPORTS[name]))


def found(text, patterns):
    for pattern, instead in patterns.items():
        for match in re.finditer(pattern, text):
            line = 1 + text.count("\n", 0, match.start())
            yield f"{line}: {text[max(0, match.start() - 30) : match.end() + 20]!r}: {instead}"


@pytest.mark.parametrize("name", [*TEXTS, *PAGES_OF_REPORTS])
def test_words_are_those_of_the_field(name):
    assert list(found(text_of(name), PRIVATE)) == []


@pytest.mark.parametrize("name", [name for name in [*TEXTS, *PAGES_OF_REPORTS] if "bigquery" not in name])
def test_numbers_have_one_form(name):
    assert list(found(text_of(name), NUMBERS)) == []


def test_the_other_forms_would_be_found():
    text = "The runs do not tell. Its speed moved by 12.4912 %, 95% of 1\u202f000, and 10 000 frames."
    assert len(list(found(text, PRIVATE))) == 2
    assert len(list(found(text, NUMBERS))) == 4
