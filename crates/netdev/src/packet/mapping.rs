use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};

/// Memory that a socket shares with the kernel.
#[derive(Debug)]
pub(super) struct Mapping {
    area: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Maps the rings of a socket, which must have been set up with this length in all.
    pub(super) fn of(socket: &impl AsRawFd, len: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let area = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if area == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let area = NonNull::new(area.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { area, len })
    }

    /// Its first byte; valid for its length as long as it lives.
    pub(super) fn start(&self) -> *mut u8 {
        self.area.as_ptr()
    }
}

// SAFETY: the memory belongs to the mapping, not to the thread that made it; who may touch what of it is between its
// one owner and the kernel.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the area was mapped with this length by `of`; whoever uses `start` keeps this alive.
        unsafe { libc::munmap(self.area.as_ptr().cast(), self.len) };
    }
}
