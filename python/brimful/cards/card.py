"""What is known of a network interface, and what that means for a test."""

from __future__ import annotations

from typing import Literal

import msgspec

from brimful.measurers.back_ends import BackEnd

Level = Literal["prevents", "falsifies", "notice"]
"""No test is possible; its results would be wrong without a word; less can be measured, or less exactly."""


class Feature(msgspec.Struct, frozen=True):
    """Work that a driver may do for its host."""

    on: bool
    can_change: bool


class Interrupt(msgspec.Struct, frozen=True):
    """An interrupt of a card, and the processors that it runs on."""

    number: int
    processors: list[int]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """An interface as the kernel describes it; None is what its driver does not report."""

    interface: str
    driver: str
    bus: str
    """The address of the card; "" where there is no hardware."""
    is_up: bool
    has_carrier: bool
    mtu: int
    speed_bps: int | None = None
    is_full_duplex: bool | None = None
    receiving_queues: int | None = None
    """Those that receive alone."""
    combined_queues: int | None = None
    """Those that send and receive."""
    ring: int | None = None
    """Frames that a receive queue holds."""
    largest_ring: int | None = None
    obeys_pause: bool | None = None
    sends_pause: bool | None = None
    interrupt_delay_us: int | None = None
    adapts_interrupts: bool | None = None
    features: dict[str, Feature] = {}
    """By the kernel's names, those that matter here."""
    hardware_clock: int | None = None
    numa_node: int | None = None
    node_processors: list[int] = []
    """Of that node."""
    interrupts: list[Interrupt] = []
    bus_bps: int | None = None
    """What its place on the bus carries."""
    function_of: str | None = None
    """The card that it is a virtual function of, and its number there, as `ip link set dev` takes them: CARD where the
    interface is in another network namespace."""
    has_ipv6: bool = False
    used_for: str | None = None
    """What else it is used for, in words that follow its name."""
    back_ends: list[BackEnd] = []


class Finding(msgspec.Struct, frozen=True):
    """Something that matters for a test."""

    level: Level
    code: str
    text: str
    command: str | None = None
    """What mends it."""
