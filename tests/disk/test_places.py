"""Where IOs go: places that repeats draw anew, and the alignment that a file system asks for."""

import json
import os
import shutil

import pytest
from brimful.campaign.plan import Campaign
from brimful.measurers.base import Settings
from brimful.measurers.disk import open_disk
from brimful.throughput.manager import SearchRequest
from disk_support import DISK, run
from support import NDR_AND_PDR

MIB = 1 << 20
ON_A_FILE_SYSTEM = """
    set -e
    device=$(losetup --find --show --sector-size $3 "$1")
    exec 9<$device
    mkfs.ext4 -q -F -b 4096 $device
    mount $device /mnt
    losetup --detach $device
    "$2" --create /mnt/file --file-size 16M >&2
    echo '{"op": "describe"}' | "$2" --device /mnt/file --size 4k
    echo '{"op": "describe"}' | "$2" --device /mnt/file --size 512 || echo "exit code $?"
"""


def changed(path, before):
    """Blocks of 4 KiB that are not what they were."""
    after = path.read_bytes()
    return [at // 4096 for at in range(0, len(after), 4096) if after[at : at + 4096] != before[at : at + 4096]]


def test_the_second_repeat_of_a_campaign_goes_to_other_places_than_the_first(tmp_path):
    path = tmp_path / "own"
    run(DISK, "--create", path, "--file-size", "32M")
    spec = f"disk:{path},pattern=randwrite,destroy-data={path},deadline=1s,warm-up=0ms"
    search = SearchRequest(measurer="", goals=NDR_AND_PDR, strategy="straddle", traffic={"arguments": []})
    members = Campaign(search=search, measurers=[spec], frame_sizes=[None], repeats=2).members()
    places = []
    for request in (each.request.measurer for each in [*members, members[0]]):
        measurer = open_disk(request.removeprefix("disk:"), Settings(timeout_s=30.0))
        try:
            measurer.describe()
            # The blocks are put back, so that what is found changed was written by this trial.
            path.write_bytes(path.read_bytes()[:MIB] + bytes(31 * MIB))
            before = path.read_bytes()
            assert measurer.measure(200.0, 0.5).sent == 100
        finally:
            measurer.close()
        places.append(changed(path, before))
    first, second, first_again = places
    assert len(first) > 90
    assert first == first_again
    # Of 7936 blocks, two hundreds by chance share one or two.
    assert len(set(first) & set(second)) < 15


@pytest.mark.parametrize(("sector", "told"), [(4096, 4096), (512, None)])
def test_direct_io_of_a_file_is_aligned_as_its_file_system_says(tmp_path, sector, told):
    if os.geteuid() != 0 or shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/sbin:/usr/sbin") is None:
        pytest.skip("file systems on loop devices take root and mkfs.ext4")
    image = tmp_path / "image"
    with image.open("wb") as content:
        content.truncate(64 * MIB)
    done = run("unshare", "--mount", "sh", "-c", ON_A_FILE_SYSTEM, "sh", image, DISK, sector, check=False)
    if "losetup: " in done.stderr or "mount: " in done.stderr:
        pytest.skip(done.stderr.strip())
    first, second = done.stdout.splitlines()
    device = json.loads(first)["device"]
    if sector > 512 and "direct_io_alignment" not in device:
        pytest.skip("this kernel does not say how direct IO is to be aligned (before 6.1)")
    assert device.get("direct_io_alignment") == told
    if told is None:
        assert json.loads(second)["traffic"]["io_size"] == 512
    else:
        assert second == "exit code 2"
        assert "IOs of 512 bytes: the device takes multiples of 4096 bytes" in done.stderr
