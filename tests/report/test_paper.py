"""Reports on paper; tests/report/test_every_page.py has what holds of every page."""

import os
import subprocess
import sys

from brimful.report import paper
from report.gallery import ROOT


def test_the_same_page_gives_the_same_bytes_in_any_process():
    code = (
        "import sys; from pathlib import Path; from brimful.records import read_run; "
        "from brimful.records.subjects import load, subject_of; from brimful.report import paper; "
        "file = read_run(Path(sys.argv[1])); "
        "page = load(subject_of(file.run, 'delay').page)(file); sys.stdout.buffer.write(paper.render(page))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, ROOT / "tests" / "schema_1" / "delay" / "run.jsonl"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"CreationDate" not in outputs.pop()


def test_nothing_of_a_record_becomes_markup():
    content = paper.render("<title>t</title><main><p>#panic() *a* $x$ &lt;b&gt; \\ @y</p></main>")
    assert content.startswith(b"%PDF-")
