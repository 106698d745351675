"""The client of TRex, controlled."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from . import frames
from .errors import CannotMeasureError, LostSessionError, SpoiledError, one_line
from .judging import Counted, Watched, check_stretch, judge

_API_MISMATCH = re.compile(r"\bAPI\b|version|mismatch", re.IGNORECASE)
_POLL_S = 0.01
_PREAMBLE_AND_GAP_BYTES = 20
_IDLE = "IDLE"
if TYPE_CHECKING:
    from collections.abc import Callable

    Wait = Callable[[float], None]
    """Sleeps, and fails as soon as somebody ends the program."""


class Session:
    """Connected, the ports acquired, the streams in place."""

    def __init__(self, api: Any, options: Any) -> None:  # noqa: ANN401
        self._api = api
        self._options = options
        self._ports: list[int] = options.ports
        self._sizes = frames.sizes(options.frame_size, options.ip, options.vlan)
        self._groups: dict[int, list[list[int]]] = {}
        self._made_promiscuous: list[int] = []
        """Sending port: for each flow the packet groups that its frames belong to."""
        timeouts = {"sync_timeout": options.rpc_timeout} if options.rpc_timeout else {}
        self._client = api.STLClient(
            server=options.server,
            sync_port=options.sync_port,
            async_port=options.async_port,
            **({"username": options.user} if options.user else {}),
            **timeouts,
        )
        self._connect()
        try:
            self._acquire()
            self._streams = {sending: self._streams_of(sending) for sending, _ in self._directions()}
        except api.TRexError as error:
            self.close()
            message = f"TRex at {options.server}: {one_line(error)}"
            raise CannotMeasureError(message) from error
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        where = f"{self._options.server}:{self._options.sync_port}"
        try:
            self._client.connect()
        except self._api.TRexError as error:
            said = one_line(error)
            if _API_MISMATCH.search(said):
                message = (
                    f"the TRex server at {where} and the client are of different versions ({said});"
                    " point trex-path to the client of the server's version"
                )
            else:
                message = (
                    f"no TRex server answers at {where} ({said}); start it with `./t-rex-64 -i`, check the address"
                )
            raise CannotMeasureError(message) from error

    def _acquire(self) -> None:
        """Take the ports. ``reset`` would do that by force, so it is for those who asked for force."""
        there = self._client.get_all_ports()
        missing = [port for port in self._ports if port not in there]
        if missing:
            message = f"TRex at {self._options.server} has no port {_listed(missing)}: it has {_listed(there)}"
            raise CannotMeasureError(message)
        if self._options.force:
            self._client.reset(ports=self._ports)
        else:
            try:
                self._client.acquire(ports=self._ports, force=False)
            except self._api.TRexError as error:
                message = (
                    f"TRex ports {_listed(self._ports)} cannot be acquired ({one_line(error)});"
                    " wait for their owner, or take them away with force"
                )
                raise CannotMeasureError(message) from error
            busy = [port for port in self._ports if self._info(port)["status"] != _IDLE]
            if busy:
                message = f"TRex port {_listed(busy)} is sending already; stop that, or take it away with force"
                raise CannotMeasureError(message)
            self._client.remove_all_streams(ports=self._ports)
        for port in self._ports:
            # Frames may be for any address; a NIC would drop, uncounted, what is not for its own.
            info = self._info(port)
            if info.get("prom_supported") == "yes":
                if info.get("prom") != "on":
                    self._made_promiscuous.append(port)
                self._client.set_port_attr(ports=[port], promiscuous=True)

    def _streams_of(self, sending: int) -> list[Any]:
        streams = []
        self._groups[sending] = [[] for _ in range(self._stream_flows())]
        for flow in range(self._stream_flows()):
            for size, share in self._sizes:
                group = self._options.first_group + sum(
                    len(groups) for flows in self._groups.values() for groups in flows
                )
                streams.append(self._stream(sending, size, share, flow, group))
                self._groups[sending][flow].append(group)
        return streams

    def _stream_flows(self) -> int:
        """Say how many flows have streams of their own: all where each is counted, else the field engine makes them."""
        return self._options.flows if self._options.count == "flow" else 1

    def _stream(self, sending: int, size: int, share: int, flow: int, group: int) -> Any:  # noqa: ANN401
        api, options = self._api, self._options
        varied = options.flows > 1 and options.count != "flow"
        forward = self._ports.index(sending) % 2 == 0
        here, there = options.source_ip, options.destination_ip
        data = frames.frame(
            size,
            ip=options.ip,
            vlan=options.vlan,
            source=here if forward else there,
            destination=there if forward else here,
            flow=flow,
            checksum=not varied,
        )
        engine = None
        if varied:
            last = frames.FIRST_PORT + options.flows - 1
            offset = frames.source_port_offset(options.ip, options.vlan)
            engine = api.STLScVmRaw(
                [
                    api.STLVmFlowVar(name="flow", min_value=frames.FIRST_PORT, max_value=last, size=2, op="inc"),
                    api.STLVmWrFlowVar(fv_name="flow", pkt_offset=offset),
                ]
            )
        return api.STLStream(
            packet=api.STLPktBuilder(pkt_buffer=data, vm=engine),
            mode=api.STLTXCont(pps=float(share)),
            flow_stats=api.STLFlowStats(pg_id=group) if options.count == "flow" else None,
        )

    def describe(self) -> dict[str, Any]:
        """Describe the server, its ports and the traffic, as the measurer protocol wants it."""
        options = self._options
        version = self._client.get_server_version().get("version", "of unknown version")
        info = self._client.get_server_system_info()
        directions = self._directions()
        speeds = [self._info(sending).get("speed") or 0 for sending, _ in directions]
        slowest_bps = min(speeds) * 1e9
        wire_bytes = self._mean_size() + _PREAMBLE_AND_GAP_BYTES
        return {
            "name": f"TRex {version} at {options.server}",
            "conversion_factor": len(directions),
            "contract": (
                "lost: sent by one port and not received by the other"
                if options.count == "port"
                else "lost: sent in a flow and not received in it by the other port"
            ),
            **({"max_load": math.floor(slowest_bps / 8 / wire_bytes)} if slowest_bps else {}),
            "traffic": {
                "frame_size": options.frame_size,
                "flows": options.flows,
                "directions": [f"port {sending} to port {receiving}" for sending, receiving in directions],
                "ip": options.ip,
                "vlan": options.vlan,
                "addresses": [options.source_ip, options.destination_ip],
                "counted_by": options.count,
                "cores_per_port": info.get("dp_core_count_per_port"),
                "ports": [
                    {
                        "port": port,
                        "driver": self._info(port).get("driver"),
                        "speed_gbps": self._info(port).get("speed"),
                    }
                    for port in self._ports
                ],
            },
        }

    def measure(self, load: float, duration_s: float, wait: Wait) -> dict[str, Any]:
        """Perform one trial: clear, start, wait, see the sending end, let the rest arrive, stop, read, judge.

        Raises
        ------
        SpoiledError
            When it says nothing about the device.
        """
        try:
            return self._measure(load, duration_s, wait)
        except self._api.TRexError as error:
            message = f"TRex at {self._options.server}: {one_line(error)}"
            raise LostSessionError(message) from error
        except AssertionError as error:
            # How the client says that a counter of a packet group went backwards.
            message = f"the TRex client found its counters inconsistent: {one_line(error)}: was the server restarted?"
            raise LostSessionError(message) from error

    def _measure(self, load: float, duration_s: float, wait: Wait) -> dict[str, Any]:
        options, client = self._options, self._client
        sending = list(self._streams)
        # New streams for each trial: the server takes and removes them for the owner alone, which nothing else asks.
        for port, streams in self._streams.items():
            client.add_streams(streams, ports=[port])
        try:
            self._check_links()
            client.clear_stats(ports=self._ports)
            client.start(
                ports=sending,
                mult=f"{load:.6f}pps",
                duration=duration_s,
                force=False,
                core_mask=client.CORE_MASK_PIN if options.cores == "pin" else client.CORE_MASK_SPLIT,
            )
            watched = self._watch(sending, duration_s, wait)
            check_stretch(watched, duration_s, options.max_stretch)
            wait(options.settle)
            # Always before reading: counters of ports that still send are not of one moment.
            client.stop(ports=sending, rx_delay_ms=0)
            statistics = client.get_stats(ports=self._ports, sync_now=True)
        except BaseException:
            with contextlib.suppress(self._api.TRexError):
                client.stop(ports=sending)
                client.remove_all_streams(ports=sending)
            raise
        client.remove_all_streams(ports=sending)
        self._check_links()
        reply = judge(
            [self._counted(statistics, *direction) for direction in self._directions()],
            load,
            duration_s,
            unsent_allowed=self._rounding(),
            trust_receive_errors=not options.ignore_receive_errors,
        )
        return self._with_facts(reply, statistics, watched)

    def _with_facts(self, reply: dict[str, Any], statistics: dict[Any, Any], watched: Watched) -> dict[str, Any]:
        overall = statistics.get("global", {})
        full = overall.get("queue_full")
        if isinstance(full, int) and full > 0:
            text = f"the send queues were full {full} times: near the limit of the tester"
            reply["warnings"].append({"code": "queue-full", "text": text})
        facts = {"queue_full": full, "cpu_util_percent": overall.get("cpu_util"), "sending_seen_s": watched.stopped_s}
        return {**reply, "trex": facts}

    def _watch(self, sending: list[int], duration_s: float, wait: Wait) -> Watched:
        """Wait for the end of the trial and see when every port is idle, or that one is not in time.

        The state comes from the server itself: what the client believes follows events, which may come late.
        """
        begin = time.monotonic()
        still_sending_s = 0.0
        wait(duration_s)
        while True:
            asked_s = time.monotonic() - begin
            if all(self._info(port)["status"] == _IDLE for port in sending):
                return Watched(still_sending_s, time.monotonic() - begin)
            still_sending_s = asked_s
            if still_sending_s > duration_s + self._options.max_stretch:
                # The client repeats the last state it knows when the server gives none: this fails then.
                self._client.get_active_pgids()
                return Watched(still_sending_s, still_sending_s)
            wait(_POLL_S)

    def _check_links(self) -> None:
        down = [port for port in self._ports if self._info(port).get("link") == "DOWN"]
        if down:
            message = f"the link of TRex port {_listed(down)} is down"
            raise SpoiledError(message)

    def _counted(self, statistics: dict[Any, Any], sending: int, receiving: int) -> Counted:
        flows: list[dict[str, int]] = []
        misrouted = 0
        if self._options.count == "flow":
            for groups in self._groups[sending]:
                counts = [statistics["flow_stats"].get(group) for group in groups]
                if None in counts:
                    message = f"the server counted no packets of flow {len(flows)} from port {sending}"
                    raise SpoiledError(message)
                sent = sum(count["tx_pkts"][sending] for count in counts)
                received = sum(count["rx_pkts"][receiving] for count in counts)
                everywhere = sum(count["rx_pkts"]["total"] for count in counts)
                flows.append({"sent": sent, "received": received})
                misrouted += everywhere - received
        return Counted(
            sending_port=sending,
            receiving_port=receiving,
            sent=sum(flow["sent"] for flow in flows) if flows else statistics[sending]["opackets"],
            received=sum(flow["received"] for flow in flows) if flows else statistics[receiving]["ipackets"],
            send_errors=statistics[sending]["oerrors"],
            receive_errors=statistics[receiving]["ierrors"],
            misrouted=misrouted,
            flows=flows,
        )

    def _rounding(self) -> int:
        """Give how many frames of a direction may be missing: every core rounds its share of every stream."""
        cores = self._client.get_server_system_info().get("dp_core_count_per_port") or 1
        return int(cores) * len(self._sizes) * self._stream_flows()

    def _directions(self) -> list[tuple[int, int]]:
        """Give (sending, receiving): the ports face each other in pairs."""
        pairs = [(self._ports[i], self._ports[i + 1]) for i in range(0, len(self._ports), 2)]
        back = [(second, first) for first, second in pairs] if self._options.direction == "bi" else []
        return sorted(pairs + back)

    def _mean_size(self) -> float:
        return sum(size * share for size, share in self._sizes) / sum(share for _, share in self._sizes)

    def _info(self, port: int) -> dict[str, Any]:
        info: dict[str, Any] = self._client.get_port_attr(port)
        return info

    def close(self) -> None:
        """Stop the traffic, take the streams away, give back the ports. The server may be gone: nothing fails here."""
        held = [port for port in self._ports if port in self._client.get_acquired_ports()]
        for step in (self._client.stop, self._client.remove_all_streams, self._restore) if held else ():
            try:
                step(ports=held)
            # Whatever went wrong here, the rest must still be given back.
            except Exception as error:
                sys.stderr.write(f"while giving back the ports: {one_line(error)}\n")
        try:
            self._client.disconnect()
        except Exception as error:
            sys.stderr.write(f"while disconnecting: {one_line(error)}\n")

    def _restore(self, ports: list[int]) -> None:
        """Set the ports back that took frames for their own address only."""
        changed = [port for port in ports if port in self._made_promiscuous]
        if changed:
            self._client.set_port_attr(ports=changed, promiscuous=False)


def _listed(ports: list[int]) -> str:
    return ", ".join(str(port) for port in ports)
