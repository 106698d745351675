import itertools
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from brimful.errors import UsageError
from brimful.iocost import hwdb
from brimful.records import Run, RunFile, Series, Solution

MODEL = {"rbps": 6, "rseqiops": 5, "rrandiops": 4, "wbps": 3, "wseqiops": 2, "wrandiops": 1}
QOS = {"rpct": 99.0, "rlat": 17032, "wpct": 99.0, "wlat": 21456, "min": 75.0, "max": 100.0}


def solution(name, **changes):
    fields = {"target": "", "model": MODEL, "qos": QOS, "info": {"MOF": 1.3105, "aMOF": 1.25}, **changes}
    return Solution(name=name, **fields)


def entry(path="a.jsonl", *, model="SSD One", firmware="1", name="nvme0n1", points=2, solutions=("naive",), **fields):
    device = {"name": name, "model": model, "firmware": firmware}
    run = Run(
        schema=1,
        run_id="r",
        started="",
        tool={},
        command=[],
        host={},
        subject=fields.get("subject", "block-device"),
        device=device,
    )
    series = [
        Series(name="aMOF", points=[(1.0, 1.0)]),
        Series(name="MOF", points=[(float(i), 1.0) for i in range(points)]),
    ]
    solved = [solution(each) if isinstance(each, str) else each for each in solutions]
    return RunFile(Path("/results") / path, run, [], [], [], [], [], series=series, solutions=solved)


def matches(text):
    return [line for line in text.splitlines() if line.startswith("block:")]


def test_an_entry_has_a_comment_match_lines_and_properties():
    faster = solution("isolated-bandwidth", info={"MOF": 1.5})
    text = hwdb.render([entry(solutions=["naive", faster])], with_firmware=False)
    assert text.split("\n\n", 1)[1] == (
        "# 2 points, MOF=[1.310,1.500], aMOF=[1.250,1.250]\n"
        "block:*:name:SSD One:fwrev:*:\n"
        "block:*:name:SSD_One:fwrev:*:\n"
        "  IOCOST_SOLUTIONS=isolated-bandwidth naive\n"
        "  IOCOST_MODEL_ISOLATED_BANDWIDTH=rbps=6 rseqiops=5 rrandiops=4 wbps=3 wseqiops=2 wrandiops=1\n"
        "  IOCOST_QOS_ISOLATED_BANDWIDTH=rpct=99.00 rlat=17032 wpct=99.00 wlat=21456 min=75.00 max=100.00\n"
        "  IOCOST_MODEL_NAIVE=rbps=6 rseqiops=5 rrandiops=4 wbps=3 wseqiops=2 wrandiops=1\n"
        "  IOCOST_QOS_NAIVE=rpct=99.00 rlat=17032 wpct=99.00 wlat=21456 min=75.00 max=100.00\n"
    )


def test_the_header_says_how_it_is_looked_up_and_has_no_date():
    text = hwdb.render([], with_firmware=False)
    assert "block:<devpath>:name:<model name>:fwrev:<firmware revision>:" in text
    assert all(line.startswith("#") for line in text.splitlines())
    assert not re.search(r"20[0-9]{2}-", text)


def test_solutions_are_listed_most_isolating_first_and_others_only_reachable():
    names = ["rlat-99-q1", "naive", "bandwidth", "isolation", "own_rule", "isolated-bandwidth"]
    lines = hwdb.render([entry(solutions=names)], with_firmware=False).splitlines()
    assert "  IOCOST_SOLUTIONS=isolation isolated-bandwidth bandwidth naive" in lines
    assert [line.split("=")[0].strip() for line in lines if "IOCOST_QOS" in line] == [
        "IOCOST_QOS_ISOLATION",
        "IOCOST_QOS_ISOLATED_BANDWIDTH",
        "IOCOST_QOS_BANDWIDTH",
        "IOCOST_QOS_NAIVE",
        "IOCOST_QOS_RLAT_99_Q1",
        "IOCOST_QOS_OWN_RULE",
    ]


