"""Where a device's neighbours lost frames: the tester's account, with the counters of the device's ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def attribute(
    directions: Sequence[dict[str, Any]],
    moved: Mapping[str, Mapping[str, int]],
    cables: Mapping[str, str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Distinguish loss on the links from loss in the device.

    What a link lost is what one end counted out and the other did not count in; both are read at the same time, so that
    frames of no trial cancel out. The rest of what was lost between the tester's interfaces is the device's.

    Parameters
    ----------
    directions
        As the tester replied.
    moved
        Interface to counter to how far it moved during the trial.
    cables
        Port of the tester to the interface of the device at the other end; empty where there is no device.

    Returns
    -------
    tuple
        The directions, where ``account.lost`` says ``link_in``, ``device`` and ``link_out`` besides ``between``, their
        sum; and a warning for each link that lost frames.

    Examples
    --------
    >>> direction = {"from": "ta", "to": "tb", "account": {"lost": {"between": 5}}}
    >>> moved = {"ta": {"tx_packets": 9}, "da": {"rx_packets": 7}, "db": {"tx_packets": 4}, "tb": {"rx_packets": 4}}
    >>> found, warnings = attribute([direction], moved, {"ta": "da", "tb": "db"})
    >>> found[0]["account"]["lost"]
    {'between': 5, 'link_in': 2, 'device': 3, 'link_out': 0}
    >>> [warning["text"] for warning in warnings]
    ["2 frames were lost on the link from ta to da: not the device's loss"]
    """
    found: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    for direction in directions:
        account = direction.get("account")
        near, far = cables.get(direction["from"]), cables.get(direction["to"])
        if account is None or near is None or far is None:
            found.append(direction)
            continue
        links = {"link_in": (direction["from"], near), "link_out": (far, direction["to"])}
        between = account["lost"]["between"]
        lost = {"link_in": 0, "device": between, "link_out": 0}
        for place, (sender, receiver) in links.items():
            sent = moved.get(sender, {}).get("tx_packets", 0)
            received = moved.get(receiver, {}).get("rx_packets", 0)
            lost[place] = min(max(0, sent - received), lost["device"])
            lost["device"] -= lost[place]
            if lost[place]:
                text = f"{lost[place]} frames were lost on the link from {sender} to {receiver}: not the device's loss"
                warnings.append({"code": "lost-on-link", "text": text})
        found.append({**direction, "account": {**account, "lost": {**account["lost"], **lost}}})
    return found, warnings
