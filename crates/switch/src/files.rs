//! Texts from files that others name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The longest text: flow tables of some million entries.
const MOST_LEN: usize = 1 << 30;
const PART_LEN: usize = 64 << 10;

/// Reads a text. What never ends or is no text, such as `/dev/zero`, is refused as soon as that is seen.
///
/// # Errors
/// When it cannot be read, is no text, or is too long.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_all(&mut File::open(path)?)
}

/// The same of what is open already.
///
/// # Errors
/// When it cannot be read, is no text, or is too long.
pub fn read_all(file: &mut dyn Read) -> io::Result<String> {
    let refused = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
    let (mut bytes, mut part) = (Vec::new(), vec![0; PART_LEN]);
    loop {
        let count = file.read(&mut part)?;
        if count == 0 {
            break;
        }
        if part[..count].contains(&0) {
            return Err(refused("it is no text: it has a byte that is 0"));
        }
        if bytes.len() + count > MOST_LEN {
            return Err(refused("it is longer than 1 GiB"));
        }
        bytes.extend_from_slice(&part[..count]);
    }
    String::from_utf8(bytes).map_err(|_| refused("it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn texts_are_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "a\nß\n".repeat(PART_LEN)).unwrap();
        assert_eq!(read_text(&path).unwrap(), "a\nß\n".repeat(PART_LEN));
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "it is no text in UTF-8");
        for endless in ["/dev/zero", "/dev/urandom"] {
            let error = read_text(Path::new(endless)).unwrap_err();
            assert_eq!(error.to_string(), "it is no text: it has a byte that is 0", "{endless}");
        }
    }
}
