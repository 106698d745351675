"""Real controllers, os-ken and Faucet, that drive the switch between hosts in namespaces."""

from pathlib import Path

import pytest
from brimful.lab.switch import find_switch
from support import ROOT
from test_conformance import play

PROGRAMS = ROOT / "build" / "controllers" / "bin"
LONGEST_S = 120


@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize("scenario", ["learning", "firewall", "router", "faucet"])
def test_a_controller_drives_the_switch(scenario, tmp_path):
    if not (PROGRAMS / "osken-manager").exists():
        pytest.skip("os-ken and Faucet are not there: tools/setup test installs them in build/controllers")
    play(Path("clients") / "play.py", find_switch(), str(PROGRAMS), str(tmp_path), scenario)
