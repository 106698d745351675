"""The client in the lab's TRex installation: found and loaded."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from .errors import CannotMeasureError, one_line

_PLACES = ("", "interactive", "automation/trex_control_plane/interactive", "trex_client/interactive")
"""Where the package `trex` is below an installation, a client archive, or a package of the client."""


def load_api(path: str | None) -> Any:  # noqa: ANN401 - a module of an unknown version
    """Import ``trex.stl.api`` from an installation, or from this Python's own packages.

    Raises
    ------
    CannotMeasureError
        When it is not there, or does not work with this Python.
    """
    if path is not None:
        _add_installation(Path(path))
    else:
        _add_package()
    try:
        api = importlib.import_module("trex.stl.api")
    except Exception as error:
        python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        message = (
            f"the TRex client in {path or 'this Python'} does not load with {python} ({one_line(error)});"
            " choose another with trex-path=DIRECTORY, or the Python it needs with python=PROGRAM"
        )
        raise CannotMeasureError(message) from error
    needed = ("STLClient", "STLStream", "STLPktBuilder", "STLTXCont", "STLFlowStats", "STLScVmRaw", "TRexError")
    missing = [name for name in needed if not hasattr(api, name)]
    if missing:
        message = (
            f"the TRex client in {path or 'this Python'} has no {', '.join(missing)}: use one of TRex 2.80 or later"
        )
        raise CannotMeasureError(message)
    return api


def _add_installation(path: Path) -> None:
    for place in _PLACES:
        root = path / place
        if (root / "trex/stl/api.py").is_file():
            sys.path.insert(1, str(root))
            libraries = root.parent / "external_libs"
            if libraries.is_dir():
                os.environ.setdefault("TREX_EXT_LIBS", str(libraries))
            return
    message = f"there is no TRex client in {path}: give the directory that TRex was unpacked to as trex-path"
    raise CannotMeasureError(message)


def _add_package() -> None:
    """Let a client that was installed as a package prepare the paths, if there is one."""
    if importlib.util.find_spec("trex") is None and importlib.util.find_spec("lbr_trex_client") is None:
        message = "there is no TRex client: give the directory that TRex was unpacked to as trex-path"
        raise CannotMeasureError(message)
    if importlib.util.find_spec("lbr_trex_client") is not None:
        importlib.import_module("lbr_trex_client")
