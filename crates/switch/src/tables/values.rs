//! Values of match fields as people write them.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use brimful_openflow::{ErrorCode, MatchField, port};

use super::place::Flaw;

/// How the values of a field are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Number,
    Port,
    Mac,
    Ipv4,
    Ipv6,
}

/// Names of reserved ports.
pub(crate) const RESERVED_PORTS: [(u32, &str); 8] = [
    (port::IN_PORT, "in_port"),
    (port::TABLE, "table"),
    (port::NORMAL, "normal"),
    (port::FLOOD, "flood"),
    (port::ALL, "all"),
    (port::CONTROLLER, "controller"),
    (port::LOCAL, "local"),
    (port::ANY, "any"),
];

fn form(field: MatchField) -> Form {
    use MatchField as M;
    match field {
        M::InPort | M::InPhyPort => Form::Port,
        M::EthDst | M::EthSrc | M::ArpSha | M::ArpTha | M::Ipv6NdSll | M::Ipv6NdTll => Form::Mac,
        M::Ipv4Src | M::Ipv4Dst | M::ArpSpa | M::ArpTpa => Form::Ipv4,
        M::Ipv6Src | M::Ipv6Dst | M::Ipv6NdTarget => Form::Ipv6,
        _ => Form::Number,
    }
}

/// A whole number, decimal or with `0x`.
pub(crate) fn number(text: &str) -> Option<u128> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |digits| (digits, 16));
    // `from_str_radix` takes a sign.
    if digits.starts_with('+') {
        return None;
    }
    u128::from_str_radix(digits, radix).ok()
}

/// A whole number that fits.
pub(crate) fn number_as<'t, T: TryFrom<u128>>(text: &'t str, what: &str) -> Result<T, Flaw<'t>> {
    let value = number(text).and_then(|value| T::try_from(value).ok());
    let bits = size_of::<T>() * 8;
    value.ok_or_else(|| {
        Flaw::syntax(
            text,
            format!("{what} is {text:?}: use a whole number of at most {bits} bits"),
        )
    })
}

/// The number of a port, or the name of a reserved one.
pub(crate) fn port_number(text: &str) -> Option<u32> {
    if text.bytes().next()?.is_ascii_digit() {
        return u32::try_from(number(text)?).ok();
    }
    let named = |&&(_, name): &&(u32, &str)| text.eq_ignore_ascii_case(name);
    let found = RESERVED_PORTS.iter().find(named).map(|&(number, _)| number);
    found.or_else(|| text.eq_ignore_ascii_case("none").then_some(port::ANY))
}

/// A port as it is read again.
pub(crate) fn port_text(number: u32) -> String {
    let named = RESERVED_PORTS.iter().find(|&&(reserved, _)| reserved == number);
    named.map_or_else(|| number.to_string(), |&(_, name)| name.to_uppercase())
}

/// A value of a field, whatever its width.
pub(crate) fn value(field: MatchField, text: &str) -> Result<u128, Flaw<'_>> {
    let read = match form(field) {
        Form::Number => number(text),
        Form::Port => port_number(text).map(u128::from),
        Form::Mac => mac(text),
        Form::Ipv4 => text
            .parse()
            .map(|address: Ipv4Addr| u128::from(address.to_bits()))
            .ok()
            .or_else(|| number(text)),
        Form::Ipv6 => text
            .parse()
            .map(|address: Ipv6Addr| address.to_bits())
            .ok()
            .or_else(|| number(text)),
    };
    let value = read.ok_or_else(|| {
        let example = match form(field) {
            Form::Number => "a whole number such as 47 or 0x2f",
            Form::Port => "a number or a name such as LOCAL",
            Form::Mac => "an address such as 02:00:00:00:00:01",
            Form::Ipv4 => "an address such as 192.0.2.1",
            Form::Ipv6 => "an address such as 2001:db8::1",
        };
        Flaw::coded(
            text,
            ErrorCode::MATCH_VALUE,
            format!("{field} is {text:?}: use {example}"),
        )
    })?;
    checked(field, value, text)
}

/// A value, if it fits into the bits of the field.
pub(crate) fn checked(field: MatchField, value: u128, text: &str) -> Result<u128, Flaw<'_>> {
    if value <= field.largest() {
        return Ok(value);
    }
    let detail = format!("{field} is {text}, but has {} bits", field.info().bits);
    Err(Flaw::coded(text, ErrorCode::MATCH_VALUE, detail))
}

