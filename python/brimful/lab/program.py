"""A forwarder of the user's own: any command, which gets the names of its two interfaces."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from brimful.errors import MeasureError, UsageError
from brimful.lab import devices, families
from brimful.lab.devices import Input, Place, Settings
from brimful.lab.namespaces import tool
from brimful.lab.programs import Ending
from brimful.lab.xdp import let_drivers_redirect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimful.lab.programs import Program, Programs

COMMAND = "COMMAND"
"""What the option `run` is called in lists."""
_NAME = "program"
_INTERFACES = ("{a}", "{b}")
_CPU = "{cpu}"
"""A processor that the tester leaves to the device, for programs that poll on one."""
_EXAMPLE = "run='./forwarder {a} {b}'"
_LOOK_S = 0.02
_LAST_STEPS_S = 1.0
"""What a command that sets something up may still do once frames pass."""
_LINE_PATIENCE_S = 60.0
"""Of a program that says when it is ready: some set up memory for half a minute."""
# The first process of a process namespace: the kernel kills the whole of it with this one, and this one with the
# keeper. A command that ends well before frames pass has set something up that goes on without it. Its input is a pipe
# that stays open, which the shell would not give to what it starts in the background.
_FIRST_PROCESS = """
status=$1 command=$2
exec 5<&0
trap : TERM
sh -c "$command" <&5 5<&- &
child=$!
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
done
echo "$code" >"$status"
[ "$code" = 0 ] || exit "$code"
sleep infinity &
wait
"""
_OWN_PROCESSES = 3
"""Of ours, where a command has ended: what waits for the process namespace, its first process, and its sleep."""
_ADMINISTRATION = "PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin; export PATH\n"
"""Where `ip` and daemons are, which not every user has on the path."""
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_SIGNALLED = 128
_LAST_LINES = 5
"""Of what it wrote: the reason is seldom in the very last."""
_QUOTES = frozenset("'\"")


def split_options(text: str, names: Sequence[str]) -> list[str]:
    """Split options at commas, but leave those within quotes, and those of a command, which no option follows.

    >>> split_options("run=fwd --vdev=tap0,iface={a} {b},restart=trial", ["run", "restart"])
    ['run=fwd --vdev=tap0,iface={a} {b}', 'restart=trial']
    >>> split_options("run='fwd {a},{b}',ready='one, restart=two'", ["run", "ready", "restart"])
    ['run=fwd {a},{b}', 'ready=one, restart=two']
    >>> split_options("run='./my fwd' {a} {b},restart=trial", ["run", "restart"])
    ["run='./my fwd' {a} {b}", 'restart=trial']
    """
    words: list[str] = []
    for part in text.split(",") if text else []:
        name, equals, _ = part.partition("=")
        is_option = equals != "" and name in names
        if words and (_is_open(words[-1]) or (words[-1].startswith("run=") and not is_option)):
            words[-1] += f",{part}"
        else:
            words.append(part)
    return [_without_quotes(word) for word in words]


def _is_open(word: str) -> bool:
    """Say whether a value that begins with a quote has not come to the other one."""
    value = word.partition("=")[2]
    return value[:1] in _QUOTES and value.count(value[0]) % 2 == 1


def _without_quotes(word: str) -> str:
    """Take quotes away that hold the whole value; others are the shell's."""
    name, _, value = word.partition("=")
    held = value[:1] in _QUOTES and len(value) > 1 and value.count(value[0]) == 2 and value[-1] == value[0]
    return f"{name}={value[1:-1]}" if held else word


def build_program(place: Place, *, run: str, ready: str, restart: str, input: str, xdp: str, section: str) -> Settings:
    """Join the device's ends, and let the command forward between them, or XDP programs, or both."""
    if not xdp and not all(interface in run for interface in _INTERFACES):
        message = f"lab:program: run={run!r} does not name its interfaces {{a}} and {{b}}: write {_EXAMPLE}"
        raise UsageError(message)
    if xdp and not Path(xdp).is_file():
        message = f"lab:program: xdp={xdp}: there is no such file"
        raise UsageError(message)
    # What the kernel forwards is never lost unless a queue is in front of it.
    queued = input == Input.QUEUE or xdp != ""
    built = devices.build_ports(place, work=0) if queued else Settings(Input.PROGRAM, 0, 0, devices.lay_cables(place))
    steps = _attachments(xdp, section, in_driver=let_drivers_redirect(place, built)) if xdp else []
    command = " && ".join([*steps, *([run] if run else [])]).replace(_CPU, str(devices.device_cpus()[-1]))
    for interface, port in zip(_INTERFACES, built.ports, strict=True):
        command = command.replace(interface, port)
    forwarder = Command(place.programs, command, ready=ready, each_trial=restart == "trial")
    details: dict[str, str | int] = {"run": run, "restart": restart, **({"ready": ready} if ready else {})}
    if xdp:
        details |= {"xdp": xdp, "section": section}
    return Settings(built.input, built.queue_frames, 0, built.ports, details, forwarder=forwarder)


