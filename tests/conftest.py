"""Settings of the test suite."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("default")

# A shell has what it starts in the background ignore interrupts, and programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
