use std::ffi::CStr;
use std::fs;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::links::{Links, address_of, carrier_of};
use crate::mark::{Mark, Owner};
use crate::routes::has_default_route;
use crate::system::check;
use crate::{InterfaceCounters, OpenError};

/// Bytes of Ethernet header that an interface's MTU does not count.
const ETHERNET_HEADER_LEN: usize = 14;
/// `ETHTOOL_GDRVINFO` and the layout of its answer: linux/ethtool.h.
const ETHTOOL_GET_DRIVER_INFO: u32 = 3;
const ETHTOOL_GET_CHANNELS: u32 = 0x3c;
/// `ETHTOOL_GSET`: older than `ETHTOOL_GLINKSETTINGS`, needs one call, and the kernel answers it for every driver.
const ETHTOOL_GET_SETTINGS: u32 = 1;
/// `ETHTOOL_GFLAGS` and `ETHTOOL_SFLAGS`: features of receiving, by `ETH_FLAG_*`.
const ETHTOOL_GET_FLAGS: u32 = 0x25;
const ETHTOOL_SET_FLAGS: u32 = 0x26;
/// What drivers say that do not know.
const SPEEDS_UNKNOWN: [u32; 3] = [0, 0xffff, u32::MAX];
const SIOCETHTOOL: libc::Ioctl = 0x8946;

#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

