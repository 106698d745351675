//! Sockets of this machine that have a path.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A socket of this machine, which is removed when this is dropped.
pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// Device and inode: what has been put there since is somebody else's.
    made: (u64, u64),
}

impl Socket {
    /// Makes it. Only this user may ask.
    ///
    /// # Errors
    /// When it cannot be made; what is there and is no socket stays.
    pub fn open(path: &Path) -> io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                let text = "there is a file that is no socket: give another path, or remove it";
                return Err(io::Error::other(text));
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                let text = "another switch answers there: give another path";
                return Err(io::Error::other(text));
            }
            // What one left that has ended.
            Ok(_) => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let made = std::fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            listener,
            made: (made.dev(), made.ino()),
        })
    }

    /// What it is made of.
    pub(crate) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_own = |found: std::fs::Metadata| (found.dev(), found.ino()) == self.made;
        if std::fs::symlink_metadata(&self.path).is_ok_and(is_own) {
            // It may have been removed by somebody else just now.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