def _attachments(file: str, section: str, *, in_driver: bool) -> list[str]:
    """Give the commands that attach a program of an object file to both interfaces, also in place of an earlier one.

    >>> _attachments("my fwd.o", "xdp", in_driver=True)[0]
    "ip -force link set dev {a} xdp obj 'my fwd.o' sec xdp"
    """
    kind = "xdp" if in_driver else "xdpgeneric"
    program = f"{kind} obj {shlex.quote(file)} sec {shlex.quote(section)}"
    return [f"ip -force link set dev {interface} {program}" for interface in _INTERFACES]


class Command:
    """The command while it runs; it is there once made.

    Parameters
    ----------
    programs
        Those of the device: there is no other.
    command
        As the shell takes it.
    ready
        The line that it prints once it is ready; empty: it is ready when frames pass.
    each_trial
        Whether each trial has it started anew.
    """

    def __init__(self, programs: Programs, command: str, *, ready: str, each_trial: bool) -> None:
        self.each_trial = each_trial
        self._programs = programs
        self._command = command
        self._ready = ready
        self._accepted_s: float | None = None
        self._start()

    def renew(self) -> None:
        """End the command, and start it again."""
        self._programs.end()
        self._start()

    def accept(self) -> None:
        """Take note that frames pass: a command that ends by then, and well, is not needed any more."""
        self._accepted_s = time.time()

    def failure(self) -> str | None:
        """Return, in one line, that the command has ended although it was needed."""
        if not self._programs.running:
            return f"`{self._command}` could not be started again"
        program, code = self._programs.running[-1], self._code()
        if program.process.is_alive() and (code is None or (code == 0 and self._has_set_up())):
            return None
        said = program.last_words(_LAST_LINES)
        return f"`{self._command}` {_ended(code)}" + (f"; it said: {said}" if said else " and said nothing")

    def is_over(self) -> bool:
        """Say whether the command has failed: waiting for frames helps no more."""
        return not any(program.process.is_alive() for program in self._programs.running)

    def left_it_to_the_kernel(self) -> bool:
        """Say whether the command has ended well and left no program behind."""
        return self._code() == 0 and len(families.members(self._programs.running[-1].process)) <= _OWN_PROCESSES

    def _has_set_up(self) -> bool:
        ended_s = self._status().stat().st_mtime
        return self._accepted_s is not None and ended_s <= self._accepted_s + _LAST_STEPS_S

    def _start(self) -> None:
        self._accepted_s = None
        status = str(self._status())
        first = ["sh", "-c", _FIRST_PROCESS, "sh", status, _ADMINISTRATION + self._command]
        argv = [tool("unshare"), "--pid", "--kill-child", "--", *first]
        program = self._programs.start(_NAME, argv, Ending.SIGNAL)
        if self._ready:
            self._await_line(program)

    def _await_line(self, program: Program) -> None:
        deadline = time.monotonic() + _LINE_PATIENCE_S
        while time.monotonic() < deadline:
            # Asked first: what it wrote before it ended is in the log then.
            has_ended = self._code() is not None or self.is_over()
            lines = program.log.read_text(errors="replace").splitlines(keepends=True)
            if any(line.startswith(self._ready) and line.endswith("\n") for line in lines):
                return
            if has_ended:
                message = f"lab:program does not work: {self.failure()}"
                raise MeasureError(message)
            time.sleep(_LOOK_S)
        said = program.last_words(_LAST_LINES)
        message = (
            f"lab:program: `{self._command}` printed no line that begins with {self._ready!r} within"
            f" {_LINE_PATIENCE_S:g} s; it said: {said or 'nothing; let it flush what it prints'}"
        )
        raise MeasureError(message)

    def _status(self) -> Path:
        return self._programs.directory / f"{_NAME}.status"

    def _code(self) -> int | None:
        try:
            return int(self._status().read_text())
        except (OSError, ValueError):  # it runs, or was killed with all that it is in
            return None


def _ended(code: int | None) -> str:
    """Say how a command ended.

    >>> _ended(3), _ended(127), _ended(139), _ended(None)
    ('has ended with exit code 3', 'was not found: give its path', 'was ended by SIGSEGV', 'was killed')
    """
    if code is None:
        return "was killed"
    if code == _NOT_FOUND:
        return "was not found: give its path"
    if code == _NOT_EXECUTABLE:
        return "may not be executed: `chmod +x`"
    ending = next((each.name for each in signal.Signals if each == code - _SIGNALLED), None)
    return f"has ended with exit code {code}" if ending is None else f"was ended by {ending}"
