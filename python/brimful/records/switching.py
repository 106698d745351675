"""Records of tests of switches (RFC 2889): the plan of one test, and what it found."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class SwitchingPlan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a run of the subject ``switching`` measures. Rates are in frames/s."""

    test: str
    """``caching``, ``learning``, ``ageing``, ``errored`` or ``broadcast``."""
    ports: list[str]
    """The first sends the frames that are counted, addresses are learned at the second, the others watch."""
    frame_size: int = 64
    """In bytes with the check sequence."""
    rate: float
    """Of frames to known addresses; in the test ``caching`` of learning, too."""
    frames: int = 100
    """Of each trial of the test ``errored``."""
    trial_s: float = 0.0
    """Test ``broadcast``: how long each trial lasts."""
    patterns: list[str] = []
    """Of addresses: ``sequential``, or ``random`` and a seed."""
    first: int = 0
    """Test ``caching``: addresses of the first trial. Test ``learning``: its rate."""
    most: int = 0
    """The most that is tried, of the same; test ``broadcast``: of its rate."""
    width: float = 0.0
    """Tests ``learning`` and ``broadcast``: the search ends when bounds are this share of the upper one apart, or 1."""
    addresses: int = 0
    """Test ``learning``: addresses of each trial."""
    attempts: int = 1
    """Tests ``learning`` and ``broadcast``: N trials in a row fail before their rate does: programs may stand still."""
    rounds: int = 1
    """Of the test ``ageing``."""
    limit_s: float = 0.0
    """Test ``ageing``: how long an address is watched at most."""
    sizes: list[int] = []
    """Test ``errored``: of the frames."""
    rest_s: float = 0.0
    """Silence before each trial in which addresses are learned: longer than the ageing time."""
    settle_s: float = 0.2
    """After the last frame that arrives, before the counts are read."""
    forgets: str = ""
    """What makes the device forget instead."""


class SwitchingResult(Record, frozen=True, omit_defaults=True, kw_only=True, tag="switching_result"):
    """One figure or verdict of a test."""

    name: str
    """Of the pattern, the frames or the port; empty where a test has one only."""
    verdict: str
    """``found``: the value is the result. ``at-least``: nothing failed up to there. ``pass`` or ``fail``: of frames or
    of a port. ``none``: nothing can be said, and ``text`` gives the reason."""
    value: float | None = None
    """Addresses, frames/s, seconds or frames."""
    text: str = ""
    """What to know of it."""
