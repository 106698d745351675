//! The program's end of a TAP interface: what is sent arrives on the interface as from a cable, and what the kernel
//! sends out of the interface is received.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::interface::{Interface, request_about};
use crate::system::check;
use crate::{
    Arrived, Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, OpenError, PacketPortOptions, Port,
    ReceiveStatistics, Receiver, SendStatistics, Sender, Take,
};

const CLONE_DEVICE: &str = "/dev/net/tun";
/// `TUNSETIFF` of `linux/if_tun.h`.
const TUN_SET_INTERFACE: libc::Ioctl = 0x4004_54ca;

/// A TAP interface of this network namespace.
pub type TapPort = Port<TapSender, TapReceiver>;

/// The sending half of a [`TapPort`].
#[derive(Debug)]
pub struct TapSender {
    tap: Arc<Tap>,
    buffer: Vec<u8>,
    statistics: SendStatistics,
}

/// The receiving half of a [`TapPort`].
#[derive(Debug)]
pub struct TapReceiver {
    tap: Arc<Tap>,
    buffer: Vec<u8>,
    statistics: ReceiveStatistics,
    dropped_before: u64,
}

/// What both halves use: the kernel reads and writes frames independently of each other.
#[derive(Debug)]
struct Tap {
    interface: Interface,
    device: File,
}

impl TapPort {
    /// Attaches to the TAP of this name, or makes one and takes it into operation; such a one goes with the port.
    ///
    /// # Errors
    /// When privilege is missing, the name belongs to another kind of interface, another program is attached, or it
    /// cannot carry the frames.
    pub fn open(name: &str, options: PacketPortOptions) -> Result<Self, OpenError> {
        let system = |step| move |source| OpenError::system(name, step, source);
        let is_new = Interface::find(name).is_none();
        let device = attach(name)?;
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        interface.check_mtu(options.untagged_len())?;
        if is_new {
            interface.set_up().map_err(system("take it into operation"))?;
        }
        let counters = interface.counters().map_err(system("read its counters"))?;
        let tap = Arc::new(Tap { interface, device });
        Ok(Self {
            sender: TapSender {
                tap: Arc::clone(&tap),
                buffer: vec![0; options.max_frame_len],
                statistics: SendStatistics::default(),
            },
            receiver: TapReceiver {
                tap,
                buffer: vec![0; HEADROOM + options.max_frame_len],
                statistics: ReceiveStatistics::default(),
                dropped_before: seen_from_here(counters).receive_dropped,
            },
        })
    }
}

fn attach(name: &str) -> Result<File, OpenError> {
    let failed = |step| {
        move |source: io::Error| match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => OpenError::NoTap(name.to_owned()),
            Some(libc::EPERM | libc::EACCES) => OpenError::TapNotPermitted(name.to_owned()),
            Some(libc::EINVAL) => OpenError::NoTapInterface(name.to_owned()),
            Some(libc::EBUSY) => OpenError::TapInUse(name.to_owned()),
            _ => OpenError::system(name, step, source),
        }
    };
    let mut request = request_about(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(CLONE_DEVICE)
        .map_err(failed("open /dev/net/tun"))?;
    // SAFETY: `request` is a whole ifreq and lives for the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), TUN_SET_INTERFACE, &raw mut request) })
        .map_err(failed("attach to it"))?;
    Ok(device)
}

/// What the interface receives is what this end sends.
fn seen_from_here(counters: InterfaceCounters) -> InterfaceCounters {
    InterfaceCounters {
        received: counters.sent,
        receive_dropped: counters.send_dropped,
        sent: counters.received,
        send_dropped: counters.receive_dropped,
        ..counters
    }
}

impl Sender for TapSender {
    fn name(&self) -> &str {
        self.tap.interface.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: self.buffer.len(),
            headroom: HEADROOM,
            can_wait: true,
            notes_arrival: false,
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        for index in 0..count.min(MAX_BURST) {
            let len = fill(index, &mut self.buffer).min(self.buffer.len());
            // A TAP takes a frame whole or not at all.
            match (&self.tap.device).write_all(&self.buffer[..len]) {
                Ok(()) => self.statistics.sent += 1,
                Err(error) => {
                    return match error.raw_os_error() {
                        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => Ok(index),
                        // What a TAP says that is not in operation.
                        Some(libc::EIO) => Err(io::ErrorKind::NetworkDown.into()),
                        _ => Err(error),
                    };
                }
            }
        }
        Ok(count.min(MAX_BURST))
    }

