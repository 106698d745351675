//! How structures of the protocol are described: [`structure!`] makes type, reader, writer and text of one list of fields.

use std::fmt;

use super::buffer::padding;
use super::{Reader, Version, Writer};
use crate::ErrorMessage;

/// What stands on the wire.
pub trait Wire: Sized {
    /// Reads it from untrusted bytes.
    ///
    /// # Errors
    /// With the error that the specification has for what is wrong.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage>;
    /// Writes it.
    fn encode(&self, writer: &mut Writer);
    /// Writes it for people.
    ///
    /// # Errors
    /// When the formatter has one.
    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Bytes that something takes in a message; nothing where a structure in it is longer than 65,535 bytes, which no message
/// can have.
pub fn encoded_len(value: &impl Wire, version: Version) -> Option<usize> {
    let mut writer = Writer::new(version);
    value.encode(&mut writer);
    (!writer.is_too_long()).then_some(writer.bytes.len())
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Wire for $number {
            #[inline]
            fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
                Ok(Self::from_be_bytes(reader.array()?))
            }

            fn encode(&self, writer: &mut Writer) {
                writer.bytes.extend_from_slice(&self.to_be_bytes());
            }

            fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 }

/// The type of a structure with its fields in the order of the wire; `, pad N` after a field is for zeroes that follow it.
macro_rules! structure {
    ($(#[$meta:meta])* $name:ident {
        $([pad $lead:literal])?
        $($(#[$field_meta:meta])* $field:ident: $type:ty $(, pad $pad:literal)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "fields without words are named as in the specification")]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::wire::Wire for $name {
            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::ErrorMessage> {
                $(reader.take($lead)?;)?
                $(
                    let $field = <$type as $crate::wire::Wire>::decode(reader)?;
                    $(reader.take($pad)?;)?
                )*
                Ok(Self { $($field,)* })
            }

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                $(writer.pad($lead);)?
                $(
                    $crate::wire::Wire::encode(&self.$field, writer);
                    $(writer.pad($pad);)?
                )*
            }

            fn text(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let separator = "";
                $(
                    write!(formatter, "{separator}{}=", stringify!($field))?;
                    $crate::wire::Wire::text(&self.$field, formatter)?;
                    let separator = ",";
                )*
                let _ = separator;
                Ok(())
            }
        }

        $crate::wire::describe::displays!($name);
    };
}

macro_rules! displays {
    ($($name:ty),*) => {
        $(impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::wire::Wire::text(self, formatter)
            }
        })*
    };
}

/// Properties of a kind, each with number, length and content; zeroes follow up to a multiple of 8 bytes. What is not
/// known stays as it is.
macro_rules! properties {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$kind_meta:meta])* $kind:ident($type:ty) = $value:pat,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "kinds without words are named as in the specification")]
        pub enum $name {
            $($(#[$kind_meta])* $kind(u16, $type),)*
            /// One that has no meaning here: its number and content.
            Other(u16, $crate::wire::Data),
        }

        impl $crate::wire::Wire for $name {
            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::ErrorMessage> {
                let (number, mut part) = $crate::wire::describe::property(reader)?;
                let property = match number {
                    $($value => Self::$kind(number, $crate::wire::Wire::decode(&mut part)?),)*
                    _ => Self::Other(number, $crate::wire::Wire::decode(&mut part)?),
                };
                part.finish()?;
                Ok(property)
            }

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                let start = writer.bytes.len();
                match self {
                    $(Self::$kind(number, content) => $crate::wire::describe::put_property(*number, content, writer),)*
                    Self::Other(number, content) => $crate::wire::describe::put_property(*number, content, writer),
                }
                writer.align(start);
            }

            fn text(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$kind(number, content) => {
                        write!(formatter, "{}:{number}(", stringify!($kind))?;
                        $crate::wire::Wire::text(content, formatter)?;
                    })*
                    Self::Other(number, content) => {
                        write!(formatter, "property:{number}(")?;
                        $crate::wire::Wire::text(content, formatter)?;
                    }
                }
                formatter.write_str(")")
            }
        }
    };
}

/// The number and the content of a property.
pub(super) fn property<'a>(reader: &mut Reader<'a>) -> Result<(u16, Reader<'a>), ErrorMessage> {
    let number = u16::decode(reader)?;
    let length = usize::from(u16::decode(reader)?);
    let Some(inside) = length.checked_sub(4) else {
        return Err(reader.complain(format!("a property of {length} bytes")));
    };
    let bytes = reader.take_part(inside, reader.wrong_length)?;
    let part = reader.within(bytes, reader.wrong_length);
    reader.take(padding(length))?;
    Ok((number, part))
}

