"""What the documents show is what happens: sessions are repeated, and every command that is named exists."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from brimful.cli import group
from support import BRIMFUL, ROOT

README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]
VOLATILE = {r"\brun \S+, started \S+,": "run RUN,", r"\brun \S+, started \S+": "run RUN", r"\bruns/[^/ ]+": "runs/RUN"}
"""What differs from run to run, and what stands for it."""


def blocks(path, language):
    """The blocks of code of a document that are marked with a language, or with none."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [text for marked, text in found if marked == language]


def sessions(path):
    """The blocks that show commands after `$`, each as pairs of a command and what it prints."""
    for text in blocks(path, ""):
        parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", text, flags=re.MULTILINE)
        if len(parts) > 1:
            yield list(zip(parts[1::2], parts[2::2], strict=True))


def normal(text):
    """A text without what differs from run to run, and without its line breaks."""
    text = " ".join(text.split())
    for volatile, placeholder in VOLATILE.items():
        text = re.sub(volatile, placeholder, text)
    return text


def check_shown(shown, printed):
    """What is shown was printed, in this order and whole but for what `...` leaves out."""
    pieces = [re.escape(piece.strip()) for piece in normal(shown).split("...")]
    is_shown = re.fullmatch(" ?.* ?".join(pieces), normal(printed)) is not None
    assert is_shown, f"shown:\n{shown}\nprinted:\n{printed}"


def repeat(command, directory, **replaced):
    """Run a command as it is shown and give what it prints; `replaced` words differ here."""
    words = [replaced.get(word, word) for word in shlex.split(command.replace("\\\n", " "))]
    assert words[0] == "brimful"
    done = subprocess.run(
        [*BRIMFUL, *words[1:]], cwd=directory, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


def shown_sessions():
    """Every session of the README and the how-tos, by page."""
    for path in [README, *sorted((ROOT / "docs" / "how-to").glob("*.md"))]:
        for number, session in enumerate(sessions(path), start=1):
            # Six weeks of two sites: tests/discards/test_record.py has a few days.
            marks = [pytest.mark.slow] if path.name == "discards.md" else []
            yield pytest.param(session, id=f"{path.name}-{number}", marks=marks)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("session", list(shown_sessions()))
def test_sessions_of_the_documents_print_what_they_show(session, tmp_path):
    for command, shown in session:
        printed = repeat(command, tmp_path)
        if shown.strip():
            check_shown(shown, printed)


def test_the_python_of_the_readme(tmp_path):
    (program,) = blocks(README, "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    answers = [float(line.split(": ")[1].split()[0].replace(",", "")) for line in done.stdout.splitlines()]
    # What the function of the example forwards, to the width of the goals.
    assert answers == pytest.approx([1_000_000, 1_000_000], rel=0.005), done.stdout


def commands():
    """Every line of a document that calls `brimful`, with the document's name."""
    for path in DOCUMENTS:
        for text in blocks(path, "") + blocks(path, "sh"):
            for line in text.replace("\\\n", " ").splitlines():
                words = line.strip().removeprefix("$ ")
                if words.startswith("brimful ") and path.name != "command.md":
                    yield pytest.param(words, id=f"{path.name}: {words[:60]}")


@pytest.mark.parametrize("command", list(commands()))
def test_commands_in_the_documents_and_their_options_exist(command):
    words = shlex.split(command, comments=True)
    end = next((place for place, word in enumerate(words) if word in {"|", ">", "&&", ";"}), len(words))
    context = click.Context(group, info_name="brimful")
    try:
        parse(group, context, words[1:end])
    except (click.NoSuchOption, click.BadOptionUsage) as error:
        pytest.fail(error.format_message())


def parse(command, parent, words):
    """Parse words as the command line does, as far as options and subcommands go; files need not exist."""
    if not isinstance(command, click.Group):
        command.make_parser(parent).parse_args(list(words))
        return
    words = [word for word in words if word not in {"-h", "--help", "--version"}]
    if not words:
        return
    subcommand = command.get_command(parent, words[0])
    assert subcommand is not None, f"no command {words[0]!r}"
    parse(
        subcommand,
        click.Context(subcommand, parent=parent, info_name=words[0], **subcommand.context_settings),
        words[1:],
    )


LONGEST_README, LONGEST_EXPLANATION = 1200, 1000


def test_pages_stay_short_enough_to_be_read():
    counted = {path.name: len(path.read_text().split()) for path in (ROOT / "docs" / "explanation").glob("*.md")}
    assert len(README.read_text().split()) <= LONGEST_README
    assert {name: words for name, words in counted.items() if words > LONGEST_EXPLANATION} == {}


FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", flags=re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"[|#<!*]|[-+] |[0-9]+\. |---|CODE|\[\^|    ")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_sentence_is_cut_off(path):
    """A paragraph ends with its sentence, or goes on with a list, a table or code."""
    text = FENCED.sub("CODE", path.read_text())
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    parts = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    for part, following in zip(parts, [*parts[1:], "end"], strict=True):
        if NOT_PROSE.match(part):
            continue
        sentence = part.rstrip().rstrip("`*_)\"'")
        goes_on = NOT_PROSE.match(following.lstrip("\n")) and not following.startswith("#")
        assert sentence.endswith((".", "?", "!", ":")) or (goes_on and sentence[-1].isalnum()), sentence[-100:]
        assert not sentence.endswith(":") or goes_on, f"nothing follows {sentence[-100:]!r}"
