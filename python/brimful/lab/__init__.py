"""Throw-away test beds: a tester, a device under test and the links between them, in network namespaces.

A lab needs no name, touches no interface of the machine, and is gone when the process that opened it is gone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from brimful.errors import MeasureError, UsageError
from brimful.lab import catalogue, devices, health, links, state
from brimful.lab.devices import Device, Input, Place
from brimful.lab.namespaces import Keeper, Process, permitted, start_keeper
from brimful.lab.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from brimful.lab.devices import Settings
    from brimful.lab.families import Cost
    from brimful.lab.links import InterfaceCounters
    from brimful.lab.namespaces import Namespace

__all__ = ["Device", "Input", "Lab", "losses", "open_lab", "permitted"]

Description = dict[str, str | int | list[str]]

_DROP_COUNTERS = ("rx_dropped", "tx_dropped", "queue_dropped")


class Lab:
    """A test bed that exists until it is closed; make one with `open_lab`.

    Examples
    --------
    >>> with open_lab("bridge") as lab:  # doctest: +SKIP
    ...     subprocess.run(lab.command(["brimful-tester", *lab.tester_arguments()]))
    """

    def __init__(
        self,
        lab_id: str,
        device: Device,
        place: Place,
        keepers: list[Keeper],
        programs: Programs,
        settings: Settings,
        ways: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self._id = lab_id
        self._device = device
        self._ip = place.ip
        self._mtu = place.mtu
        self._ports = place.tester_ports
        self._keepers = keepers
        self._programs = programs
        self._settings = settings
        self._is_fresh = True
        self._ways = [
            health.Way(sender, receiver, self.router_macs[sender] if self._routes else self.macs[receiver])
            for sender, receiver in ways or self._all_ways()
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def id(self) -> str:
        """The name that `brimful lab list` shows."""
        return self._id

    @property
    def tester(self) -> Namespace:
        """The namespace with the tester's ports."""
        return self._keepers[0].namespace

    @property
    def input(self) -> Input:
        """How the device takes frames; with `Input.INLINE` and `Input.NONE` it never loses any."""
        forwarder, built = self._settings.forwarder, self._settings.input
        if built is Input.PROGRAM and forwarder is not None and forwarder.left_it_to_the_kernel():
            return Input.INLINE
        return built

    @property
    def router_macs(self) -> tuple[str, ...]:
        """The next hops of the tester's ports, in their order; empty unless the device is a router."""
        return devices.ROUTER_MACS[: len(self._ports)] if self._routes else ()

    @property
    def ports(self) -> tuple[str, ...]:
        """The tester's ports."""
        return self._ports

    @property
    def mtu(self) -> int:
        """Of every link: the bytes of the longest frame without header and check sequence."""
        return self._mtu

    @property
    def macs(self) -> tuple[str, ...]:
        """The Ethernet addresses of the tester's ports, in their order."""
        return devices.TESTER_MACS[: len(self._ports)]

    @property
    def cables(self) -> dict[str, str]:
        """The tester's ports and the device's end of each; empty where there is no device."""
        return {} if self._device is Device.WIRE else {port: devices.CABLES[port] for port in self._ports}

    @property
    def _routes(self) -> bool:
        return catalogue.DEVICES[self._device].routes

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a program among the tester's ports.

        Parameters
        ----------
        argv
            The program and its arguments.

        Returns
        -------
        list of str
            The same, entered into the namespace.
        """
        return self.tester.command(argv)

    def device_command(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a program among the device's interfaces; a wire has those of the tester."""
        return self._keepers[min(1, len(self._keepers) - 1)].namespace.command(argv)

    @property
    def forget_command(self) -> list[str]:
        """The command line that makes the device forget the addresses that it has learned; empty where nothing does."""
        return self.device_command(self._settings.forget) if self._settings.forget else []

    @property
    def tester_cpus(self) -> tuple[int, ...]:
        """CPUs that are the tester's alone: of its only thread, or of the one that sends and the one that receives."""
        return devices.tester_cpus(self._device)

    def tester_arguments(self, *, cpus: Sequence[int] | None = None) -> list[str]:
        """Return the arguments that give `brimful-tester` its ports, CPUs, next hops and addresses.

        Parameters
        ----------
        cpus
            The CPUs, if not this lab's own `tester_cpus`.

        Returns
        -------
        list of str
            Options that are given once a port come in the order of the ports; traffic that port `ta` sends has the
            first source and the first destination.
        """
        arguments = [word for port in self._ports for word in ("--port", port)]
        arguments += self._settings.tester_options
        arguments += [word for cpu in (self.tester_cpus if cpus is None else cpus) for word in ("--cpu", str(cpu))]
        if self._routes:
            arguments += [word for mac in self.router_macs for word in ("--next-hop-mac", mac)]
            near, far = devices.NETWORKS[self._ip]
            arguments += ["--ip", str(self._ip)]
            for source, destination in ((near, far), (far, near)):
                arguments += ["--source-ip", source.tester, "--destination-ip", destination.tester]
        elif self._ip == 6:
            arguments += ["--ip", "6"]
        return arguments

    def describe(self) -> Description:
        """Return what the lab is made of, for the record.

        Returns
        -------
        dict
            Names and values that `json` can write.
        """
        description: Description = {
            "device": self._device.value,
            "kernel": os.uname().release,
            "cpus": os.cpu_count() or 1,
            "ip": self._ip,
            "mtu": self._mtu,
            "input": self.input.value,
            "input_queue_frames": self._settings.queue_frames,
            "work": self._settings.work,
            **self._settings.details,
            "privilege": "user namespace" if self.tester.in_user_namespace else "root",
            "tester_ports": list(self._ports),
            "tester_macs": list(self.macs),
            "counters": sorted(self.counters()),
        }
        if self._routes:
            description["router_macs"] = list(self.router_macs)
            description["networks"] = [network.aggregate for network in devices.NETWORKS[self._ip]]
        return description

    def counters(self) -> dict[str, InterfaceCounters]:
        """Return the counters of every interface of the tester and of the device.

        Returns
        -------
        dict
            Interface to counter to value.
        """
        counters: dict[str, InterfaceCounters] = {}
        # Keepers after the second hold programs, which are in the namespace of the device.
        for keeper in self._keepers[:2]:
            counters.update(links.read_counters(keeper.namespace))
        return counters

    def failure(self) -> str | None:
        """Return, in one line, which part of the device has ended; None while all of it runs."""
        forwarder = self._settings.forwarder
        parts = self._programs.running if forwarder is None else [forwarder]
        failures = (part.failure() for part in parts)
        if (failure := next(filter(None, failures), None)) is not None:
            return failure
        if not all(keeper.namespace.is_alive() for keeper in self._keepers):
            return f"lab {self._id} was ended by someone else"
        return None

    def begin_trial(self) -> None:
        """Start a command of the user's again, where each trial is to have it fresh.

        Raises
        ------
        MeasureError
            When it does not work any more.
        """
        forwarder = self._settings.forwarder
        if forwarder is None or not forwarder.each_trial or self._is_fresh:
            self._is_fresh = False
            return
        forwarder.renew()
        state.save(_entry(self._id, self._device, Process.find(os.getpid()), self._keepers))
        self._check(tester_listens=True)

    def cost(self) -> Cost | None:
        """Return what the programs of the device have used; None where there are none."""
        return self._programs.cost() if self._programs.running else None

    def take_output(self) -> str:
        """Return what the programs of the device wrote since it was last asked for."""
        return self._programs.take_output()

    def _check(self, *, tester_listens: bool = False) -> None:
        """Make sure that frames pass the device."""
        forwarder = self._settings.forwarder
        is_over = (lambda: False) if forwarder is None else forwarder.is_over
        obstacle = health.find_obstacle(
            self.tester,
            ip=self._ip,
            mtu=self._mtu,
            ways=self._ways,
            is_over=is_over,
            tester_listens=tester_listens,
        )
        if obstacle is None and forwarder is not None:
            forwarder.accept()
        failure = self.failure()
        reason = failure or obstacle
        if reason is None:
            return
        if reason == obstacle and self._programs.running:
            last = self._programs.running[-1]
            reason += f"; {last.name} said: {last.last_words() or 'nothing'}"
        elif forwarder is not None and obstacle is not None and not forwarder.is_over():
            reason = f"{obstacle}, and {failure}"
        message = f"lab:{self._device} does not work: {reason}"
        raise MeasureError(message)

    def _all_ways(self) -> list[tuple[int, int]]:
        """Give a way out of each port and a way into each: to the next one, or along the cable."""
        count = len(self._ports)
        is_cabled = self._device is Device.WIRE
        return [(sender, sender ^ 1 if is_cabled else (sender + 1) % count) for sender in range(count)]

    def keep(self) -> None:
        """Let the lab outlive this process, until `brimful lab clean` ends it."""
        # The file says so first: a lab that outlives its owner without a file could not be found again.
        state.save(_entry(self._id, self._device, None, self._keepers))
        for keeper in self._keepers:
            keeper.detach()
        self._keepers = []

    def close(self) -> None:
        """End the lab."""
        if self._keepers:
            _close(self._id, self._keepers)
            self._keepers = []


