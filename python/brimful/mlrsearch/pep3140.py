"""A mapping that is printed by the short forms of what it holds."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Pep3140Dict(dict[Key, Value]):
    """A dict whose text has keys and values as `str` gives them.

    >>> print(Pep3140Dict({"load": "low"}))
    {load: low}
    """

    def __str__(self) -> str:
        """Give the entries in curly brackets."""
        return "{" + ", ".join(f"{key}: {value}" for key, value in self.items()) + "}"
