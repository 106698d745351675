use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use crate::interface::Interface;
use crate::joined::JoinedReceiver;
use crate::links::Links;
use crate::{
    AnyPort, Attachment, OpenError, PacketPort, PacketPortOptions, PacketRing, PacketSender, Port, Receiver, Sender,
    TapPort, XdpPort,
};

/// A way into the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BackEnd {
    /// `AF_PACKET`: a receive ring and `sendmmsg`.
    Packet(PacketRing),
    /// `AF_XDP` in copy mode, with its program here.
    Xdp(Attachment),
    /// The program's end of a TAP.
    Tap,
}

impl BackEnd {
    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::Packet(PacketRing::Slots),
        Self::Packet(PacketRing::Blocks),
        Self::Xdp(Attachment::Native),
        Self::Xdp(Attachment::Generic),
        Self::Tap,
    ];

    /// Its name, as it is given and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packet(PacketRing::Slots) => "packet",
            Self::Packet(PacketRing::Blocks) => "packet-blocks",
            Self::Xdp(Attachment::Native) => "xdp-native",
            Self::Xdp(Attachment::Generic) => "xdp-generic",
            Self::Tap => "tap",
        }
    }

    /// Opens an interface of this network namespace, or makes it in the case of a TAP.
    ///
    /// # Errors
    /// When there is none, privilege is missing, or it cannot carry the frames this way.
    pub fn open(self, name: &str, options: PacketPortOptions) -> Result<AnyPort, OpenError> {
        Ok(match self {
            Self::Packet(ring) => PacketPort::open(name, options, ring)?.into_any(),
            Self::Xdp(attachment) => XdpPort::open(name, options, attachment)?.into_any(),
            Self::Tap => TapPort::open(name, options)?.into_any(),
        })
    }
}

impl BackEnd {
    /// Opens an interface as one port for each of its receive queues, or for several of them where the back end can join
    /// them: then `most` ports at most. Each may be used by a thread of its own, and frames of a queue keep their order.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_queues(self, name: &str, options: PacketPortOptions, most: usize) -> Result<Vec<AnyPort>, OpenError> {
        Ok(match self {
            Self::Packet(ring) => any(PacketPort::open_queues(name, options, ring, most)?),
            Self::Xdp(attachment) => any(XdpPort::open_queues(name, options, attachment)?),
            Self::Tap => vec![self.open(name, options)?],
        })
    }
}

impl BackEnd {
    /// Opens an interface with further ways to send there, so that this number of threads can, each by its own.
    ///
    /// # Errors
    /// As [`Self::open`], and when the back end, or the interface by it, has fewer ways.
    pub fn open_for_senders(
        self,
        name: &str,
        options: PacketPortOptions,
        senders: usize,
    ) -> Result<(AnyPort, Vec<Box<dyn Sender>>), OpenError> {
        match self {
            _ if senders == 1 => Ok((self.open(name, options)?, Vec::new())),
            Self::Packet(_) => {
                let more = (1..senders).map(|_| -> Result<Box<dyn Sender>, OpenError> {
                    Ok(Box::new(PacketSender::open(name, options)?))
                });
                Ok((self.open(name, options)?, more.collect::<Result<_, _>>()?))
            }
            Self::Xdp(Attachment::Native) => {
                let ports = XdpPort::open_queues(name, options, Attachment::Native)?.into_iter();
                let (ways, queues): (Vec<_>, Vec<_>) = ports.map(|port| (port.sender, port.receiver)).unzip();
                let mut ways: VecDeque<_> = ways.into_iter().map(|way| Box::new(way) as Box<dyn Sender>).collect();
                match ways.pop_front() {
                    Some(sender) if queues.len() >= senders => {
                        let receiver = Box::new(JoinedReceiver::new(queues));
                        Ok((Port { sender, receiver }, ways.into()))
                    }
                    _ => Err(OpenError::TooFewQueues {
                        name: name.to_owned(),
                        queues: queues.len(),
                        senders,
                    }),
                }
            }
            Self::Xdp(Attachment::Generic) | Self::Tap => Err(OpenError::OneSender(name.to_owned(), self)),
        }
    }
}

impl BackEnd {
    /// What goes wrong at an interface this way although nothing fails, and what helps.
    pub fn shortcomings(self, name: &str) -> Vec<String> {
        let (Some(interface), Ok(links)) = (Interface::find(name), Links::read()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // What leaves one end of a veth pair arrives at the other as it is, whatever this one is set to.
        if matches!(self, Self::Xdp(_)) && interface.driver().is_ok_and(|driver| driver == "veth") {
            found.push(
                "VLAN tags of VLAN interfaces at the other end of this veth pair are lost: \
                 `ethtool -K IFACE tx-vlan-offload off` there, or use the back end packet"
                    .to_owned(),
            );
        }
        if links.takes_its_addresses_only(interface.index()) {
            found.push(
                "the interface below passes only frames to its own addresses and to groups: use a veth pair, or a macvlan \
                 of the mode passthru"
                    .to_owned(),
            );
        }
        // XDP takes frames before anything else of the kernel gets them.
        if let (Self::Packet(_), Some(master)) = (self, links.master_of(interface.index())) {
            found.push(format!(
                "it is a port of `{master}`, which gets and forwards its frames as well: `ip link set {name} nomaster`"
            ));
        }
        found
    }
}

fn any<S: Sender + 'static, R: Receiver + 'static>(ports: Vec<Port<S, R>>) -> Vec<AnyPort> {
    ports.into_iter().map(Port::into_any).collect()
}

impl fmt::Display for BackEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for BackEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|back_end| back_end.name() == text);
        found.ok_or_else(|| format!("there are {}", Self::ALL.map(Self::name).join(", ")))
    }
}
