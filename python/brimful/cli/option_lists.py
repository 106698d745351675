"""Options that are added to a command together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Command = TypeVar("_Command", bound=Callable[..., Any])


def in_order(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Give what adds options to a command, which then lists them in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
