"""These tests need real labs; without them they say why they are skipped."""

from lab.conftest import labs_permitted, own_interfaces, state_directory

__all__ = ["labs_permitted", "own_interfaces", "state_directory"]
