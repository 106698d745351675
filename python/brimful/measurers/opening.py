"""From the text of ``--measurer`` to a measurer."""

from __future__ import annotations

import importlib

from brimful.errors import UsageError
from brimful.measurers.base import Measurer, Settings
from brimful.measurers.catalogue import kind_of

_OF_PORTS = ("--pattern", "--port-shares")


def open_measurer(
    spec: str, *, timeout_s: float, tester_arguments: list[str], ip: int = 4, detail: bool = False
) -> Measurer:
    """Open what ``spec`` names.

    Parameters
    ----------
    spec
        See `brimful.measurers.catalogue.FORMS`.
    timeout_s, tester_arguments, ip, detail
        See `Settings`.

    Raises
    ------
    UsageError
        When the text names nothing that can be opened.
    """
    kind = kind_of(spec)
    name = spec.partition(":")[0]
    profiled = any(argument.startswith("--profile=") for argument in tester_arguments)
    if profiled and not kind.sends_profiles:
        message = f"--profile: only lab: and tester: send what a profile says, {name}: does not; leave it out"
        raise UsageError(message)
    own = [option for option in _OF_PORTS if any(argument.startswith(f"{option}=") for argument in tester_arguments)]
    if own and not kind.sends_profiles:
        message = f"{own[0]}: only lab: and tester: have ports of their own to say it of, {name}: has not; leave it out"
        raise UsageError(message)
    module, _, function = kind.opener.partition(":")
    settings = Settings(timeout_s=timeout_s, tester_arguments=tester_arguments, ip=ip, detail=detail)
    measurer: Measurer = getattr(importlib.import_module(module), function)(spec.partition(":")[2], settings)
    return measurer
