//! The profile file as it is written, before anything in it is held against anything else.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A traffic profile as it stands in a file: every key known and of the right type, nothing else checked.
#[derive(Clone, Debug, Default)]
pub struct ProfileFile {
    pub(super) keys: Keys,
    content: Value,
}

impl ProfileFile {
    /// Reads TOML.
    ///
    /// # Errors
    /// One line that begins with the place: `line 3, column 1: unknown field`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let at_place = |error: &toml::de::Error| {
            let message = error.message().trim().replace('\n', ", ");
            match error.span() {
                Some(span) => format!("{}: {message}", place(text, span.start)),
                None => message,
            }
        };
        Ok(Self {
            keys: toml::from_str(text).map_err(|error| at_place(&error))?,
            content: toml::from_str(text).map_err(|error| at_place(&error))?,
        })
    }

    /// Everything in it, for the record.
    pub fn content(&self) -> &Value {
        &self.content
    }
}

/// The keys of a file. The headers of the first direction stand at the top, those of a different second one in
/// `reverse`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Keys {
    pub(super) name: Option<String>,
    pub(super) direction: Option<DirectionKey>,
    pub(super) symmetric: Option<bool>,
    pub(super) sizes: Option<SizesKey>,
    pub(super) flows: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DirectionKey {
    Uni,
    Bi,
}

/// `64`, `"imix"`, `"7a4dg"`, `[64, { size = 594, weight = 4 }]` or `{ genome = "aAz", letters = { A = 300, z = 1500 } }`.
#[derive(Clone, Debug)]
pub(super) enum SizesKey {
    One(usize),
    Text(String),
    List(Vec<SizeKey>),
    Genome(GenomeKey),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GenomeKey {
    pub(super) genome: String,
    #[serde(default)]
    pub(super) letters: BTreeMap<String, usize>,
}

/// A size of a list: `64` or `{ size = 64, weight = 7 }`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeKey {
    pub(super) size: usize,
    pub(super) weight: u32,
}

impl<'de> Deserialize<'de> for SizesKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms::<Self>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for SizeKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms::<Self>(PhantomData))
    }
}

/// Something that can be written in more than one way. Unlike an untagged enum it keeps the place and the words of
/// an error within a form.
pub(super) trait Written: Sized {
    const FORMS: &'static str;

    fn of_integer(_: i64) -> Option<Self> {
        None
    }

    fn of_text(_: &str) -> Option<Self> {
        None
    }

    fn of_list<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(format_args!("a list, expected {}", Self::FORMS)))
    }

    fn of_table<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(format_args!("a table, expected {}", Self::FORMS)))
    }
}

pub(super) struct Forms<T>(pub(super) PhantomData<T>);

impl<'de, T: Written> Visitor<'de> for Forms<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::FORMS)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::of_integer(value).ok_or_else(|| E::custom(format_args!("{value}, expected {}", T::FORMS)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        T::of_text(value).ok_or_else(|| E::custom(format_args!("`{value}`, expected {}", T::FORMS)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::of_list(SeqAccessDeserializer::new(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        T::of_table(MapAccessDeserializer::new(table))
    }
}

impl Written for SizesKey {
    const FORMS: &'static str = "bytes, `imix`, a genome, a list of sizes or a table with a genome";

    fn of_integer(value: i64) -> Option<Self> {
        usize::try_from(value).ok().map(Self::One)
    }

    fn of_text(text: &str) -> Option<Self> {
        Some(Self::Text(text.to_owned()))
    }

    fn of_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(list).map(Self::List)
    }

    fn of_table<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(table).map(Self::Genome)
    }
}

impl Written for SizeKey {
    const FORMS: &'static str = "bytes or a table with a size and its weight";

    fn of_integer(value: i64) -> Option<Self> {
        let size = usize::try_from(value).ok()?;
        Some(Self { size, weight: 1 })
    }

    fn of_table<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Weighted {
            size: usize,
            weight: u32,
        }
        let Weighted { size, weight } = Weighted::deserialize(table)?;
        Ok(Self { size, weight })
    }
}

/// Where an offset is, as editors count.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
    format!("line {line}, column {column}")
}
