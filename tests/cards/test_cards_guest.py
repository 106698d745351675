"""`brimful tester check` on network cards: emulated ones, with the drivers of real ones."""

import subprocess

import pytest
from support import ROOT


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_said_of_cards_is_mended_by_its_commands():
    done = subprocess.run([ROOT / "bench" / "card_check" / "run"], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    for driver in ("igb", "e1000e", "vmxnet3", "virtio_net"):
        for words in ("something would falsify a test", "every command works", "nothing would falsify a test"):
            assert f"ok: {driver}: {words}" in done.stdout
