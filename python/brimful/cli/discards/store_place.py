"""What ``--store`` takes: a directory, or a part of a bucket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click


class StorePlace(click.ParamType[Path | str]):
    """A directory as a path, or ``s3://bucket/path`` as it is."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:  # noqa: ANN401
        """Give the place, unless it is the URL of something else."""
        text = str(value)
        if re.match(r"[a-z][a-z0-9+.-]*://", text) is None:
            if Path(text).is_file():
                self.fail(f"{text!r} is a file; a store is a directory", param, ctx)
            return Path(text)
        if re.fullmatch(r"s3://[^/]+(/.*)?", text) is None:
            self.fail(f"{text!r} is no place of a store; give a directory, or s3://BUCKET/PATH", param, ctx)
        return text
