"""``brimful`` and ``python -m brimful``."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command; it may be interrupted before all of it is imported."""
    _open_standard_files()
    try:
        from brimful.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("brimful: interrupted\n")
        sys.exit(130)


def _open_standard_files() -> None:
    """Open what the caller closed: what is opened next would take its number, and have output in it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the least number that is free
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


if __name__ == "__main__":
    run()
