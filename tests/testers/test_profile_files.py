"""Traffic profiles on the way from the command line to the tester."""

import pytest
from brimful.errors import UsageError
from brimful.measurers.opening import open_measurer
from brimful.measurers.profile import digest
from support import brimful

SEARCH = ("search", "--preset", "quick", "--quiet", "--max-load", "1kpps")


def test_a_digest_notices_changes_of_the_profile_and_of_its_capture(tmp_path):
    profile, capture = tmp_path / "replay.toml", tmp_path / "frames.pcap"
    capture.write_bytes(b"one")
    profile.write_text('[replay]\nfile = "frames.pcap"\n')
    first = digest(profile)
    assert digest(profile) == first
    capture.write_bytes(b"two")
    second = digest(profile)
    profile.write_text('name = "other"\n[replay]\nfile = "frames.pcap"\n')
    assert len({first, second, digest(profile)}) == 3


@pytest.mark.parametrize("content", [b"not = [toml", b"\xff\xfe", b"replay = 3", b"[replay]\nfile = 4"])
def test_a_digest_leaves_nonsense_to_the_tester(tmp_path, content):
    profile = tmp_path / "profile.toml"
    profile.write_bytes(content)
    assert digest(profile)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "profile.toml: No such file"), ('[replay]\nfile = "gone.pcap"', "replay.file")],
)
def test_a_missing_file_is_wrong_usage(tmp_path, content, expected):
    if content is not None:
        (tmp_path / "profile.toml").write_text(content)
    finished = brimful(*SEARCH, "-m", "lab:wire", "--profile", "profile.toml", cwd=tmp_path, check=2)
    assert expected in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


@pytest.mark.parametrize("spec", ["sim:soft-knee", "iperf3:localhost", "trex:localhost", "cmd:true"])
def test_only_our_own_tester_sends_profiles(spec):
    with pytest.raises(UsageError, match="--profile: only lab: and tester: send"):
        open_measurer(spec, timeout_s=1.0, tester_arguments=["--profile=/some/file.toml"])
