"""An application of os-ken: a switch that learns which address is behind which port.

It asks to be the master at the GENERATION of its environment.
"""

import os

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class LearningSwitch(OSKenApp):
    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.port_of = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def begin(self, event):
        path = event.msg.datapath
        protocol, parser = path.ofproto, path.ofproto_parser
        if generation := int(os.environ.get("GENERATION", "0")):
            path.send_msg(parser.OFPRoleRequest(path, protocol.OFPCR_ROLE_MASTER, generation))
        actions = [parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)]
        self.add(path, 0, parser.OFPMatch(), actions)

    def add(self, path, priority, match, actions):
        protocol, parser = path.ofproto, path.ofproto_parser
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
        path.send_msg(parser.OFPFlowMod(datapath=path, priority=priority, match=match, instructions=instructions))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet(self, event):
        message = event.msg
        path = message.datapath
        protocol, parser = path.ofproto, path.ofproto_parser
        header = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        in_port = message.match["in_port"]
        self.port_of[header.src] = in_port
        out_port = self.port_of.get(header.dst, protocol.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != protocol.OFPP_FLOOD:
            self.add(path, 1, parser.OFPMatch(in_port=in_port, eth_dst=header.dst, eth_src=header.src), actions)
        has_buffer = message.buffer_id != protocol.OFP_NO_BUFFER
        path.send_msg(
            parser.OFPPacketOut(
                datapath=path,
                buffer_id=message.buffer_id,
                in_port=in_port,
                actions=actions,
                data=None if has_buffer else message.data,
            )
        )
