"""Spark in tests compiles and shuffles for small tables: to do both for large ones would be most of its time."""

import os
from pathlib import Path

os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark"))