#[repr(C)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receiving: u32,
    sending: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_cmd`.
#[repr(C)]
struct LinkSettings {
    command: u32,
    modes: [u32; 2],
    speed_low: u16,
    modes_in_use: [u8; 6],
    most_frames: [u32; 2],
    speed_high: u16,
    crossing: [u8; 2],
    rest: [u32; 3],
}

/// A network interface of this namespace.
#[derive(Debug)]
pub(crate) struct Interface {
    name: String,
    request_name: [libc::c_char; libc::IFNAMSIZ],
    index: i32,
    /// Any socket of the namespace answers questions about its interfaces; XDP sockets do not.
    control: OwnedFd,
}

impl Interface {
    pub(crate) fn find(name: &str) -> Option<Self> {
        let control = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
        Some(Self {
            name: name.to_owned(),
            request_name: request_about(name)?.ifr_name,
            index: name_to_index(&control, name).ok()?.cast_signed(),
            control,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn index(&self) -> i32 {
        self.index
    }

    /// Checks that it carries frames of this length, without frame check sequence and 802.1Q tag.
    pub(crate) fn check_mtu(&self, frame_len: usize) -> Result<(), OpenError> {
        let mtu = self
            .mtu()
            .map_err(|source| OpenError::system(&self.name, "read the MTU", source))?;
        let needed = frame_len.saturating_sub(ETHERNET_HEADER_LEN);
        if mtu < needed {
            return Err(OpenError::MtuTooSmall {
                name: self.name.clone(),
                mtu,
                needed,
            });
        }
        Ok(())
    }

    fn mtu(&self) -> io::Result<usize> {
        let answer = self.ask(libc::SIOCGIFMTU, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFMTU, which fills this member of the union.
        let mtu = unsafe { answer.ifr_ifru.ifru_mtu };
        Ok(usize::try_from(mtu).unwrap_or(0))
    }

    /// Whether another interface has its name by now, or the same one after it was in another network namespace: that
    /// keeps its index, and no longer belongs to a socket that was bound to it.
    pub(crate) fn is_replaced(&self, has_left: impl FnOnce() -> bool) -> bool {
        name_to_index(&self.control, &self.name).is_ok_and(|index| index.cast_signed() != self.index || has_left())
    }

    /// The longest frame without a tag.
    pub(crate) fn longest_untagged(&self) -> Option<usize> {
        self.mtu().ok().map(|mtu| mtu + ETHERNET_HEADER_LEN)
    }

    /// Whether it is in operation and has a carrier. Cheap, takes no lock, and may lag behind by a second.
    pub(crate) fn is_up(&self) -> io::Result<bool> {
        self.has_flags(libc::IFF_UP | libc::IFF_RUNNING)
    }

    /// Checks that frames can leave it.
    pub(crate) fn check_up(&self) -> Result<(), OpenError> {
        let failed = |source| OpenError::system(&self.name, "read its state", source);
        if !self.has_flags(libc::IFF_UP).map_err(failed)? {
            return Err(OpenError::Down(self.name.clone()));
        }
        if !carrier_of(self.index).map_err(failed)?.is_there {
            return Err(OpenError::NoCarrier(self.name.clone()));
        }
        Ok(())
    }

    fn has_flags(&self, wanted: libc::c_int) -> io::Result<bool> {
        let answer = self.ask(libc::SIOCGIFFLAGS, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFFLAGS, which fills this member of the union.
        let flags = libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags });
        Ok(flags & wanted == wanted)
    }

    /// What it is used for, in words that follow its name; nothing where test traffic would not disturb.
    pub(crate) fn use_by_others(&self) -> io::Result<Option<String>> {
        if Mark::is_there(Owner::Switch, self.index)? {
            return Ok(Some("is a port of brimful-switchd".to_owned()));
        }
        if let Some(address) = address_of(self.index)? {
            return Ok(Some(format!("carries the address {address}")));
        }
        let links = Links::read()?;
        if let Some(master) = links.master_of(self.index) {
            return Ok(Some(format!("is a port of `{master}`")));
        }
        if let Some(upper) = links.upper_of(self.index) {
            return Ok(Some(format!("carries the frames of `{upper}`")));
        }
        let tables = ["route", "ipv6_route"].map(|name| fs::read_to_string(format!("/proc/thread-self/net/{name}")));
        // A kernel without IPv6 has no such table.
        let [v4, v6] = tables.map(Result::unwrap_or_default);
        let is_way_out = has_default_route([&v4, &v6], &self.name);
        Ok(is_way_out.then(|| "has a default route".to_owned()))
    }

    /// Takes it into operation.
    pub(crate) fn set_up(&self) -> io::Result<()> {
        let mut request = self.ask(libc::SIOCGIFFLAGS, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFFLAGS, which fills this member of the union.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
        self.ask(libc::SIOCSIFFLAGS, request)?;
        Ok(())
    }

    pub(crate) fn driver(&self) -> io::Result<String> {
        let mut info = DriverInfo {
            command: ETHTOOL_GET_DRIVER_INFO,
            driver: [0; 32],
            rest: [0; 160],
        };
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut info).cast();
        self.ask(SIOCETHTOOL, request)?;
        let name = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Bits a second of the link; nothing where it is not known. Software interfaces state speeds that mean nothing:
    /// veth 10 Gbit/s, TAP 10 Mbit/s.
    fn speed(&self) -> io::Result<Option<u64>> {
        if Links::read()?.is_software(self.index) {
            return Ok(None);
        }
        let mut settings = LinkSettings {
            command: ETHTOOL_GET_SETTINGS,
            modes: [0; 2],
            speed_low: 0,
            modes_in_use: [0; 6],
            most_frames: [0; 2],
            speed_high: 0,
            crossing: [0; 2],
            rest: [0; 3],
        };
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut settings).cast();
        self.ask(SIOCETHTOOL, request)?;
        Ok(settings.bits_per_second())
    }

    pub(crate) fn hardware_address(&self) -> io::Result<[u8; 6]> {
        let answer = self.ask(libc::SIOCGIFHWADDR, self.request())?;
        // SAFETY: the kernel has answered SIOCGIFHWADDR, which fills this member of the union.
        let bytes = unsafe { answer.ifr_ifru.ifru_hwaddr }.sa_data;
        Ok(std::array::from_fn(|index| bytes[index].to_ne_bytes()[0]))
    }

    /// What the kernel has counted on it.
    pub(crate) fn counters(&self) -> io::Result<InterfaceCounters> {
        let table = fs::read_to_string("/proc/thread-self/net/dev")?;
        let counters = find_counters(&table, &self.name).ok_or(io::ErrorKind::NotFound)?;
        let carrier = carrier_of(self.index)?;
        Ok(InterfaceCounters {
            link_losses: u64::from(carrier.losses),
            is_without_link: !carrier.is_there,
            ..counters
        })
    }

    /// How many queues frames arrive on; 1 where the driver does not report it.
    pub(crate) fn receive_queues(&self) -> u32 {
        let mut channels = Channels {
            command: ETHTOOL_GET_CHANNELS,
            most: [0; 4],
            receiving: 0,
            sending: 0,
            other: 0,
            combined: 0,
        };
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut channels).cast();
        match self.ask(SIOCETHTOOL, request) {
            Ok(_) => (channels.receiving + channels.combined).max(1),
            Err(_) => 1,
        }
    }

    /// Which work of receiving the driver does, by `ETH_FLAG_*`.
    pub(crate) fn offload_flags(&self) -> io::Result<u32> {
        self.exchange_flags([ETHTOOL_GET_FLAGS, 0])
    }

    /// Has it do this work from now on.
    pub(crate) fn set_offload_flags(&self, flags: u32) -> io::Result<()> {
        self.exchange_flags([ETHTOOL_SET_FLAGS, flags])?;
        Ok(())
    }

    /// `struct ethtool_value`: the command and the flags.
    fn exchange_flags(&self, mut value: [u32; 2]) -> io::Result<u32> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        self.ask(SIOCETHTOOL, request)?;
        Ok(value[1])
    }

    /// Asks by its name or, where it was renamed, by the one it has now. `request` must hold what `command` reads; all
    /// callers above keep what it points to alive.
    fn ask(&self, command: libc::Ioctl, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
        // SAFETY: `request` is a whole ifreq and lives for the call; for SIOCETHTOOL its data pointer is to a
        // structure of the kernel's size for its command that the caller holds.
        match check(unsafe { libc::ioctl(self.control.as_raw_fd(), command, &raw mut request) }) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) && request.ifr_name == self.request_name => {
                let name = index_to_name(&self.control, self.index.cast_unsigned())?;
                request.ifr_name = request_about(&name).ok_or(error)?.ifr_name;
                self.ask(command, request)
            }
            done => done.map(|_| request),
        }
    }

    fn request(&self) -> libc::ifreq {
        let mut request = empty_request();
        request.ifr_name = self.request_name;
        request
    }
}

impl LinkSettings {
    fn bits_per_second(&self) -> Option<u64> {
        let megabits = u32::from(self.speed_high) << 16 | u32::from(self.speed_low);
        (!SPEEDS_UNKNOWN.contains(&megabits)).then(|| u64::from(megabits) * 1_000_000)
    }
}

/// The speed of an interface's link in bits a second; nothing where there is no hardware, or it does not report it.
pub fn link_speed(name: &str) -> Option<u64> {
    Interface::find(name)?.speed().ok().flatten()
}

/// The Ethernet address of an interface of this network namespace; nothing where there is no such interface.
pub fn hardware_address(name: &str) -> Option<[u8; 6]> {
    Interface::find(name)?.hardware_address().ok()
}

/// A request about an interface that need not exist; `None` where none can have this name.
pub(crate) fn request_about(name: &str) -> Option<libc::ifreq> {
    let mut request = empty_request();
    let is_possible = !name.is_empty() && name.len() < request.ifr_name.len() && !name.contains('\0');
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    is_possible.then_some(request)
}

fn empty_request() -> libc::ifreq {
    // SAFETY: all members of ifreq are plain data for which zero bytes are a value.
    unsafe { mem::zeroed() }
}

/// Reads the line of an interface in `/proc/net/dev`: eight columns of what arrived, then eight of what was sent.
fn find_counters(table: &str, name: &str) -> Option<InterfaceCounters> {
    let line = table
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let columns: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(InterfaceCounters {
        received: *columns.get(1)?,
        receive_dropped: *columns.get(3)?,
        sent: *columns.get(9)?,
        send_dropped: *columns.get(11)?,
        ..InterfaceCounters::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_interface_and_no_other() {
        let table = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop\n\
            eth10: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  eth1: 101 102 0 104 0 0 0 0 109 110 0 112 0 0 0 0\n";
        let expected = InterfaceCounters {
            received: 102,
            receive_dropped: 104,
            sent: 110,
            send_dropped: 112,
            ..InterfaceCounters::default()
        };
        assert_eq!(find_counters(table, "eth1"), Some(expected));
        assert_eq!(find_counters(table, "eth"), None);
    }

    #[test]
    fn the_driver_answer_has_the_size_of_the_kernel_structure() {
        assert_eq!(mem::size_of::<DriverInfo>(), 196);
        assert_eq!(mem::size_of::<Channels>(), 36);
        assert_eq!(mem::size_of::<LinkSettings>(), 44);
        assert_eq!(mem::offset_of!(LinkSettings, speed_low), 12);
        assert_eq!(mem::offset_of!(LinkSettings, speed_high), 28);
    }

    #[test]
    fn speeds_are_read_and_unknown_ones_are_not() {
        let settings = |speed_low, speed_high| LinkSettings {
            command: 0,
            modes: [0; 2],
            speed_low,
            modes_in_use: [0; 6],
            most_frames: [0; 2],
            speed_high,
            crossing: [0; 2],
            rest: [0; 3],
        };
        assert_eq!(settings(1000, 0).bits_per_second(), Some(1_000_000_000));
        assert_eq!(settings(0x86a0, 1).bits_per_second(), Some(100_000_000_000));
        for (low, high) in [(0, 0), (0xffff, 0xffff), (0xffff, 0)] {
            assert_eq!(settings(low, high).bits_per_second(), None);
        }
        assert_eq!(link_speed("lo"), None);
        assert_eq!(link_speed("brimful-absent"), None);
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
