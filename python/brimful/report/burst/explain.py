"""How the tests of a run on back-to-back frames came to their ends, burst by burst."""

from __future__ import annotations

from brimful.records import RunFile, Trial
from brimful.records.stated import burst_tests
from brimful.report import words
from brimful.report.burst import model


def explain(file: RunFile) -> str:
    """Say burst by burst how each test came to its end."""
    lines = []
    tests = {test.test: test for test in burst_tests(file)}
    bursts = model.bursts_of(file)
    for number in sorted({trial.round or 0 for trial in bursts}):
        done = tests.get(number)
        ended = "has not ended" if done is None else f"longest burst without loss: {words.group(done.frames)} frames"
        lines.append(f"test {number + 1}: {ended}")
        for trial in bursts:
            if trial.round == number:
                lines.append(f"  {_what_became_of(trial)}")
    return "\n".join(lines) or "No burst was sent."


def _what_became_of(trial: Trial) -> str:
    burst = f"burst of {words.group(trial.burst or 0)} frames (trial {trial.seq})"
    if trial.lost == 0:
        return f"{burst}: none lost, so longer ones are tried"
    of = f"{words.group(trial.lost)} of {words.group(trial.sent)} lost"
    return f"{burst}: {of}{' by the time it was ended' if trial.stopped_early else ''}"
