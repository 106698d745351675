"""A stand-in for a TRex server in stateless mode, with a device under test between its ports.

It speaks what TRex documents (the JSON-RPC 2.0 interface of the "TRex RPC server" manual, over ZeroMQ, with its
compressed messages and its API handshake) and what the public client expects of the answers. Time is real, frames are
arithmetic: what was sent and received follows from when traffic was started, for how long, and from the faults.
"""

import dataclasses
import json
import struct
import threading
import time
import zlib
from collections.abc import Callable

import pytest

zmq = pytest.importorskip("zmq", reason="the stand-in for a TRex server needs pyzmq")

MAGIC = 0xABE85CEA
SPEED_GBPS = 10
WRONG_PARAMETERS = -32000
NO_SUCH_METHOD = -32601
PROFILE = "_"


@dataclasses.dataclass
class Faults:
    """What is wrong with the server or the device."""

    capacity_pps: float | None = None
    """What the device forwards in each direction."""
    unsent: int = 0
    surplus: int = 0
    stretch_s: float = 0.0
    foreign: int = 0
    misrouted: int = 0
    receive_errors: int = 0
    send_errors: int = 0
    queue_full: int = 0
    dead_ports: frozenset[int] = frozenset()
    down: set[int] = dataclasses.field(default_factory=set)
    api_major: int = 5
    at_end: Callable[["StandIn"], None] | None = None
    """Happens once, as soon as the next trial has been sent."""
    silent: bool = False


@dataclasses.dataclass
class Burst:
    begin: float
    duration: float
    rate: float


@dataclasses.dataclass
class Port:
    index: int
    owner: str = ""
    session: int = 0
    handler: str = ""
    streams: dict[int, dict] = dataclasses.field(default_factory=dict)
    promiscuous: bool = False
    burst: Burst | None = None
    counters: dict[str, int] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(("opackets", "ipackets", "oerrors", "ierrors"), 0)
    )


class RpcError(Exception):
    def __init__(self, message: str, code: int = WRONG_PARAMETERS) -> None:
        super().__init__(message)
        self.code = code


