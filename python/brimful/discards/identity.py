"""Who is who: which site and which port a source means, the same whatever wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_NAME_LENGTH = 80
DEVICE_LABELS = ("agent_host", "instance", "source", "sysName", "hostname", "device", "host")
"""What names the device, the best first: of what an agent exports, ``instance`` and ``host`` are often the agent."""
PORT_LABELS = ("ifName", "ifDescr", "ifIndex", "ifAlias")
"""What distinguishes the ports of a device, the best first: an index may change when the device starts again."""
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.%\w]+)\](?::[0-9]+)?")
_WITH_PORT = re.compile(r"([^:\[\]]+):[0-9]+")


def device_of(text: str) -> str:
    """Give the device that an address names: only ``host:digits`` and ``[v6]:digits`` have a port to cut off.

    >>> device_of("edge-1:161"), device_of("2001:db8::1"), device_of("[2001:db8::1]:161")
    ('edge-1', '2001:db8::1', '2001:db8::1')
    """
    text = text.strip()
    found = _BRACKETED.fullmatch(text) or _WITH_PORT.fullmatch(text)
    return found[1] if found else text


def device_in(labels: Mapping[str, str]) -> str:
    """Give the device that labels name; nothing where they name none."""
    return device_of(next((labels[label] for label in DEVICE_LABELS if labels.get(label)), ""))


def is_name(text: str) -> bool:
    """Say whether a text can be the name of a device or a port."""
    return 0 < len(text) <= MAX_NAME_LENGTH
