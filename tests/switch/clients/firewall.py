"""An application of os-ken: a firewall whose rules come over HTTP, in the words of `os_ken.lib.ofctl_v1_3`.

POST with {"priority", "match", "allow"} adds a rule, DELETE takes all out, GET tells whether a switch is there. What no
rule allows is dropped; ARP passes.
"""

import os

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from os_ken.lib import ofctl_v1_3
from os_ken.ofproto import ofproto_v1_3
from web import serve

ARP_PRIORITY = 0xFFFF


class Firewall(OSKenApp):
    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.path = None
        answers = {"GET": self.is_there, "POST": self.rule, "DELETE": self.clear}
        serve(int(os.environ["HTTP_PORT"]), answers)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def begin(self, event):
        self.path = event.msg.datapath
        self.clear()

    def is_there(self, _):
        return self.path is not None

    def clear(self, _=None):
        ofctl_v1_3.mod_flow_entry(self.path, {"table_id": 0}, self.path.ofproto.OFPFC_DELETE)
        self.rule({"priority": ARP_PRIORITY, "match": {"eth_type": 0x0806}, "allow": True})

    def rule(self, rule):
        actions = [{"type": "OUTPUT", "port": "NORMAL"}] if rule["allow"] else []
        entry = {"priority": rule["priority"], "match": rule["match"], "actions": actions}
        ofctl_v1_3.mod_flow_entry(self.path, entry, self.path.ofproto.OFPFC_ADD)