class StandIn:
    """Serves on two ports of the loopback interface until it is closed."""

    def __init__(self, ports: int = 2) -> None:
        self.faults = Faults()
        self.ports = [Port(index) for index in range(ports)]
        self.groups: dict[int, dict[str, dict[int, int]]] = {}
        self.queue_full = 0
        self.calls: list[tuple[str, dict]] = []
        self.compressed = 0
        self.read_while_sending = 0
        self.api_handle = "handle-1"
        self.events: dict[int, list[dict]] = {}
        self._sequences: dict[int, int] = {}
        self._announce = False
        self._context = zmq.Context()
        self._replies = self._context.socket(zmq.REP)
        self.sync_port = self._replies.bind_to_random_port("tcp://127.0.0.1")
        self._publisher = self._context.socket(zmq.PUB)
        self.async_port = self._publisher.bind_to_random_port("tcp://127.0.0.1")
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join(5)
        self._context.destroy(linger=0)

    def restart(self) -> None:
        """Come up anew: nobody is known, nothing was counted."""
        self.api_handle += "+"
        self.ports = [Port(port.index) for port in self.ports]
        self.groups = {}

    def steal(self) -> None:
        """Let another user take all ports by force."""
        for port in self.ports:
            port.owner, port.session, port.handler, port.burst = "bob", 7, "bobs", None

    def count(self, port: int, counter: str, frames: int) -> None:
        """Change a counter behind everybody's back."""
        self.ports[port].counters[counter] += frames

    def start_for_nobody(self, port: int) -> None:
        """Send from a port that nobody owns: what a client leaves behind that goes away without a word."""
        self.ports[port].burst = Burst(time.monotonic(), 3600.0, 1000.0)

    def called(self, method: str) -> list[dict]:
        return [parameters for name, parameters in self.calls if name == method]

    def _serve(self) -> None:
        while not self._ending.is_set():
            if not self._replies.poll(10):
                self._end_bursts()
                continue
            message = self._replies.recv()
            while self.faults.silent and not self._ending.is_set():
                time.sleep(0.01)
            if self._ending.is_set():
                return
            self._replies.send(self._answer_message(message))
            if self._announce:
                self._announce = False
                self._publisher.send(b"{}")

    def _answer_message(self, message: bytes) -> bytes:
        magic, length = struct.unpack(">II", message[:8])
        if magic == MAGIC:
            self.compressed += 1
            message = zlib.decompress(message[8:])
            assert len(message) == length
        request = json.loads(message)
        answer = [self._answer(one) for one in request] if isinstance(request, list) else self._answer(request)
        plain = json.dumps(answer).encode()
        return struct.pack(">II", MAGIC, len(plain)) + zlib.compress(plain) if magic == MAGIC else plain

    def _answer(self, request: dict) -> dict:
        assert request["jsonrpc"] == "2.0"
        self._end_bursts()
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        method, parameters = request["method"], request["params"]
        self.calls.append((method, parameters))
        function = getattr(self, f"rpc_{method}", None)
        try:
            if function is None:
                raise RpcError("Method not registered", NO_SUCH_METHOD)
            if method not in ("api_sync_v2", "get_version", "ping") and parameters.get("api_h") != self.api_handle:
                raise RpcError("API handler provided mismatch - please check the client")
            return {**reply, "result": function(parameters)}
        except RpcError as error:
            said = {"code": error.code, "message": "RPC failed", "specific_err": str(error)}
            return {**reply, "error": said}

    # What is sent and received.

    def _end_bursts(self) -> None:
        now = time.monotonic()
        for port in self.ports:
            burst = port.burst
            if burst is not None and now >= burst.begin + burst.duration + self.faults.stretch_s:
                self._end_burst(port, now)

    def _end_burst(self, port: Port, now: float) -> None:
        burst, faults = port.burst, self.faults
        assert burst is not None
        port.burst = None
        share = min(1.0, (now - burst.begin) / (burst.duration + faults.stretch_s))
        sent = round(burst.rate * burst.duration * share) - faults.unsent + faults.surplus
        peer = self.ports[port.index ^ 1]
        forwarded = sent
        if faults.capacity_pps is not None:
            forwarded = min(sent, round(faults.capacity_pps * burst.duration))
        if port.index in faults.dead_ports:
            forwarded = 0
        port.counters["opackets"] += sent
        port.counters["oerrors"] += faults.send_errors
        peer.counters["ipackets"] += forwarded - faults.misrouted + faults.foreign
        peer.counters["ierrors"] += faults.receive_errors
        self.queue_full += faults.queue_full
        self._count_groups(port, peer.index, sent, forwarded)
        for session, waiting in self.events.items():
            done = {"port_id": port.index, "profile_id": PROFILE}
            waiting.append({"name": "trex-event", "type": 14, "data": done, "seq": self._sequence(session)})
        self._announce = True
        if faults.at_end is not None and not any(port.burst for port in self.ports):
            hook, faults.at_end = faults.at_end, None
            hook(self)

    def _count_groups(self, port: Port, receiver: int, sent: int, forwarded: int) -> None:
        groups = [
            stream["flow_stats"]["stream_id"] for stream in port.streams.values() if stream["flow_stats"]["enabled"]
        ]
        for number, group in enumerate(groups):
            counts = self.groups.setdefault(group, {"tp": {}, "rp": {}})
            share = _share(sent, number, len(groups))
            arrived = _share(forwarded, number, len(groups)) - (self.faults.misrouted if number == 0 else 0)
            counts["tp"][port.index] = counts["tp"].get(port.index, 0) + share
            counts["rp"][receiver] = counts["rp"].get(receiver, 0) + arrived
            if number == 0 and self.faults.misrouted:
                counts["rp"][port.index] = counts["rp"].get(port.index, 0) + self.faults.misrouted

    def _sequence(self, session: int) -> int:
        self._sequences[session] = self._sequences.get(session, -1) + 1
        return self._sequences[session]

    # The interface, a function for each method.

    def _owned(self, parameters: dict) -> Port:
        port = self.ports[parameters["port_id"]]
        if not port.handler or parameters["handler"] != port.handler:
            raise RpcError(f"port is not owned by you, it is owned by '{port.owner}'")
        return port

    def rpc_api_sync_v2(self, parameters: dict) -> dict:
        if parameters["name"] != "STL" or parameters["major"] != self.faults.api_major:
            raise RpcError(
                f"Version mismatch: server API version is '{self.faults.api_major}.0', client API version is"
                f" '{parameters['major']}.{parameters['minor']}'"
            )
        return {"api_h": self.api_handle}

    def rpc_ping(self, parameters: dict) -> dict:
        return {"ts": time.time()}

    def rpc_get_version(self, parameters: dict) -> dict:
        return {"version": "v0.0-stand-in", "mode": "STL", "build_date": "", "build_time": "", "built_by": "a test"}

    def rpc_get_supported_cmds(self, parameters: dict) -> list[str]:
        return [*(name[4:] for name in dir(self) if name.startswith("rpc_")), "get_profile_list"]

    def rpc_get_system_info(self, parameters: dict) -> dict:
        ports = [
            {
                "index": port.index,
                "driver": "net_stand_in",
                "description": "no hardware",
                "speed": SPEED_GBPS,
                "is_virtual": False,
                "is_fc_supported": False,
                "is_led_supported": False,
                "is_link_supported": False,
                "is_prom_supported": True,
                "hw_mac": "02:00:00:00:00:00",
                "rx": {"caps": ["flow_stats"], "counters": 127},
            }
            for port in self.ports
        ]
        return {"port_count": len(ports), "ports": ports, "dp_core_count": 2, "dp_core_count_per_port": 2}

    def rpc_get_port_xstats_names(self, parameters: dict) -> dict:
        return {"xstats_names": []}

    def rpc_get_port_xstats_values(self, parameters: dict) -> dict:
        return {"xstats_values": []}

    def rpc_get_port_status(self, parameters: dict) -> dict:
        port = self.ports[parameters["port_id"]]
        state = "TX" if port.burst else "STREAMS" if port.streams else "IDLE"
        return {
            "owner": port.owner,
            "state": state,
            "state_profile": {PROFILE: state} if port.streams or port.burst else {},
            "max_stream_id": max(port.streams, default=0),
            "service": False,
            "service_filtered": False,
            "attr": {
                "speed": SPEED_GBPS,
                "link": {"up": port.index not in self.faults.down},
                "promiscuous": {"enabled": port.promiscuous},
                "fc": {"mode": 0},
                "vlan": {"tags": []},
                "rx_filter_mode": "hw",
                "layer_cfg": {
                    "ether": {"src": "02:00:00:00:00:00", "dst": "02:00:00:00:00:01", "state": "configured"},
                    "ipv4": {"state": "none"},
                    "ipv6": {"enabled": False},
                },
            },
            "rx_info": {"queue": {"is_active": False}, "grat_arp": {"is_active": False}},
        }

    def rpc_acquire(self, parameters: dict) -> str:
        port = self.ports[parameters["port_id"]]
        if port.owner and not parameters["force"]:
            raise RpcError(f"port is already taken by '{port.owner}'")
        port.owner, port.session = parameters["user"], parameters["session_id"]
        port.handler = f"{port.session}-{port.index}"
        return port.handler

    def rpc_release(self, parameters: dict) -> dict:
        port = self._owned(parameters)
        port.owner, port.session, port.handler = "", 0, ""
        return {}

    def rpc_set_port_attr(self, parameters: dict) -> dict:
        # TRex asks for no owner here, nor in what follows below for `reset`.
        self.ports[parameters["port_id"]].promiscuous = parameters["attr"]["promiscuous"]["enabled"]
        return {}

    def rpc_get_all_streams(self, parameters: dict) -> dict:
        return {"profiles": {}}

    def rpc_add_stream(self, parameters: dict) -> dict:
        self._owned(parameters).streams[parameters["stream_id"]] = parameters["stream"]
        return {}

    def rpc_remove_all_streams(self, parameters: dict) -> dict:
        port = self._owned(parameters)
        if port.burst:
            raise RpcError("the port is active")
        port.streams.clear()
        return {}

    def rpc_start_traffic(self, parameters: dict) -> dict:
        port, factor = self._owned(parameters), parameters["mul"]
        if port.burst or not port.streams:
            raise RpcError("the port is active, or has no streams")
        assert (factor["type"], factor["op"]) == ("pps", "abs")
        if factor["value"] > SPEED_GBPS * 1e9 / 8 / 84 and not parameters["force"]:
            raise RpcError("required bandwidth is above what the port supports")
        port.burst = Burst(time.monotonic(), parameters["duration"], factor["value"])
        return {"multiplier": 1.0}

    def rpc_stop_traffic(self, parameters: dict) -> dict:
        port = self._owned(parameters)
        if port.burst:
            self._end_burst(port, time.monotonic())
        return {}

    def rpc_remove_rx_filters(self, parameters: dict) -> dict:
        self._owned(parameters)
        return {}

    def rpc_get_port_stats(self, parameters: dict) -> dict:
        self.read_while_sending += any(port.burst is not None for port in self.ports)
        rates = dict.fromkeys(("m_total_tx_bps", "m_total_tx_pps", "m_total_rx_bps", "m_total_rx_pps"), 0.0)
        return {**self.ports[parameters["port_id"]].counters, "obytes": 0, "ibytes": 0, **rates}

    def rpc_get_global_stats(self, parameters: dict) -> dict:
        rates = {"m_tx_bps": 0.0, "m_tx_pps": 0.0, "m_cpu_util": 12.5}
        return {**rates, "m_total_queue_full": self.queue_full}

    def rpc_get_active_pgids(self, parameters: dict) -> dict:
        active = {
            stream["flow_stats"]["stream_id"]
            for port in self.ports
            for stream in port.streams.values()
            if stream["flow_stats"]["enabled"]
        }
        return {"ids": {"flow_stats": sorted(active), "latency": []}}

    def rpc_get_pgid_stats(self, parameters: dict) -> dict:
        def counts(group: int, kind: str) -> dict[str, int]:
            found = self.groups.get(group, {}).get(kind, {})
            return {str(port.index): found.get(port.index, 0) for port in self.ports}

        zeros = {str(port.index): 0 for port in self.ports}
        flow_stats = {
            str(group): {
                "tp": counts(group, "tp"),
                "rp": counts(group, "rp"),
                **dict.fromkeys(("tb", "rb", "tps", "rps", "tbs", "rbs"), zeros),
            }
            for group in parameters["pgids"]
        }
        return {"flow_stats": flow_stats, "latency": {}, "ver_id": dict.fromkeys(flow_stats, 1)}

    def rpc_publish_now(self, parameters: dict) -> dict:
        self._announce = True
        return {}

    def rpc_get_async_events(self, parameters: dict) -> dict:
        waiting = self.events.setdefault(parameters["session_id"], [])
        found, waiting[:] = list(waiting), []
        return {"data": found}

    # What the client's `reset` does besides.

    def rpc_get_tpg_status(self, parameters: dict) -> dict:
        return {"enabled": False}

    def rpc_set_rx_feature(self, parameters: dict) -> dict:
        return {}

    def rpc_stop_capture_port(self, parameters: dict) -> dict:
        return {}

    def rpc_service(self, parameters: dict) -> dict:
        return {}

    def rpc_capture(self, parameters: dict) -> list:
        assert parameters["command"] in ("status", "remove")
        return []


def _share(total: int, number: int, parts: int) -> int:
    return total // parts + (number < total % parts)
