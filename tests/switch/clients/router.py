"""An application of os-ken: a router between the networks of ports, whose addresses come over HTTP.

POST with {"port", "address", "length"} gives it an address, GET tells whether a switch is there.
"""

import ipaddress
import os

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import arp, ethernet, ipv4, packet
from os_ken.ofproto import ofproto_v1_3
from web import serve

ROUTER_MAC = "02:00:00:00:00:fe"
BROADCAST = "ff:ff:ff:ff:ff:ff"


class Router(OSKenApp):
    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.path, self.interfaces = None, {}
        serve(int(os.environ["HTTP_PORT"]), {"GET": self.is_there, "POST": self.connect})

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def begin(self, event):
        self.path = event.msg.datapath
        parser, protocol = self.path.ofproto_parser, self.path.ofproto
        self.add(0, parser.OFPMatch(), [parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)])

    def is_there(self, _):
        return self.path is not None

    def connect(self, given):
        interface = ipaddress.ip_interface(f"{given['address']}/{given['length']}")
        self.interfaces[given["port"]] = (interface.ip, interface.network)

    def add(self, priority, match, actions):
        parser, protocol = self.path.ofproto_parser, self.path.ofproto
        apply = parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)
        change = parser.OFPFlowMod(datapath=self.path, priority=priority, match=match, instructions=[apply])
        self.path.send_msg(change)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet(self, event):
        frame, port = packet.Packet(event.msg.data), event.msg.match["in_port"]
        asked, routed = frame.get_protocol(arp.arp), frame.get_protocol(ipv4.ipv4)
        if asked:
            self.learn(port, asked.src_ip, asked.src_mac)
            if asked.opcode == arp.ARP_REQUEST and asked.dst_ip == str(self.interfaces.get(port, (None,))[0]):
                self.say(port, arp.ARP_REPLY, asked.dst_ip, asked.src_mac, asked.src_ip)
        elif routed:
            self.find(routed.dst)

    def learn(self, port, address, mac):
        """Route to a host, once its address is known: one hop less, and the addresses of the next link."""
        parser = self.path.ofproto_parser
        actions = [
            parser.OFPActionDecNwTtl(),
            parser.OFPActionSetField(eth_src=ROUTER_MAC),
            parser.OFPActionSetField(eth_dst=mac),
            parser.OFPActionOutput(port),
        ]
        self.add(10, parser.OFPMatch(eth_type=0x0800, ipv4_dst=address), actions)

    def find(self, address):
        for port, (own, network) in self.interfaces.items():
            if ipaddress.ip_address(address) in network:
                self.say(port, arp.ARP_REQUEST, str(own), BROADCAST, address)

    def say(self, port, operation, own, mac, address):
        frame, parser = packet.Packet(), self.path.ofproto_parser
        frame.add_protocol(ethernet.ethernet(ethertype=0x0806, src=ROUTER_MAC, dst=mac))
        target = "00:00:00:00:00:00" if mac == BROADCAST else mac
        frame.add_protocol(arp.arp(opcode=operation, src_mac=ROUTER_MAC, src_ip=own, dst_mac=target, dst_ip=address))
        frame.serialize()
        protocol, actions = self.path.ofproto, [parser.OFPActionOutput(port)]
        self.path.send_msg(
            parser.OFPPacketOut(
                datapath=self.path,
                buffer_id=protocol.OFP_NO_BUFFER,
                in_port=protocol.OFPP_CONTROLLER,
                actions=actions,
                data=frame.data,
            )
        )
