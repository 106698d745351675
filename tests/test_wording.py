"""What people read is in the words of the field, and numbers have one form wherever they stand."""

import ast
import io
import re
import tokenize

import pytest
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
"""Phrases that are not of the field, and what to say instead."""
IN_COMMENTS = {
    r"\b[Tt](old|ells?|elling)\b": "say: reports, gives, knows, shows, distinguishes",
    r"\b([Ww]hoever|[Nn]obody)\b": "say: the caller, the reader, no other process",
}
"""The same, in what only readers of the code see."""
NUMBERS = {
    r"\d([\u2009\u202f]\d|\u00a0\d{3}\b)": "thousands are parted by commas",
    r"\d \d{3}\b(?=[ ,.;:)]*(frames|bytes|clients|tests|samples|entries|addresses|prefixes|flows))": "write 10,000",
    r"(?<![\w=:.-])[\d.,]*\d%(?![\w-])": "write 5 %, but for what is typed",
    r"(?<![\d.])([1-9][\d,]*\.\d{3,}|0\.[1-9]\d{2,}) %": "no more than two decimals of a per cent",
}
"""Other forms of numbers, and the one that holds."""


def prose(path):
    """A page without what is code; what was is an empty line each."""
    text = re.sub(r"^ *```.*?^ *```", lambda code: "\n" * code[0].count("\n"), path.read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`]*`", "``", text)


TEXTS = {
    **{str(path.relative_to(ROOT)): prose(path) for path in PAGES},
    **{str(path.relative_to(ROOT)): path.read_text() for path in SNAPSHOTS},
}
SOURCES = sorted([*(ROOT / "crates").rglob("*.rs"), *(ROOT / "python").rglob("*.py")])
NOT_YET = ("crates/search/src/strategy/straddle/",)
"""Folders whose comments are not covered yet, because they are being rewritten."""


def comments(path):
    """The comments and docstrings of a file of Rust or Python, each on its line, without what is code in them."""
    source = path.read_text()
    lines = [""] * (source.count("\n") + 1)
    if path.suffix == ".rs":
        lines = [line[line.find("//") :] if "//" in line else "" for line in source.splitlines()]
    else:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0] - 1] = token.string
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                lines[node.lineno - 1 : node.end_lineno] = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return re.sub(r"`[^`\n]*`", "``", "\n".join(lines))


def folders():
    """Every crate and every folder of the package, each with its files that are covered."""
    found = {}
    for path in SOURCES:
        name = str(path.relative_to(ROOT))
        parts = name.split("/")
        if not name.startswith(NOT_YET):
            found.setdefault("/".join(parts[: 2 if parts[0] == "crates" else -1][:3]), []).append(path)
    return found


FOLDERS = folders()


def found(text, patterns):
    for pattern, instead in patterns.items():
        for match in re.finditer(pattern, text):
            line = 1 + text.count("\n", 0, match.start())
            yield f"{line}: {text[max(0, match.start() - 30) : match.end() + 20]!r}: {instead}"


@pytest.mark.parametrize("name", TEXTS)
def test_words_are_those_of_the_field(name):
    assert list(found(TEXTS[name], PRIVATE)) == []


@pytest.mark.parametrize("name", [name for name in TEXTS if "bigquery" not in name])
def test_numbers_have_one_form(name):
    assert list(found(TEXTS[name], NUMBERS)) == []


def test_no_message_writes_a_load_by_hand():
    """A load has a unit, a prefix and the digits that matter: `units.format_load` knows them, or `stated_load`."""
    by_hand = re.compile(r"""\{[^{}"]*(:\.\d+g\} ?|\})/s\b|:\.\d+g\} [mun]?s\b""")
    own = {"units.py", "words.py", "multiple_loss_ratio_search.py"}  # the last knows no unit of its caller's loads
    package = [path for path in SOURCES if path.suffix == ".py" and path.name not in own]
    wrong = {str(path.relative_to(ROOT)): by_hand.findall(path.read_text()) for path in package}
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_are_in_the_words_of_the_field(folder):
    wrong = {
        str(path.relative_to(ROOT)): list(found(comments(path), PRIVATE | IN_COMMENTS)) for path in FOLDERS[folder]
    }
    assert {path: lines for path, lines in wrong.items() if lines} == {}


def test_every_folder_that_is_not_covered_yet_is_there():
    assert [name for name in NOT_YET if not (ROOT / name).is_dir()] == []


def test_comments_are_found_in_both_languages(tmp_path):
    (tmp_path / "a.rs").write_text('/// Told `told`.\nlet a = "told"; // Nobody.\n')
    (tmp_path / "a.py").write_text('"""Told\ntold."""\na = "told"  # nobody\n"""Tells `a`."""\n')
    for name, words in (("a.rs", 2), ("a.py", 4)):
        assert len(list(found(comments(tmp_path / name), IN_COMMENTS))) == words


def test_the_other_forms_would_be_found():
    text = "The runs do not tell. Its speed moved by 12.4912 %, 95% of 1\u202f000, and 10 000 frames."
    assert len(list(found(text, PRIVATE))) == 2
    assert len(list(found(text, NUMBERS))) == 4
