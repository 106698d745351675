//! Matches: `tcp,nw_dst=10.0.0.0/8,tp_dst=80`.

use brimful_openflow::{ErrorCode, FieldMatch, Match, MatchField};

use super::known::Known;
use super::words::Word;
use crate::tables::place::Flaw;
use crate::tables::values::{checked, mask, number, value};

/// `OFPVID_PRESENT` of OF 1.3.5 section 7.2.3.7.
pub(crate) const VLAN_PRESENT: u128 = 0x1000;

/// A match that is being read. Some names mean a field only together with the protocols of the same match, which may
/// come later.
#[derive(Debug, Default)]
pub(crate) struct Reading<'t> {
    known: Known<'t>,
    fields: Vec<(FieldMatch, &'t str)>,
    later: Vec<(Dependent, Word<'t>)>,
    notes: Vec<String>,
}

/// A name that depends on the protocols of the match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dependent {
    NetworkSource,
    NetworkDestination,
    Protocol,
    TransportSource,
    TransportDestination,
    IcmpType,
    IcmpCode,
}

impl Dependent {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "nw_src" | "ip_src" => Self::NetworkSource,
            "nw_dst" | "ip_dst" => Self::NetworkDestination,
            "nw_proto" => Self::Protocol,
            "tp_src" => Self::TransportSource,
            "tp_dst" => Self::TransportDestination,
            "icmp_type" => Self::IcmpType,
            "icmp_code" => Self::IcmpCode,
            _ => return None,
        })
    }

    /// The field in a match of these protocols.
    pub(crate) fn field(self, eth_type: Option<u128>, ip_proto: Option<u128>) -> Option<MatchField> {
        use MatchField as M;
        let is_arp = matches!(eth_type, Some(0x0806 | 0x8035));
        Some(match (self, ip_proto) {
            (Self::NetworkSource, _) if is_arp => M::ArpSpa,
            (Self::NetworkSource, _) => M::Ipv4Src,
            (Self::NetworkDestination, _) if is_arp => M::ArpTpa,
            (Self::NetworkDestination, _) => M::Ipv4Dst,
            (Self::Protocol, _) if is_arp => M::ArpOp,
            (Self::Protocol, _) => M::IpProto,
            (Self::TransportSource, Some(6)) => M::TcpSrc,
            (Self::TransportDestination, Some(6)) => M::TcpDst,
            (Self::TransportSource, Some(17)) => M::UdpSrc,
            (Self::TransportDestination, Some(17)) => M::UdpDst,
            (Self::TransportSource, Some(132)) => M::SctpSrc,
            (Self::TransportDestination, Some(132)) => M::SctpDst,
            (Self::TransportSource | Self::IcmpType, Some(1)) => M::Icmpv4Type,
            (Self::TransportDestination | Self::IcmpCode, Some(1)) => M::Icmpv4Code,
            (Self::TransportSource | Self::IcmpType, Some(58)) => M::Icmpv6Type,
            (Self::TransportDestination | Self::IcmpCode, Some(58)) => M::Icmpv6Code,
            _ => return None,
        })
    }
}

/// `EtherType` and IP protocol that a word such as `tcp` stands for.
fn shorthand(word: &str) -> Option<(u128, Option<u128>)> {
    Some(match word {
        "ip" => (0x0800, None),
        "ipv6" => (0x86dd, None),
        "icmp" => (0x0800, Some(1)),
        "icmp6" => (0x86dd, Some(58)),
        "tcp" => (0x0800, Some(6)),
        "tcp6" => (0x86dd, Some(6)),
        "udp" => (0x0800, Some(17)),
        "udp6" => (0x86dd, Some(17)),
        "sctp" => (0x0800, Some(132)),
        "sctp6" => (0x86dd, Some(132)),
        "arp" => (0x0806, None),
        "rarp" => (0x8035, None),
        "mpls" => (0x8847, None),
        "mplsm" => (0x8848, None),
        _ => return None,
    })
}