def open_lab(
    device: str,
    *,
    ip: int = 4,
    mtu: int = devices.DEFAULT_MTU,
    ways: Sequence[tuple[int, int]] | None = None,
    **options: int | str,
) -> Lab:
    """Make a lab that is gone when this process is, and make sure that frames pass the device.

    Parameters
    ----------
    device
        One of `catalogue.DEVICES`, such as `bridge`. Options may follow, as in `bridge,work=2000`.
    ip
        4 or 6: what the router routes and the tester sends.
    mtu
        Of every link: the bytes of the longest frame without the 18 of its header and its frame check sequence.
    ways
        Which frames must pass: from one of the tester's ports to another, by their places. By default one way out of
        each port and one into each.
    **options
        The options of the device, if not in its text. A device has to be slower than the tester for its loss to be
        found: that is what `work` is for.

    Returns
    -------
    Lab
        To be closed, or used in a `with` statement.

    Raises
    ------
    UsageError
        When an argument is wrong.
    MeasureError
        When the system does not permit labs, misses a program, or no frame passes the device.
    """
    kind, chosen = catalogue.parse_device(device, options)
    if ip not in devices.NETWORKS:
        message = f"ip is {ip}: use 4 or 6"
        raise UsageError(message)
    if not devices.DEFAULT_MTU <= mtu <= devices.LARGEST_MTU:
        message = f"mtu is {mtu}: use {devices.DEFAULT_MTU} to {devices.LARGEST_MTU}"
        raise UsageError(message)
    catalogue.check_needs(kind)
    state.sweep()
    lab_id = state.new_id()
    owner = Process.find(os.getpid())
    keepers: list[Keeper] = []
    try:
        keepers.append(start_keeper(lab_id, "tester"))
        tester = keepers[0].namespace
        if kind is not Device.WIRE:
            keepers.append(start_keeper(lab_id, "device", beside=tester))
        state.save(_entry(lab_id, kind, owner, keepers))
        programs = Programs(keepers[-1].namespace, keepers, devices.device_cpus())
        place = Place(tester, programs, ip, mtu, catalogue.ports_of(chosen))
        settings = catalogue.build(kind, place, chosen)
        state.save(_entry(lab_id, kind, owner, keepers))
        lab = Lab(lab_id, kind, place, keepers, programs, settings, ways)
        lab._check()
    except BaseException:
        _close(lab_id, keepers)
        raise
    return lab


