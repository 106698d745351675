"""Our own tester, on ports of this machine or within a lab."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful.errors import BrimfulError, MeasureError, UsageError
from brimful.lab import Lab, catalogue, open_lab
from brimful.lab.devices import DEFAULT_MTU, ETHERNET_LEN, LEAST_PORTS, MOST_PORTS, TESTER_PORTS
from brimful.lab.families import Cost
from brimful.lab.programs import find_own_program
from brimful.measurers.attribution import attribute
from brimful.measurers.base import Description, InvalidTrialError, Settings, TrialOutput
from brimful.measurers.command import CommandMeasurer


def tester_program() -> str:
    """Find the tester that was installed with this package.

    Raises
    ------
    UsageError
        When it is not there.
    """
    found = find_own_program("brimful-tester")
    if found is None:
        message = "brimful-tester is not installed beside this Python and not on the PATH; reinstall brimful"
        raise UsageError(message)
    return found


_THREADS = re.compile(r",(senders|receivers)=([^,]*)(?=,|$)")


def take_threads(rest: str) -> tuple[str, list[str]]:
    """Take ``senders=N`` and ``receivers=N`` out of what follows the kind of a measurer, as options of the tester.

    >>> take_threads("eth1,eth2,senders=2"), take_threads("bridge,receivers=4,ports=4"), take_threads("bridge")
    (('eth1,eth2', ['--senders=2']), ('bridge,ports=4', ['--receivers=4']), ('bridge', []))
    """
    return _THREADS.sub("", rest), [f"--{found[1]}={found[2]}" for found in _THREADS.finditer(rest)]


_OTHER_SIZES = (64, 68, 84, 88, 512, 1518)
"""Of frames, in bytes: the least with and without tags and IPv6, and longer ones."""
_LOOK_LOAD, _LOOK_S = 500.0, 0.2
"""Of a trial that shows whether frames come through at all."""


def passing_size(tester: CommandMeasurer, with_size: Callable[[list[str]], CommandMeasurer]) -> int | None:
    """Give the first of some sizes of which frames come through every way, where a tester can send such.

    Parameters
    ----------
    tester
        It has the ports, and gives them back until it is asked for a trial again.
    with_size
        Opens a tester at them whose frames have the size that these options say.
    """
    tester.close()
    for size in _OTHER_SIZES:
        with contextlib.closing(with_size([f"--frame-size={size}"])) as other:
            directions = _seen(other)
        if directions and not any(direction["lost"] == direction["sent"] for direction in directions):
            return size
    return None


def _seen(tester: CommandMeasurer) -> list[dict[str, Any]]:
    """Give what a short trial counts, also one that was not on schedule; nothing where there is none."""
    try:
        return tester.measure(_LOOK_LOAD, _LOOK_S).directions
    except InvalidTrialError as error:
        found = error.reply.get("directions")
        return found if isinstance(found, list) else []
    except BrimfulError:
        return []


def _without_size(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("--frame-size=")]


class PortsMeasurer(CommandMeasurer):
    """Our own tester on ports of this machine."""

    def __init__(self, command: list[str], settings: Settings) -> None:
        self._ports, self._settings = command, settings
        super().__init__(
            [*command, *settings.tester_arguments],
            timeout_s=settings.timeout_s,
            name="brimful-tester",
            detail=settings.detail,
            on_this_machine=True,
        )

    def passing_size(self) -> int | None:
        """Give a size of frames that come through every way."""
        others = _without_size(self._settings.tester_arguments)

        def with_size(size: list[str]) -> CommandMeasurer:
            settings = msgspec.structs.replace(self._settings, tester_arguments=[*others, *size])
            return PortsMeasurer(self._ports, settings)

        return passing_size(self, with_size)


def tester_on_ports(spec: str, settings: Settings) -> PortsMeasurer:
    """Drive the tester on ports of this machine, cabled to the device.

    ``PORT,PORT[,PORT...][,senders=N][,receivers=N]``
    """
    names, threads = take_threads(spec)
    ports = names.split(",")
    if not LEAST_PORTS <= len(ports) <= MOST_PORTS or not all(ports):
        message = f"measurer 'tester:{spec}': name two ports, or up to {MOST_PORTS}, like tester:eth1,eth2"
        raise UsageError(message)
    command = [tester_program(), *(word for port in ports for word in ("--port", port)), *threads]
    return PortsMeasurer(command, settings)


def open_lab_measurer(device: str, settings: Settings) -> LabMeasurer:
    """Make a lab with ``DEVICE[,key=value...][,senders=N][,receivers=N]`` between the tester's ports."""
    device, threads = take_threads(device)
    return LabMeasurer(
        device,
        [*threads, *settings.tester_arguments],
        ip=settings.ip,
        timeout_s=settings.timeout_s,
        detail=settings.detail,
    )


