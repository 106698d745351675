"""The order of trials: rounds of all devices, in an order that a coin decides, and what each round gave."""

from __future__ import annotations

import random
from collections.abc import Sequence


class Round:
    """One round: each device has its turn, of one trial or more.

    Parameters
    ----------
    devices
        Numbers of the devices.
    trials
        Of each turn.
    seed
        What the order is drawn from: the same text always gives the same order.
    """

    def __init__(self, devices: Sequence[int], trials: int, *, seed: str) -> None:
        order = list(devices)
        random.Random(seed).shuffle(order)
        self._left = [device for device in order for _ in range(trials)]
        self._trials = trials
        self.values: dict[int, list[float]] = {device: [] for device in order}
        """What the trials of each device gave."""

    @property
    def device(self) -> int:
        """Whose trial is next."""
        return self._left[0]

    @property
    def begins_turn(self) -> bool:
        """Whether the next trial is the first of its turn."""
        return not self.values[self.device]

    @property
    def is_whole(self) -> bool:
        """Whether all trials are made."""
        return not self._left

    def add(self, value: float) -> None:
        """Take what the next trial gave."""
        self.values[self._left.pop(0)].append(value)