def losses(before: Mapping[str, InterfaceCounters], after: Mapping[str, InterfaceCounters]) -> dict[str, int]:
    """Return where frames were dropped between two readings of `Lab.counters`.

    Parameters
    ----------
    before, after
        The readings.

    Returns
    -------
    dict
        `interface.counter` to frames, without zeros.

    Examples
    --------
    >>> losses({"qa": {"queue_dropped": 1}}, {"qa": {"queue_dropped": 5}})
    {'qa.queue_dropped': 4}
    """
    found: dict[str, int] = {}
    for interface, values in after.items():
        # What arrives at the tester's ports is also offered to the tester's host, which refuses it and counts that.
        refused = ("rx_dropped",) if interface in devices.TESTER_PORTS else ()
        for counter in (name for name in _DROP_COUNTERS if name not in refused):
            count = values.get(counter, 0) - before.get(interface, {}).get(counter, 0)
            if count:
                found[f"{interface}.{counter}"] = count
    return found


def _entry(lab_id: str, device: Device, owner: Process | None, keepers: Sequence[Keeper]) -> state.Entry:
    return state.Entry(lab_id, device.value, state.now(), owner, tuple(keeper.namespace for keeper in keepers))


def _close(lab_id: str, keepers: Sequence[Keeper]) -> None:
    for keeper in reversed(keepers):
        keeper.close()
    state.forget(lab_id)
