"""Records of suites: many tests of one device, each a run of its own with its own record."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class SuitePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``suite`` measures."""

    standard: str
    """Such as ``RFC 2544``."""
    sizes: list[str]
    """Of frames, in bytes with the FCS, or a named mix."""
    tests: list[str]
    """Names of the tests that are made at each size."""
    is_quick: bool = False
    """Whether durations are shorter than the standard asks for."""
    once: list[str] = []
    """Those of the tests that are made at the first size alone."""
    not_done: dict[str, str] = {}
    """Tests that were asked for and that the measurer cannot make, each with the reason."""

    @property
    def name(self) -> str:
        """What it is: its standard, and whether it is quick."""
        return f"{self.standard}{', quick' if self.is_quick else ''}"

    def sizes_of(self, test: str) -> list[str]:
        """Give the sizes at which a test is made."""
        return self.sizes[:1] if test in self.once else self.sizes


class SuiteTest(Record, frozen=True, omit_defaults=True, tag="suite_test"):
    """A test that came to an end; what it found is in its own record."""

    size: str
    """Of its frames."""
    test: str
    """Its name."""
    path: str
    """Directory of its record, relative to that of the suite."""
    reason: str
    """Why it ended: as in `End`."""
    trials: int = 0
    """How many it made."""
    text: str = ""
    """The reason in words."""
