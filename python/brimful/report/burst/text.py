"""The report on back-to-back frames for a terminal."""

from __future__ import annotations

from brimful.records import RunFile, Trial
from brimful.report import measured, words
from brimful.report.burst import model
from brimful.report.lines import WIDTH
from brimful.report.styles import Style, plain


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    return model.headline(file)


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``burst``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    results = ["There is no result: no test came to its end."]
    if view.results:
        results = [
            _table(style("Longest burst without loss", "title"), view.result_names, view.results),
            _table(style("Tests", "title"), view.test_names, view.test_rows),
        ]
    return measured.render(view, file.run, results, style, columns)


def explain(file: RunFile) -> str:
    """Say burst by burst how each test came to its end."""
    lines = []
    tests = {test.test: test for test in model.tests_of(file)}
    for number in sorted({trial.round or 0 for trial in file.counted()}):
        done = tests.get(number)
        ended = "has not ended" if done is None else f"longest burst without loss: {words.group(done.frames)} frames"
        lines.append(f"test {number + 1}: {ended}")
        for trial in file.counted():
            if trial.round == number:
                lines.append(f"  {_what_became_of(trial)}")
    return "\n".join(lines) or "No burst was sent."


def _what_became_of(trial: Trial) -> str:
    burst = f"burst of {words.group(trial.burst or 0)} frames (trial {trial.seq})"
    if trial.lost == 0:
        return f"{burst}: none lost, so longer ones are tried"
    of = f"{words.group(trial.lost)} of {words.group(trial.sent)} lost"
    return f"{burst}: {of}{' by the time it was ended' if trial.stopped_early else ''}"


def _table(title: str, names: list[str], rows: list[list[str]]) -> str:
    return measured.titled(title, names, rows, right=range(len(names)))
