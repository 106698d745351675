use std::io;

use thiserror::Error;

use crate::{Attachment, BackEnd};

/// Why a port could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is none of that name in this network namespace.
    #[error("there is no interface `{0}` in this network namespace; `ip link` lists them")]
    NoSuchInterface(String),
    /// Nothing can leave it.
    #[error("interface `{0}` is down: `ip link set {0} up`")]
    Down(String),
    /// Nothing is at the other end.
    #[error("interface `{0}` has no carrier: plug in its cable, or set the other end up")]
    NoCarrier(String),
    /// Test traffic at full speed would disturb its users.
    #[error(
        "interface `{name}` {used_for}, and test traffic would disturb who uses it: name another one, or give --force"
    )]
    InUse {
        /// The interface.
        name: String,
        /// What somebody uses it for.
        used_for: String,
    },
    /// Test frames would be taken for others.
    #[error("interface `{0}`: a brimful-tester measures on it; wait for that one, or end it")]
    TesterThere(String),
    /// Each frame would be forwarded twice.
    #[error("interface `{0}` is a port of another brimful-switchd: remove that port, or end that switch")]
    SwitchThere(String),
    /// Packet sockets need a privilege.
    #[error("no permission to send and receive on `{0}`: run as root, or give the program CAP_NET_RAW")]
    NotPermitted(String),
    /// XDP programs need more.
    #[error(
        "no permission to attach an XDP program to `{0}`: run as root of the machine, with CAP_BPF and CAP_NET_ADMIN"
    )]
    XdpNotPermitted(String),
    /// The back end does not carry frames of the length asked for.
    #[error("interface `{name}`: AF_XDP carries frames of {most} bytes at most here; use the back end packet")]
    FrameTooLong {
        /// The interface.
        name: String,
        /// The longest frame.
        most: usize,
    },
    /// Frames would arrive on queues that are not read.
    #[error("interface `{name}` has {queues} receive queues, AF_XDP needs one: `ethtool -L {name} combined 1`")]
    SeveralQueues {
        /// The interface.
        name: String,
        /// Its queues.
        queues: u32,
    },
    /// Threads that share it would wait for each other.
    #[error(
        "interface `{name}`: {senders} threads send by xdp-native, each by a queue of its own, and it has {queues}: use the \
             back end packet, `ethtool -L {name} combined {senders}`, or fewer threads"
    )]
    TooFewQueues {
        /// The interface.
        name: String,
        /// Its queues.
        queues: usize,
        /// Threads.
        senders: usize,
    },
    /// The same, whatever the interface.
    #[error("interface `{0}`: one thread sends by {1}; use the back end packet, or fewer threads")]
    OneSender(String, BackEnd),
    /// `AF_XDP` would lose tags.
    #[error(
        "interface `{name}`: its driver takes VLAN tags off frames, AF_XDP loses those, and `rx-vlan-offload off` failed \
         ({source}); use the back end packet"
    )]
    TagsTakenOff {
        /// The interface.
        name: String,
        /// Why they cannot be left in.
        source: io::Error,
    },
    /// No frame would arrive.
    #[error("interface `{0}` is a bond, whose frames xdp-native does not get: use the back end packet or xdp-generic")]
    Bond(String),
    /// There is no place for the program in the driver.
    #[error("interface `{0}`: its driver runs no XDP program; use the back end packet or xdp-generic")]
    NoNativeXdp(String),
    /// Somebody else's program is there.
    #[error(
        "interface `{0}`: another XDP program is attached; `bpftool net` names it, `ip link set {0} xdp off` ends it"
    )]
    OtherXdpProgram(String),
    /// Another user would notice.
    #[error("not tried, as `{0}` is in use and trying interrupts its traffic; `brimful netdev {0}` tries")]
    NotTried(String),
    /// One socket only can have a queue.
    #[error("interface `{0}`: another program uses AF_XDP on it; end that one, or use the back end packet")]
    XdpInUse(String),
    /// The interface does not carry frames of the length asked for.
    #[error("interface `{name}` has MTU {mtu}, too small for these frames: `ip link set {name} mtu {needed}`")]
    MtuTooSmall {
        /// The interface.
        name: String,
        /// What it has.
        mtu: usize,
        /// What it would need.
        needed: usize,
    },
    /// The kernel has no TAP.
    #[error("TAP `{0}`: there is no /dev/net/tun: `modprobe tun`")]
    NoTap(String),
    /// TAPs need a privilege.
    #[error(
        "no permission to make or attach to TAP `{0}`: run as root, give the program CAP_NET_ADMIN, or make it with \
         `ip tuntap add {0} mode tap user $USER`"
    )]
    TapNotPermitted(String),
    /// Some other interface has that name.
    #[error("interface `{0}` is no TAP: use another back end, or another name to make one")]
    NoTapInterface(String),
    /// Somebody else sits at the other end.
    #[error("TAP `{0}` is in use by another program; `fuser /dev/net/tun` finds it")]
    TapInUse(String),
    /// A system call failed.
    #[error("interface `{name}`: {step}: {source}")]
    System {
        /// The interface.
        name: String,
        /// What was being done.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl OpenError {
    /// Whether another program has taken the interface, and with it the frames that arrive there.
    pub fn is_of_another_program(&self) -> bool {
        matches!(self, Self::XdpInUse(_) | Self::OtherXdpProgram(_))
    }

    /// Why an XDP program could not be loaded or attached.
    pub(crate) fn attaching(name: &str, attachment: Attachment, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EPERM) => Self::XdpNotPermitted(name.to_owned()),
            Some(libc::EOPNOTSUPP) if attachment == Attachment::Native => Self::NoNativeXdp(name.to_owned()),
            Some(libc::EBUSY | libc::EEXIST) => Self::OtherXdpProgram(name.to_owned()),
            _ => Self::System {
                name: name.to_owned(),
                step: "attach an XDP program to it",
                source,
            },
        }
    }

    pub(crate) fn system(name: &str, step: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted(name.to_owned()),
            _ => Self::System {
                name: name.to_owned(),
                step,
                source,
            },
        }
    }
}
