"""Frames that vanish at a known place of a real lab are missed there, and the account says so to the frame."""

import pytest
from brimful.lab import Lab, links
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.tester import LabMeasurer

LOAD, DURATION_S, SENT = 2000.0, 0.2, 400
ATTEMPTS = 20
PLACES = ("tester_send", "link_in", "device", "link_out", "tester_receive")


def account(*arguments, prepare=None):
    """Perform a trial through a bridge: the loss of the way from ta to tb, what was warned of, why it is invalid."""
    measurer = LabMeasurer("bridge", ["--max-stall=1s", *arguments], ip=4, work=0, timeout_s=20)
    try:
        if prepare is not None:
            prepare(measurer._lab)
        direction, warnings, reason = whole_trial(measurer)
    finally:
        measurer.close()
    lost = direction["account"]["lost"]
    assert sum(lost[place] for place in PLACES) == direction["lost"]
    found = {place: count for place in PLACES if (count := lost[place])}
    return found, [warning["text"] for warning in warnings], reason


def whole_trial(measurer):
    """Give direction, warnings and reason of a trial that sent all frames; a busy machine spoils some."""
    for _ in range(ATTEMPTS):
        try:
            output = measurer.measure(LOAD, DURATION_S)
            direction, warnings, reason = output.directions[0], output.warnings, ""
        except InvalidTrialError as error:
            direction, warnings, reason = error.reply["directions"][0], error.reply["warnings"], str(error)
        assert direction["from"] == "ta"
        if direction["sent"] == SENT:
            return direction, warnings, reason
    pytest.fail(f"{ATTEMPTS} trials in a row could not send all frames")


def test_nothing_lost_is_nothing_blamed(own_interfaces):
    assert account()[:2] == ({}, [])


@pytest.mark.parametrize("back_end", ["packet", "xdp-native"])
@pytest.mark.parametrize(
    ("fault", "place", "said", "spoiled"),
    [
        ("ta/send", "tester_send", "before ta sent", "were lost in the tester before ta sent them"),
        ("tb/receive", "tester_receive", "after tb received", "arrived on tb that the tester was not given"),
    ],
)
def test_loss_in_the_tester_is_the_testers_and_no_result(own_interfaces, back_end, fault, place, said, spoiled):
    lost, warnings, reason = account(f"--back-end={back_end}", f"--fault={fault}:drop=0.1,seed=3")
    assert list(lost) == [place]
    assert 0 < lost[place] < SENT / 2
    assert len(warnings) == 1
    assert f"{lost[place]} frames were lost in the tester {said}" in warnings[0]
    # Learning frames are given to the tester as well.
    count = lost[place] if place == "tester_send" else int(reason.split()[0])
    assert reason == f"{count} frames {spoiled}"
    assert count >= lost[place]


def test_loss_in_the_device_is_the_devices(own_interfaces):
    def cut(lab: Lab) -> None:
        links.configure(lab._keepers[1].namespace, [f"link set dev {lab._settings.ports[1]} nomaster"])

    lost, warnings = account(prepare=cut)[:2]
    assert lost == {"device": SENT}
    assert warnings == [
        f"{SENT} frames sent by {one} are all that it sent to {other}: none arrived"
        for one, other in (("ta", "tb"), ("tb", "ta"))
    ]