/// The field of a name of Open vSwitch's, or of OpenFlow's own.
pub(crate) fn field_named(name: &str) -> Option<MatchField> {
    use MatchField as M;
    Some(match name {
        "dl_src" => M::EthSrc,
        "dl_dst" => M::EthDst,
        "dl_type" => M::EthType,
        "dl_vlan_pcp" => M::VlanPcp,
        "nw_ecn" => M::IpEcn,
        "icmpv6_type" => M::Icmpv6Type,
        "icmpv6_code" => M::Icmpv6Code,
        "ipv6_label" => M::Ipv6Flabel,
        "nd_target" => M::Ipv6NdTarget,
        "nd_sll" => M::Ipv6NdSll,
        "nd_tll" => M::Ipv6NdTll,
        "tun_id" => M::TunnelId,
        _ => return MatchField::from_name(name),
    })
}

impl<'t> Reading<'t> {
    /// One of a line for a switch.
    pub(crate) fn of(known: Known<'t>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// What is known of the switch.
    pub(crate) fn known(&self) -> &Known<'t> {
        &self.known
    }

    /// Takes a word, if it belongs to matches.
    pub(crate) fn take(&mut self, word: Word<'t>) -> Result<bool, Flaw<'t>> {
        if let Some((eth_type, ip_proto)) = shorthand(word.key).filter(|_| word.value.is_empty()) {
            self.put(MatchField::EthType, eth_type, None, word.whole)?;
            if let Some(ip_proto) = ip_proto {
                self.put(MatchField::IpProto, ip_proto, None, word.whole)?;
            }
        } else if let Some(name) = Dependent::of(word.key) {
            self.later.push((name, word));
        } else if let Some(field) = field_named(word.key) {
            self.put_text(field, word)?;
        } else {
            return self.take_vlan_or_dscp(word);
        }
        Ok(true)
    }

    fn take_vlan_or_dscp(&mut self, word: Word<'t>) -> Result<bool, Flaw<'t>> {
        match word.key {
            "dl_vlan" => {
                let vid = vlan_number(word)?;
                let vid = if vid == 0xffff { 0 } else { VLAN_PRESENT | vid };
                self.put(MatchField::VlanVid, vid, None, word.whole)?;
            }
            "vlan_tci" => self.put_tci(word)?,
            "nw_tos" => {
                let tos = number(word.need_value()?).filter(|tos| tos & !0xfc == 0);
                let tos = tos.ok_or_else(|| bad_value(word, "nw_tos has its lower 2 bits 0 and 8 in all"))?;
                self.put(MatchField::IpDscp, tos >> 2, None, word.whole)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put_text(&mut self, field: MatchField, word: Word<'t>) -> Result<(), Flaw<'t>> {
        let text = word.need_value()?;
        let (text, mask_text) = text
            .split_once('/')
            .map_or((text, None), |(text, mask)| (text, Some(mask)));
        let is_port = matches!(field, MatchField::InPort | MatchField::InPhyPort);
        let named = is_port.then(|| self.known.port(text)).flatten();
        let value = match named {
            Some(port) => port.into(),
            None => value(field, text)?,
        };
        let mask = mask_text.map(|text| mask(field, text)).transpose()?;
        if mask == Some(0) {
            return Ok(());
        }
        let is_exact = mask == Some(field.largest());
        self.put(field, value, mask.filter(|_| !is_exact), word.whole)
    }

    /// A tag's 16 bits as Open vSwitch has them: priority, whether there is a tag, and its number.
    fn put_tci(&mut self, word: Word<'t>) -> Result<(), Flaw<'t>> {
        let text = word.need_value()?;
        let (tci, mask) = text.split_once('/').unwrap_or((text, "0xffff"));
        let read = |text| number(text).filter(|&bits| bits <= 0xffff);
        let (Some(tci), Some(mask)) = (read(tci), read(mask)) else {
            return Err(bad_value(word, "vlan_tci has 16 bits"));
        };
        let (pcp_mask, vid_mask) = (mask >> 13, mask & 0x1fff);
        if !matches!(pcp_mask, 0 | 7) {
            let detail = "OpenFlow has no mask for some bits of vlan_pcp";
            return Err(Flaw::coded(word.whole, ErrorCode::MATCH_MASK, detail));
        }
        if vid_mask != 0 {
            let vid_mask = (vid_mask != 0x1fff).then_some(vid_mask);
            self.put(MatchField::VlanVid, tci & 0x1fff, vid_mask, word.whole)?;
        }
        if pcp_mask == 7 && tci & VLAN_PRESENT != 0 {
            self.put(MatchField::VlanPcp, tci >> 13, None, word.whole)?;
        }
        Ok(())
    }

    fn put(&mut self, field: MatchField, value: u128, mask: Option<u128>, part: &'t str) -> Result<(), Flaw<'t>> {
        let given = checked(field, value, part)?;
        // As Open vSwitch does: an address of a host stands for its network.
        let value = given & mask.unwrap_or(u128::MAX);
        let said = FieldMatch { field, value, mask };
        if given != value {
            let taken = Match { fields: vec![said] };
            self.notes
                .push(format!("{part} has bits that its mask leaves out: taken as {taken}"));
        }
        match self.fields.iter().find(|(known, _)| known.field == field) {
            Some((known, _)) if *known == said => {}
            Some(_) => {
                let detail = format!("the match says {field} twice");
                return Err(Flaw::coded(part, ErrorCode::MATCH_DUPLICATE, detail));
            }
            None => self.fields.push((said, part)),
        }
        Ok(())
    }

    /// The value of a field without a mask.
    pub(crate) fn exactly(&self, field: MatchField) -> Option<u128> {
        let found = self
            .fields
            .iter()
            .find(|(said, _)| said.field == field && said.mask.is_none());
        found.map(|(said, _)| said.value)
    }

    /// The field that a name of actions means here.
    pub(crate) fn dependent(&self, name: Dependent) -> Option<MatchField> {
        name.field(self.exactly(MatchField::EthType), self.exactly(MatchField::IpProto))
    }

    /// Whether it wants a VLAN tag.
    pub(crate) fn is_tagged(&self) -> bool {
        let found = self.fields.iter().find(|(said, _)| said.field == MatchField::VlanVid);
        found.is_some_and(|(said, _)| said.value & VLAN_PRESENT != 0)
    }

    /// Gives names their meaning that depended on what came after them.
    pub(crate) fn settle(&mut self) -> Result<(), Flaw<'t>> {
        // `nw_proto` first: the meaning of others depends on it.
        self.later.sort_by_key(|(name, _)| *name != Dependent::Protocol);
        for (name, word) in std::mem::take(&mut self.later) {
            let field = self.dependent(name).ok_or_else(|| {
                let detail = format!("{} needs a protocol that has it, such as tcp, udp or icmp", word.key);
                Flaw::coded(word.whole, ErrorCode::MATCH_PREREQUISITE, detail)
            })?;
            self.put_text(field, word)?;
        }
        Ok(())
    }

    /// The match, its fields in the order of their numbers: prerequisites first. And what it does not say as it was given.
    pub(crate) fn finish(self) -> (Match, Vec<String>) {
        let mut fields: Vec<FieldMatch> = self.fields.into_iter().map(|(said, _)| said).collect();
        fields.sort_by_key(|said| said.field);
        (Match { fields }, self.notes)
    }
}

fn vlan_number(word: Word<'_>) -> Result<u128, Flaw<'_>> {
    let vid = number(word.need_value()?).filter(|&vid| vid <= 0xfff || vid == 0xffff);
    vid.ok_or_else(|| bad_value(word, "dl_vlan is 0 to 4095, or 0xffff for no tag"))
}

fn bad_value<'t>(word: Word<'t>, detail: &str) -> Flaw<'t> {
    Flaw::coded(word.whole, ErrorCode::MATCH_VALUE, format!("{}: {detail}", word.whole))
}
