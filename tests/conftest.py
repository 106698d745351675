"""Settings of the test suite."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("default")
