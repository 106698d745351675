"""Histories of a forwarder: git repositories of which one commit makes it slower."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import ROOT

EXAMPLE = ROOT / "examples" / "bisect"
MEASURE = Path(__file__).with_name("measure_forwarder.py")
_IDENTITY = {"NAME": "A. U. Thor", "EMAIL": "author@example.org", "DATE": "2026-01-01T00:00:00Z"}


def git(directory, *arguments):
    environment = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in _IDENTITY.items()}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-C", str(directory), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )
    return done.stdout.strip()


def make_forwarder(directory, *, commits=32, slower=20, work=(20000, 21600)):
    """Make the repository: each commit adds a line of notes, and one makes each frame cost more; v1.0 is the first.

    Its program ``measure`` stands for a test bed of its own: it only reads the forwarder.
    """
    directory.mkdir()
    git(directory, "init", "--quiet")
    (directory / "measure").write_text(f"#!/bin/sh\nexec {sys.executable} {MEASURE} $(dirname $0)/fwd.c\n")
    (directory / "measure").chmod(0o755)
    shutil.copy(EXAMPLE / "Makefile", directory)
    hashes = []
    for number in range(commits + 1):
        text = (EXAMPLE / "fwd.c").read_text().replace("define WORK 20000", f"define WORK {work[number >= slower]}")
        (directory / "fwd.c").write_text(text)
        (directory / "notes").write_text("".join(f"change {line}\n" for line in range(number + 1)))
        git(directory, "add", ".")
        git(directory, "commit", "--quiet", "-m", f"Change {number}")
        hashes.append(git(directory, "rev-parse", "HEAD"))
    git(directory, "tag", "v1.0", hashes[0])
    return hashes
