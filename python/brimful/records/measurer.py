"""What a run says of its measurer."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class MeasurerFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What made the trials. Other facts that an older record has beside these are under ``extra``."""

    spec: str = ""
    """The text of ``--measurer``."""
    name: str = ""
    """Its own name."""
    contract: str | UnsetType = UNSET
    """When a unit counts as lost."""
    ceiling: float | UnsetType | None = UNSET
    """The load that the tester itself reaches with no device between, or offers on schedule with one; null where it was
    not measured."""
    can_stop_early: bool | UnsetType = UNSET
    """Whether it obeys ``stop_above_loss_ratio``."""
    tells_delay: bool | UnsetType = UNSET
    """Whether its trials have a delay."""
    virtual_time: bool | UnsetType = UNSET
    """Whether its time is simulated."""
    extra: dict[str, Any] = {}
    """All other facts."""

    @property
    def kind(self) -> str:
        """What runs must have in common to be compared: a program, or simulated systems of any parameters.

        >>> MeasurerFacts(name="sim:sharp,capacity=1Mpps").kind, MeasurerFacts(name="brimful-tester").kind
        ('sim', 'brimful-tester')
        """
        return str(self.extra.get("kind") or self.name.partition(":")[0])

    @property
    def title(self) -> str:
        """What a user knows it by; empty where nothing is recorded of it."""
        return self.spec or self.name

    @property
    def known_ceiling(self) -> float | None:
        """The ceiling, where it was measured."""
        return self.ceiling or None

    def facts(self) -> dict[str, Any]:
        """Give all that the record says, by the names in the record."""
        known: dict[str, Any] = msgspec.structs.asdict(self)
        others: dict[str, Any] = known.pop("extra")
        unset = {"spec": "", "name": ""}
        return {name: value for name, value in known.items() if value != unset.get(name, UNSET)} | others


class _Written(msgspec.Struct):
    """A run as it is written, with all facts of its measurer."""

    measurer: dict[str, Any] = {}


_KNOWN = frozenset(MeasurerFacts.__struct_fields__)
_decoder = msgspec.json.Decoder(_Written)


def with_other_facts(facts: MeasurerFacts, run: bytes) -> MeasurerFacts:
    """Give the facts of a measurer with those that the line of its run has beside: older records put them there.

    >>> with_other_facts(MeasurerFacts(name="mine"), b'{"measurer":{"name":"mine","version":"2"}}').extra
    {'version': '2'}
    """
    others = {name: value for name, value in _decoder.decode(run).measurer.items() if name not in _KNOWN}
    return msgspec.structs.replace(facts, extra={**others, **facts.extra}) if others else facts
