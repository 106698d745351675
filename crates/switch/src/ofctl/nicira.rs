//! Names of what Open vSwitch adds to OpenFlow (its `ovs-fields(7)`, `ovs-actions(7)` and `nicira-ext.h`).

use std::fmt::Write;

/// Nicira's number among experimenters.
const NICIRA: &[u8] = &[0, 0, 0x23, 0x20];
/// Classes of Nicira's fields, of its registers of 64 bits, and OpenFlow's own.
const NXM_0: u16 = 0;
const NXM_1: u16 = 1;
const PACKET_REGISTERS: u16 = 0x8001;
const BASIC: u16 = 0x8000;
const EXPERIMENTER_CLASS: u16 = 0xffff;
/// Where a resubmission says that something stays as it is.
const SAME_PORT: u64 = 0xfff8;
const SAME_TABLE: u64 = 255;
/// Bits of the state of a connection, from the lowest.
const CT_STATES: [&str; 8] = ["new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"];

/// The name of a field of a class other than OpenFlow's, or that OpenFlow has had since 1.5.
pub(super) fn field_name(class: u16, field: u8, experimenter: &[u8]) -> Option<&'static str> {
    const OLD: [&str; 18] = [
        "in_port",
        "eth_dst",
        "eth_src",
        "eth_type",
        "vlan_tci",
        "nw_tos",
        "ip_proto",
        "nw_src",
        "nw_dst",
        "tcp_src",
        "tcp_dst",
        "udp_src",
        "udp_dst",
        "icmp_type",
        "icmp_code",
        "arp_op",
        "arp_spa",
        "arp_tpa",
    ];
    const REGISTERS: [&str; 16] = [
        "reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9", "reg10", "reg11", "reg12",
        "reg13", "reg14", "reg15",
    ];
    const LONG_REGISTERS: [&str; 8] = ["xreg0", "xreg1", "xreg2", "xreg3", "xreg4", "xreg5", "xreg6", "xreg7"];
    let index = usize::from(field);
    match class {
        NXM_0 => OLD.get(index).copied(),
        NXM_1 if index < REGISTERS.len() => Some(REGISTERS[index]),
        NXM_1 => named(
            field,
            &[
                (16, "tun_id"),
                (26, "ip_frag"),
                (29, "nw_ttl"),
                (31, "tun_src"),
                (32, "tun_dst"),
                (33, "pkt_mark"),
                (34, "tcp_flags"),
                (37, "conj_id"),
                (38, "tun_gbp_id"),
                (39, "tun_gbp_flags"),
                (104, "tun_flags"),
                (105, "ct_state"),
                (106, "ct_zone"),
                (107, "ct_mark"),
                (108, "ct_label"),
                (109, "tun_ipv6_src"),
                (110, "tun_ipv6_dst"),
                (111, "xxreg0"),
                (112, "xxreg1"),
                (113, "xxreg2"),
                (114, "xxreg3"),
                (119, "ct_nw_proto"),
                (120, "ct_nw_src"),
                (121, "ct_nw_dst"),
                (122, "ct_ipv6_src"),
                (123, "ct_ipv6_dst"),
                (124, "ct_tp_src"),
                (125, "ct_tp_dst"),
            ],
        ),
        PACKET_REGISTERS => LONG_REGISTERS.get(index).copied(),
        // The Open Networking Foundation's own number among experimenters.
        BASIC | EXPERIMENTER_CLASS if class == BASIC || experimenter == b"ONF\0" => {
            named(field, &[(42, "tcp_flags"), (43, "actset_output")])
        }
        _ => None,
    }
}

/// A value with its mask, where a field has a way of its own: the state of a connection.
pub(super) fn value_text(name: &str, value: &[u8], mask: &[u8]) -> Option<String> {
    let (value, mask) = (number(value)?, number(mask)?);
    if name != "ct_state" || mask == 0 || mask >= 1 << CT_STATES.len() {
        return None;
    }
    let states = CT_STATES.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    let signs = states.map(|(bit, state)| format!("{}{state}", if value >> bit & 1 == 1 { '+' } else { '-' }));
    Some(signs.collect())
}

/// Reads a list of actions.
type Actions = fn(&[u8]) -> Option<String>;

/// An action from its experimenter on; `None` where it is not one of Nicira's. `actions` reads those that it holds.
pub(super) fn action(bytes: &[u8], actions: Actions) -> Option<String> {
    let (of, rest) = bytes.split_at_checked(4)?;
    let (kind, rest) = rest.split_at_checked(2)?;
    let kind = number(kind)?;
    if of != NICIRA {
        return None;
    }
    let text = match kind {
        1 | 14 => resubmit(rest),
        6 => moved(rest),
        7 => loaded(rest),
        8 => Some(note(rest)),
        35 => connection_tracking(rest, actions),
        _ => None,
    };
    Some(text.unwrap_or_else(|| {
        let name = name_of(kind).map_or_else(|| format!("nx({kind})"), ToOwned::to_owned);
        if rest.iter().all(|byte| *byte == 0) {
            name
        } else {
            format!("{name}({})", hex(rest))
        }
    }))
}

