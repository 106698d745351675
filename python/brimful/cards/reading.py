"""What the kernel says of an interface. Nothing is changed."""

from __future__ import annotations

from pathlib import Path

from brimful.cards.card import Card, Feature, Interrupt
from brimful.cards.ethtool import Interface
from brimful.cards.processors import read_processors
from brimful.errors import UsageError

_FEATURES = ("rx-gro", "rx-gro-hw", "rx-lro", "rx-vlan-hw-parse", "tx-tcp-segmentation")
_NO_BUS = ("", "tap", "tun")
"""What software says of its place on a bus."""
_LANE_BPS = {"2.5": 2.0e9, "5.0": 4.0e9, "8.0": 7.88e9, "16.0": 15.75e9, "32.0": 31.5e9, "64.0": 60.5e9}
"""By transfers a second of a lane of PCI Express, in units of 1e9: its bits, less the coding."""


def read_card(name: str, root: Path = Path("/")) -> Card:
    """Ask the kernel about an interface of this network namespace.

    Parameters
    ----------
    name
        Of the interface.
    root
        Where `sys` and `proc` are.

    Raises
    ------
    UsageError
        When there is no such interface.
    """
    with Interface(name) as interface:
        try:
            (is_up, has_carrier), mtu = interface.state(), interface.mtu()
        except OSError as error:
            message = f"there is no interface `{name}` in this network namespace; `ip link` lists them"
            raise UsageError(message) from error
        driver, bus = interface.driver()
        speed_bps, is_full_duplex = interface.link()
        receiving_queues, combined_queues = interface.channels() or (None, None)
        ring, largest_ring = interface.rings() or (None, None)
        obeys_pause, sends_pause = interface.pause() or (None, None)
        interrupt_delay_us, adapts_interrupts = interface.coalescing() or (None, None)
        features = interface.features()
        hardware_clock = interface.hardware_clock()
    # Devices on a bus are those of the machine, in every network namespace; /sys/class/net may be another one's.
    device = root / "sys/bus/pci/devices" / bus if bus else None
    node = _number(device / "numa_node") if device else None
    is_hardware = bus not in _NO_BUS
    return Card(
        interface=name,
        driver=driver,
        bus=bus,
        is_up=is_up,
        has_carrier=has_carrier,
        mtu=mtu,
        # Software interfaces state speeds that mean nothing.
        speed_bps=speed_bps if is_hardware else None,
        is_full_duplex=is_full_duplex if is_hardware else None,
        receiving_queues=receiving_queues,
        combined_queues=combined_queues,
        ring=ring,
        largest_ring=largest_ring,
        obeys_pause=obeys_pause,
        sends_pause=sends_pause,
        interrupt_delay_us=interrupt_delay_us,
        adapts_interrupts=adapts_interrupts,
        features={key: Feature(*features[key]) for key in _FEATURES if key in features},
        hardware_clock=hardware_clock,
        numa_node=node if node is not None and node >= 0 else None,
        node_processors=_processors(root / f"sys/devices/system/node/node{node}/cpulist"),
        interrupts=_interrupts(device, root) if device else [],
        bus_bps=_bus_bps(device) if device else None,
        function_of=_function_of(device) if device else None,
        has_ipv6=_number(root / f"proc/sys/net/ipv6/conf/{name}/disable_ipv6") == 0,
    )


def _interrupts(device: Path, root: Path) -> list[Interrupt]:
    numbers = sorted(int(path.name) for path in (device / "msi_irqs").glob("*"))
    found = []
    for number in numbers:
        place = root / f"proc/irq/{number}"
        processors = _processors(place / "effective_affinity_list") or _processors(place / "smp_affinity_list")
        if processors:
            found.append(Interrupt(number, processors))
    return found


def _bus_bps(device: Path) -> int | None:
    lane_bps = _LANE_BPS.get(_line(device / "current_link_speed").partition(" ")[0])
    lanes = _number(device / "current_link_width")
    return round(lane_bps * lanes) if lane_bps and lanes else None


def _function_of(device: Path) -> str | None:
    physical = device / "physfn"
    functions = [link.name for link in physical.glob("virtfn*") if link.resolve() == device.resolve()]
    if not functions:
        return None
    # Which interface that card has is known in its own network namespace only.
    interfaces = [path.name for path in physical.glob("net/*")]
    return f"{interfaces[0] if interfaces else 'CARD'} vf {functions[0].removeprefix('virtfn')}"


def _processors(path: Path) -> list[int]:
    try:
        return read_processors(_line(path))
    except ValueError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(_line(path))
    except ValueError:
        return None


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
