use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};

/// Memory of this process that the kernel uses too, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    area: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// New memory, to be registered with the kernel.
    pub(crate) fn anonymous(len: usize) -> io::Result<Self> {
        Self::new(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// The rings of a socket, which must have been set up with this length.
    pub(crate) fn of(socket: &impl AsRawFd, len: usize, offset: libc::off_t) -> io::Result<Self> {
        Self::new(len, libc::MAP_SHARED, socket.as_raw_fd(), offset)
    }

    /// Its first byte; valid for its length as long as it lives.
    pub(crate) fn start(&self) -> *mut u8 {
        self.area.as_ptr()
    }

    /// Its bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn new(len: usize, flags: libc::c_int, descriptor: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let area = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_POPULATE,
                descriptor,
                offset,
            )
        };
        if area == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let area = NonNull::new(area.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { area, len })
    }
}

// SAFETY: the memory belongs to the mapping, not to the thread that made it.
unsafe impl Send for Mapping {}

// SAFETY: shared, a mapping only gives its address. What is done there is said, with its reasons, where it is done.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the area was mapped with this length by `new`; users of `start` keep this alive.
        unsafe { libc::munmap(self.area.as_ptr().cast(), self.len) };
    }
}
