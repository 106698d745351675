//! Values that can be written in more than one way.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};

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

/// Makes types that are [`Written`] in several ways readable.
macro_rules! deserialize_written {
    ($($key:ty),+) => {
        $(impl<'de> Deserialize<'de> for $key {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(super::written::Forms::<Self>(std::marker::PhantomData))
            }
        })+
    };
}
pub(super) use deserialize_written;