/// A mask of a field: what a value looks like, or the length of a prefix of an address.
pub(crate) fn mask(field: MatchField, text: &str) -> Result<u128, Flaw<'_>> {
    let bits = field.info().bits;
    let is_address = matches!(form(field), Form::Ipv4 | Form::Ipv6);
    let prefix = text.parse().ok().filter(|&length: &u32| is_address && length <= bits);
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let mask = match prefix {
        Some(0) => Ok(0),
        Some(length) => Ok(field.largest() >> (bits - length) << (bits - length)),
        None if is_address && is_decimal => {
            let detail = format!("{field} is /{text}: use a prefix of at most {bits} bits");
            Err(Flaw::coded(text, ErrorCode::MATCH_MASK, detail))
        }
        None => value(field, text),
    };
    mask.map_err(|flaw| Flaw {
        code: Some(ErrorCode::MATCH_MASK),
        detail: format!("mask of {}", flaw.detail),
        ..flaw
    })
}

fn mac(text: &str) -> Option<u128> {
    let mut octets = text.split(':');
    let mut value = 0;
    for _ in 0..6 {
        let octet = octets.next().filter(|octet| (1..=2).contains(&octet.len()))?;
        value = value << 8 | u128::from(u8::from_str_radix(octet, 16).ok()?);
    }
    octets.next().is_none().then_some(value)
}

/// Writes a value of a field as it is read again.
pub(crate) fn write_value(out: &mut String, field: MatchField, value: u128) {
    // Writing to a string cannot fail.
    let _ = match form(field) {
        Form::Number if value < 10 => write!(out, "{value}"),
        Form::Number => write!(out, "0x{value:x}"),
        Form::Port => write!(out, "{}", port_text(value as u32)),
        Form::Mac => {
            let octets = (value as u64).to_be_bytes();
            octets[2..].iter().enumerate().try_for_each(|(at, octet)| {
                let colon = if at == 0 { "" } else { ":" };
                write!(out, "{colon}{octet:02x}")
            })
        }
        Form::Ipv4 => write!(out, "{}", Ipv4Addr::from_bits(value as u32)),
        Form::Ipv6 => write!(out, "{}", Ipv6Addr::from_bits(value)),
    };
}

/// Writes a mask of a field as it is read again: prefixes by their length.
pub(crate) fn write_mask(out: &mut String, field: MatchField, mask: u128) {
    let bits = field.info().bits;
    let length = (mask << (128 - bits)).leading_ones().min(bits);
    let is_prefix = length > 0 && mask == field.largest() >> (bits - length) << (bits - length);
    if matches!(form(field), Form::Ipv4 | Form::Ipv6) && is_prefix {
        let _ = write!(out, "{length}");
    } else {
        write_value(out, field, mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        use MatchField as M;
        for (field, text, expected) in [
            (M::InPort, "LOCAL", 0xffff_fffe),
            (M::InPort, "7", 7),
            (M::EthDst, "02:00:00:00:00:1f", 0x0200_0000_001f),
            (M::Ipv4Dst, "192.0.2.1", 0xc000_0201),
            (M::Ipv4Dst, "3221225985", 0xc000_0201),
            (M::Ipv6Src, "::1", 1),
            (M::IpProto, "0x11", 17),
        ] {
            assert_eq!(value(field, text).unwrap(), expected, "{field} {text}");
        }
        for (field, text) in [
            (M::EthDst, "02:00:00:00:00"),
            (M::IpDscp, "64"),
            (M::IpProto, "+1"),
            (M::InPort, ""),
        ] {
            assert!(value(field, text).is_err(), "{field} {text}");
        }
    }

    #[test]
    fn masks_are_prefixes_or_bits() {
        use MatchField as M;
        for (field, text, expected) in [
            (M::Ipv4Dst, "24", 0xffff_ff00),
            (M::Ipv4Dst, "0", 0),
            (M::Ipv4Dst, "255.0.255.0", 0xff00_ff00),
            (M::Ipv6Dst, "128", u128::MAX),
            (M::TcpDst, "0xfc00", 0xfc00),
        ] {
            assert_eq!(mask(field, text).unwrap(), expected, "{field} {text}");
            let mut written = String::new();
            write_mask(&mut written, field, expected);
            assert_eq!(mask(field, &written).unwrap(), expected, "{field} {written}");
        }
    }
}
