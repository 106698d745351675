//! Values of a header field, as a profile writes them.

use std::net::{Ipv4Addr, Ipv6Addr};

use brimful_frame::MacAddress;

use super::keys::{FieldKey, OrderKey, PatternKeys, PerKey, ScalarKey};
use super::values::{Choices, Order, Pattern, Per, Values};

/// What can stand in a field.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Integer(i64, i64),
    Mac,
    StationMac,
    Ipv4,
    Ipv6,
}

impl Kind {
    pub(super) fn read(self, key: &ScalarKey) -> Result<u128, String> {
        match (self, key) {
            (Self::Integer(least, most), ScalarKey::Integer(value)) if (least..=most).contains(value) => {
                Ok(u128::from(value.unsigned_abs()))
            }
            (Self::Integer(least, most), key) => Err(format!("{} is not a number from {least} to {most}", key.text())),
            (Self::Mac, key) => read_mac(key),
            (Self::StationMac, key) => match read_mac(key)? {
                value if value >> 40 & 1 == 1 => {
                    Err(format!("{} is a group address, nobody sends from it", key.text()))
                }
                value => Ok(value),
            },
            (Self::Ipv4, key) => match key.text().parse::<Ipv4Addr>() {
                Ok(address) => Ok(u128::from(u32::from(address))),
                Err(_) => Err(format!("`{}` is no IPv4 address", key.text())),
            },
            (Self::Ipv6, key) => match key.text().parse::<Ipv6Addr>() {
                Ok(address) => Ok(u128::from(address)),
                Err(_) => Err(format!("`{}` is no IPv6 address", key.text())),
            },
        }
    }
}

impl ScalarKey {
    fn text(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

fn read_mac(key: &ScalarKey) -> Result<u128, String> {
    let address: MacAddress = key.text().parse().map_err(|error| format!("{error}"))?;
    Ok(mac_value(address))
}

/// An Ethernet address as the value of a field.
pub(super) fn mac_value(address: MacAddress) -> u128 {
    address.0.iter().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

pub(super) fn read_values(key: &FieldKey, kind: Kind, seed_offset: u64) -> Result<Values, String> {
    let list = |list: &[ScalarKey]| {
        let values: Vec<_> = list.iter().map(|key| kind.read(key)).collect::<Result<_, _>>()?;
        match values.as_slice() {
            [] => Err("a list without values".to_owned()),
            _ => Ok(Choices::List(values.into())),
        }
    };
    match key {
        FieldKey::One(value) => kind.read(value).map(Values::Fixed),
        FieldKey::List(values) => Ok(Values::Varied(Pattern {
            choices: list(values)?,
            order: Order::Increment,
            every: 1,
            per: Per::Flow,
        })),
        FieldKey::Pattern(keys) => {
            let choices = match (&keys.list, &keys.from, &keys.to) {
                (Some(values), None, None) if keys.step.is_none() => list(values)?,
                (None, Some(from), Some(to)) => range(kind.read(from)?, kind.read(to)?, keys.step.unwrap_or(1))?,
                _ => return Err("a pattern has `from` and `to`, with or without `step`, or a `list`".to_owned()),
            };
            pattern(keys, choices, seed_offset).map(Values::Varied)
        }
    }
}

fn range(first: u128, last: u128, step: u64) -> Result<Choices, String> {
    if step == 0 {
        return Err("`step` is 0".to_owned());
    }
    let span = last.checked_sub(first).ok_or("`to` is less than `from`")?;
    let step = u128::from(step);
    let count = u64::try_from(span / step + 1).map_err(|_| "a range has 2^64 - 1 values at most")?;
    Ok(Choices::Range { first, step, count })
}

fn pattern(keys: &PatternKeys, choices: Choices, seed_offset: u64) -> Result<Pattern, String> {
    let order = match (keys.order, keys.seed) {
        (OrderKey::Increment, None) => Order::Increment,
        (OrderKey::Increment, Some(_)) => return Err("`seed` is for order = \"random\"".to_owned()),
        (OrderKey::Random, seed) => Order::Random {
            seed: seed.unwrap_or(0).wrapping_add(seed_offset),
        },
    };
    let every = keys.every.unwrap_or(1);
    if every == 0 {
        return Err("`every` is 0".to_owned());
    }
    let per = match keys.per {
        PerKey::Flow => Per::Flow,
        PerKey::Frame => Per::Frame,
    };
    Ok(Pattern {
        choices,
        order,
        every,
        per,
    })
}
