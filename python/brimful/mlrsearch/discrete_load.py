"""A load as results have it."""

from __future__ import annotations

from functools import total_ordering


@total_ordering
class DiscreteLoad:
    """Units per second; `float` gives the number."""

    def __init__(self, float_load: float) -> None:
        self.float_load = float(float_load)

    def __float__(self) -> float:
        """Give units per second."""
        return self.float_load

    def __eq__(self, other: object) -> bool:
        """Compare with a load or a number."""
        return float(other) == self.float_load if isinstance(other, DiscreteLoad | float | int) else NotImplemented

    def __lt__(self, other: DiscreteLoad | float) -> bool:
        """Compare with a load or a number."""
        return self.float_load < float(other)

    def __hash__(self) -> int:
        """Give that of the number, as equal loads have equal ones."""
        return hash(self.float_load)

    def __mul__(self, coefficient: float) -> DiscreteLoad:
        """Give a multiple."""
        return DiscreteLoad(self.float_load * coefficient)

    def __truediv__(self, coefficient: float) -> DiscreteLoad:
        """Give a part."""
        return DiscreteLoad(self.float_load / coefficient)

    def __repr__(self) -> str:
        """Name type and number."""
        return f"{type(self).__name__}(float_load={self.float_load!r})"

    def __str__(self) -> str:
        """Give the number."""
        return f"fl={self.float_load}"