def test_names_that_are_no_properties_are_left_out_and_named():
    text = hwdb.render([entry(solutions=["naive", "my rule\n", "ü", "a-b", "a_b"])], with_firmware=False)
    assert "# left out: my rule_ (no name for a property" in text
    assert "# left out: ü (" in text
    assert "# left out: a_b (A_B is taken)" in text
    assert text.count("IOCOST_QOS_A_B=") == 1


def test_only_other_solutions_give_no_list():
    text = hwdb.render([entry(solutions=["own"])], with_firmware=False)
    assert "IOCOST_QOS_OWN=" in text
    assert "IOCOST_SOLUTIONS" not in text


def test_a_device_without_solutions_is_a_comment():
    text = hwdb.render([entry(solutions=[Solution(name="naive", target="", unsolved="no data")])], with_firmware=False)
    assert "# SSD One: no solution" in text
    assert not matches(text)


def test_the_best_result_has_most_points_then_most_solutions_then_the_first_name():
    more = ["naive", "bandwidth"]
    text = hwdb.render([entry("b", points=3), entry("a", points=2, solutions=more)], with_firmware=False)
    assert "# from b\n# not taken: a (2 points, 2 solutions)\n" in text
    text = hwdb.render([entry("b", solutions=more), entry("a", points=2)], with_firmware=False)
    assert "# from b\n# not taken: a (2 points, 1 solution)\n" in text
    text = hwdb.render([entry("b"), entry("a", points=2)], with_firmware=False)
    assert "# from a\n# not taken: b (2 points, 1 solution)\n" in text


def test_the_order_of_the_results_does_not_matter():
    entries = [entry("a"), entry("b", model="SSD_One", points=3), entry("c", model="Another"), entry("d", model=" ")]
    texts = {hwdb.render(list(order), with_firmware=False) for order in itertools.permutations(entries)}
    assert len(texts) == 1
    assert matches(texts.pop()) == ["block:*:name:Another:fwrev:*:", "block:*:name:SSD_One:fwrev:*:"]


def test_firmware_keeps_revisions_apart():
    entries = [
        entry("a", firmware="2"),
        entry("b", firmware=" PSF119D"),
        entry("c", firmware=""),
        entry("d", firmware="2"),
    ]
    assert matches(hwdb.render(entries, with_firmware=True)) == [
        "block:*:name:SSD One:fwrev:*:",
        "block:*:name:SSD_One:fwrev:*:",
        "block:*:name:SSD One:fwrev:2:",
        "block:*:name:SSD_One:fwrev:2:",
        "block:*:name:SSD One:fwrev: PSF119D:",
        "block:*:name:SSD_One:fwrev:PSF119D:",
    ]
    assert len(matches(hwdb.render(entries, with_firmware=False))) == 2


def test_a_result_without_a_model_is_named():
    assert "# a.jsonl: left out, it names no model\n" in hwdb.render([entry(model="  ")], with_firmware=False)


def test_a_search_is_no_entry():
    with pytest.raises(UsageError, match="no result of a block device"):
        hwdb.render([entry(subject="search")], with_firmware=False)


def test_scsi_names_have_no_blanks_and_may_be_cut():
    text = hwdb.render([entry(name="sdc", model="Samsung SSD 870", firmware="3B6Q")], with_firmware=True)
    assert matches(text) == ["block:*:name:Samsung_SSD_870:fwrev:3B6Q:"]
    assert "# Samsung SSD 870: perhaps cut at 16 characters; compare with ID_MODEL" in text
    assert "perhaps cut" not in hwdb.render([entry(name="sdc", model="Short")], with_firmware=True)


