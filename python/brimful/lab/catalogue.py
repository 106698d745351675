"""The devices there are: their options, what they need, and how each is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimful.errors import UsageError
from brimful.lab import devices, openvswitch, testpmd, xdp
from brimful.lab.devices import Device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brimful.lab.devices import Settings
    from brimful.lab.namespaces import Namespace
    from brimful.lab.programs import Programs

Options = dict[str, int | str]
"""Name to value, one for each option that the device has."""

# The most that brimful-forwarder takes.
_WORK = range(100_001)
_OPTIONS: dict[Device, tuple[tuple[str, range | tuple[str, ...], int | str], ...]] = {
    Device.BRIDGE: (("work", _WORK, devices.DEFAULT_WORK),),
    Device.ROUTER: (("work", _WORK, devices.DEFAULT_WORK),),
    Device.XDP: (("work", _WORK, 0),),
    Device.OVS: (("ports", ("system", "afxdp"), "system"),),
    Device.TESTPMD: (("mode", ("io", "mac"), "io"),),
}
"""Device to name, values and default of its options."""


def parse_device(text: str, given: Mapping[str, int | str]) -> tuple[Device, Options]:
    """Read `DEVICE[,key=value...]` and add what was given apart.

    Raises
    ------
    UsageError
        When there is no such device or option, or a value is not one of those the option takes.
    """
    name, *words = text.split(",")
    try:
        device = Device(name)
    except ValueError:
        message = f"there is no device {name!r}: use one of {', '.join(Device)}"
        raise UsageError(message) from None
    asked = dict(given)
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in asked:
            message = f"device {device}: {word!r} is not key=value, or its key is there twice"
            raise UsageError(message)
        asked[key] = value
    options: Options = {}
    for key, values, default in _OPTIONS.get(device, ()):
        options[key] = _read_option(key, values, asked.pop(key, default))
    if asked:
        known = f"use {', '.join(options)}" if options else "it has none"
        message = f"device {device} has no option {next(iter(asked))!r}: {known}"
        raise UsageError(message)
    return device, options


def _read_option(key: str, values: range | tuple[str, ...], value: int | str) -> int | str:
    if isinstance(values, range):
        number = int(value) if isinstance(value, int) or value.isdecimal() else -1
        if number in values:
            return number
        message = f"{key} is {value}: use {values.start} to {values.stop - 1}"
        raise UsageError(message)
    if value not in values:
        message = f"{key} is {value}: use one of {', '.join(values)}"
        raise UsageError(message)
    return value


def check_needs(device: Device) -> None:
    """Make sure that what only this device needs is there, programs above all.

    Raises
    ------
    MeasureError
        Naming what is missing, and where it comes from.
    """
    match device:
        case Device.XDP:
            xdp.find_forwarder()
        case Device.OVS:
            openvswitch.check_needs()
        case Device.TESTPMD:
            testpmd.find_testpmd()
        case _:
            pass


def build(
    device: Device, tester: Namespace, programs: Programs, *, ip: int, mtu: int, options: Mapping[str, Any]
) -> Settings:
    """Build any device but a wire, and start its programs."""
    match device:
        case Device.BRIDGE:
            return devices.build_bridge(tester, programs.namespace, mtu=mtu, **options)
        case Device.ROUTER:
            return devices.build_router(tester, programs.namespace, ip=ip, mtu=mtu, **options)
        case Device.XDP:
            return xdp.build_forwarder(tester, programs, mtu=mtu, **options)
        case Device.OVS:
            return openvswitch.build_open_vswitch(tester, programs, mtu=mtu, **options)
        case Device.TESTPMD:
            return testpmd.build_testpmd(tester, programs, mtu=mtu, **options)
        case Device.WIRE:
            return devices.build_wire(tester, mtu=mtu)
