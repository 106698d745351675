"""`brimful compare-strategies`: what is asked for is what is shown."""

from support import brimful


def test_kinds_of_systems_are_checked_before_any_is_searched(tmp_path):
    kinds = ("--kind", "sharp", "--kind", "foo")
    finished = brimful("compare-strategies", *kinds, "--seeds", "2", cwd=tmp_path, check=2)
    assert 'unknown kind "foo"' in finished.stderr
    assert "searching" not in finished.stderr
    assert not finished.stdout


def test_the_kinds_that_are_asked_for_are_in_both_tables(tmp_path):
    kind = "sharp,capacity=1Mpps,delay=10us"
    options = ("--kind", kind, "--kind", "livelock", "--strategy", "straddle", "--seeds", "2")
    first, second = brimful("compare-strategies", *options, cwd=tmp_path, check=0).stdout.split("\n\nSearch duration")
    for name in (kind, "livelock"):
        assert first.count(f" {name}: straddle  ") == 6
        assert second.count(f" {name}  ") == 4
    # Figures begin where their heads do, however long a name is.
    for table, head in ((first, "NDR and PDR together"), (second, "duration ")):
        lines = table.splitlines()
        title = next(line for line in lines if head in line)
        rows = lines[lines.index(title) + 1 :]
        assert all(row[title.index(head) - 1] == " " != row[title.index(head)] for row in rows if row)


def test_no_line_of_the_strategies_ends_in_blanks(tmp_path):
    options = ("--kind", "sharp", "--strategy", "bisect", "--seeds", "2")
    lines = brimful("compare-strategies", *options, cwd=tmp_path, check=0).stdout.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
