"""Frames that vanish in a cable of a lab are missed there, to the frame."""

import subprocess

import pytest
from brimful.lab import links
from honest_trials import PLACES, device_port, in_device, lab_tester, valid_trial

EVERY = 10
RELAY = """
import select, socket, sys
OUTGOING, RECEIVE_BUFFER_FORCE = 4, 33
near, far = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2))
for port, name in ((near, sys.argv[1]), (far, sys.argv[2])):
    port.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 1 << 24)
    port.bind((name, 0))
print("ready", flush=True)
every, seen = int(sys.argv[3]), 0
while True:
    for port in select.select([near, far], [], [])[0]:
        frame, address = port.recvfrom(2048)
        if address[2] == OUTGOING:
            continue
        if port is near and frame[36:38] == bytes([0, 7]):
            seen += 1
            if seen % every == 0:
                continue
        (far if port is near else near).send(frame)
"""
"""Passes on what arrives, but of the test frames from near to far not each tenth."""


def leaky_cable(measurer, side):
    """Cut a cable of the device in two and join the ends by a relay; the device's new end has the name of the old."""
    end, port = f"d{'ab'[side]}", device_port(measurer, side)
    device = measurer._lab._keepers[1].namespace
    in_device(
        measurer,
        f"link set dev {port} nomaster",
        f"link set dev {end} down",
        f"link set dev {end} name xa",
        f"link add name xb type veth peer name {end}",
    )
    links.silence(device, ["xa", "xb", end])
    in_device(measurer, f"link set dev {end} master br0", *(f"link set dev {name} up" for name in ("xa", "xb", end)))
    # From the tester into the device on one side, out of the device on the other.
    order = ["xa", "xb"] if side == 0 else ["xb", "xa"]
    command = device.command(["python3", "-I", "-S", "-c", RELAY, *order, str(EVERY)])
    relay = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert relay.stdout is not None
    assert relay.stdout.readline() == "ready\n"
    return relay


@pytest.mark.parametrize(("side", "place", "cable"), [(0, "link_in", "ta to da"), (1, "link_out", "db to tb")])
def test_loss_on_a_link_is_the_links(own_interfaces, side, place, cable):
    with lab_tester("bridge") as measurer:
        relay = leaky_cable(measurer, side)
        try:
            trial = valid_trial(measurer, 2000.0, 0.2)
        finally:
            relay.kill()
            relay.communicate()
    there, back = trial.directions
    assert {name: there["account"]["lost"][name] for name in PLACES if there["account"]["lost"][name]} == {
        place: 400 // EVERY
    }
    assert (there["lost"], back["lost"]) == (400 // EVERY, 0)
    (warning,) = trial.warnings
    assert warning["text"] == f"{400 // EVERY} frames were lost on the link from {cable}: not the device's loss"
