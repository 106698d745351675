"""`brimful delay` in a real lab, with the tester's fault injector for a device."""

import json

import pytest
from brimful.delay.estimates import ASSUMED_POLL_S
from support import brimful

pytestmark = pytest.mark.usefixtures("own_interfaces")

# Whatever else the machine does, a trial at this load is worth something here.
LENIENT = ("--tester-option", "--max-stall=100ms", "--on-invalid", "retry:200")
SHORT = ("--load", "1kpps", "--rounds", "6", "--trial", "200ms", *LENIENT, "--json", "--quiet")


@pytest.mark.parametrize(("text", "injected_s"), [("50us", 50e-6), ("1ms", 1e-3)])
def test_an_injected_delay_is_found_beside_the_bare_wire(tmp_path, text, injected_s):
    fault = f"--fault=ta/send:delay={text}"
    finished = brimful("delay", "-m", "lab:wire", "--tester-option", fault, *SHORT, cwd=tmp_path, check=0)
    found = {delay["direction"]: delay for delay in json.loads(finished.stdout)["delays"]}
    assert set(found) == {"all", "to", "from"}
    # Whatever else the machine does: the injector lets no frame go early, and some frames pass the wire at once.
    assert found["to"]["device"]["min_s"] >= injected_s
    assert found["to"]["wire"]["min_s"] < injected_s
    assert found["from"]["device"]["min_s"] < injected_s
    for delay in found.values():
        assert (delay["of"], delay["mean"]["method"], delay["mean"]["batches"]) == ("device", "paired", 6)
        # Measured, not assumed: what was assumed would be exactly this and the resolution of the clock.
        assert delay["mean"]["systematic_s"] != pytest.approx(ASSUMED_POLL_S + 1e-9, rel=1e-9)


def test_a_bridge_takes_longer_than_the_wire(tmp_path):
    arguments = ("delay", "-m", "lab:bridge", *SHORT, "--out", "one")
    finished = brimful(*arguments, cwd=tmp_path, check=0)
    facts = json.loads(finished.stdout)
    (delay,) = [delay for delay in facts["delays"] if delay["direction"] == "all"]
    assert delay["device"]["min_s"] > delay["wire"]["min_s"]
    assert facts["plan"]["wire"] == "lab:wire"
    brimful("verify", "one", cwd=tmp_path, check=0)