pub(super) fn put_property(number: u16, content: &impl Wire, writer: &mut Writer) {
    let start = writer.bytes.len();
    number.encode(writer);
    writer.pad(2);
    content.encode(writer);
    writer.set_length(start, start + 2);
}

/// A content with its length before it, in 16 bits that count themselves and `BEFORE` more bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WithLength<const BEFORE: usize, T>(pub T);

impl<const BEFORE: usize, T: Wire> Wire for WithLength<BEFORE, T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let length = usize::from(u16::decode(reader)?);
        let Some(inside) = length.checked_sub(BEFORE + 2) else {
            return Err(reader.complain(format!("a structure of {length} bytes")));
        };
        let bytes = reader.take_part(inside, reader.wrong_length)?;
        let mut part = reader.within(bytes, reader.wrong_length);
        let content = T::decode(&mut part)?;
        part.finish()?;
        Ok(Self(content))
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        writer.pad(2);
        self.0.encode(writer);
        writer.set_length(start - BEFORE, start);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(formatter)
    }
}

/// The numbers of kinds whose type stands elsewhere.
macro_rules! numbered {
    ($name:ident: $number:ty, else $error:ident { $($kind:ident = $value:literal,)* }) => {
        impl $crate::wire::Wire for $name {
            #[inline]
            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::ErrorMessage> {
                match <$number as $crate::wire::Wire>::decode(reader)? {
                    $($value => Ok(Self::$kind),)*
                    other => Err($crate::ErrorCode::$error.because(format!("there is no {} {other}", stringify!($name)))),
                }
            }

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                let number: $number = match self {
                    $(Self::$kind => $value,)*
                };
                $crate::wire::Wire::encode(&number, writer);
            }

            fn text(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(match self {
                    $(Self::$kind => stringify!($kind),)*
                })
            }
        }
    };
}

pub(crate) use {displays, numbered, properties, structure};

/// As many as there are up to the end of what is read.
impl<T: Wire> Wire for Vec<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        // Most lists have one member: they get memory for no more.
        let mut all = Self::with_capacity(usize::from(!reader.is_empty()));
        while !reader.is_empty() {
            let before = reader.left();
            all.push(T::decode(reader)?);
            if reader.left() == before {
                return Err(reader.complain("a structure without length"));
            }
        }
        Ok(all)
    }

    fn encode(&self, writer: &mut Writer) {
        for one in self {
            one.encode(writer);
        }
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, one) in self.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { " " })?;
            one.text(formatter)?;
        }
        formatter.write_str("]")
    }
}

/// All bytes up to the end of what is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Data(pub Vec<u8>);

impl Wire for Data {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        Ok(Self(reader.take(reader.left())?.to_vec()))
    }

    fn encode(&self, writer: &mut Writer) {
        writer.bytes.extend_from_slice(&self.0);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct EthernetAddress(pub [u8; 6]);

impl Wire for EthernetAddress {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        Ok(Self(reader.array()?))
    }

    fn encode(&self, writer: &mut Writer) {
        writer.bytes.extend_from_slice(&self.0);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ":" };
            write!(formatter, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A name of `N` bytes at most, the rest zeroes. Bytes that are no text stay as they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Name<const N: usize>(pub [u8; N]);

impl<const N: usize> Name<N> {
    /// The first bytes of a text, so that a zero follows them.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        Self(std::array::from_fn(|index| {
            if index + 1 < N {
                bytes.get(index).copied().unwrap_or(0)
            } else {
                0
            }
        }))
    }
}

impl<const N: usize> Wire for Name<N> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        Ok(Self(reader.array()?))
    }

    fn encode(&self, writer: &mut Writer) {
        writer.bytes.extend_from_slice(&self.0);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(N);
        write!(formatter, "{}", String::from_utf8_lossy(&self.0[..end]).escape_debug())
    }
}

impl Wire for [u32; 4] {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let mut all = [0; 4];
        for one in &mut all {
            *one = u32::decode(reader)?;
        }
        Ok(all)
    }

    fn encode(&self, writer: &mut Writer) {
        for one in self {
            one.encode(writer);
        }
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl<T: Wire> Wire for Box<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        T::decode(reader).map(Self::new)
    }

    fn encode(&self, writer: &mut Writer) {
        T::encode(self, writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::text(self, formatter)
    }
}