@pytest.mark.parametrize(
    ("raw", "scsi", "nvme"),
    [
        ("KXG50ZNV256G TOSHIBA", "KXG50ZNV256G_TOSHIBA", "KXG50ZNV256G TOSHIBA"),
        ("  Two\t  blanks  ", "Two_blanks", "  Two   blanks"),
        ("a/b$c%d?e,f", "a_b_c_d_e_f", "a/b$c%d?e,f"),
        ("#+-.:=@_", "#+-.:=@_", "#+-.:=@_"),
        ("a*b[c]{d}'e\"", "a_b_c__d__e_", "a_b_c__d__e_"),
        ("a\\x20b\\c", "a\\x20b_c", "a\\x20b_c"),
        ("größe\x01", "größe_", "größe_"),
        ("non\u00a0breaking", "non\u00a0breaking", "non\u00a0breaking"),
    ],
)
def test_names_are_written_as_udev_does(raw, scsi, nvme):
    assert hwdb.identifier(raw) == scsi
    assert hwdb.attribute(raw) == nvme


SYSTEMD_HWDB = os.environ.get("SYSTEMD_HWDB") or shutil.which("systemd-hwdb")


@pytest.mark.skipif(SYSTEMD_HWDB is None, reason="systemd-hwdb is not installed (Debian package udev)")
class TestSystemd:
    @pytest.fixture
    def query(self, tmp_path):
        def run(text, modalias):
            directory = tmp_path / "etc" / "udev" / "hwdb.d"
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "90-iocost-tune.hwdb").write_text(text)
            update = self.call(tmp_path, "update")
            assert not update.stderr
            lines = self.call(tmp_path, "query", modalias).stdout.splitlines()
            return dict(line.split("=", 1) for line in lines)

        return run

    @staticmethod
    def call(root, *arguments):
        return subprocess.run(
            [SYSTEMD_HWDB, "--root", root, *arguments], check=True, capture_output=True, text=True, timeout=60
        )

    def test_an_entry_is_found_as_udev_asks_for_it(self, query):
        names = ["naive", "isolation", "rlat-99-q1"]
        entries = [
            entry(name="sdc", model="Samsung SSD 870", firmware="3B6Q", solutions=names),
            entry(model="INTEL SSDPEKKA256G7", firmware=" PSF119D"),
        ]
        text = hwdb.render(entries, with_firmware=True)
        assert query(text, "block::name:Samsung_SSD_870:fwrev:3B6Q:") == {
            "IOCOST_SOLUTIONS": "isolation naive",
            **{
                f"IOCOST_{kind}_{name}": value
                for name in ("ISOLATION", "NAIVE", "RLAT_99_Q1")
                for kind, value in (
                    ("MODEL", "rbps=6 rseqiops=5 rrandiops=4 wbps=3 wseqiops=2 wrandiops=1"),
                    ("QOS", "rpct=99.00 rlat=17032 wpct=99.00 wlat=21456 min=75.00 max=100.00"),
                )
            },
        }
        assert query(text, "block::name:INTEL SSDPEKKA256G7:fwrev: PSF119D:")["IOCOST_SOLUTIONS"] == "naive"
        assert query(text, "block::name:INTEL_SSDPEKKA256G7:fwrev:PSF119D:")["IOCOST_SOLUTIONS"] == "naive"
        assert query(text, "block::name:INTEL_SSDPEKKA256G7:fwrev:OTHER:") == {}

    def test_any_name_matches_itself_and_only_itself(self, query):
        random_names = random.Random(1)
        alphabet = "ab *?[]\\x#:/$%,-."
        names = {"".join(random_names.choices(alphabet, k=8)) for _ in range(40)} | {"a*b?[c]\\x20 #1", "[", "a]b["}
        written = {hwdb.attribute(name): name for name in sorted(names) if hwdb.identifier(name)}
        text = hwdb.render([entry(model=name) for name in written.values()], with_firmware=False)
        for name in list(written)[:12]:
            assert query(text, f"block::name:{name}:fwrev:any:"), name
            assert not query(text, f"block::name:{name}Z:fwrev:any:"), name