    /// Nothing to do: the kernel has a frame when the write returns.
    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(self.statistics)
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(Some(seen_from_here(self.tap.interface.counters()?)))
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.tap.interface.is_up()
    }

    fn is_replaced(&self) -> bool {
        self.tap.interface.is_replaced(|| false)
    }

    fn hardware_address(&self) -> Option<[u8; 6]> {
        self.tap.interface.hardware_address().ok()
    }
}

impl Receiver for TapReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        for count in 0..limit {
            match (&self.tap.device).read(&mut self.buffer[HEADROOM..]) {
                Ok(len) => take(Arrived::new(&mut self.buffer[..HEADROOM + len], HEADROOM, None)),
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => return Ok(count),
                Err(error) => return Err(error),
            }
            self.statistics.received += 1;
        }
        Ok(limit)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tap.device.as_fd())
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        let counters = seen_from_here(self.tap.interface.counters()?);
        self.statistics.receive_dropped = counters.receive_dropped.saturating_sub(self.dropped_before);
        Ok(self.statistics)
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::skip::skip;
    use crate::{PacketPort, PacketRing};

    const FRAME_LEN: usize = 60;
    /// Set aside for experiments (IEEE 802): no other program's frames.
    const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
    /// How long frames may take at most; they are there within one or two.
    const PATIENCE_MS: usize = 2000;

    /// Runs in a thread with a network namespace of its own; says why where there is none to be had.
    fn in_a_namespace(test: fn()) {
        thread::spawn(move || {
            // SAFETY: takes no pointers, and changes this thread only.
            if let Err(error) = check(unsafe { libc::unshare(libc::CLONE_NEWNET) }) {
                skip(&format!(
                    "this machine does not let us make a network namespace: {error}"
                ));
                return;
            }
            if let Err(error) = attach("probe") {
                skip(&format!("this machine does not let us make a TAP: {error}"));
                return;
            }
            // Fails only where there is no IPv6 that could chatter.
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            test();
        })
        .join()
        .unwrap();
    }

    fn options() -> PacketPortOptions {
        PacketPortOptions::new(FRAME_LEN)
    }

    fn kernel_side(ring: PacketRing) -> PacketPort {
        PacketPort::open("tap0", options(), ring).unwrap()
    }

    fn send(sender: &mut impl Sender, count: usize) -> usize {
        let mut sent = 0;
        while sent < count {
            let first = sent;
            let taken = sender.send_burst(count - sent, &mut |index, buffer| {
                buffer[..FRAME_LEN].fill(0xff);
                buffer[12..14].copy_from_slice(&ETHER_TYPE);
                buffer[14..22].copy_from_slice(&(first + index).to_be_bytes());
                FRAME_LEN
            });
            sent += taken.unwrap();
        }
        sent
    }

    /// The numbers of the frames of ours that have arrived.
    fn receive(receiver: &mut impl Receiver) -> Vec<u64> {
        let mut numbers = Vec::new();
        while receiver
            .receive_burst(MAX_BURST, &mut |frame| {
                if frame[12..14] == ETHER_TYPE {
                    numbers.push(u64::from_be_bytes(frame[14..22].try_into().unwrap()));
                }
            })
            .unwrap()
            > 0
        {}
        numbers
    }

    #[test]
    fn frames_cross_between_program_and_kernel_both_ways() {
        in_a_namespace(|| {
            let mut tap = TapPort::open("tap0", options()).unwrap();
            assert!(tap.sender.link_is_up().unwrap());
            let mut kernel = kernel_side(PacketRing::Slots);
            send(&mut tap.sender, 100);
            assert_eq!(receive(&mut kernel.receiver), (0..100).collect::<Vec<_>>());
            send(&mut kernel.sender, 50);
            assert_eq!(receive(&mut tap.receiver), (0..50).collect::<Vec<_>>());
            let counters = tap.sender.interface_counters().unwrap().unwrap();
            assert_eq!((counters.sent, counters.received), (100, 50));
            assert_eq!(tap.sender.statistics().unwrap().sent, 100);
        });
    }

    /// More than fit a block, so that reading goes on from one to the next, and a last one that is not full.
    #[test]
    fn frames_in_blocks_arrive_whole_and_in_order() {
        const COUNT: u64 = 5000;
        in_a_namespace(|| {
            let mut tap = TapPort::open("tap0", options()).unwrap();
            let mut kernel = kernel_side(PacketRing::Blocks);
            send(&mut tap.sender, COUNT as usize);
            let mut numbers = Vec::new();
            for _ in 0..PATIENCE_MS {
                numbers.extend(receive(&mut kernel.receiver));
                if numbers.len() as u64 == COUNT {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            assert!(numbers.into_iter().eq(0..COUNT));
            assert_eq!(kernel.receiver.statistics().unwrap().receive_dropped, 0);
        });
    }

    #[test]
    fn tags_that_the_kernel_takes_out_are_put_back() {
        in_a_namespace(|| {
            let mut tagged = [0xff; FRAME_LEN];
            tagged[12..18].copy_from_slice(&[0x81, 0x00, 0x60, 0x07, ETHER_TYPE[0], ETHER_TYPE[1]]);
            let mut tap = TapPort::open("tap0", options()).unwrap();
            for ring in [PacketRing::Slots, PacketRing::Blocks] {
                let mut kernel = kernel_side(ring);
                tap.sender
                    .send_burst(1, &mut |_, buffer| {
                        buffer[..FRAME_LEN].copy_from_slice(&tagged);
                        FRAME_LEN
                    })
                    .unwrap();
                let mut arrived = Vec::new();
                for _ in 0..PATIENCE_MS {
                    let mut take = |frame: Arrived<'_>| arrived.push(frame.to_vec());
                    kernel.receiver.receive_burst(MAX_BURST, &mut take).unwrap();
                    if !arrived.is_empty() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                assert_eq!(arrived, [tagged.to_vec()], "{ring:?}");
            }
        });
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        in_a_namespace(|| {
            let mut tap = TapPort::open("tap0", options()).unwrap();
            let mut kernel = kernel_side(PacketRing::Slots);
            let mut taken = 0;
            let mut refusals = 0;
            while refusals < 50 {
                // One at a time: of a burst the kernel tries the frame that it refused once more.
                let burst = kernel.sender.send_burst(1, &mut |_, buffer| {
                    buffer[..FRAME_LEN].fill(0xff);
                    buffer[12..14].copy_from_slice(&ETHER_TYPE);
                    FRAME_LEN
                });
                let burst = burst.unwrap();
                taken += burst as u64;
                refusals += u64::from(burst == 0);
            }
            assert_eq!(receive(&mut tap.receiver).len() as u64, taken);
            assert_eq!(tap.receiver.statistics().unwrap().receive_dropped, refusals);
        });
    }

    #[test]
    fn what_cannot_be_opened_says_what_to_do() {
        in_a_namespace(|| {
            let message = |name| TapPort::open(name, options()).unwrap_err().to_string();
            assert!(message("lo").contains("is no TAP"), "{}", message("lo"));
            let _tap = TapPort::open("tap0", options()).unwrap();
            assert!(message("tap0").contains("in use"), "{}", message("tap0"));
            assert!(message("a name that is too long").contains("no interface"));
            let long = PacketPortOptions::new(9000);
            let error = TapPort::open("tap1", long).unwrap_err().to_string();
            assert!(error.contains("ip link set tap1 mtu 8986"), "{error}");
        });
    }

    #[test]
    fn an_interface_taken_down_is_a_link_down() {
        in_a_namespace(|| {
            let mut tap = TapPort::open("tap0", options()).unwrap();
            let done = std::process::Command::new("ip")
                .args(["link", "set", "tap0", "down"])
                .status();
            if !done.is_ok_and(|status| status.success()) {
                return;
            }
            assert!(!tap.sender.link_is_up().unwrap());
            let error = tap.sender.send_burst(1, &mut |_, _| FRAME_LEN).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
        });
    }
}
