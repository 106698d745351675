"""The commands of `docs/how-to/shards.md`, one after the other."""

import shlex

from brimful.records import read_run
from support import ROOT, brimful
from test_documents import blocks

PAGE = ROOT / "docs" / "how-to" / "shards.md"


def test_the_page_makes_one_record_of_two_parts(tmp_path):
    commands = [shlex.split(line) for text in blocks(PAGE, "sh") for line in text.splitlines()]
    for program, *words in commands:
        assert program == "brimful"
        brimful(*words, cwd=tmp_path, check=0)
    assert len(read_run(tmp_path / "merged").members) == 6
    assert len(read_run(tmp_path / "again" / "1").members) == 3
    assert (tmp_path / "throughput.html").exists()


def test_the_page_is_short_and_names_every_example():
    text = PAGE.read_text()
    assert len(text.split()) <= 400
    assert all(f"`{path.name}`" in text for path in (ROOT / "examples" / "shards").iterdir())
