"""Names that are nearly right: what is known and like them is asked about, once and in one line."""

import re
import shutil

import pytest
from support import ROOT, brimful


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("serch", "search"),
        ("lab chek", "check"),
        ("iocost tunne", "tune"),
        ("search -m lap:bridge", "lab"),
        ("search -m lab:brigde", "bridge"),
        ("search -m lab:bridge,wrk=3", "work"),
        ("search -m lab:ovs,back_end=sistem", "system"),
        ("lab run program,redy=x -- true", "ready"),
        ("search -m sim:sharpe", "sharp"),
        ("search -m sim:sharp --preset csti", "csit"),
        ("search -m sim:sharp --strategy stradle", "straddle"),
        ("search -m sim:sharp --goal los=1%", "loss"),
        ("search -m sim:sharp --assert ndrr>1", "ndr"),
        ("search -m sim:sharp --prest csit", "--preset"),
        ("rfc2544 -m sim:sharp --tests latancy", "latency"),
        ("report runs/tonigt", "runs/tonight"),
    ],
)
def test_a_name_that_is_nearly_right_is_asked_about(tmp_path, arguments, meant):
    (tmp_path / "runs" / "tonight").mkdir(parents=True)
    shutil.copy(ROOT / "schemas" / "examples" / "regular.jsonl", tmp_path / "runs" / "tonight" / "run.jsonl")
    (said,) = brimful(*arguments.split(), cwd=tmp_path, check=2).stderr.splitlines()
    assert len(re.findall(rf"(?i)did you mean (?:one of: )?.{meant}\W", said)) == 1, said
