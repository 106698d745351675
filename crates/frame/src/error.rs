use thiserror::Error;

/// Why bytes are not the format that they were read as.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Malformed {
    /// Fewer bytes than the format, or a length field in it, asks for.
    #[error("{format} needs {needed} bytes, has {available}")]
    TooShort {
        /// The format.
        format: &'static str,
        /// Bytes asked for.
        needed: usize,
        /// Bytes there.
        available: usize,
    },
    /// A field has a value that the format does not allow or that is not supported.
    #[error("{format}: {field} has value {value:#x}")]
    Field {
        /// The format.
        format: &'static str,
        /// The field.
        field: &'static str,
        /// What stood there.
        value: u32,
    },
    /// A checksum does not fit the bytes that it covers.
    #[error("{format}: checksum does not match")]
    Checksum {
        /// The format.
        format: &'static str,
    },
}

/// Checks that `bytes` has `needed` bytes at least.
///
/// # Errors
/// When it has fewer.
pub fn check_len(format: &'static str, bytes: &[u8], needed: usize) -> Result<(), Malformed> {
    if bytes.len() < needed {
        return Err(Malformed::TooShort {
            format,
            needed,
            available: bytes.len(),
        });
    }
    Ok(())
}

/// Two bytes in network order. Callers have checked the length.
///
/// # Panics
/// When `bytes` ends before.
pub fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([bytes[offset], bytes[offset + 1]])
}

/// A copy of `N` bytes. Callers have checked the length.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[offset..offset + N]);
    array
}