fn name_of(kind: u64) -> Option<&'static str> {
    named(
        u8::try_from(kind).ok()?,
        &[
            (1, "resubmit"),
            (2, "set_tunnel"),
            (4, "set_queue"),
            (5, "pop_queue"),
            (6, "move"),
            (7, "load"),
            (8, "note"),
            (9, "set_tunnel64"),
            (10, "multipath"),
            (12, "bundle"),
            (13, "bundle_load"),
            (14, "resubmit"),
            (15, "output_reg"),
            (16, "learn"),
            (17, "exit"),
            (18, "dec_ttl"),
            (19, "fin_timeout"),
            (20, "controller"),
            (21, "dec_ttl_cnt_ids"),
            (22, "write_metadata"),
            (27, "push"),
            (28, "pop"),
            (29, "sample"),
            (32, "output_reg"),
            (33, "load"),
            (34, "conjunction"),
            (35, "ct"),
            (36, "nat"),
            (37, "controller"),
            (38, "sample"),
            (39, "output_trunc"),
            (43, "ct_clear"),
            (44, "resubmit_ct"),
            (45, "learn"),
            (46, "encap"),
            (47, "decap"),
            (49, "check_pkt_larger"),
            (50, "delete_field"),
        ],
    )
}

fn resubmit(rest: &[u8]) -> Option<String> {
    let (port, table) = (number(rest.get(..2)?)?, u64::from(*rest.get(2)?));
    let port = if port == SAME_PORT {
        String::new()
    } else {
        port.to_string()
    };
    let table = if matches!(table, 0 | SAME_TABLE) {
        String::new()
    } else {
        table.to_string()
    };
    Some(format!("resubmit({port},{table})"))
}

fn loaded(rest: &[u8]) -> Option<String> {
    let place = number(rest.get(..2)?)?;
    let (first, bits) = (place >> 6, (place & 0x3f) + 1);
    Some(format!(
        "load:{}->{}",
        hex(rest.get(6..14)?),
        part(rest.get(2..6)?, first, bits)?
    ))
}

fn moved(rest: &[u8]) -> Option<String> {
    let [bits, from, to] = [0, 2, 4].map(|at| rest.get(at..at + 2).and_then(number));
    let bits = bits?;
    Some(format!(
        "move:{}->{}",
        part(rest.get(6..10)?, from?, bits)?,
        part(rest.get(10..14)?, to?, bits)?
    ))
}

fn note(rest: &[u8]) -> String {
    let octets: Vec<String> = rest.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("note:{}", octets.join("."))
}

fn connection_tracking(rest: &[u8], actions: Actions) -> Option<String> {
    let (flags, from, zone) = (
        number(rest.get(..2)?)?,
        number(rest.get(2..6)?)?,
        number(rest.get(6..8)?)?,
    );
    let table = u64::from(*rest.get(8)?);
    let mut words = Vec::new();
    for (bit, name) in [(1, "commit"), (2, "force")] {
        words.extend((flags & bit != 0).then(|| name.to_owned()));
    }
    words.extend((table != SAME_TABLE).then(|| format!("table={table}")));
    if from != 0 {
        words.push(format!("zone={}", part(rest.get(2..6)?, zone >> 6, (zone & 0x3f) + 1)?));
    } else if zone != 0 {
        words.push(format!("zone={zone}"));
    }
    let inside = rest.get(14..)?;
    if !inside.is_empty() {
        words.push(format!("exec({})", actions(inside)?));
    }
    Some(format!("ct({})", words.join(",")))
}

/// Bits of a field that its header names.
fn part(header: &[u8], first: u64, bits: u64) -> Option<String> {
    let (class, field) = (number(header.get(..2)?)? as u16, header.get(2)? >> 1);
    let mut text = field_name(class, field, &[]).map_or_else(|| format!("nxm({class:#x},{field})"), ToOwned::to_owned);
    let _ = match bits {
        1 => write!(text, "[{first}]"),
        _ => write!(text, "[{first}..{}]", first + bits - 1),
    };
    Some(text)
}

fn named(number: u8, names: &[(u8, &'static str)]) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// A number of at most 64 bits.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Digits of a number, without zeros in front.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    let digits = digits.trim_start_matches('0');
    format!("0x{}", if digits.is_empty() { "0" } else { digits })
}
