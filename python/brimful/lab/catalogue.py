"""The devices there are: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimful.errors import UsageError, did_you_mean
from brimful.lab import crossbar, devices, openvswitch, program, switch, testpmd, xdp
from brimful.lab.devices import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brimful.lab.devices import Place, Settings

Options = dict[str, int | str]
"""Name to value, one for each option that the device has."""


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of a device, as in `bridge,work=2000`: the multiplications that every frame costs."""

    name: str
    values: range | tuple[str, ...] | str
    """Numbers, words, or any text, of which this is the name."""
    default: int | str


@dataclass(frozen=True, slots=True)
class Row:
    """What there is to know of a device."""

    meaning: str
    build: Callable[..., Settings]
    """Takes a `Place` and, by name, a value for each option; starts the programs of the device as well."""
    options: tuple[Option, ...] = ()
    check_needs: Callable[[], object] | None = None
    """Raises a MeasureError that names what is missing, programs above all, and where it comes from."""
    routes: bool = False
    """Whether it sends frames on by their IP addresses: the tester has to know its next hops."""


_LONGEST_LISTED = 48
PORTS = Option("ports", range(devices.LEAST_PORTS, devices.MOST_PORTS + 1), devices.LEAST_PORTS)
"""Of the tester and of the device. Devices without it have two."""
_MOST_WRITTEN = 2
"""Words of an option that lists of devices show."""
# The most that brimful-forwarder takes.
_WORK = range(100_001)

DEVICES: Mapping[Device, Row] = {
    Device.BRIDGE: Row(
        meaning="a Linux bridge",
        build=devices.build_bridge,
        options=(PORTS, Option("work", _WORK, devices.DEFAULT_WORK)),
    ),
    Device.ROUTER: Row(
        meaning="a Linux router",
        build=devices.build_router,
        options=(Option("work", _WORK, devices.DEFAULT_WORK),),
        routes=True,
    ),
    Device.XDP: Row(
        meaning="an XDP program that forwards frames",
        build=xdp.build_forwarder,
        options=(Option("work", _WORK, 0),),
        check_needs=xdp.find_forwarder,
    ),
    Device.OVS: Row(
        meaning="Open vSwitch in user space",
        build=openvswitch.build_open_vswitch,
        options=(PORTS, Option("back_end", ("system", "afxdp"), "system")),
        check_needs=openvswitch.check_needs,
    ),
    Device.TESTPMD: Row(
        meaning="DPDK's testpmd on packet sockets",
        build=testpmd.build_testpmd,
        options=(Option("mode", ("io", "mac"), "io"),),
        check_needs=testpmd.find_testpmd,
    ),
    Device.SWITCH: Row(
        meaning="our own OpenFlow switch",
        build=switch.build_switch,
        options=(
            PORTS,
            Option("table", "FILE", ""),
            Option("threads", range(1, 3), 1),
            Option("back_end", ("fastest", "packet", "packet-blocks", "xdp-native", "xdp-generic"), "fastest"),
            Option("addresses", range(1, switch.MOST_ADDRESSES + 1), switch.MOST_ADDRESSES),
            Option("learning_rate", range(1_000_001), 0),
        ),
        check_needs=switch.find_switch,
    ),
    Device.PROGRAM: Row(
        meaning="a forwarder of yours: any command",
        build=program.build_program,
        options=(
            Option("run", program.COMMAND, ""),
            Option("ready", "LINE", ""),
            Option("restart", ("search", "trial"), "search"),
            Option("input", ("program", "queue"), "program"),
            Option("xdp", "FILE", ""),
            Option("section", "NAME", "xdp"),
        ),
    ),
    Device.CROSSBAR: Row(
        meaning="a slow switch of known queues, to test tests of congestion",
        build=crossbar.build_crossbar,
        options=(
            PORTS,
            Option("queues", crossbar.QUEUES, "output"),
            Option("rate", range(1, 10_001), 1000),
            Option("frames", range(1, 10_001), 100),
            Option("weight", range(1, 101), 1),
        ),
    ),
    Device.WIRE: Row(
        meaning="no device: the tester's ports cabled in pairs",
        build=devices.build_wire,
        options=(PORTS,),
    ),
}
"""Each device and its row; a new one needs a name in `Device`, a row here, and what builds it."""


def parse_device(text: str, given: Mapping[str, int | str]) -> tuple[Device, Options]:
    """Read `DEVICE[,key=value...]` and add what was given apart.

    Raises
    ------
    UsageError
        When there is no such device or option, or a value is not one of those the option takes.
    """
    name, _, rest = text.partition(",")
    try:
        device = Device(name)
    except ValueError:
        message = f"there is no device {name!r}{did_you_mean(name, Device)}: use one of {', '.join(Device)}"
        raise UsageError(message) from None
    asked = dict(given)
    words = rest.split(",") if rest else []
    if device is Device.PROGRAM:
        words = program.split_options(rest, [option.name for option in DEVICES[device].options])
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in asked:
            message = f"device {device}: {word!r} is not key=value, or its key is there twice"
            raise UsageError(message)
        asked[key] = value
    known = DEVICES[device].options
    options: Options = {option.name: _read_option(option, asked.pop(option.name, option.default)) for option in known}
    if asked:
        advice = f"use {', '.join(options)}" if options else "it has none"
        wrong = next(iter(asked))
        message = f"device {device} has no option {wrong!r}{did_you_mean(wrong, options)}: {advice}"
        raise UsageError(message)
    return device, options


def _read_option(option: Option, value: int | str) -> int | str:
    values = option.values
    if isinstance(values, range):
        number = int(value) if isinstance(value, int) or value.isdecimal() else -1
        if number in values:
            return number
        message = f"{option.name} is {value}: use {values.start} to {values.stop - 1}"
        raise UsageError(message)
    if isinstance(values, str):
        return str(value)
    if value not in values:
        message = f"{option.name} is {value}{did_you_mean(str(value), values)}: use one of {', '.join(values)}"
        raise UsageError(message)
    return value


def check_needs(device: Device) -> None:
    """Make sure that what only this device needs is there, programs above all.

    Raises
    ------
    MeasureError
        Naming what is missing, and where it comes from.
    """
    check = DEVICES[device].check_needs
    if check is not None:
        check()


def ports_of(options: Options) -> int:
    """Give how many ports a lab has with these options of its device."""
    return int(options.get(PORTS.name, PORTS.default))


def build(device: Device, place: Place, options: Mapping[str, Any]) -> Settings:
    """Build a device, and start its programs."""
    others = {name: value for name, value in options.items() if name != PORTS.name}
    return DEVICES[device].build(place, **others)


def listing() -> list[tuple[str, str]]:
    """Give each device as it is written with its options, and what it is."""
    return [(_listed(device, row.options), row.meaning) for device, row in DEVICES.items()]


def _listed(device: Device, options: Sequence[Option]) -> str:
    """Write a device with as many of its options as leave its meaning room beside it."""
    text = device.value
    for option in options:
        longer = f"{text},{_written(option)}"
        if len(longer) > _LONGEST_LISTED:
            return f"{text},..."
        text = longer
    return text


def _written(option: Option) -> str:
    values = option.values
    if isinstance(values, str):
        return f"{option.name}={values}"
    if isinstance(values, range):
        return f"{option.name}=N"
    # A long list would push all the meanings beside it to the edge.
    return f"{option.name}={'|'.join(values) if len(values) <= _MOST_WRITTEN else f'{option.default}|...'}"
