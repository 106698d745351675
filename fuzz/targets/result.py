"""Any bytes as a benchmark result: an answer, or an error that is one line. Run by fuzz/run, with Atheris."""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["brimful"]):
    from brimful.errors import BrimfulError
    from brimful.iocost import read, record
    from brimful.iocost.analysis import analyse
    from brimful.iocost.rules import Task
    from brimful.report.iocost import text


def test_one_input(content: bytes) -> None:
    """Read, analyse and render as the command does."""
    problem = ""
    try:
        for result in read.parse_results(content, Path("input")):
            analysis = analyse(result, Task(), method="compatible")
            text.render(record.to_run(analysis, command=[], started="", resamples=2))
    except BrimfulError as error:
        problem = str(error)
    if "\n" in problem:
        message = f"more than a line: {problem!r}"
        raise AssertionError(message)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
