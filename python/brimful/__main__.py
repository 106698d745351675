"""``brimful`` and ``python -m brimful``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command; it may be interrupted before all of it is imported."""
    try:
        from brimful.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("brimful: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
