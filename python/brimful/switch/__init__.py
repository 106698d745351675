"""Talk to a running `brimful-switchd`, and make synthetic tables."""

from brimful.switch.capture import Captured, capture_to
from brimful.switch.captures import read_frame
from brimful.switch.client import DEFAULT_SOCKET, ask, generate, run_ofctl

__all__ = ["DEFAULT_SOCKET", "Captured", "ask", "capture_to", "generate", "read_frame", "run_ofctl"]
