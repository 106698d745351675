use std::ffi::{CStr, CString};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;

use super::socket::PacketSocket;

/// `ETHTOOL_GDRVINFO` and the layout of its answer: linux/ethtool.h.
const ETHTOOL_GET_DRIVER_INFO: u32 = 3;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// A network interface of this namespace.
#[derive(Debug)]
pub(super) struct Interface {
    name: String,
    request_name: [libc::c_char; libc::IFNAMSIZ],
    index: i32,
}

impl Interface {
    pub(super) fn find(name: &str) -> Option<Self> {
        let text = CString::new(name).ok()?;
        let bytes = text.as_bytes_with_nul();
        let mut request_name = [0; libc::IFNAMSIZ];
        if bytes.len() > request_name.len() {
            return None;
        }
        for (to, from) in request_name.iter_mut().zip(bytes) {
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        // SAFETY: `text` is a C string that lives for the call.
        let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
        let index = i32::try_from(index).ok().filter(|&index| index > 0)?;
        Some(Self {
            name: name.to_owned(),
            request_name,
            index,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn index(&self) -> i32 {
        self.index
    }

    pub(super) fn mtu(&self, socket: &PacketSocket) -> io::Result<usize> {
        let answer = ask(socket, libc::SIOCGIFMTU, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFMTU, which fills this member of the union.
        let mtu = unsafe { answer.ifr_ifru.ifru_mtu };
        Ok(usize::try_from(mtu).unwrap_or(0))
    }

    pub(super) fn is_up(&self, socket: &PacketSocket) -> io::Result<bool> {
        let answer = ask(socket, libc::SIOCGIFFLAGS, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFFLAGS, which fills this member of the union.
        let flags = libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags });
        let needed = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(flags & needed == needed)
    }

    pub(super) fn driver(&self, socket: &PacketSocket) -> io::Result<String> {
        let mut info = DriverInfo {
            command: ETHTOOL_GET_DRIVER_INFO,
            driver: [0; 32],
            rest: [0; 160],
        };
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut info).cast();
        ask(socket, SIOCETHTOOL, request)?;
        let name = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: all members of ifreq are plain data for which zero bytes are a value.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        request.ifr_name = self.request_name;
        request
    }
}

/// `request` must hold what `command` reads; both callers above keep what it points to alive.
fn ask(socket: &PacketSocket, command: libc::Ioctl, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
    // SAFETY: `request` is a whole ifreq and lives for the call; for SIOCETHTOOL its data pointer is to a
    // DriverInfo of the kernel's size that the caller holds.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), command, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_answer_has_the_size_of_the_kernel_structure() {
        assert_eq!(mem::size_of::<DriverInfo>(), 196);
    }

    #[test]
    fn names_that_cannot_be() {
        for name in ["", "no-such-interface-name-at-all", "nul\0inside", "brimful-absent"] {
            assert!(Interface::find(name).is_none(), "{name:?}");
        }
    }

    #[test]
    fn loopback_is_there() {
        assert!(Interface::find("lo").unwrap().index() > 0);
    }
}