class _Frames(msgspec.Struct):
    """What a lab has to know of the frames before it is made."""

    largest_frame_size: int
    has_vlan_tags: bool
    ways: list[tuple[int, int]]
    """Of each port that sends: its place, and the place of one that it sends to."""


def _frames(arguments: list[str], ip: int, port_count: int) -> _Frames:
    """Ask the tester which frames it makes of these options.

    Raises
    ------
    UsageError
        When it refuses them.
    """
    ports = [word for port in TESTER_PORTS[:port_count] for word in ("--port", port)]
    # Version 4 is not said, as a profile may have headers of its own.
    version = ["--ip=6"] if ip == 6 else []
    command = [tester_program(), "--describe-frames", *ports, *version, *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        message = " ".join(done.stderr.decode(errors="replace").split()) or f"{command[0]} does not describe frames"
        raise UsageError(message)
    return msgspec.json.decode(done.stdout, type=_Frames)


_OFFER_STEP, _OFFER_LOADS = 0.9, 40
"""From one load that may be offered to the next, and how many there are."""
_OFFER_MOST, _OFFER_TRIAL_S = 3, 0.5
"""A load may be offered once this number of short trials at it are on schedule, before as many are not."""
_OFFER_LOOK = 4
"""Loads that are looked at, downwards from one at which a trial was on schedule."""


def highest_offered(ceiling: float, is_on_schedule: Callable[[float], bool]) -> float | None:
    """Give the highest load at which most of some short trials are on schedule: a ceiling, or steps of a tenth below.

    Null: no trial at any of them is.

    One trial a load leads down to where one is on schedule, as each costs a second and most of those far above fail
    every time. Other work of the machine may spoil trials at any load: where a few lower loads help no more, none of
    them is taken.
    """
    loads = [ceiling * _OFFER_STEP**step for step in range(_OFFER_LOADS)]

    @functools.cache
    def mostly_passes(step: int) -> bool:
        counts = {True: 0, False: 0}
        while max(counts.values()) < _OFFER_MOST:
            counts[is_on_schedule(loads[step])] += 1
        return counts[True] == _OFFER_MOST

    found = next((step for step, load in enumerate(loads) if is_on_schedule(load)), None)
    if found is None:
        return None
    while found > 0 and mostly_passes(found - 1):
        found -= 1
    lower = range(found, min(found + _OFFER_LOOK, len(loads)))
    return loads[next((step for step in lower if mostly_passes(step)), found)]


class LabMeasurer:
    """Our own tester in a lab with a device under test between its ports.

    `device` and `options` are those of `brimful.lab.open_lab`.
    """

    def __init__(
        self,
        device: str,
        arguments: list[str],
        *,
        ip: int,
        timeout_s: float,
        detail: bool = False,
        **options: int | str,
    ) -> None:
        self._arguments = arguments
        self._ip = ip
        self._timeout_s = timeout_s
        self._detail = detail
        kind, chosen = catalogue.parse_device(device, options)
        frames = _frames(arguments, ip, catalogue.ports_of(chosen))
        if frames.has_vlan_tags and catalogue.DEVICES[kind].routes:
            message = f"lab:{kind} has no VLAN interfaces: send frames without tags, or use lab:bridge"
            raise UsageError(message)
        self._mtu = max(DEFAULT_MTU, frames.largest_frame_size - ETHERNET_LEN)
        self._lab = open_lab(device, ip=ip, mtu=self._mtu, ways=frames.ways, **options)
        try:
            self._tester = self._tester_in(self._lab, arguments)
        except BaseException:
            self._lab.close()
            raise

    def describe(self) -> Description:
        """Say what tester and device are. Ceilings are measured in a lab without a device."""
        description = self._tester.describe()
        return msgspec.structs.replace(
            description, device=self._lab.describe(), can_calibrate=True, on_this_machine=True
        )

    def calibrate(self) -> float:
        """Measure the tester's own ceiling: what it sends and receives with its ports joined directly, in a second lab.

        With more ports than two the same ones send as much, each to the port that it is joined to. Where part of the
        device's work is done within the sender's system call, the tester reaches less with the device in place; the
        ceiling is then what it still sends on schedule.
        """
        count = len(self._lab.ports)
        with open_lab("wire", ip=self._ip, mtu=self._mtu, ports=count + count % 2) as wire:
            cables = _along_cables(self._tester.describe().traffic) if count > LEAST_PORTS else []
            tester = self._tester_in(wire, [*self._arguments, *cables, "--cabling=joined"])
            try:
                ceiling = tester.calibrate()
            finally:
                tester.close()
        late = ""

        def is_on_schedule(load: float) -> bool:
            nonlocal late
            try:
                self._tester.measure(load, _OFFER_TRIAL_S)
            except InvalidTrialError as error:
                late = "; ".join([str(error), *([str(error.reply["hint"])] if "hint" in error.reply else [])])
                return False
            return True

        offered = highest_offered(ceiling, is_on_schedule)
        if offered is None:
            message = f"the tester cannot send any load on schedule through the lab: {late}"
            raise MeasureError(message)
        return offered

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Perform one trial, and note which counters of the device moved and where frames were lost.

        A trial in which part of the device ended says nothing of the device, whatever arrived.
        """
        self._lab.begin_trial()
        self._expect_device(MeasureError)
        before, cost_before = self._lab.counters(), self._lab.cost()
        try:
            output = self._tester.measure(load, duration_s, stop_above=stop_above)
        except InvalidTrialError as error:
            self._expect_device(InvalidTrialError)
            moved = _difference(before, self._lab.counters())
            error.reply["directions"], _ = attribute(error.reply.get("directions", []), moved, self._lab.cables)
            raise
        self._expect_device(InvalidTrialError)
        moved = _difference(before, self._lab.counters())
        directions, warnings = attribute(output.directions, moved, self._lab.cables)
        return msgspec.structs.replace(
            output,
            directions=directions,
            warnings=output.warnings + warnings,
            extra={**output.extra, "device_counters": moved, **self._seen_of_programs(cost_before)},
        )

    def _seen_of_programs(self, before: Cost | None) -> dict[str, Any]:
        """Say what the programs of the device used in a trial, and what they wrote since the one before."""
        after = self._lab.cost()
        if before is None or after is None:
            return {}
        used = {"cpu_s": round(after.cpu_s - before.cpu_s, 3), "peak_memory_bytes": after.peak_memory_bytes}
        said = self._lab.take_output()
        return {"device_programs": {**used, **({"output": said} if said else {})}}

    def _expect_device(self, kind: type[MeasureError]) -> None:
        failure = self._lab.failure()
        if failure is not None:
            message = f"the device no longer works: {failure}"
            raise kind(message)

    def passing_size(self) -> int | None:
        """Give a size of frames that come through the device every way."""
        others = _without_size(self._arguments)
        return passing_size(self._tester, lambda size: self._tester_in(self._lab, [*others, *size]))

    def device_command(self, argv: Sequence[str]) -> list[str]:
        """Give the command line that runs a program where the device is, as `--reset-command` does."""
        return self._lab.device_command(argv)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return self._tester.now()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the lab is a new one."""

    def close(self) -> None:
        """End the tester, then take the lab down."""
        try:
            self._tester.close()
        finally:
            self._lab.close()

    def _tester_in(self, lab: Lab, asked: Sequence[str]) -> CommandMeasurer:
        # A ceiling is that of the threads that a trial with the device has. The CPUs of a lab are for one that sends
        # and one that receives.
        several = any(re.fullmatch(r"--(senders|receivers)=(?!1$).*", argument) for argument in asked)
        arguments = lab.tester_arguments(cpus=() if several else self._lab.tester_cpus)
        command = lab.command([tester_program(), *arguments, "--priority=high", *asked])
        return CommandMeasurer(command, timeout_s=self._timeout_s, name="brimful-tester", detail=self._detail)


def _along_cables(traffic: dict[str, Any]) -> list[str]:
    """Give the options by which the ports that send do so, each to the one that a wire joins it to.

    >>> _along_cables({"ports": [{"sends_to": ["tb", "tc"]}, {"sends_to": []}, {"sends_to": ["tb"]}]})
    ['--pattern=flows:1>2,3>4']
    """
    senders = [number for number, port in enumerate(traffic["ports"]) if port["sends_to"]]
    pattern = ",".join(f"{sender + 1}>{(sender ^ 1) + 1}" for sender in senders)
    # Of an odd number of ports the wire has one more.
    shares = [*traffic.get("port_shares", []), *["100%"] * (len(traffic["ports"]) % 2)]
    return [f"--pattern=flows:{pattern}", *([f"--port-shares={'/'.join(shares)}"] if "port_shares" in traffic else [])]


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Subtract counters, nested by interface, and leave out those that did not move."""
    moved: dict[str, Any] = {}
    for name, value in after.items():
        earlier = before.get(name)
        if isinstance(value, dict):
            inner = _difference(earlier if isinstance(earlier, dict) else {}, value)
            if inner:
                moved[name] = inner
        elif isinstance(value, int) and isinstance(earlier, int) and value != earlier:
            moved[name] = value - earlier
    return moved
