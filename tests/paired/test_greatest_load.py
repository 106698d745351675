"""`--max-load` of comparisons and bisections is read as that of searches."""

from brimful.records import read_run
from support import brimful

SYSTEM = "sim:noisy,capacity=1Mpps,seed=3"


def test_the_greatest_load_may_be_a_share_or_a_rate_of_bits(tmp_path):
    options = ("--budget", "1s", "--quiet", "--out", "run")
    brimful("compare", "-m", SYSTEM, "-m", SYSTEM, "--max-load", "50%", *options, cwd=tmp_path)
    assert read_run(tmp_path / "run").run.paired.max_load == 7.44e6
    refused = brimful("compare", "-m", "sim:sharp", "-m", "sim:sharp", "--max-load", "9Gbps", cwd=tmp_path, check=2)
    assert "--max-load: " in refused.stderr


def test_a_bisection_reads_it_alike(tmp_path):
    (tmp_path / "list").write_text("1000000\n950000\n")
    words = (
        "bisect",
        "-m",
        "sim:sharp,capacity={version}",
        "--versions",
        "list",
        "--good",
        "1000000",
        "--bad",
        "950000",
    )
    refused = brimful(*words, "--max-load", "9Gbps", "--quiet", cwd=tmp_path, check=2)
    assert "--max-load: " in refused.stderr
    brimful(*words, "--max-load", "50%", "--pairs", "4", "--quiet", "--out", "run", cwd=tmp_path)
    assert read_run(tmp_path / "run").run.bisection.max_load == 7.44e6
