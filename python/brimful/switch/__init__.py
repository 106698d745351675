"""Talk to a running `brimful-switchd`, and make synthetic tables."""

from brimful.switch.captures import read_frame
from brimful.switch.client import DEFAULT_SOCKET, ask, generate, run_ofctl

__all__ = ["DEFAULT_SOCKET", "ask", "generate", "read_frame", "run_ofctl"]
