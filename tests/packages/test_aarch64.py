"""The table of `tools/aarch64` of tests that emulation cannot run."""

import re

from support import ROOT

SCRIPT = (ROOT / "tools" / "aarch64").read_text()
TABLE = re.search(r"<<END\n(.*?)\n?END\n", SCRIPT, re.DOTALL)[1]


def test_every_name_is_that_of_a_test_and_has_a_reason():
    sources = "\n".join(path.read_text() for path in ROOT.glob("crates/**/*.rs"))
    for line in TABLE.splitlines():
        name, reason = line.strip().split(" ", 1)
        assert re.search(rf"\bfn {name.rpartition('::')[2]}\(", sources), name
        assert len(reason.split()) > 2
