use crate::{ErrorCode, ErrorMessage};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Version {
    /// OpenFlow 1.3.5, number 4 on the wire.
    V13 = 4,
    /// OpenFlow 1.4.1, number 5 on the wire.
    V14 = 5,
}

impl Version {
    /// All of them, the lowest first.
    pub const ALL: [Self; 2] = [Self::V13, Self::V14];

    /// The version with a name, `1.3` or `1.4`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V13 => "1.3",
            Self::V14 => "1.4",
        }
    }

    /// The version with a number of the wire.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| *one as u8 == number)
    }
}

/// Bytes of the wire, read from the front. What is missing is an error of the kind that the structure has for that.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// The version of the message.
    pub version: Version,
    /// The error of a wrong length here.
    pub wrong_length: ErrorCode,
}

impl<'a> Reader<'a> {
    /// A reader of the body of a message.
    pub fn new(bytes: &'a [u8], version: Version) -> Self {
        Self {
            bytes,
            version,
            wrong_length: ErrorCode::BAD_LENGTH,
        }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes that are left, without taking them.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ErrorMessage> {
        self.take_part(length, self.wrong_length)
    }

    /// Takes an array of bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ErrorMessage> {
        let Some((taken, rest)) = self.bytes.split_first_chunk() else {
            return Err(self.is_cut_off(N, self.wrong_length));
        };
        self.bytes = rest;
        Ok(*taken)
    }

    /// The number in the 16 bits at an offset, without taking it.
    ///
    /// # Errors
    /// When they are not there.
    #[inline]
    pub fn peek_u16(&self, offset: usize) -> Result<u16, ErrorMessage> {
        match self.bytes.get(offset..offset + 2) {
            Some(two) => Ok(u16::from_be_bytes([two[0], two[1]])),
            None => Err(self.complain("the length is cut off")),
        }
    }

    /// Takes bytes for a reader of their own.
    ///
    /// # Errors
    /// With the error of a wrong length there when fewer are left.
    #[inline]
    pub fn take_part(&mut self, length: usize, wrong_length: ErrorCode) -> Result<&'a [u8], ErrorMessage> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(self.is_cut_off(length, wrong_length));
        };
        self.bytes = rest;
        Ok(taken)
    }

    /// A reader of bytes of the same message, with its own error of a wrong length.
    #[inline]
    pub fn within<'b>(&self, bytes: &'b [u8], wrong_length: ErrorCode) -> Reader<'b> {
        Reader {
            bytes,
            version: self.version,
            wrong_length,
        }
    }

    /// That nothing is left.
    ///
    /// # Errors
    /// When something is.
    #[inline]
    pub fn finish(&self) -> Result<(), ErrorMessage> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(self.complain(format!("{} bytes too many", self.bytes.len())))
    }

    /// The error of a wrong length.
    #[cold]
    pub fn complain(&self, detail: impl Into<String>) -> ErrorMessage {
        self.wrong_length.because(detail)
    }

    #[cold]
    fn is_cut_off(&self, needed: usize, wrong_length: ErrorCode) -> ErrorMessage {
        wrong_length.because(format!("{needed} bytes are needed, {} are there", self.bytes.len()))
    }
}

/// Bytes for the wire.
#[derive(Debug)]
pub struct Writer {
    /// What has been written.
    pub bytes: Vec<u8>,
    /// The version of the message.
    pub version: Version,
    /// A structure in it is longer than its length can say.
    is_too_long: bool,
}

impl Writer {
    /// Nothing yet.
    pub fn new(version: Version) -> Self {
        Self {
            bytes: Vec::new(),
            version,
            is_too_long: false,
        }
    }

    /// Whether a structure in it is longer than its length can say.
    pub fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Zeroes.
    pub fn pad(&mut self, length: usize) {
        self.bytes.resize(self.bytes.len() + length, 0);
    }

    /// Zeroes until what begins at a place is a multiple of 8 bytes.
    pub fn align(&mut self, start: usize) {
        self.pad(padding(self.bytes.len() - start));
    }

    /// Puts the length of what begins at a place into 16 bits; see [`Self::is_too_long`].
    pub fn set_length(&mut self, start: usize, at: usize) {
        let length = u16::try_from(self.bytes.len() - start).unwrap_or_else(|_| {
            self.is_too_long = true;
            u16::MAX
        });
        self.bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// How many bytes are missing to a multiple of 8.
pub(crate) fn padding(length: usize) -> usize {
    length.wrapping_neg() % 8
}
