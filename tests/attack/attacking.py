"""What the attacks share: seeds, how long they go on, and the command within this process."""

import contextlib
import io
import os
import random
import signal
import sys

import click
from brimful.cli import group
from brimful.errors import BrimfulError

ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "1"))
"""Times over that every attack of chance is made; 1 takes half a minute in all."""


def dice(*names):
    """Chance that is the same in every run."""
    return random.Random(" ".join(map(str, names)))


def outcome(*arguments):
    """Run the command; give its exit code, output and error. Whatever is no error in one line comes through."""
    output, errors = io.StringIO(), io.StringIO()
    with _signals_kept(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = group([str(argument) for argument in arguments], prog_name="brimful", standalone_mode=False)
        except click.ClickException as error:
            code = error.exit_code
            sys.stderr.write(" ".join(error.format_message().split()) + "\n")
        except BrimfulError as error:
            code = error.exit_code
            sys.stderr.write(f"{error}\n")
    assert code in (None, 0, 1, 2, 3)
    return code or 0, output.getvalue(), errors.getvalue()


@contextlib.contextmanager
def _signals_kept():
    """Leave signals as they are: a command takes them for its own process, and this one goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refused(*arguments):
    """Run the command, which must refuse in one line; give the line."""
    code, _, errors = outcome(*arguments)
    assert code in (2, 3), errors
    assert len(errors.splitlines()) == 1, errors
    return errors
